//! A CloudEvent about an API resource, after validation.
//!
//! In: the bytes of one CloudEvents 1.0 (or 0.3) event, in structured or binary mode. Out: a [`LifecycleEvent`],
//! or an [`EventError`] that names the fault. The same bytes fail every time, so the consumer must not have the
//! broker redeliver them.
//!
//! Type, source, age and order of events do not matter: an event only says that a resource may need work.
//! Everything a task can read is in its `data`; the attributes are for logs and traces.

mod parse;

use serde_json::Value;

use lifecycle_objects::id::Generation;

/// The largest event that the adapter accepts, in bytes. Real events have less than a kilobyte; 256 KiB each cannot
/// exhaust the memory, whatever the broker delivers at once.
pub const MAX_EVENT_BYTES: usize = 256 * 1024;
/// The most JSON values in an event that the adapter accepts. Real events have about ten.
pub const MAX_EVENT_VALUES: usize = 2_000;

/// One CloudEvent about an API resource, after its attributes and `data` were validated.
#[derive(Debug, Clone, PartialEq)]
pub struct LifecycleEvent {
    /// The CloudEvent's `id` attribute.
    pub event_id: String,
    /// The CloudEvent's `source` attribute.
    pub source: String,
    /// The CloudEvent's `type` attribute.
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
    /// `data.href`: the API resource's URL; empty if absent.
    pub href: String,
    /// `data.generation`: the API resource's generation; zero if absent.
    pub generation: Generation,
    /// `data.owner_references`: the API resource that owns this one, if the event names it.
    pub owner: Option<OwnerReference>,
    /// All of `data`, the only part that a task can read. Every number is a double, as in the Go adapter's
    /// decoding of JSON.
    pub data: Value,
}

/// The API resource that owns the event's resource, such as the cluster of a node pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as on the wire")]
pub struct OwnerReference {
    pub id: String,
    pub kind: String,
    pub href: String,
}

/// Why an event is unusable, however often it is delivered.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The event exceeds the size limit.
    #[error("event of {bytes} bytes exceeds the limit of {limit} bytes; send what is large by reference")]
    TooLarge {
        /// The size of the rejected event, in bytes.
        bytes: usize,
        /// The size limit that the event exceeds, in bytes.
        limit: usize,
    },
    /// The event has more JSON values than the limit, each of which takes far more memory than its text.
    #[error("event `{id}` of {found} JSON values exceeds the limit of {limit}; send what is large by reference")]
    TooManyValues {
        /// The CloudEvent's `id`, by which its sender finds it; empty if it has none.
        id: String,
        /// The number of values of the rejected event, in the envelope or in `data`.
        found: usize,
        /// The limit that the event exceeds.
        limit: usize,
    },
    /// The body of a structured event is not JSON.
    #[error("event is not valid JSON; a structured CloudEvent is one JSON object")]
    NotJson(#[source] serde_json::Error),
    /// The body of a structured event is JSON, but not an object.
    #[error("event is {found}; a structured CloudEvent is one JSON object")]
    NotAnObject {
        /// The type that was found, with its article: `a list`.
        found: &'static str,
    },
    /// A required attribute is absent or empty.
    #[error("CloudEvent attribute `{attribute}` is missing or empty; it must be a non-empty string")]
    MissingAttribute {
        /// The name of the missing or empty CloudEvents attribute.
        attribute: &'static str,
    },
    /// An attribute has another type than the CloudEvents specification gives it.
    #[error("CloudEvent attribute `{attribute}` is {found}; it must be a string")]
    AttributeType {
        /// The name of the CloudEvents attribute that has the wrong type.
        attribute: &'static str,
        /// The type that was found, with its article: `a list`.
        found: &'static str,
    },
    /// The event names an unknown version of CloudEvents.
    #[error("CloudEvents version {found:?} is not supported; send `specversion` \"1.0\" (or \"0.3\")")]
    SpecVersion {
        /// The version that the event gives in `specversion`.
        found: String,
    },
    /// The event has both `data` and `data_base64`; CloudEvents does not say which one counts.
    #[error("event has both `data` and `data_base64`; send one of them")]
    TwoBodies,
    /// The event marks its body as base64, but it is not.
    #[error("event data is not valid base64; use the standard alphabet with padding")]
    Base64(#[source] base64::DecodeError),
    /// The attributes are valid, but `data` is not.
    #[error("failed to parse event data")]
    Data(#[source] EventDataError),
}

/// Why an event's `data` is unusable.
#[derive(Debug, thiserror::Error)]
pub enum EventDataError {
    /// The event's `data` is not JSON.
    #[error("data is not valid JSON")]
    NotJson(#[source] serde_json::Error),
    /// The event's `data` is JSON, but not an object.
    #[error("data is {found}; it must be an object, or absent")]
    NotAnObject {
        /// The type that was found, with its article: `a list`.
        found: &'static str,
    },
    /// A member that the adapter reads has the wrong type.
    #[error("`{path}` is {found}; it must be {expected}")]
    Member {
        /// The member's path, beginning with `data`.
        path: &'static str,
        /// The type that was found, with its article: `a list`.
        found: &'static str,
        /// The type that the adapter accepts for the member.
        expected: &'static str,
    },
}
