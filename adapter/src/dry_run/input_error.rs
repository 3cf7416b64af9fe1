//! Why a dry run cannot use one of its files.

use std::path::PathBuf;

use lifecycle_core::event::EventError;
use lifecycle_objects::write::WriteError;

use super::canned_api::AnswersError;

/// Why an input file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file or folder cannot be read.
    #[error("failed to read {}", path.display())]
    Unreadable {
        /// The path of the unreadable file or folder.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// The file is not JSON of the expected form.
    #[error("{}: not the JSON that is expected here; {expected}", path.display())]
    Json {
        /// The path of the JSON file.
        path: PathBuf,
        /// A description of the expected content.
        expected: &'static str,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// The file is not YAML.
    #[error("{}: not the YAML of Kubernetes objects", path.display())]
    Yaml {
        /// The path of the YAML file.
        path: PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: Box<serde_saphyr::Error>,
    },
    /// The file is not a list of steps.
    #[error("{}: not the YAML of a series, which is a list of steps, each with a `name`", path.display())]
    SeriesYaml {
        /// The path of the series.
        path: PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: Box<serde_saphyr::Error>,
    },
    /// A step of a series cannot be played.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// The file is not a valid event.
    #[error("{}: not a CloudEvent", path.display())]
    Event {
        /// The path of the event file.
        path: PathBuf,
        /// The reason why the content is not a CloudEvent.
        #[source]
        source: EventError,
    },
    /// The file has an invalid entry of canned answers.
    #[error("{}: not usable as API answers", path.display())]
    Answers {
        /// The path of the file with canned answers.
        path: PathBuf,
        /// The error of the invalid entry.
        #[source]
        source: AnswersError,
    },
    /// A document in the file is not a Kubernetes object.
    #[error("{}: {place} {problem}; an object needs `apiVersion`, `kind` and `metadata.name`", path.display())]
    Object {
        /// The path of the file with the document.
        path: PathBuf,
        /// The document's place in the file.
        place: String,
        /// The missing or invalid part.
        problem: String,
    },
    /// The in-memory store refuses an object.
    #[error("{}", .0.with_status())]
    Refused(WriteError),
    /// The event's time is not a timestamp.
    #[error("{}: the event's time {time:?} is not in RFC 3339, such as 2026-08-01T12:00:00Z", path.display())]
    EventTime {
        /// The path of the event file.
        path: PathBuf,
        /// The event's time, as the file writes it.
        time: String,
        /// The error of the timestamp's parser.
        #[source]
        source: jiff::Error,
    },
}

/// Why a step cannot be played.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {problem}")]
pub struct SeriesError {
    /// The file, and the step in it.
    pub step: String,
    /// The mistake, and its cure.
    pub problem: String,
}
