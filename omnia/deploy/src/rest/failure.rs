//! Why a request to a workspace failed, and where the cause lies.
//!
//! In: a status with its body, or why there was no answer. Out: a [`Failure`] with a category. Fails never.

use std::time::Duration;

use promptkit_deploy::error::{Category, DeployError};
use serde_json::Value;

/// The most characters of an answer's body that an error quotes.
const QUOTED: usize = 500;

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server refused the request.
    #[error("{message}")]
    Refused {
        /// The HTTP status; for a gateway's 5xx that quotes another status, the quoted one.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// There was no answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The server could not be reached, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// The answer is not what the API promises.
    #[error("{0}")]
    Unexpected(String),
    /// The object was written, and failed or did not become ready.
    #[error("{message}")]
    NotReady {
        /// Whether waiting ended, rather than the object saying that it failed.
        is_late: bool,
        /// What is wrong.
        message: String,
    },
}

impl Failure {
    /// Reads a refusal: the status, and the text of the body.
    #[must_use]
    pub fn refused(status: u16, body: &str) -> Self {
        let status = if status >= 500 { quoted_status(body).unwrap_or(status) } else { status };
        let said = said(body);
        let colon = if said.is_empty() { "" } else { ": " };
        Self::Refused { status, message: format!("the server answered {status}{colon}{said}") }
    }

    /// Where the cause lies.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Refused { status: 401 | 403, .. } => Category::Permission,
            Self::Refused { status: 404, .. } => Category::NotFound,
            Self::Refused { status: 409, .. } => Category::Conflict,
            Self::Refused { status: 422, .. } => Category::Configuration,
            Self::Refused { status, .. } if *status >= 500 => Category::Network,
            Self::Refused { .. } | Self::Unexpected(_) | Self::NotReady { is_late: false, .. } => Category::Resource,
            Self::TimedOut(_) | Self::NotReady { is_late: true, .. } => Category::Timeout,
            Self::Unreachable(_) => Category::Network,
        }
    }

    /// Whether the object does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.category() == Category::NotFound
    }

    /// Whether an object of this name exists already.
    #[must_use]
    pub fn is_existing(&self) -> bool {
        self.is_conflict_of(&["AlreadyExists", "already exists"])
    }

    /// Whether somebody changed the object at the same time, so that the same request may succeed.
    #[must_use]
    pub fn is_modified(&self) -> bool {
        !self.is_existing() && self.is_conflict_of(&["Conflict", "has been modified"])
    }

    /// Whether the next look may see something else: nothing is known of the object.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused { status, .. } => *status >= 500 || *status == 429,
            Self::TimedOut(_) | Self::Unreachable(_) => true,
            Self::Unexpected(_) | Self::NotReady { .. } => false,
        }
    }

    fn is_conflict_of(&self, words: &[&str]) -> bool {
        match self {
            Self::Refused { status: 409, message } => words.iter().any(|word| message.contains(word)),
            Self::Refused { .. }
            | Self::TimedOut(_)
            | Self::Unreachable(_)
            | Self::Unexpected(_)
            | Self::NotReady { .. } => false,
        }
    }

    /// The failure as an error of the protocol, about an object.
    #[must_use]
    pub fn of(&self, operation: &'static str, kind: &str, name: &str) -> DeployError {
        let error = DeployError::new(self.category(), operation, self.to_string()).of(kind, name);
        match self.category() {
            Category::Permission => error.hint("check what the token may do in the workspace"),
            Category::NotFound => error.hint("check the workspace, and the names that the object refers to"),
            Category::Conflict => error.hint("it exists already or was changed meanwhile: run the command again"),
            Category::Configuration => error.hint("check the values of the deploy config and of the pack"),
            Category::Network => error.hint("check api_endpoint and the connection, and run the command again"),
            Category::Timeout => error.hint("it may still become ready: look at its status, or run the command again"),
            Category::Resource => error,
        }
    }
}

