//! A YAML document that knows where each of its values stands.
//!
//! In: the text of one file. Out: a tree of [`Node`]s with line and column, or the [`Diagnostic`]s that make
//! it unreadable. Text is read as the Go adapter's YAML libraries read it (see [`plain`]): which plain
//! scalars are numbers, which octal notations count, that `yes` is text in a file and true in a manifest. Only
//! the first document of a file is read.
//!
//! Hostile input ends in an error: size, depth and the number of nodes after the expansion of aliases
//! are bounded. What the values mean is none of this module's business: see [`crate::decode`].

pub mod path;
pub mod plain;
pub mod scalar;

mod parse;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use self::path::{Path, Segment};
pub use self::plain::Dialect;
pub use self::scalar::{Scalar, Style};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity, Snippet};

/// What to write where YAML takes a part of a text for its own signs.
pub const QUOTES: &str = "put it in quotes, as in `expression: \"…\"`, or write it below `expression: |`";

/// A place in a file; both numbers count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// A value and where it begins.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where the value begins; for a value that came through an alias, where it was defined.
    pub position: Position,
    /// The value.
    pub content: Content,
}

/// What a [`Node`] holds.
#[derive(Debug, Clone)]
pub enum Content {
    /// A scalar, with its text as written.
    Scalar(Scalar),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file; keys are unique.
    Map(Vec<Entry>),
}

/// One key of a mapping, with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key's text.
    pub key: String,
    /// The key as it was written: without quotes its text may stand for a number, which is written differently.
    pub key_scalar: Scalar,
    /// Where the key begins.
    pub key_position: Position,
    /// The value.
    pub value: Node,
}

/// A file's text, kept to quote from it.
#[derive(Debug)]
struct Source {
    file: String,
    text: String,
    quotable: bool,
}

/// One parsed file.
#[derive(Debug, Clone)]
pub struct Document {
    source: Arc<Source>,
    root: Node,
    notes: Diagnostics,
}

impl Document {
    /// Parses the first document of `text`; `file` is the name that diagnostics are reported under.
    ///
    /// # Errors
    /// The text is not YAML, is empty, repeats a key, or exceeds a limit.
    pub fn parse(file: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::parse_as(file, text, true)
    }

    /// Parses a file that may hold secrets: its diagnostics never quote it.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_secret(file: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::parse_as(file, text, false)
    }

    fn parse_as(file: &str, text: &str, quotable: bool) -> Result<Self, Diagnostics> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Arc::new(Source { file: file.to_owned(), text: text.to_owned(), quotable });
        let mut notes = Diagnostics::default();
        let parsed = parse::parse(text, &mut |severity, position, message, help| {
            let diagnostic = || source.diagnostic(severity, &Path::root(), position, message, help);
            notes.push_with(severity, diagnostic);
        });
        match parsed {
            Some(root) if !notes.has_errors() => Ok(Self { source, root, notes }),
            Some(_) | None => Err(notes),
        }
    }

    /// The same document with its keys in lower case. Of keys that become the same, the last one stays.
    #[must_use]
    pub fn with_lower_case_keys(mut self) -> Self {
        self.root.lower_case_keys();
        self
    }

    /// The name of the file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.source.file
    }

    /// The document's value.
    #[must_use]
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// What is worth a warning about the text itself.
    #[must_use]
    pub fn notes(&self) -> &Diagnostics {
        &self.notes
    }

    /// The node at `path`, if there is one.
    #[must_use]
    pub fn node(&self, path: &Path) -> Option<&Node> {
        let mut node = &self.root;
        for segment in path.segments() {
            node = step(node, segment)?.0;
        }
        Some(node)
    }

    /// Where `path` stands: a scalar's own place, a collection's key, or the nearest parent that exists.
    #[must_use]
    pub fn locate(&self, path: &Path) -> Position {
        let mut node = &self.root;
        let mut position = node.position;
        for segment in path.segments() {
            let Some((next, key)) = step(node, segment) else { break };
            node = next;
            position = match (&node.content, key) {
                (Content::List(_) | Content::Map(_), Some(key)) => key,
                (Content::Scalar(_) | Content::List(_) | Content::Map(_), _) => node.position,
            };
        }
        position
    }

    /// Where the 1-based `line` and `column` of the text at `path` stand in the file.
    ///
    /// Exact for one-line scalars and literal blocks; the scalar's beginning where folding or escapes
    /// moved the text.
    #[must_use]
    pub fn locate_within(&self, path: &Path, line: usize, column: usize) -> Position {
        let start = self.locate(path);
        let Some(Node { content: Content::Scalar(scalar), .. }) = self.node(path) else { return start };
        let one_line = !scalar.text.trim().contains('\n');
        match scalar.style {
            Style::Plain if one_line && line == 1 => Position { column: start.column + column - 1, ..start },
            Style::Quoted if one_line && line == 1 && !scalar.text.contains(['\'', '"', '\\']) => {
                Position { column: start.column + column, ..start }
            }
            // The parser says where the first line of a block begins, which is as deep as the others are indented.
            Style::Literal => Position { line: start.line + line - 1, column: start.column + column - 1 },
            Style::Plain | Style::Quoted | Style::Folded => start,
        }
    }

    /// What stands in a line, from a place on; nothing of a file that may hold secrets.
    #[must_use]
    pub fn rest_of_line(&self, position: Position) -> Option<&str> {
        let line = self.source.line(position.line).filter(|_| self.source.quotable)?;
        let (start, _) = line.char_indices().nth(position.column.checked_sub(1)?)?;
        line.get(start..)
    }

    /// A diagnostic at `path`.
    #[must_use]
    pub fn diagnostic(&self, severity: Severity, path: &Path, message: String, help: Option<String>) -> Diagnostic {
        self.diagnostic_at(severity, path, self.locate(path), message, help)
    }

    /// A diagnostic at `path` that stands at a place of its own, such as a key or a line within a text.
    #[must_use]
    pub fn diagnostic_at(
        &self,
        severity: Severity,
        path: &Path,
        position: Position,
        message: String,
        help: Option<String>,
    ) -> Diagnostic {
        self.source.diagnostic(severity, path, position, message, help)
    }
}

