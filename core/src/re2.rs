//! Regular expressions in RE2's syntax, which is the syntax of every pattern in a configuration.
//!
//! In goes a pattern, out comes a [`Pattern`] that says whether a text has a match. The pattern is translated to the
//! notation of the `regex` crate, which is close to RE2 but not the same: there `\w`, `\d`, `\s` and `\b` know all of
//! Unicode, `\Q…\E` and a literal `{` are mistakes, and `\<` is the start of a word. Patterns that RE2 refuses are
//! refused: references to groups, look-around, and counted repetitions above 1000.

mod class;
mod translate;

use regex::Regex;

/// The most states of a pattern, about: a class that is counted to 1000 several times over fits.
pub const MAX_SIZE: usize = 50_000;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    size: usize,
}

/// A pattern that RE2 refuses, or that is too large.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A part is not RE2's syntax.
    #[error("`{part}` in the pattern: {reason}")]
    Syntax {
        /// The part.
        part: String,
        /// What is wrong with the part.
        reason: &'static str,
    },
    /// The compiled pattern would be too large.
    #[error("the pattern is too large once its counted repetitions are written out; use smaller counts")]
    TooLarge,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The pattern is not RE2's syntax, or too large.
    pub fn parse(pattern: &str) -> Result<Self, PatternError> {
        // Every character takes a state, bar those that group, so that a longer text is not worth the time to read.
        if pattern.len() > MAX_SIZE {
            return Err(PatternError::TooLarge);
        }
        let translation = translate::translate(pattern)?;
        let regex = Regex::new(&translation.text).map_err(|error| {
            if let regex::Error::CompiledTooBig(_) = error {
                return PatternError::TooLarge;
            }
            PatternError::Syntax { part: pattern.to_owned(), reason: "not a regular expression" }
        })?;
        Ok(Self { regex, size: translation.size })
    }

    /// Whether the pattern matches somewhere in the text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// About how many states the pattern has: a match takes at most a step for each state and byte of the text.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests;
