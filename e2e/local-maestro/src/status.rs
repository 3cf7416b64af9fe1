//! What an agent's report does to a bundle, and what its subscribers hear of it.
//!
//! In: a [`Report`]. Out: the row, changed or removed, and the event for subscribers. A report that the server drops is
//! no failure: neither agent nor client hears of it.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use lifecycle_proto::cloud_event::Data;
use lifecycle_proto::cloud_event_attribute_value::Attr;
use lifecycle_proto::{CloudEvent, CloudEventAttributeValue};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::database::{Bundle, Database, StoredStatus};
use crate::event::wire_time;
use crate::sequence;

/// The type of a status event for sources; the server puts this data type into every event that it relays.
pub const STATUS_TYPE: &str = "io.open-cluster-management.works.v1alpha1.manifestbundles.status.update_request";
/// The type of a heartbeat.
pub const HEARTBEAT_TYPE: &str = "io.open-cluster-management.cloudevents.heartbeat";
/// What the server names itself to agents, and so every status event names as its original source.
const SERVER: &str = "maestro";

/// What an agent reports of one bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The bundle.
    pub id: String,
    /// The consumer whose agent reports.
    pub consumer: String,
    /// The version that the agent has.
    pub version: i32,
    /// Orders the agent's reports.
    pub sequence_id: String,
    /// Conditions of the bundle.
    pub conditions: Vec<Value>,
    /// One entry for each manifest.
    pub resource_status: Vec<Value>,
}

/// What the server did with a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// The report is stored, and subscribers hear of it.
    Stored,
    /// The agent confirmed the deletion: the row is gone, and subscribers hear of it.
    Removed,
    /// The report has no effect.
    Dropped(DropReason),
}

/// Why a report has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// There is no bundle of this id.
    NoSuchBundle,
    /// The bundle is another consumer's.
    OtherConsumer,
    /// The report is about another version than the row has.
    OtherVersion,
    /// The report repeats the stored one.
    SameContent,
    /// The stored report has a newer sequence id, or the same one.
    NotNewer,
    /// The sequence ids come from different nodes, so they have no order.
    OtherNode,
}

/// An event for the subscribers of one source.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) source: String,
    pub(crate) event: CloudEvent,
}

/// Applies a report, and returns what became of it and what subscribers hear.
pub(crate) fn apply(database: &mut Database, report: Report, now: Timestamp) -> (Reported, Option<Outgoing>) {
    let dropped = |reason| (Reported::Dropped(reason), None);
    let Some(bundle) = database.bundles.get(&report.id) else { return dropped(DropReason::NoSuchBundle) };
    if bundle.consumer != report.consumer {
        return dropped(DropReason::OtherConsumer);
    }
    let status = StoredStatus {
        version: report.version,
        hash: hash(&report.conditions, &report.resource_status),
        sequence_id: report.sequence_id,
        conditions: report.conditions,
        resource_status: report.resource_status,
    };
    // A confirmed deletion removes the row whatever its version, its order, and whether deletion was requested.
    if is_true(&status.conditions, "Deleted") {
        let outgoing = outgoing(bundle, &status, now);
        database.bundles.remove(&report.id);
        return (Reported::Removed, Some(outgoing));
    }
    if status.version != bundle.version {
        return dropped(DropReason::OtherVersion);
    }
    if let Some(stored) = &bundle.status {
        if *stored == status {
            return dropped(DropReason::SameContent);
        }
        match sequence::compare(&status.sequence_id, &stored.sequence_id) {
            None => return dropped(DropReason::OtherNode),
            Some(order) if order.is_le() => return dropped(DropReason::NotNewer),
            Some(_) => {}
        }
    }
    let outgoing = outgoing(bundle, &status, now);
    let written = database.write();
    if let Some(bundle) = database.bundles.get_mut(&report.id) {
        bundle.status = Some(status);
        bundle.updated_at = now;
        bundle.written = written;
    }
    (Reported::Stored, Some(outgoing))
}

/// Says whether a condition is true.
pub(crate) fn is_true(conditions: &[Value], kind: &str) -> bool {
    conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn hash(conditions: &[Value], resource_status: &[Value]) -> String {
    sha256(&json!({ "conditions": conditions, "resourceStatus": resource_status }).to_string())
}

/// The hash of a text, in hexadecimal digits.
pub(crate) fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The event that tells subscribers of a status; the spec in it is the row's at this moment.
pub(crate) fn outgoing(bundle: &Bundle, status: &StoredStatus, now: Timestamp) -> Outgoing {
    let mut data = Map::new();
    if let Some(spec) = bundle.data() {
        data.insert("manifestBundle".to_owned(), spec.clone());
    }
    data.insert("conditions".to_owned(), Value::from(status.conditions.clone()));
    data.insert("resourceStatus".to_owned(), Value::from(status.resource_status.clone()));
    let mut attributes = BTreeMap::from([
        ("contenttype", Attr::CeString("application/json".to_owned())),
        ("ce-time", Attr::CeTimestamp(wire_time(now))),
        ("ce-resourceid", Attr::CeString(bundle.id.clone())),
        ("ce-resourceversion", Attr::CeInteger(status.version)),
        ("ce-clustername", Attr::CeString(bundle.consumer.clone())),
        ("ce-originalsource", Attr::CeString(SERVER.to_owned())),
        ("ce-sequenceid", Attr::CeString(status.sequence_id.clone())),
        ("ce-statushash", Attr::CeString(status.hash.clone())),
    ]);
    if let Some(metadata) = bundle.metadata() {
        attributes.insert("ce-metadata", Attr::CeString(Value::Object(metadata).to_string()));
    }
    if let Some(tracing) = bundle.payload.get("logtracing").and_then(Value::as_str) {
        attributes.insert("ce-logtracing", Attr::CeString(tracing.to_owned()));
    }
    let event = CloudEvent {
        id: Uuid::new_v4().to_string(),
        source: format!("{}-work-agent", bundle.consumer),
        spec_version: "1.0".to_owned(),
        r#type: STATUS_TYPE.to_owned(),
        attributes: attributes
            .into_iter()
            .map(|(name, value)| (name.to_owned(), CloudEventAttributeValue { attr: Some(value) }))
            .collect(),
        data: Some(Data::BinaryData(Value::Object(data).to_string().into_bytes())),
    };
    Outgoing { source: bundle.source.clone(), event }
}

/// A heartbeat: it has neither source nor attributes.
pub(crate) fn heartbeat() -> CloudEvent {
    CloudEvent {
        id: Uuid::new_v4().to_string(),
        source: String::new(),
        spec_version: "1.0".to_owned(),
        r#type: HEARTBEAT_TYPE.to_owned(),
        attributes: HashMap::new(),
        data: None,
    }
}
