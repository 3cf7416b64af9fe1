//! Regular expressions in the syntax of RE2 (that of Go), which every pattern in a configuration has.
//!
//! In: a pattern. Out: a [`Pattern`] that says whether a text matches. Fails for what RE2 rejects: references
//! to groups, look-around, and counted repetitions above 1000. Works by translating the pattern to the syntax
//! of the `regex` crate, which differs: there `\w`, `\d`, `\s` and `\b` cover all of Unicode, `\Q…\E` and a
//! literal `{` are errors, and `\<` is the start of a word.

mod class;
mod translate;

use regex::Regex;

/// The limit of a pattern's size, in states of its automaton. A character class with a count of 1000 fits
/// several times over.
pub const MAX_SIZE: usize = 50_000;

/// A compiled regular expression in RE2's syntax.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    size: usize,
}

/// Why a pattern was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A part of the pattern is not RE2 syntax.
    #[error("`{part}` in the pattern: {reason}")]
    Syntax {
        /// The text of the part that is not RE2 syntax.
        part: String,
        /// Why that part is not RE2 syntax.
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
    /// The pattern is not RE2 syntax, or too large.
    pub fn parse(pattern: &str) -> Result<Self, PatternError> {
        // Almost every character becomes a state, so a longer text is too large: reject it before parsing it.
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

    /// Returns the approximate number of states. A match takes at most one step per state and byte of the
    /// text.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests;