/// The status that a gateway quotes in its own 5xx: `HTTP-Code: 422` or `"code": 422`, if it is a client's mistake.
fn quoted_status(body: &str) -> Option<u16> {
    let after = |mark: &str| body.match_indices(mark).map(|(at, mark)| &body[at + mark.len()..]).collect::<Vec<_>>();
    let number = |text: &str| {
        let digits: String =
            text.trim_start_matches([' ', ':', '\t']).chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|status| (400..500).contains(status))
    };
    ["HTTP-Code:", "\"code\":"].into_iter().flat_map(after).find_map(number)
}

/// What the body says: its message, or its beginning. The reason comes first, where there is one.
fn said(body: &str) -> String {
    let text = match serde_json::from_str::<Value>(body) {
        Ok(value) => {
            let field = |key: &str| value.get(key)?.as_str().map(str::to_owned);
            let parts: Vec<_> =
                [field("reason"), field("message").or_else(|| field("error"))].into_iter().flatten().collect();
            if parts.is_empty() { body.to_owned() } else { parts.join(": ") }
        }
        Err(_) => body.to_owned(),
    };
    text.trim().chars().take(QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn category_follows_the_status() {
        let cases = [
            ("no token", 401, "", Category::Permission),
            ("forbidden", 403, "", Category::Permission),
            ("missing", 404, "", Category::NotFound),
            ("conflict", 409, "", Category::Conflict),
            ("invalid", 422, "", Category::Configuration),
            ("a server's mistake", 500, "validation failed", Category::Network),
            ("unavailable", 503, "", Category::Network),
            ("a quoted status", 500, r#"{"code": 422}"#, Category::Configuration),
            ("a quoted status in a text", 502, "upstream said HTTP-Code: 403 here", Category::Permission),
            ("a quoted status of a server", 500, r#"{"code":503}"#, Category::Network),
            ("a quoted status after another", 500, r#"{"code":"x","inner":{"code":404}}"#, Category::NotFound),
            ("a client's mistake that quotes", 400, r#"{"code":422}"#, Category::Resource),
            ("something else", 418, "unauthorized", Category::Resource),
        ];
        for (name, status, body, expected) in cases {
            assert_eq!(Failure::refused(status, body).category(), expected, "{name}");
        }
        let others = [
            (Failure::TimedOut(Duration::from_secs(30)), Category::Timeout),
            (Failure::Unreachable("validation".to_owned()), Category::Network),
            (Failure::Unexpected("timeout".to_owned()), Category::Resource),
            (Failure::NotReady { is_late: true, message: String::new() }, Category::Timeout),
            (Failure::NotReady { is_late: false, message: String::new() }, Category::Resource),
        ];
        for (failure, expected) in others {
            assert_eq!(failure.category(), expected, "{failure:?}");
        }
    }

    #[test]
    fn conflicts_are_told_apart() {
        let cases = [
            (409, r#"{"reason":"AlreadyExists","message":"x"}"#, true, false),
            (409, "promptpacks \"p\" already exists: Conflict", true, false),
            (409, r#"{"reason":"Conflict"}"#, false, true),
            (409, "the object has been modified", false, true),
            (409, "claimed", false, false),
            (500, "already exists, has been modified", false, false),
        ];
        for (status, body, exists, modified) in cases {
            let failure = Failure::refused(status, body);
            assert_eq!((failure.is_existing(), failure.is_modified()), (exists, modified), "{body}");
        }
    }

    #[test]
    fn text_says_each_thing_once() {
        let failure = Failure::refused(403, r#"{"message": "no right"}"#);
        assert_eq!(
            failure.of("Creating", "prompt_pack", "p").to_string(),
            "Creating prompt_pack \"p\" failed: the server answered 403: no right [hint: check what the token may do in the workspace]"
        );
        assert_eq!(Failure::refused(500, " ").to_string(), "the server answered 500");
        assert_eq!(Failure::refused(500, &"é".repeat(1000)).to_string().chars().count(), 25 + QUOTED);
    }
}
