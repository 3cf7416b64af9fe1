//! A CloudEvent about an API resource, after validation.
//!
//! In: the bytes of one CloudEvents 1.0 (or 0.3) event, in structured or binary mode. Out: a [`LifecycleEvent`],
//! or an [`EventError`] that names what is wrong. Whatever fails here can never succeed later, so its
//! sender's message must not be tried again.
//!
//! It does not look at the event's type, source, age or order: an event is a hint that a resource wants
//! a look, and what it says beyond its `data` is for logs and traces.

mod parse;

use serde_json::Value;

use crate::id::Generation;

/// The largest event that an input should accept, in bytes: far above any real one, far below what hurts.
pub const MAX_EVENT_BYTES: usize = 1 << 20;

/// One event. Everything that a task can read of it is in `data`.
#[derive(Debug, Clone, PartialEq)]
pub struct LifecycleEvent {
    /// The CloudEvent's `id`.
    pub event_id: String,
    /// The CloudEvent's `source`.
    pub source: String,
    /// The CloudEvent's `type`.
    pub event_type: String,
    /// The CloudEvent's `time`, as sent, if it has one.
    pub time: Option<String>,
    /// W3C `traceparent`, if the event carries one.
    pub traceparent: Option<String>,
    /// W3C `tracestate`, if the event carries one.
    pub tracestate: Option<String>,
    /// `data.id`: the API resource's id; empty if absent.
    pub resource_id: String,
    /// `data.kind`: the API resource's kind; empty if absent.
    pub kind: String,
    /// `data.href`; empty if absent.
    pub href: String,
    /// `data.generation`; zero if absent.
    pub generation: Generation,
    /// `data.owner_references`, if present.
    pub owner: Option<OwnerReference>,
    /// The whole of `data`. Every number is a double, as the Go adapter decodes JSON.
    pub data: Value,
}

/// The API resource that owns the event's one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as on the wire")]
pub struct OwnerReference {
    pub id: String,
    pub kind: String,
    pub href: String,
}

/// An event that cannot be used, now or later.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// It is larger than the input accepts.
    #[error("event of {bytes} bytes exceeds the limit of {limit} bytes; send what is large by reference")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The most that is accepted.
        limit: usize,
    },
    /// The body of a structured event is not JSON.
    #[error("event is not valid JSON; a structured CloudEvent is one JSON object")]
    NotJson(#[source] serde_json::Error),
    /// The body of a structured event is JSON, but no object.
    #[error("event is {found}; a structured CloudEvent is one JSON object")]
    NotAnObject {
        /// What was found, with its article.
        found: &'static str,
    },
    /// A required attribute is absent or empty.
    #[error("CloudEvent attribute `{attribute}` is missing or empty; it must be a non-empty string")]
    MissingAttribute {
        /// The attribute's name.
        attribute: &'static str,
    },
    /// An attribute has another type than CloudEvents give it.
    #[error("CloudEvent attribute `{attribute}` is {found}; it must be a string")]
    AttributeType {
        /// The attribute's name.
        attribute: &'static str,
        /// What was found, with its article.
        found: &'static str,
    },
    /// The event follows a CloudEvents version that is not known.
    #[error("CloudEvents version {found:?} is not supported; send `specversion` \"1.0\" (or \"0.3\")")]
    SpecVersion {
        /// The version it names.
        found: String,
    },
    /// Two bodies, and no rule that says which one counts.
    #[error("event has both `data` and `data_base64`; send one of them")]
    TwoBodies,
    /// The body is announced as base64 and is not.
    #[error("event data is not valid base64; use the standard alphabet with padding")]
    Base64(#[source] base64::DecodeError),
    /// The envelope is sound, what it carries is not.
    #[error("failed to parse event data")]
    Data(#[source] EventDataError),
}

/// What is wrong with an event's data.
#[derive(Debug, thiserror::Error)]
pub enum EventDataError {
    /// It is not JSON.
    #[error("data is not valid JSON")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON, but no object.
    #[error("data is {found}; it must be an object, or absent")]
    NotAnObject {
        /// What was found, with its article.
        found: &'static str,
    },
    /// A member with a fixed meaning has the wrong type.
    #[error("`{path}` is {found}; it must be {expected}")]
    Member {
        /// Where, below `data`.
        path: &'static str,
        /// What was found, with its article.
        found: &'static str,
        /// What is accepted.
        expected: &'static str,
    },
}
