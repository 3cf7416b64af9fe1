//! What the server refuses, in its own words: clients have nothing else to tell failures apart by.

use tonic::{Code, Status};

/// A failure with a code of the server's own table, for REST and behind the prefixes of gRPC.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("maestro-{code}: {reason}")]
pub struct ServiceError {
    /// The number in the server's table.
    pub code: u16,
    /// What is wrong.
    pub reason: String,
}

impl ServiceError {
    /// Makes a failure of this code.
    pub fn new(code: u16, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }

    /// A conflict with what the server has.
    pub fn conflict(reason: impl Into<String>) -> Self {
        Self::new(6, reason)
    }

    /// Something that the server does not have.
    #[must_use]
    pub fn not_found(kind: &str, id: &str) -> Self {
        Self::new(7, format!("{kind} with id='{id}' not found"))
    }

    /// A value that the server does not take.
    pub fn validation(reason: impl Into<String>) -> Self {
        Self::new(8, reason)
    }

    /// A failure without a code of its own, such as any failure of the database.
    pub fn general(reason: impl Into<String>) -> Self {
        Self::new(9, reason)
    }

    /// The HTTP status of the failure's answer.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self.code {
            1 | 4 | 11 => 403,
            6 => 409,
            7 => 404,
            8 | 17 | 21 | 23 => 400,
            10 => 405,
            15 => 401,
            _ => 500,
        }
    }
}

/// Why the server refuses a request over gRPC.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The message is no event.
    #[error("failed to convert to cloudevent: {0}")]
    Convert(String),
    /// The event lacks what its action needs.
    #[error("failed to decode cloudevent: {0}")]
    Decode(String),
    /// The type has another form.
    #[error("failed to parse cloud event type {kind}, {reason}")]
    Type {
        /// The event's type.
        kind: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The server does not know the action.
    #[error("unsupported action {0}")]
    Action(String),
    /// A bundle was not created.
    #[error("failed to create resource: {0}")]
    Create(ServiceError),
    /// A bundle was not read before its update.
    #[error("failed to get resource: {0}")]
    Get(ServiceError),
    /// A bundle was not updated.
    #[error("failed to update resource: {0}")]
    Update(ServiceError),
    /// The user may not publish as this source.
    #[error("unauthorized to publish the event from source {0}")]
    Publish(String),
    /// The user may not subscribe to this source.
    #[error("unauthorized to subscribe the event from source {0}")]
    Subscribe(String),
    /// The request names no source, though rights depend on it.
    #[error("the event source is required")]
    NoSource,
}

impl From<Refusal> for Status {
    /// Every refusal has the same code, because the real handlers return plain errors.
    fn from(refusal: Refusal) -> Self {
        Self::new(Code::Unknown, refusal.to_string())
    }
}
