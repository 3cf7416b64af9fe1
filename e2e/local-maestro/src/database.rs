//! The tables: consumers and bundles.
//!
//! A clone is a snapshot. Rows remember when they were written, because a list without an order comes in the order of
//! the last writes, as PostgreSQL returns it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

/// A cluster that bundles are for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Consumer {
    /// The id in REST paths.
    pub(crate) id: String,
    /// The name in bundles and events.
    pub(crate) name: String,
    /// Labels, or null.
    pub(crate) labels: Value,
    /// When the consumer was registered.
    pub(crate) created_at: Timestamp,
    /// When the consumer was last changed.
    pub(crate) updated_at: Timestamp,
}

/// One row of resource bundles.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// The id, which the client chose.
    pub id: String,
    /// The source of the event that created the bundle.
    pub source: String,
    /// The consumer's name.
    pub consumer: String,
    /// The version that an update must name.
    pub version: i32,
    /// The event that created or last updated the bundle, as a document.
    pub payload: Map<String, Value>,
    /// What the agent last reported.
    pub status: Option<StoredStatus>,
    /// When the bundle was created.
    pub created_at: Timestamp,
    /// When the row was last written.
    pub updated_at: Timestamp,
    /// When deletion was requested.
    pub deleted_at: Option<Timestamp>,
    /// Orders rows by their last write.
    pub(crate) written: u64,
}

/// A status, as an agent reported it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredStatus {
    /// The version that the agent had.
    pub version: i32,
    /// Orders the agent's reports.
    pub sequence_id: String,
    /// The hash that a resync compares.
    pub hash: String,
    /// Conditions of the bundle.
    pub conditions: Vec<Value>,
    /// One entry for each manifest.
    pub resource_status: Vec<Value>,
}

impl Bundle {
    /// The metadata that the client sent, with the times of the row; none if the client sent none.
    #[must_use]
    pub fn metadata(&self) -> Option<Map<String, Value>> {
        let mut metadata = self.payload.get("metadata")?.as_object()?.clone();
        metadata.insert("creationTimestamp".to_owned(), Value::from(seconds(self.created_at)));
        match self.deleted_at {
            Some(time) => metadata.insert("deletionTimestamp".to_owned(), Value::from(seconds(time))),
            None => metadata.remove("deletionTimestamp"),
        };
        Some(metadata)
    }

    /// The data of the event: manifests and how to apply and delete them.
    #[must_use]
    pub fn data(&self) -> Option<&Value> {
        self.payload.get("data")
    }

    /// The manifests; none if the data has no list of them.
    #[must_use]
    pub fn manifests(&self) -> &[Value] {
        manifests(self.data().unwrap_or(&Value::Null))
    }
}

/// The manifests in the data of an event.
pub(crate) fn manifests(data: &Value) -> &[Value] {
    data.get("manifests").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// All rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Database {
    pub(crate) consumers: BTreeMap<String, Consumer>,
    pub(crate) bundles: BTreeMap<String, Bundle>,
    writes: u64,
}

impl Database {
    /// Counts a write, and returns its number.
    pub(crate) fn write(&mut self) -> u64 {
        self.writes += 1;
        self.writes
    }

    pub(crate) fn has_consumer(&self, name: &str) -> bool {
        self.consumers.values().any(|consumer| consumer.name == name)
    }

    /// Marks a bundle as being deleted; says whether this call did.
    pub(crate) fn mark_deleted(&mut self, id: &str, now: Timestamp) -> Option<&Bundle> {
        let written = self.write();
        let bundle = self.bundles.get_mut(id).filter(|bundle| bundle.deleted_at.is_none())?;
        bundle.deleted_at = Some(now);
        bundle.updated_at = now;
        bundle.written = written;
        Some(bundle)
    }
}
