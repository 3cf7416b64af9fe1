//! A value that is used but never shown.
//!
//! In: a token, a password, a key. Out: the same value, to whoever asks for it by name. Printing,
//! debugging and serialising give a marker instead. It does not wipe memory.

use std::fmt;

use serde::{Serialize, Serializer};

/// What stands where a secret would be printed.
pub const REDACTED: &str = "**REDACTED**";

/// Holds a value that no log line, error or dump can show.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Gives the value away: every call of this is a place to review.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_itself_only_to_those_who_ask() {
        let secret = Secret::new("hunter2".to_owned());
        let shown = [format!("{secret}"), format!("{secret:?}"), format!("{:?}", Some(&secret))];
        for text in shown {
            assert!(text.contains(REDACTED) && !text.contains("hunter2"), "{text}");
        }
        assert_eq!(serde_json::json!({ "token": secret }).to_string(), r#"{"token":"**REDACTED**"}"#);
        assert_eq!(secret.expose(), "hunter2");
    }
}
