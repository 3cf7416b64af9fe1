//! The record of deletions: what was deleted, why, on whose word, and the manifest by which it can be restored.
//!
//! In: records. Out: one JSON line for each, appended to a file or to standard output. Fails: [`AuditError`], if a
//! line could not be written or, before a deletion, did not reach the disk.
//!
//! [`read`] returns the records of such a file. A crash can tear the last line; the next line then begins on a new
//! line, and [`read`] reports the torn one. A record "about to delete" is on the disk before the deletion is sent, so
//! a torn one belongs to an object that was not deleted.
//!
//! The file grows until somebody moves it away. Before each record, the program looks whether the file still is where its
//! name leads, and otherwise goes on in a new one; if it cannot, nothing is deleted.

mod record;
mod sink;

use std::io::{self, BufRead};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

pub use self::record::{Action, FORMAT, Identity, Record, SECRET_DATA};
pub(crate) use self::sink::Sink;
use self::sink::{AppendOnly, Nowhere, Stdout};

/// A record was not written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the audit record to {place}")]
pub struct AuditError {
    place: String,
    #[source]
    source: io::Error,
}

/// Writes records.
pub struct Audit {
    place: String,
    sink: Arc<Mutex<dyn Sink>>,
    /// Whether a record of this pass could not be written.
    has_failed: Arc<AtomicBool>,
    /// Whether records contain the data of Secrets.
    secrets: bool,
}

impl Audit {
    /// Appends to a file, and creates it, readable by its owner alone, if it does not exist.
    ///
    /// # Errors
    ///
    /// The file cannot be opened; or others may read or write it, and it is to contain the data of Secrets.
    pub fn to_file(path: &Path, secrets: bool) -> Result<Self, AuditError> {
        let place = path.display().to_string();
        match AppendOnly::open(path, secrets) {
            Ok(file) => Ok(Self::new(place, file, secrets)),
            Err(source) => Err(AuditError { place, source }),
        }
    }

    /// Writes to standard output, among the lines of others. Whoever collects them decides whether they last.
    #[must_use]
    pub fn to_stdout(secrets: bool) -> Self {
        Self::new("standard output".to_owned(), Stdout, secrets)
    }

    /// Drops the records, for scenarios: nothing that is deleted there existed.
    #[must_use]
    pub fn to_nowhere() -> Self {
        Self::new("nowhere".to_owned(), Nowhere, false)
    }

    pub(crate) fn new(place: String, sink: impl Sink + 'static, secrets: bool) -> Self {
        Self { place, sink: Arc::new(Mutex::new(sink)), has_failed: Arc::default(), secrets }
    }

    /// Returns the manifest to record about a live object, and the fields that it omits.
    #[must_use]
    pub fn manifest(&self, live: &Value) -> (Value, Vec<String>) {
        record::manifest(live, self.secrets)
    }

    /// Begins a pass, in which no record has failed yet.
    pub fn begin_pass(&self) {
        self.has_failed.store(false, Ordering::SeqCst);
    }

    /// Whether a record of this pass could not be written.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    /// Writes a record; one about an imminent deletion is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// It is unknown how much of the record was written.
    pub async fn write(&self, record: &Record) -> Result<(), AuditError> {
        let failed = |source| AuditError { place: self.place.clone(), source };
        let is_synced = matches!(record.action, Action::Delete { .. });
        let line = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        let (sink, has_failed) = (Arc::clone(&self.sink), Arc::clone(&self.has_failed));
        // A slow disk must not delay the renewal of the lease, which runs on the same threads.
        let written = tokio::task::spawn_blocking(move || {
            let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
            let written = sink.append(&line, is_synced);
            // Still under the lock: whoever writes the next record must know that this one failed.
            has_failed.fetch_or(written.is_err(), Ordering::SeqCst);
            written
        });
        written.await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(failed)
    }
}

/// One line of an audit file.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A record.
    Record(Box<Record>),
    /// A line that is no whole record.
    Unreadable {
        /// The line's number, from one.
        number: usize,
        /// What is wrong with the line.
        why: String,
    },
}

/// Returns the records of an audit file, or of the collected standard output of a sweeper: lines of JSON that have no
/// key `audit` are log lines, and are left out.
///
/// # Errors
///
/// An item is an error if the file could not be read.
pub fn read(lines: impl BufRead) -> impl Iterator<Item = io::Result<Line>> {
    let is_blank = |line: &Vec<u8>| line.iter().all(u8::is_ascii_whitespace);
    lines.split(b'\n').zip(1..).filter_map(move |(line, number)| match line {
        Ok(line) if is_blank(&line) => None,
        Ok(line) => parse(&line, number).map(Ok),
        Err(error) => Some(Err(error)),
    })
}

fn parse(line: &[u8], number: usize) -> Option<Line> {
    let unreadable = |why: String| Some(Line::Unreadable { number, why });
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return unreadable(format!("it is no JSON: {error}")),
    };
    match value.get("audit")? {
        format if format == FORMAT => match serde_json::from_value(value) {
            Ok(record) => Some(Line::Record(Box::new(record))),
            Err(error) => unreadable(format!("it is no record: {error}")),
        },
        format => unreadable(format!("its format is {format} instead of {FORMAT:?}")),
    }
}

#[cfg(test)]
mod tests;
