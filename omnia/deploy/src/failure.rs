//! Why a request to a workspace failed, and what kind of failure it is.
//!
//! In: a status with its body, or why there was no answer. Out: a [`Failure`]. Fails never.

use std::time::Duration;

use lifecycle_objects::write::{WriteError, WriteErrorKind};
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

    /// The failure as that of a `call`, such as `create PromptPack team/p`.
    #[must_use]
    pub fn write_error(&self, call: String) -> WriteError {
        let (kind, status) = match self {
            Self::Refused { .. } if self.is_existing() => (WriteErrorKind::AlreadyExists, Some(409)),
            Self::Refused { status, .. } => (kind_of(*status), Some(*status)),
            Self::TimedOut(_) => (WriteErrorKind::DeadlineExceeded, None),
            Self::Unreachable(_) => (WriteErrorKind::Unreachable, None),
            Self::Unexpected(_) => (WriteErrorKind::Denied, None),
        };
        WriteError { kind, call, status, message: self.to_string() }
    }

    /// Whether the object does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
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

    fn is_conflict_of(&self, words: &[&str]) -> bool {
        match self {
            Self::Refused { status: 409, message } => words.iter().any(|word| message.contains(word)),
            Self::Refused { .. } | Self::TimedOut(_) | Self::Unreachable(_) | Self::Unexpected(_) => false,
        }
    }
}

fn kind_of(status: u16) -> WriteErrorKind {
    match status {
        401 | 403 => WriteErrorKind::Forbidden,
        404 => WriteErrorKind::NotFound,
        409 => WriteErrorKind::Conflict,
        422 => WriteErrorKind::Invalid,
        429 => WriteErrorKind::TooManyRequests,
        status if status >= 500 => WriteErrorKind::Unavailable,
        _ => WriteErrorKind::Denied,
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
    use promptkit_deploy::error::{Category, DeployError};

    use super::*;
    use crate::errors::deploy_error;

    fn told(failure: &Failure) -> DeployError {
        deploy_error("Creating", &failure.write_error("create".to_owned())).of("prompt_pack", "p")
    }

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
            assert_eq!(told(&Failure::refused(status, body)).category, expected, "{name}");
        }
        let others = [
            (Failure::TimedOut(Duration::from_secs(30)), Category::Timeout),
            (Failure::Unreachable("validation".to_owned()), Category::Network),
            (Failure::Unexpected("timeout".to_owned()), Category::Resource),
        ];
        for (failure, expected) in others {
            assert_eq!(told(&failure).category, expected, "{failure:?}");
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
            told(&failure).to_string(),
            "Creating prompt_pack \"p\" failed: the server answered 403: no right [hint: check what the token may do in the workspace]"
        );
        assert_eq!(Failure::refused(500, " ").to_string(), "the server answered 500");
        assert_eq!(Failure::refused(500, &"é".repeat(1000)).to_string().chars().count(), 25 + QUOTED);
    }
}
