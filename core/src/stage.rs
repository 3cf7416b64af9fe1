//! The interface between a stage of a pass in core and the adapter, which does the I/O for it.
//!
//! A stage runs until it needs I/O, returns a [`Need`], and continues when it is resumed with the [`Answer`].
//! So core decides the order of all I/O, and tests need no server.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::api_call::ApiRequest;
use crate::task::{LogLevel, LogLine};
use lifecycle_language::scope::Scope;

/// A part of a pass that may need I/O.
pub trait Stage {
    /// The type of the stage's result.
    type Done;

    /// Continues the stage: first without an answer, then with the answer to the last need.
    fn resume(&mut self, scope: &mut Scope, answer: Option<Answer>) -> Progress<Self::Done>;
}

/// What a stage returns to its caller: a need for I/O, or the stage's result.
#[derive(Debug)]
pub enum Progress<T> {
    /// The stage needs I/O: the caller does it, then resumes the stage with the answer.
    Needs(Need),
    /// The stage has ended with this result.
    Done(T),
}

/// I/O that a stage needs.
#[derive(Debug, Clone, PartialEq)]
pub enum Need {
    /// Make an HTTP call. Answered by [`Answer::Called`].
    Call(ApiRequest),
    /// Read a file. Answered by [`Answer::Read`].
    File(String),
    /// Log a line of the task's `log`. Answered by [`Answer::Logged`].
    Log {
        /// The name of the precondition or action whose line it is.
        step: String,
        /// The level at which to log the line.
        level: LogLevel,
        /// The rendered text, or why it could not be rendered.
        message: Result<String, String>,
    },
}

/// The answer to a [`Need`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The body of a successful response, or the error.
    Called(Result<String, CallError>),
    /// The file's content, or the error.
    Read(Result<String, ReadError>),
    /// The caller logged the line.
    Logged,
}

/// A file that was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The file does not exist.
    #[error("{0}")]
    Missing(String),
    /// The file could not be read for any other reason; the text says why.
    #[error("{0}")]
    Failed(String),
}

/// An HTTP call without a successful response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The API answered that the event's own resource does not exist.
    #[error("{0}")]
    Gone(String),
    /// A server answered that another resource does not exist. (A 404 for a wrong URL is a plain failure.)
    #[error("{0}")]
    ResourceNotFound(String),
    /// The call failed for any other reason; the text says why.
    #[error("{0}")]
    Failed(String),
}

/// The phases of a pass, whose identifiers appear in errors, metrics and traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "named as on the wire")]
pub enum Phase {
    ParamExtraction,
    Preconditions,
    Resources,
    PostActions,
}

impl Phase {
    /// Every phase, in the order in which a pass runs them.
    pub const ALL: [Self; 4] = [Self::ParamExtraction, Self::Preconditions, Self::Resources, Self::PostActions];

    /// The phase's identifier in errors, metrics and traces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ParamExtraction => "param_extraction",
            Self::Preconditions => "preconditions",
            Self::Resources => "resources",
            Self::PostActions => "post_actions",
        }
    }
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A failure of one step of a phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PhaseError {
    /// The phase that failed.
    pub phase: Phase,
    /// The name of the failed param, precondition, resource, payload or action.
    pub step: String,
    /// Why the step failed.
    pub message: String,
}

impl fmt::Display for PhaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.phase.as_str(), self.step, self.message)
    }
}

/// Renders a task's log line, without secrets. Returns none for an empty text, which is not logged.
pub(crate) fn log_need(step: &str, line: &LogLine, scope: &Scope) -> Option<Need> {
    let message = line.message.render_without_secrets(scope).map_err(|error| error.to_string());
    match message {
        Ok(text) if text.is_empty() => None,
        message => Some(Need::Log { step: step.to_owned(), level: line.level, message }),
    }
}