impl Source {
    fn line(&self, line: usize) -> Option<&str> {
        self.text.lines().nth(line.checked_sub(1)?)
    }

    fn diagnostic(
        &self,
        severity: Severity,
        path: &Path,
        position: Position,
        message: String,
        help: Option<String>,
    ) -> Diagnostic {
        let line = self.line(position.line).filter(|_| self.quotable);
        let snippet = line.map(|line| Snippet::of(line, position.column));
        Diagnostic {
            severity,
            file: self.file.clone(),
            path: path.to_string(),
            line: Some(position.line),
            column: Some(position.column),
            message,
            help,
            snippet,
        }
    }
}

fn step<'n>(node: &'n Node, segment: &Segment) -> Option<(&'n Node, Option<Position>)> {
    match (&node.content, segment) {
        (Content::Map(entries), Segment::Key(key)) => {
            entries.iter().find(|entry| entry.key == *key).map(|entry| (&entry.value, Some(entry.key_position)))
        }
        (Content::List(items), Segment::Index(index)) => items.get(*index).map(|item| (item, None)),
        (Content::Scalar(_) | Content::List(_) | Content::Map(_), Segment::Key(_) | Segment::Index(_)) => None,
    }
}

impl Node {
    fn lower_case_keys(&mut self) {
        match &mut self.content {
            Content::Scalar(_) => {}
            Content::List(items) => items.iter_mut().for_each(Self::lower_case_keys),
            Content::Map(entries) => {
                let mut unique: Vec<Entry> = Vec::with_capacity(entries.len());
                for mut entry in std::mem::take(entries) {
                    entry.key = entry.key.to_lowercase();
                    entry.key_scalar.text.clone_from(&entry.key);
                    entry.value.lower_case_keys();
                    unique.retain(|earlier| earlier.key != entry.key);
                    unique.push(entry);
                }
                *entries = unique;
            }
        }
    }

    /// The value of a configuration file as JSON. A key that is no text is written as Go writes it: `0x10` is `16`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(scalar) => scalar.to_value(),
            Content::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Content::Map(entries) => {
                let key = |entry: &Entry| entry.key_scalar.to_key(Dialect::File).unwrap_or_else(|_| entry.key.clone());
                Value::Object(entries.iter().map(|entry| (key(entry), entry.value.to_value())).collect::<Map<_, _>>())
            }
        }
    }

    /// The value of a manifest as JSON, by the rules of Kubernetes' own YAML library.
    ///
    /// # Errors
    /// A scalar has no counterpart in JSON; the words name its line and never quote it.
    pub fn to_manifest(&self) -> Result<Value, String> {
        let refused = |position: Position, what: &str| format!("line {}: {what}", position.line);
        Ok(match &self.content {
            Content::Scalar(scalar) => scalar
                .to_manifest()
                .map_err(|_| refused(self.position, "the value is not a number that JSON can hold"))?,
            Content::List(items) => Value::Array(items.iter().map(Self::to_manifest).collect::<Result<_, _>>()?),
            Content::Map(entries) => {
                let mut map = Map::new();
                for entry in entries {
                    let key = entry.key_scalar.to_key(Dialect::Manifest).map_err(|_| {
                        refused(entry.key_position, "the key is null, or a number that JSON cannot hold")
                    })?;
                    map.insert(key, entry.value.to_manifest()?);
                }
                Value::Object(map)
            }
        })
    }

    /// The value of a key, if this is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            Content::List(_) | Content::Scalar(_) => None,
        }
    }

    /// Whether the value is text without a character.
    #[must_use]
    pub fn is_empty_text(&self) -> bool {
        match &self.content {
            Content::Scalar(scalar) => scalar.text.is_empty(),
            Content::List(_) | Content::Map(_) => false,
        }
    }

    /// Whether the value is null, in any of YAML's spellings.
    #[must_use]
    pub fn is_null(&self) -> bool {
        match &self.content {
            Content::Scalar(scalar) => scalar.to_value().is_null(),
            Content::List(_) | Content::Map(_) => false,
        }
    }

    /// What it is, for messages: `a mapping`, `text`, `a number`.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match &self.content {
            Content::Scalar(scalar) => match scalar.to_value() {
                Value::Null => "null",
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                Value::String(_) | Value::Array(_) | Value::Object(_) => "text",
            },
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }
}

#[cfg(test)]
mod tests;
