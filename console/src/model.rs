//! What the sources answer, as far as the pages show it.
//!
//! The types take what they know and pass over the rest, so that a newer program can be looked at by an older console. A field that is
//! missing has its default, except where the answer would mean nothing without it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

mod sweeper;

pub use sweeper::{Deed, Orphan, Plan, Sweep};

/// A resource of the HyperFleet API, such as a cluster.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Resource {
    /// The id, which is in labels and logs.
    pub id: String,
    /// The kind as the API writes it, such as `Cluster`.
    #[serde(default)]
    pub kind: String,
    /// The name that its creator gave it.
    #[serde(default)]
    pub name: String,
    /// Its path at the API.
    #[serde(default)]
    pub href: String,
    /// The number of its last change.
    #[serde(default)]
    pub generation: i64,
    /// When it was created.
    pub created_time: Option<Timestamp>,
    /// When it was changed last.
    pub updated_time: Option<Timestamp>,
    /// When its deletion was asked for; none if it was not.
    pub deleted_time: Option<Timestamp>,
    /// Who asked for it.
    pub deleted_by: Option<String>,
    /// Who changed it last.
    pub updated_by: Option<String>,
    /// Its labels.
    #[serde(default, deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    /// The resource that it is part of.
    pub owner_references: Option<Reference>,
    /// The resources that it names, by the type of reference.
    #[serde(default, deserialize_with = "or_default")]
    pub references: BTreeMap<String, Vec<Reference>>,
    /// What the API makes of the adapters' reports.
    #[serde(default, deserialize_with = "or_default")]
    pub status: Status,
}

impl Resource {
    /// The condition of a type.
    #[must_use]
    pub fn condition(&self, condition_type: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|condition| condition.condition_type == condition_type)
    }

    /// Whether the API calls the resource reconciled; none if it has no such condition, as kinds without adapters.
    #[must_use]
    pub fn is_reconciled(&self) -> Option<bool> {
        self.condition("Reconciled").map(|condition| condition.status == "True")
    }
}

/// Another resource, by its id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Reference {
    /// The id.
    pub id: String,
    /// The kind.
    #[serde(default)]
    pub kind: String,
}

/// The status of a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Status {
    /// The conditions in the API's order.
    #[serde(default, deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
}

/// A condition of a resource or of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Condition {
    /// The type, such as `Available`.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    /// The reason in one word; empty if none was given.
    #[serde(default, deserialize_with = "or_default")]
    pub reason: String,
    /// The reason as a sentence; empty if none was given.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
    /// The generation that it is about; reports have one for all their conditions.
    pub observed_generation: Option<i64>,
    /// Since when the status is what it is.
    pub last_transition_time: Option<Timestamp>,
}

/// The last report of an adapter about a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Report {
    /// The adapter's name.
    pub adapter: String,
    /// The generation that the report is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// The conditions of the report.
    #[serde(default, deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// When the adapter reported.
    pub last_report_time: Option<Timestamp>,
}

impl Report {
    /// The condition of a type.
    #[must_use]
    pub fn condition(&self, condition_type: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.condition_type == condition_type)
    }
}

/// An item of the API's lists.
pub trait Item: DeserializeOwned {
    /// Whether a list leaves out an item that cannot be read, and counts it. Without a report, an adapter would seem never to have reported.
    const MAY_BE_LEFT_OUT: bool = false;
}

impl Item for Resource {
    const MAY_BE_LEFT_OUT: bool = true;
}

impl Item for Report {}

impl Item for Value {}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Items", bound = "T: Item")]
pub struct List<T> {
    /// The items of this page that can be read.
    pub items: Vec<T>,
    /// The number of items of this page that cannot be read.
    pub unreadable: usize,
    /// The number of items on all pages.
    pub total: u64,
}

/// A page of a list as the API sends it.
#[derive(Deserialize)]
struct Items {
    #[serde(default, deserialize_with = "or_default")]
    items: Vec<Value>,
    total: u64,
}

impl<T: Item> TryFrom<Items> for List<T> {
    type Error = serde_json::Error;

    fn try_from(list: Items) -> Result<Self, Self::Error> {
        let all = list.items.len();
        let read = list.items.into_iter().map(serde_json::from_value);
        let items = read.filter(|item| item.is_ok() || !T::MAY_BE_LEFT_OUT).collect::<Result<Vec<T>, _>>()?;
        Ok(Self { unreadable: all - items.len(), items, total: list.total })
    }
}

