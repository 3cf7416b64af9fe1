//! Compares a trace with the expected traces of its scenario, or rewrites those.
//!
//! In: a trace, and the scenario's folder. Out: a unified, coloured diff against `expected/trace.txt` and
//! `expected/trace.json`; or the two files, rewritten.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use super::DryRunError;
use super::input;
use super::input_error::InputError;
use super::play::Life;
use super::text::without_colours;

const EXPECTED: Style = AnsiColor::Red.on_default();
const ACTUAL: Style = AnsiColor::Green.on_default();

/// The traces of a scenario in both formats, by file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    files: [(&'static str, String); 2],
}

impl Traces {
    /// Formats the traces of a scenario as the expected files contain them: without colours.
    #[must_use]
    pub fn of(life: &Life) -> Self {
        Self { files: [("trace.txt", without_colours(&life.to_text(false))), ("trace.json", life.to_json())] }
    }

    /// A diff against the expected traces in `folder`; empty if they are equal.
    ///
    /// # Errors
    /// An expected trace exists, but cannot be read.
    pub fn compare(&self, folder: &Path) -> Result<String, DryRunError> {
        let mut differences = String::new();
        for (name, actual) in &self.files {
            let path = place(folder, name);
            let expected = match input::read(&path) {
                Ok(expected) => expected,
                Err(InputError::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => String::new(),
                Err(error) => return Err(error.into()),
            };
            if expected != *actual {
                differences.push_str(&difference(&path, &expected, actual));
            }
        }
        if !differences.is_empty() {
            differences.push_str(&format!(
                "The trace is not the expected one. If it is right: dry-run --update {}\n",
                folder.display()
            ));
        }
        Ok(differences)
    }

    /// Writes the expected traces in `folder`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), DryRunError> {
        for (name, actual) in &self.files {
            let path = place(folder, name);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, actual));
            written.map_err(|source| DryRunError::Write { path, source })?;
        }
        Ok(())
    }
}

fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join("expected").join(name)
}

fn difference(path: &Path, expected: &str, actual: &str) -> String {
    let diff = TextDiff::from_lines(expected, actual);
    let mut text = format!("--- {} (expected)\n+++ this run\n", path.display());
    for hunk in diff.unified_diff().iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => (' ', Style::new()),
                ChangeTag::Delete => ('-', EXPECTED),
                ChangeTag::Insert => ('+', ACTUAL),
            };
            let line = change.value().trim_end_matches('\n');
            text.push_str(&format!("{style}{sign}{line}{style:#}\n"));
        }
    }
    text
}
