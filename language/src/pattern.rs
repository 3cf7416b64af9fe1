//! Regular expressions in a configuration.
//!
//! In: a pattern, in the syntax of the crate `regex`. Out: a [`Pattern`] that says whether a text matches. Fails for what
//! this crate and Go both accept and read differently, so that no pattern of the Go adapter gets another meaning.
//! `\d`, `\s`, `\w` and `\b` are ASCII, as in Go.

use regex_automata::meta::{self, Regex};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{self, AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSetBinaryOp, ClassSetItem, Span};

/// The limit of a pattern's size, in states of its automaton. A character class with a count of 1000 fits
/// several times over.
pub const MAX_SIZE: usize = 50_000;
/// The memory of an automaton that is not too large, in bytes.
const MAX_BYTES: usize = MAX_SIZE * 64;

/// A compiled regular expression.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    size: usize,
}

/// Why a pattern was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A part of the pattern is no syntax, or means something else in Go.
    #[error("`{part}` in the pattern: {reason}")]
    Syntax {
        /// The text of the part.
        part: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The compiled pattern would be too large.
    #[error("the pattern is too large once its counted repetitions are written out; use smaller counts")]
    TooLarge,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The pattern is no regular expression, means something else in Go, or is too large.
    pub fn parse(pattern: &str) -> Result<Self, PatternError> {
        // Almost every character becomes a state, so a longer text is too large: reject it before parsing it.
        if pattern.len() > MAX_SIZE {
            return Err(PatternError::TooLarge);
        }
        let parsed = Parser::new().parse(pattern);
        let parsed = parsed.map_err(|error| fault(pattern, error.span(), error.kind().to_string()))?;
        let text = ast::visit(&parsed, InAscii { pattern, text: String::new(), end: 0 })?;
        let meaning = regex_syntax::parse(&text).map_err(|error| {
            let reason = error.to_string().rsplit("error: ").next().unwrap_or_default().to_owned();
            PatternError::Syntax { part: pattern.to_owned(), reason }
        })?;
        let config = Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(MAX_BYTES));
        let automaton = Compiler::new().configure(config).build_from_hir(&meaning);
        let size = automaton.map_err(|_| PatternError::TooLarge)?.states().len();
        if size > MAX_SIZE {
            return Err(PatternError::TooLarge);
        }
        let config = meta::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(MAX_BYTES));
        let regex = meta::Builder::new().configure(config).build_from_hir(&meaning);
        Ok(Self { regex: regex.map_err(|_| PatternError::TooLarge)?, size })
    }

    /// Whether the pattern matches somewhere in the text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The number of states. A match takes at most one step per state and byte of the text.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

fn fault(pattern: &str, span: &Span, reason: impl Into<String>) -> PatternError {
    let part = pattern.get(span.start.offset..span.end.offset).filter(|part| !part.is_empty()).unwrap_or(pattern);
    PatternError::Syntax { part: part.to_owned(), reason: reason.into() }
}

/// Writes a pattern anew, with the classes and boundaries that Go takes to be ASCII.
struct InAscii<'p> {
    pattern: &'p str,
    text: String,
    /// How far the pattern is written.
    end: usize,
}

impl InAscii<'_> {
    fn replace(&mut self, span: &Span, by: &str) {
        self.text.push_str(&self.pattern[self.end..span.start.offset]);
        self.text.push_str(by);
        self.end = span.end.offset;
    }

    fn class(&mut self, class: &ClassPerl) {
        let ascii = match (&class.kind, class.negated) {
            (ClassPerlKind::Digit, false) => "[0-9]",
            (ClassPerlKind::Digit, true) => "[^0-9]",
            (ClassPerlKind::Space, false) => r"[\t\n\x0C\r\x20]",
            (ClassPerlKind::Space, true) => r"[^\t\n\x0C\r\x20]",
            (ClassPerlKind::Word, false) => "[0-9A-Za-z_]",
            (ClassPerlKind::Word, true) => "[^0-9A-Za-z_]",
        };
        self.replace(&class.span, ascii);
    }

    fn refuse(&self, span: &Span, reason: &str) -> Result<(), PatternError> {
        Err(fault(self.pattern, span, format!("means something else in Go; {reason}")))
    }
}

impl ast::Visitor for InAscii<'_> {
    type Output = String;
    type Err = PatternError;

    fn finish(mut self) -> Result<String, PatternError> {
        self.text.push_str(&self.pattern[self.end..]);
        Ok(self.text)
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), PatternError> {
        match part {
            Ast::ClassPerl(class) => self.class(class),
            Ast::Assertion(it) => match it.kind {
                AssertionKind::WordBoundary => self.replace(&it.span, r"(?-u:\b)"),
                AssertionKind::NotWordBoundary => self.replace(&it.span, r"(?-u:\B)"),
                AssertionKind::StartLine
                | AssertionKind::EndLine
                | AssertionKind::StartText
                | AssertionKind::EndText => {}
                AssertionKind::WordBoundaryStart
                | AssertionKind::WordBoundaryEnd
                | AssertionKind::WordBoundaryStartAngle
                | AssertionKind::WordBoundaryEndAngle
                | AssertionKind::WordBoundaryStartHalf
                | AssertionKind::WordBoundaryEndHalf => {
                    return self.refuse(&it.span, r"write `\b`, or the character without a backslash");
                }
            },
            Ast::Repetition(repetition) => {
                let span = &repetition.op.span;
                let count = &self.pattern[span.start.offset..span.end.offset];
                if count.contains(char::is_whitespace) {
                    return self.refuse(span, "write the count without spaces");
                }
            }
            Ast::Empty(_)
            | Ast::Flags(_)
            | Ast::Literal(_)
            | Ast::Dot(_)
            | Ast::ClassUnicode(_)
            | Ast::ClassBracketed(_)
            | Ast::Group(_)
            | Ast::Alternation(_)
            | Ast::Concat(_) => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), PatternError> {
        match item {
            ClassSetItem::Perl(class) => self.class(class),
            ClassSetItem::Bracketed(class) => return self.refuse(&class.span, r"write `\[` for a bracket in a class"),
            ClassSetItem::Empty(_)
            | ClassSetItem::Literal(_)
            | ClassSetItem::Range(_)
            | ClassSetItem::Ascii(_)
            | ClassSetItem::Unicode(_)
            | ClassSetItem::Union(_) => {}
        }
        Ok(())
    }

    fn visit_class_set_binary_op_pre(&mut self, operation: &ClassSetBinaryOp) -> Result<(), PatternError> {
        self.refuse(&operation.span, "write one of the two characters")
    }
}

#[cfg(test)]
mod tests;
