//! Diagnostics: mistakes in a configuration, each with its place and a cure.
//!
//! In: mistakes that the other modules find. Out: a list, printed for people ([`Display`](std::fmt::Display))
//! or for programs ([`serde::Serialize`]). A check adds each mistake to a [`Diagnostics`] and continues, so
//! that an author sees all of them at once.

use std::{fmt, io};

use serde::Serialize;

/// How a diagnostic affects loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The loader refuses the configuration.
    Error,
    /// The configuration loads, but something in it will fail, or will not do what its author probably means;
    /// `check --strict` refuses the configuration.
    Warning,
    /// The configuration loads and works as written, and could be simpler; `check --strict` accepts it.
    Note,
}

/// A mistake to which a command knows a cure of its own. Other mistakes need no name: their text says everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// A required environment variable is not set.
    UnsetVariable,
}

/// A mistake in a file, a variable or a flag, with its place and cure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Whether it is an error, a warning or a note.
    pub severity: Severity,
    /// The file, or what stands for it: `environment`, `command line`.
    pub file: String,
    /// The keys that lead to the value: `params[0].source`. Empty if the diagnostic is about the whole file.
    pub path: String,
    /// The line, from 1; none for variables and flags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column, from 1; none for variables and flags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The mistake, as a sentence for the author of the configuration.
    pub message: String,
    /// The cure: what the author can write instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The line of the file; none if the file may hold secrets.
    #[serde(skip)]
    pub snippet: Option<Snippet>,
    /// Which mistake it is, if a command may know a better cure than `help`.
    #[serde(skip)]
    pub mistake: Option<Mistake>,
}

/// A part of a line, and the column of the mistake in this part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    text: String,
    caret: usize,
}

impl Snippet {
    /// Cuts a part of at most 100 characters out of a line, around the 1-based `column`.
    #[must_use]
    pub fn of(line: &str, column: usize) -> Self {
        let start = if column > SNIPPET_WIDTH { column - SNIPPET_WIDTH / 2 } else { 0 };
        let shown = line.chars().skip(start).take(SNIPPET_WIDTH).map(|c| if c.is_control() { ' ' } else { c });
        Self { text: shown.collect::<String>().trim_end().to_owned(), caret: column.saturating_sub(start + 1) }
    }
}

/// The maximum number of characters in a snippet.
const SNIPPET_WIDTH: usize = 100;

/// The maximum number of diagnostics kept. An author with more mistakes corrects these first.
const MAX_DIAGNOSTICS: usize = 500;

impl Diagnostic {
    /// Returns the diagnostic with another severity.
    #[must_use]
    pub fn as_severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// An error about a file that cannot be read.
    #[must_use]
    pub fn unreadable(file: &str, error: &io::Error, help: Option<String>) -> Self {
        Self::outside(file, "", format!("failed to read the file: {}", why_unreadable(error)), help)
    }

    /// An error without a line: about an environment variable, a flag, or an unreadable file.
    #[must_use]
    pub fn outside(file: &str, path: &str, message: String, help: Option<String>) -> Self {
        Self {
            severity: Severity::Error,
            file: file.to_owned(),
            path: path.to_owned(),
            line: None,
            column: None,
            message,
            help,
            snippet: None,
            mistake: None,
        }
    }
}

/// Explains why a file cannot be read, without the operating system's error code in the common cases.
#[must_use]
#[expect(clippy::wildcard_enum_match_arm, reason = "the standard library adds kinds")]
pub fn why_unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}

/// The diagnostics of a check; above 500, further ones are only counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    #[serde(skip)]
    omitted: usize,
}

impl Diagnostics {
    /// Adds a diagnostic. A full list only counts it, unless it is the first error, which replaces the last
    /// entry.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() < MAX_DIAGNOSTICS {
            self.list.push(diagnostic);
        } else {
            self.omitted += 1;
            if diagnostic.severity == Severity::Error && !self.has_errors() {
                self.list[MAX_DIAGNOSTICS - 1] = diagnostic;
            }
        }
    }

    /// Adds a diagnostic, and calls `make` only if it will be kept: quoting a long line takes time.
    pub fn push_with(&mut self, severity: Severity, make: impl FnOnce() -> Diagnostic) {
        if self.list.len() < MAX_DIAGNOSTICS || (severity == Severity::Error && !self.has_errors()) {
            self.push(make());
        } else {
            self.omitted += 1;
        }
    }

    /// Adds the diagnostics of another check.
    pub fn extend(&mut self, other: Self) {
        self.omitted += other.omitted;
        for diagnostic in other.list {
            self.push(diagnostic);
        }
    }

    /// The diagnostics in the order of their addition, or of [`sort`](Self::sort).
    #[must_use]
    pub fn all(&self) -> &[Diagnostic] {
        &self.list
    }

    /// The number of diagnostics that were dropped because of the limit.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Whether there are no diagnostics.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether a diagnostic is an error, so that the configuration is refused.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// Counts the diagnostics of a severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// Turns every warning into an error, for `check --strict`. Notes stay notes: they require no change.
    #[must_use]
    pub fn strict(mut self) -> Self {
        for diagnostic in &mut self.list {
            diagnostic.severity = match diagnostic.severity {
                Severity::Error | Severity::Warning => Severity::Error,
                Severity::Note => Severity::Note,
            };
        }
        self
    }

    /// Sorts the diagnostics by file, in the order in which the files first appear, then by line and column.
    /// Keeps the order of diagnostics at the same place, and removes repetitions.
    pub fn sort(&mut self) {
        let mut files: Vec<String> = Vec::new();
        for diagnostic in &self.list {
            if !files.contains(&diagnostic.file) {
                files.push(diagnostic.file.clone());
            }
        }
        self.list.sort_by_key(|diagnostic| {
            (files.iter().position(|file| *file == diagnostic.file), diagnostic.line, diagnostic.column)
        });
        self.list.dedup();
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        write!(f, ": {severity}: ")?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.message)?;
        if let (Some(line), Some(Snippet { text, caret })) = (self.line, &self.snippet) {
            let gutter = " ".repeat(line.to_string().len());
            write!(f, "\n  {line} | {text}\n  {gutter} | {}^", " ".repeat(*caret))?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.list {
            writeln!(f, "{diagnostic}")?;
        }
        if self.omitted > 0 {
            writeln!(f, "… and {} more", self.omitted)?;
        }
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let (errors, warnings) = (self.count(Severity::Error), self.count(Severity::Warning));
        write!(f, "{errors} error{}, {warnings} warning{}", plural(errors), plural(warnings))?;
        match self.count(Severity::Note) {
            0 => Ok(()),
            notes => write!(f, ", {notes} note{}", plural(notes)),
        }
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        let mut diagnostics = Self::default();
        diagnostics.push(diagnostic);
        diagnostics
    }
}
