//! What is wrong with a configuration: every mistake, with its place and the words that would fix it.
//!
//! A check never stops at the first mistake: it adds to a [`Diagnostics`] and goes on. Rendering is for
//! people ([`Display`](std::fmt::Display)) or for programs ([`serde::Serialize`]).

use std::{fmt, io};

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// The configuration loads, and something in it will fail or will not do what its author means;
    /// `check --strict` refuses it.
    Warning,
    /// The configuration loads and works as written, and could be simpler; `check --strict` accepts it.
    Note,
}

/// One mistake in a file, a variable or a flag, with its place and cure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file, or what stands for it: `environment`, `command line`.
    pub file: String,
    /// Where in the file, by keys: `params[0].source`. Empty for the file as a whole.
    pub path: String,
    /// Where in the file, from 1; none outside of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What would fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The line that it stands in; none where it could quote a secret.
    #[serde(skip)]
    pub snippet: Option<Snippet>,
}

/// What is shown of a line, with the place of the mistake in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    text: String,
    caret: usize,
}

impl Snippet {
    /// Cuts what is worth showing out of a line, around the 1-based `column`.
    #[must_use]
    pub fn of(line: &str, column: usize) -> Self {
        let start = if column > SNIPPET_WIDTH { column - SNIPPET_WIDTH / 2 } else { 0 };
        let shown = line.chars().skip(start).take(SNIPPET_WIDTH).map(|c| if c.is_control() { ' ' } else { c });
        Self { text: shown.collect::<String>().trim_end().to_owned(), caret: column.saturating_sub(start + 1) }
    }
}

/// The most characters of a line that are shown.
const SNIPPET_WIDTH: usize = 100;

/// The most diagnostics that are kept: an author who has more mends these first.
const MAX_DIAGNOSTICS: usize = 500;

impl Diagnostic {
    /// The same diagnostic with another severity.
    #[must_use]
    pub fn as_severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// A file that cannot be read.
    #[must_use]
    pub fn unreadable(file: &str, error: &io::Error, help: Option<String>) -> Self {
        Self::outside(file, "", format!("failed to read the file: {}", why_unreadable(error)), help)
    }

    /// An error that stands in no line of any file: an environment variable, a flag, an unreadable file.
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
        }
    }
}

/// Why a file cannot be read, in words that do not name the system's error code.
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

/// Everything found so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    #[serde(skip)]
    omitted: usize,
}

impl Diagnostics {
    /// Adds a diagnostic.
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

    /// Adds a diagnostic that is worth making only if it is kept: quoting a long line takes a while.
    pub fn push_with(&mut self, severity: Severity, make: impl FnOnce() -> Diagnostic) {
        if self.list.len() < MAX_DIAGNOSTICS || (severity == Severity::Error && !self.has_errors()) {
            self.push(make());
        } else {
            self.omitted += 1;
        }
    }

    /// Adds every diagnostic of another check.
    pub fn extend(&mut self, other: Self) {
        self.omitted += other.omitted;
        for diagnostic in other.list {
            self.push(diagnostic);
        }
    }

    /// Every diagnostic, in the order of [`sort`](Self::sort) if that was called.
    #[must_use]
    pub fn all(&self) -> &[Diagnostic] {
        &self.list
    }

    /// How many more there were than are kept.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Whether there is nothing to report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether anything refuses the configuration.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// How many diagnostics of a severity there are.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// Makes every warning an error. A note stays a note, because nothing has to change for it.
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

    /// Orders the diagnostics as a reader goes through the files: file by file in the order in which they
    /// first appear, then by line. What stands at the same place keeps its order; repetitions go.
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