/// A page of the exporter's list of stuck resources, or of stalled deletions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct StuckList {
    /// The stuck resources of this page, the oldest first.
    pub items: Vec<Stuck>,
    /// The number of stuck resources on all pages.
    pub total: u64,
    /// Whether there are more than the exporter read.
    #[serde(default)]
    pub truncated: bool,
}

/// A resource that is not reconciled for longer than its threshold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Stuck {
    /// The id.
    pub id: String,
    /// The kind.
    #[serde(default)]
    pub kind: String,
    /// The name.
    #[serde(default)]
    pub name: String,
    /// For how long, in seconds.
    #[serde(default)]
    pub age_seconds: u64,
    /// Whether its deletion is stuck.
    #[serde(default)]
    pub deleting: bool,
    /// The adapters that it waits on.
    #[serde(default, deserialize_with = "or_default")]
    pub waits_on: Vec<StuckOn>,
    /// The ids of children that still exist, of a deletion that is stalled.
    #[serde(default, deserialize_with = "or_default")]
    pub children: Vec<String>,
}

/// An adapter that a stuck resource waits on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct StuckOn {
    /// The adapter's name.
    pub adapter: String,
    /// Why, in one word, such as `not_available`.
    #[serde(default)]
    pub cause: String,
}

/// The recent passes of one replica of an adapter.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Passes {
    /// The adapter's name.
    pub adapter: String,
    /// The version of the program.
    #[serde(default)]
    pub version: String,
    /// The replica, by its host name.
    #[serde(default)]
    pub replica: String,
    /// When it started.
    pub started: Option<Timestamp>,
    /// Whether it takes events.
    #[serde(default)]
    pub intake: Intake,
    /// How many passes have ended since it started.
    #[serde(default)]
    pub totals: Totals,
    /// What it keeps of them.
    #[serde(default)]
    pub kept: Kept,
    /// The passes, the newest first.
    #[serde(default)]
    pub passes: Vec<Pass>,
}

/// How many passes have ended since a replica started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Totals {
    /// Passes in which every step succeeded.
    #[serde(default)]
    pub success: u64,
    /// Passes in which a step failed.
    #[serde(default)]
    pub failed: u64,
    /// Passes whose preconditions were not met, or whose resource is gone.
    #[serde(default)]
    pub skipped: u64,
    /// Resources that failed, by reason.
    #[serde(default)]
    pub failures: BTreeMap<String, u64>,
}

/// What a replica keeps of its passes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Kept {
    /// The number of passes.
    #[serde(default)]
    pub passes: u64,
    /// The time of the oldest of them.
    pub oldest: Option<Timestamp>,
}

/// Whether a replica takes events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Intake {
    /// Whether it does; none if it does not say.
    pub takes_events: Option<bool>,
    /// The dependency that does not answer, and how.
    pub waits_for: Option<String>,
    /// Why the process is not ready.
    pub problem: Option<String>,
    /// The number of passes that run.
    pub in_flight: Option<i64>,
    /// The number of events that wait for a pass.
    pub waiting: Option<i64>,
}

/// A pass of an adapter about one resource.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pass {
    /// When it began.
    pub time: Option<Timestamp>,
    /// How long it took, in seconds.
    #[serde(default, rename = "duration_seconds")]
    pub duration_seconds: f64,
    /// The id of its trace; none if the pass has none.
    #[serde(rename = "trace_id")]
    pub trace_id: Option<String>,
    /// The event that it answered.
    #[serde(default)]
    pub event: Event,
    /// `success`, `failed` or `skipped`.
    #[serde(default)]
    pub status: String,
    /// The API's words if the resource does not exist.
    pub gone: Option<String>,
    /// Why the preconditions are not met, as a sentence that names the first one.
    pub not_met: Option<String>,
    /// The preconditions that were evaluated.
    #[serde(default)]
    pub preconditions: Vec<Precondition>,
    /// What became of each resource of the task.
    #[serde(default)]
    pub resources: Vec<Effect>,
    /// The decision about each resource of the task.
    #[serde(default)]
    pub decisions: Vec<Decision>,
    /// The error of each phase that failed.
    #[serde(default)]
    pub errors: BTreeMap<String, String>,
    /// Warnings to the author of the task.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What the adapter left out, because the pass was too long.
    #[serde(default)]
    pub cut: Vec<String>,
    /// The replica that kept it, if the adapter has several.
    #[serde(skip)]
    pub replica: Option<String>,
}

/// The event of a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The kind of the resource.
    #[serde(default)]
    pub kind: String,
    /// The id of the resource.
    #[serde(default)]
    pub resource_id: String,
    /// The generation that the event names.
    #[serde(default)]
    pub generation: i64,
}

