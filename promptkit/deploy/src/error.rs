//! An error that names the operation, the resource, the category and the cure.
//!
//! The client shows only the text of an error, so the text has everything; programs read the error's data.

use std::error::Error;
use std::fmt;

use lifecycle_errors::Chain;
use serde::Serialize;

/// Where the cause of an error lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A right is missing.
    Permission,
    /// What was asked for does not exist.
    NotFound,
    /// Something else has the name, or changed the resource meanwhile.
    Conflict,
    /// A file is wrong.
    Configuration,
    /// The other side did not answer, or not as it should.
    Network,
    /// It took too long, or was interrupted.
    Timeout,
    /// The resource itself, and everything else.
    Resource,
}

/// A failed deployment, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployError {
    /// Where the cause lies.
    pub category: Category,
    /// What was tried, such as `create`.
    pub operation: &'static str,
    /// Type and name of the resource, or `None` where the error is about the whole.
    pub resource: Option<Box<(String, String)>>,
    /// What is wrong.
    pub message: String,
    /// What the user can do about it.
    pub remediation: String,
    /// What the other side said.
    pub cause: String,
}

impl DeployError {
    /// Describes an error that is about the whole deployment.
    #[must_use]
    pub fn new(category: Category, operation: &'static str, message: impl Into<String>) -> Self {
        let (remediation, cause) = (String::new(), String::new());
        Self { category, operation, resource: None, message: message.into(), remediation, cause }
    }

    /// Names the resource.
    #[must_use]
    pub fn of(mut self, kind: &str, name: &str) -> Self {
        self.resource = Some(Box::new((kind.to_owned(), name.to_owned())));
        self
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, remediation: impl Into<String>) -> Self {
        self.remediation = remediation.into();
        self
    }

    /// Adds the cause, with its own causes.
    #[must_use]
    pub fn because(mut self, cause: &(dyn Error + 'static)) -> Self {
        self.cause = Chain(cause).to_string();
        self
    }

    /// What a provider returns when the token told it to stop before it was done.
    #[must_use]
    pub fn interrupted(operation: &'static str) -> Self {
        Self::new(Category::Timeout, operation, "interrupted by a signal before it was done")
            .hint("run the command again: it continues from what was recorded")
    }

    pub(crate) fn entry(&self) -> Entry {
        let (kind, name) = self.resource.as_deref().cloned().unwrap_or_default();
        let message = match self.cause.as_str() {
            "" => self.message.clone(),
            cause if self.message.contains(cause) => self.message.clone(),
            cause if self.message.is_empty() => cause.to_owned(),
            cause => format!("{}: {cause}", self.message),
        };
        let (category, remediation) = (self.category, self.remediation.clone());
        Entry { category, operation: self.operation, kind, name, message, remediation }
    }
}

/// Writes `create tool "a" failed: message (cause: cause) [hint: remediation]`, without what is empty or said already.
impl fmt::Display for DeployError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resource.as_deref() {
            Some((kind, name)) => {
                write!(f, "{} {kind} \"{name}\" failed", self.operation)?;
                if !self.message.is_empty() {
                    write!(f, ": {}", self.message)?;
                }
            }
            None if self.message.is_empty() => write!(f, "{} failed", self.operation)?,
            None => f.write_str(&self.message)?,
        }
        if !self.cause.is_empty() && !self.message.contains(&self.cause) {
            write!(f, " (cause: {})", self.cause)?;
        }
        if !self.remediation.is_empty() && !self.message.contains(&self.remediation) {
            write!(f, " [hint: {}]", self.remediation)?;
        }
        Ok(())
    }
}

impl Error for DeployError {}

/// An error in the data of an answer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Entry {
    category: Category,
    operation: &'static str,
    #[serde(rename = "type")]
    kind: String,
    name: String,
    pub(crate) message: String,
    remediation: String,
}

/// Most lines of one text; a terminal shows no more of them usefully, and the data has all.
const MOST_LINES: usize = 100;

/// One text for all errors: alone, an error is its own text; several are numbered lines below a headline.
pub(crate) fn combined(headline: &str, errors: &[String]) -> String {
    let shown = errors.iter().take(MOST_LINES).enumerate();
    let mut text = shown.fold(headline.to_owned(), |text, (index, error)| format!("{text}\n{}. {error}", index + 1));
    if errors.len() > MOST_LINES {
        text.push_str(&format!("\nand {} more", errors.len() - MOST_LINES));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_every_part_once() {
        let base = || DeployError::new(Category::Permission, "create", "denied").of("tool", "a");
        let io = std::io::Error::other("403");
        let cases = [
            ("nothing but the message", base(), "create tool \"a\" failed: denied"),
            (
                "cause and hint",
                base().because(&io).hint("ask"),
                "create tool \"a\" failed: denied (cause: 403) [hint: ask]",
            ),
            (
                "a cause that the message quotes",
                DeployError::new(Category::Network, "create", "answered 403").of("tool", "a").because(&io),
                "create tool \"a\" failed: answered 403",
            ),
            (
                "no message",
                DeployError::new(Category::Resource, "delete", "").of("tool", "a"),
                "delete tool \"a\" failed",
            ),
            ("no resource", DeployError::new(Category::Resource, "deploy", "no account"), "no account"),
            ("nothing", DeployError::new(Category::Resource, "deploy", ""), "deploy failed"),
        ];
        for (name, error, expected) in cases {
            assert_eq!(error.to_string(), expected, "{name}");
        }
    }

    #[test]
    fn combined_text_is_bounded() {
        let errors: Vec<_> = (0..250).map(|index| format!("e{index}")).collect();
        let text = combined("Failed:", &errors);
        assert!(text.starts_with("Failed:\n1. e0\n2. e1\n"), "{text}");
        assert!(text.ends_with("\n100. e99\nand 150 more"), "{text}");
    }
}
