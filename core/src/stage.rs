//! How a stage of a pass asks for what core cannot do itself.
//!
//! A stage runs until it needs something from outside, yields a [`Need`], and goes on when it is resumed with the
//! [`Answer`]. The order of everything stays in core, where it can be tested without a server.

use std::fmt;

use crate::api_call::ApiRequest;
use crate::scope::Scope;
use crate::task::LogLevel;

/// A part of a pass that may need something from outside.
pub trait Stage {
    /// What the stage ends in.
    type Done;

    /// Goes on: first with no answer, then with the answer to the last need.
    fn resume(&mut self, scope: &mut Scope, answer: Option<Answer>) -> Progress<Self::Done>;
}

/// Where a stage stands.
#[derive(Debug)]
pub enum Progress<T> {
    /// Do this, then resume with the answer.
    Needs(Need),
    /// The stage has ended.
    Done(T),
}

/// Something that only the outside can do.
#[derive(Debug, Clone, PartialEq)]
pub enum Need {
    /// Make an HTTP call. Answered by [`Answer::Called`].
    Call(ApiRequest),
    /// Read a file. Answered by [`Answer::Read`].
    File(String),
    /// Log a line that the task asks for. Answered by [`Answer::Logged`].
    Log {
        /// The level.
        level: LogLevel,
        /// The rendered text, or why it could not be rendered.
        message: Result<String, String>,
    },
}

/// The answer to a [`Need`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The body of a successful response, or why there is none.
    Called(Result<String, CallError>),
    /// The file's content, or why it could not be read.
    Read(Result<String, String>),
    /// The line was logged.
    Logged,
}

/// An HTTP call without a successful response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The API says that the event's own resource does not exist.
    #[error("{0}")]
    Gone(String),
    /// A server says that some other resource does not exist. (A wrong URL is an ordinary failure.)
    #[error("{0}")]
    ResourceNotFound(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

/// The phases of a pass, as errors, metrics and traces spell them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "named as on the wire")]
pub enum Phase {
    ParamExtraction,
    Preconditions,
    Resources,
    PostActions,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 4] = [Self::ParamExtraction, Self::Preconditions, Self::Resources, Self::PostActions];

    /// The phase's identifier.
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

/// A failure of one step of a phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PhaseError {
    /// The phase.
    pub phase: Phase,
    /// The param, precondition, resource, payload or action.
    pub step: String,
    /// What went wrong.
    pub message: String,
}

impl fmt::Display for PhaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.phase.as_str(), self.step, self.message)
    }
}

/// Renders a task's log line; an empty one is not logged.
pub(crate) fn log_need(line: &crate::task::LogLine, scope: &Scope) -> Option<Need> {
    let message = line.message.render(scope).map(std::borrow::Cow::into_owned).map_err(|error| error.to_string());
    match message {
        Ok(text) if text.is_empty() => None,
        message => Some(Need::Log { level: line.level, message }),
    }
}