/// A precondition that was evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Precondition {
    /// The name in the task.
    #[serde(default)]
    pub name: String,
    /// Whether it is met.
    #[serde(default)]
    pub matched: bool,
    /// Why it could not be evaluated.
    pub error: Option<String>,
}

/// What became of a resource of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// The name in the task.
    #[serde(default)]
    pub name: String,
    /// The kind of the object.
    #[serde(default)]
    pub kind: String,
    /// The object's namespace; empty if it has none.
    #[serde(default)]
    pub namespace: String,
    /// The object's name.
    #[serde(default)]
    pub resource_name: String,
    /// What the decision did, such as `created` or `waiting`.
    #[serde(default)]
    pub result: String,
    /// The error of a resource that failed.
    pub error: Option<String>,
}

/// The decision about a resource of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Decision {
    /// The name in the task.
    #[serde(default)]
    pub resource: String,
    /// The decision in one word, such as `create` or `wait`.
    #[serde(default)]
    pub decision: String,
    /// The reason in one word.
    #[serde(default)]
    pub reason: String,
    /// The reason as a sentence.
    #[serde(default)]
    pub because: String,
    /// The number of the row of the decision table that matched.
    #[serde(default)]
    pub row: String,
    /// The condition of that row.
    #[serde(default)]
    pub condition: String,
    /// Whether the objects are as the task wants them, or on their way out of it; none if an older adapter does not say.
    pub settled: Option<bool>,
    /// Whether the objects may not have been written yet; none if an older adapter does not say.
    pub unwritten: Option<bool>,
    /// What would have to differ for another decision.
    pub otherwise: Option<String>,
    /// The gates that were evaluated, in order.
    #[serde(default)]
    pub gates: Vec<Gate>,
    /// The former versions that `retention` deleted.
    #[serde(default)]
    pub pruned: Vec<Pruned>,
    /// The objects of a bundle.
    #[serde(default)]
    pub objects: Vec<Member>,
    /// Warnings to the author of the task.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A former version that `retention` deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Pruned {
    /// The name of the object.
    #[serde(default)]
    pub name: String,
    /// The limits of `retention` that it exceeded.
    #[serde(default)]
    pub because: String,
}

/// A gate that was evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Gate {
    /// The resource that the gate belongs to, if it is another one.
    pub resource: Option<String>,
    /// The name, such as `delete`.
    #[serde(default)]
    pub gate: String,
    /// The result as text.
    #[serde(default)]
    pub answer: String,
    /// The expression as the task writes it.
    pub expression: Option<String>,
    /// What the expression read.
    #[serde(default)]
    pub readings: Vec<Reading>,
}

/// A value that a gate read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Reading {
    /// The path, as the expression writes it.
    #[serde(default)]
    pub path: String,
    /// The value at the path, shortened.
    #[serde(default)]
    pub value: String,
}

/// An object of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Member {
    /// The object, such as `Deployment.apps team/web`.
    #[serde(default)]
    pub object: String,
    /// The step in which it was handled, such as `wave 0`.
    #[serde(default)]
    pub step: String,
    /// The decision with its reason.
    #[serde(default)]
    pub decision: String,
    /// What became of it.
    #[serde(default)]
    pub effect: String,
    /// Whether it is ready.
    #[serde(default)]
    pub readiness: String,
    /// Whether it is ready, or has served and may be gone; none if an older adapter does not say.
    pub ready: Option<bool>,
    /// Why it is not ready, or why it failed.
    #[serde(default)]
    pub why: String,
}

/// The picture of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Task {
    /// The resources in the order in which the adapter takes them.
    #[serde(default)]
    pub resources: Vec<TaskResource>,
    /// What waits for what.
    #[serde(default)]
    pub arrows: Vec<Arrow>,
}

/// A resource of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TaskResource {
    /// The name in the task.
    pub name: String,
    /// The kind of its object.
    #[serde(default)]
    pub kind: String,
    /// When it is created, in words.
    #[serde(default)]
    pub is_created: String,
    /// When it is deleted, in words.
    #[serde(default)]
    pub is_deleted: String,
}

/// An arrow of a task's picture: from what comes first to what waits for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Arrow {
    /// The resource that comes first.
    pub from: String,
    /// The resource that waits.
    pub to: String,
    /// `creation` or `deletion`.
    #[serde(default)]
    pub on: String,
    /// Why it waits.
    #[serde(default)]
    pub label: String,
}

/// Reads `null` as the default: programs in Go send it for an empty list or mapping.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
