//! What an event does to the tables.
//!
//! In: a decoded event and the time. Out: changed tables, and what the agents have to hear of. Fails: with a
//! [`Refusal`]. The order of the checks is the real server's.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::database::{Bundle, Database};
use crate::event::{Attribute, Event};
use crate::refusal::{Refusal, ServiceError};
use crate::validation;

/// The type of an event, as far as the server looks at it: the part before the last two words is never checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventType {
    pub(crate) subresource: String,
    pub(crate) action: String,
}

/// The action that asks for statuses.
const RESYNC: &str = "resync_request";

impl EventType {
    pub(crate) fn parse(kind: &str) -> Result<Self, Refusal> {
        let refused = |reason| Refusal::Type { kind: kind.to_owned(), reason };
        let words: Vec<&str> = kind.split('.').collect();
        let [.., subresource, action] = words.as_slice() else {
            return Err(refused("unsupported event type format"));
        };
        if words.len() < 5 {
            return Err(refused("unsupported event type format"));
        }
        if !matches!(*subresource, "spec" | "status") {
            return Err(refused("unsupported subresource"));
        }
        Ok(Self { subresource: (*subresource).to_owned(), action: (*action).to_owned() })
    }

    pub(crate) fn is_status_resync(&self) -> bool {
        self.subresource == "status" && self.action == RESYNC
    }
}

/// What the agent of a consumer has to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpecEvent {
    pub(crate) consumer: String,
    pub(crate) id: String,
}

/// What every spec event names, a deletion included.
struct Row {
    id: String,
    consumer: String,
    version: i32,
    payload: Map<String, Value>,
}

/// Stores a spec event. `None`: nothing changed that an agent has to hear of.
pub(crate) fn store(
    database: &mut Database,
    event: &Event,
    kind: &EventType,
    now: Timestamp,
) -> Result<Option<SpecEvent>, Refusal> {
    let row = decode(event)?;
    match kind.action.as_str() {
        "create_request" => create(database, event, row, now).map(Some),
        "update_request" => update(database, row, now),
        "delete_request" => {
            let marked = database.mark_deleted(&row.id, now);
            Ok(marked.map(|bundle| SpecEvent { consumer: bundle.consumer.clone(), id: bundle.id.clone() }))
        }
        action => Err(Refusal::Action(action.to_owned())),
    }
}

fn decode(event: &Event) -> Result<Row, Refusal> {
    let extension = |name: &str| {
        event
            .extensions
            .get(name)
            .ok_or_else(|| Refusal::Decode(format!("failed to get {name} extension: invalid CloudEvents value: <nil>")))
    };
    let wrong = |name: &str, value: &Attribute, kind: &str| {
        Refusal::Decode(format!("failed to get {name} extension: {value:?} cannot be converted to {kind}"))
    };
    let text = |name: &str| {
        let value = extension(name)?;
        value.text().map(str::to_owned).ok_or_else(|| wrong(name, value, "string"))
    };
    let consumer = text("clustername")?;
    let id = text("resourceid")?;
    let version = extension("resourceversion")?;
    let version = version.integer().ok_or_else(|| wrong("resourceversion", version, "integer"))?;
    if let Some(time) = event.extensions.get("deletiontimestamp")
        && time.time().is_none()
    {
        return Err(wrong("deletiontimestamp", time, "time"));
    }
    let payload = event.document().map_err(Refusal::Decode)?;
    Ok(Row { id, consumer, version, payload })
}

fn create(database: &mut Database, event: &Event, row: Row, now: Timestamp) -> Result<SpecEvent, Refusal> {
    validation::check(row.payload.get("data")).map_err(|reason| {
        let reason = format!("the manifest bundle in the resource is invalid, {reason}");
        Refusal::Create(ServiceError::validation(reason))
    })?;
    if database.bundles.contains_key(&row.id) {
        return Err(Refusal::Create(ServiceError::conflict("This Resource already exists")));
    }
    if !database.has_consumer(&row.consumer) {
        let reason = "Unable to create Resource: ERROR: insert or update on table \"resources\" violates foreign key \
                      constraint \"fk_resources_consumers\" (SQLSTATE 23503)";
        return Err(Refusal::Create(ServiceError::general(reason)));
    }
    let told = SpecEvent { consumer: row.consumer.clone(), id: row.id.clone() };
    let bundle = Bundle {
        id: row.id.clone(),
        source: event.source.clone(),
        consumer: row.consumer,
        version: if row.version == 0 { 1 } else { row.version },
        payload: row.payload,
        status: None,
        created_at: now,
        updated_at: now,
        deleted_at: None,
        written: database.write(),
    };
    database.bundles.insert(row.id, bundle);
    Ok(told)
}

fn update(database: &mut Database, row: Row, now: Timestamp) -> Result<Option<SpecEvent>, Refusal> {
    let written = database.write();
    let found =
        database.bundles.get_mut(&row.id).ok_or_else(|| Refusal::Get(ServiceError::not_found("Resource", &row.id)))?;
    let version = if row.version == 0 { found.version } else { row.version };
    if found.deleted_at.is_some() {
        let reason = format!("the resource is under deletion, id: {}", row.id);
        return Err(Refusal::Update(ServiceError::conflict(reason)));
    }
    if version != found.version {
        let reason = format!("the resource version is not the latest, the latest version: {}", found.version);
        return Err(Refusal::Update(ServiceError::conflict(reason)));
    }
    // The whole event is compared, with its id and time, so only a replay is no change.
    if row.payload == found.payload {
        return Ok(None);
    }
    validation::check(row.payload.get("data")).map_err(|reason| {
        let reason = format!("the new manifest bundle in the resource is invalid, {reason}");
        Refusal::Update(ServiceError::validation(reason))
    })?;
    found.version = found.version.saturating_add(1);
    found.payload = row.payload;
    found.updated_at = now;
    found.written = written;
    // Source and consumer stay: an update neither checks nor moves them.
    Ok(Some(SpecEvent { consumer: found.consumer.clone(), id: found.id.clone() }))
}
