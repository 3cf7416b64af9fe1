//! Parses YAML into a tree whose values keep their line and column.
//!
//! In: the text of one file, of which the first document is read. Out: a tree of [`Node`]s. Fails: with
//! [`Diagnostic`]s. The types of scalars follow the Go adapter's YAML libraries, see [`plain`]: which
//! unquoted texts are numbers, which octal notations are accepted, and that `yes` is text in a configuration
//! file and true in a manifest.
//!
//! Size, depth, and the number of nodes after the expansion of aliases are limited, so that hostile input
//! fails instead of exhausting memory. [`crate::decode`] checks keys and types.

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

/// The help for text that YAML misreads because it lacks quotes.
pub const QUOTES: &str = "put it in quotes, as in `expression: \"…\"`, or write it below `expression: |`";

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The number of the line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
}

/// A value with its position in the file.
#[derive(Debug, Clone)]
pub struct Node {
    /// The first character of the value; for the value of an alias, the position of the anchored value.
    pub position: Position,
    /// The value itself: a scalar, a sequence or a mapping.
    pub content: Content,
}

/// The content of a [`Node`].
#[derive(Debug, Clone)]
pub enum Content {
    /// A scalar: its text, before its type is resolved.
    Scalar(Scalar),
    /// A sequence: its values, in the order of the file.
    List(Vec<Node>),
    /// A mapping, in the order of the file. Keys are unique.
    Map(Vec<Entry>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The text of the key.
    pub key: String,
    /// The key as a scalar: an unquoted key may be a number, which Go writes in another notation.
    pub key_scalar: Scalar,
    /// The first character of the key.
    pub key_position: Position,
    /// The value of the key.
    pub value: Node,
}

/// A file's text, from which diagnostics quote lines.
#[derive(Debug)]
struct Source {
    file: String,
    text: String,
    quotable: bool,
}

/// A YAML file, parsed into a tree of values with their positions.
#[derive(Debug, Clone)]
pub struct Document {
    source: Arc<Source>,
    root: Node,
    notes: Diagnostics,
}

impl Document {
    /// Parses the first document of `text`; diagnostics name `file`.
    ///
    /// # Errors
    /// The text is not YAML, is empty, repeats a key, or exceeds a limit.
    pub fn parse(file: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::parse_as(file, text, true)
    }

    /// Parses a file that may hold secrets: its diagnostics quote no line.
    ///
    /// # Errors
    /// The same as [`parse`](Self::parse).
    pub fn parse_secret(file: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::parse_as(file, text, false)
    }

    /// Parses every document of a file that may hold secrets, and returns their roots: none for a blank file, and null for
    /// a document without content. Diagnostics quote no line.
    ///
    /// # Errors
    /// One of the documents is not YAML, repeats a key, or exceeds a limit. The limits hold for the whole file.
    pub fn parse_all_secret(file: &str, text: &str) -> Result<Vec<Node>, Diagnostics> {
        let source = Source::new(file, text, false);
        let mut notes = Diagnostics::default();
        let parsed = parse::parse_all(&source.text, &mut |severity, position, message, help| {
            let diagnostic = || source.diagnostic(severity, &Path::root(), position, message, help);
            notes.push_with(severity, diagnostic);
        });
        match parsed {
            Some(roots) if !notes.has_errors() => Ok(roots),
            Some(_) | None => Err(notes),
        }
    }

    fn parse_as(file: &str, text: &str, quotable: bool) -> Result<Self, Diagnostics> {
        let source = Arc::new(Source::new(file, text, quotable));
        let mut notes = Diagnostics::default();
        let parsed = parse::parse(&source.text, &mut |severity, position, message, help| {
            let diagnostic = || source.diagnostic(severity, &Path::root(), position, message, help);
            notes.push_with(severity, diagnostic);
        });
        match parsed {
            Some(root) if !notes.has_errors() => Ok(Self { source, root, notes }),
            Some(_) | None => Err(notes),
        }
    }

    /// Returns the document with its keys in lower case. If two keys become equal, the last one is kept.
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

    /// Returns the value at the root of the document.
    #[must_use]
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Warnings about the text itself, such as a second document.
    #[must_use]
    pub fn notes(&self) -> &Diagnostics {
        &self.notes
    }

    /// Whether other documents follow in the text.
    #[must_use]
    pub fn has_other_documents(&self) -> bool {
        self.notes.all().iter().any(|note| note.message == parse::OTHER_DOCUMENTS)
    }

    /// Returns the node at `path`.
    #[must_use]
    pub fn node(&self, path: &Path) -> Option<&Node> {
        let mut node = &self.root;
        for segment in path.segments() {
            node = step(node, segment)?.0;
        }
        Some(node)
    }

    /// The position that a diagnostic about `path` names: of a scalar itself, of a collection's key, or of
    /// the nearest parent that exists.
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

    /// The position in the file of a line and a column (both from 1) within the text at `path`.
    ///
    /// Exact for one-line scalars and literal blocks. For folded blocks and text with escapes, it is the
    /// start of the scalar.
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
            // A literal block's position is its first line, indented as deeply as all its lines.
            Style::Literal => Position { line: start.line + line - 1, column: start.column + column - 1 },
            Style::Plain | Style::Quoted | Style::Folded => start,
        }
    }

    /// The text of a line from `position` to its end; `None` if the file may hold secrets.
    #[must_use]
    pub fn rest_of_line(&self, position: Position) -> Option<&str> {
        let line = self.source.line(position.line).filter(|_| self.source.quotable)?;
        let (start, _) = line.char_indices().nth(position.column.checked_sub(1)?)?;
        line.get(start..)
    }

    /// Builds a diagnostic about the value at `path`.
    #[must_use]
    pub fn diagnostic(&self, severity: Severity, path: &Path, message: String, help: Option<String>) -> Diagnostic {
        self.diagnostic_at(severity, path, self.locate(path), message, help)
    }

    /// Builds a diagnostic about `path` with an explicit position, such as a key's or a line's within a text.
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
    fn new(file: &str, text: &str, quotable: bool) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { file: file.to_owned(), text: text.to_owned(), quotable }
    }

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
            mistake: None,
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

    /// Converts the node to JSON by the rules of configuration files. A key that is not text is written as Go
    /// prints it: `0x10` becomes `16`.
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

    /// Converts the node to JSON by the rules of Kubernetes' YAML library, as a manifest.
    ///
    /// # Errors
    /// JSON cannot represent a scalar. The message names its line, and does not quote it.
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

    /// Returns the value of a key; `None` if the node is not a mapping, or lacks the key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            Content::List(_) | Content::Scalar(_) => None,
        }
    }

    /// Whether the value is an empty text.
    #[must_use]
    pub fn is_empty_text(&self) -> bool {
        match &self.content {
            Content::Scalar(scalar) => scalar.text.is_empty(),
            Content::List(_) | Content::Map(_) => false,
        }
    }

    /// Whether the value is null, in any of YAML's notations.
    #[must_use]
    pub fn is_null(&self) -> bool {
        match &self.content {
            Content::Scalar(scalar) => scalar.to_value().is_null(),
            Content::List(_) | Content::Map(_) => false,
        }
    }

    /// The type of the value for messages: `a mapping`, `text`, `a number`.
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
