//! The trace of one pass: what a dry run prints, and what scenarios expect.
//!
//! Its JSON form has every member of the Go adapter's dry-run trace; the others are ours. Members that are empty are
//! left out, and everything stands in the order of the task or of what happened, so that equal runs give equal text.

mod build;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::diff::ObjectDiff;

pub use build::Recording;

/// The account of one pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// The event.
    pub event: EventTrace,
    /// `success` or `failed`.
    pub status: &'static str,
    /// How each phase ended, in order.
    pub phases: Vec<PhaseTrace>,
    /// Every variable but `resources`: built-ins, params, captures, and payloads as text.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// Where each param of the task comes from, in the order of the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub param_sources: Vec<ParamSource>,
    /// What each precondition gave, as far as they were reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preconditions: Vec<PreconditionTrace>,
    /// What became of each resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceTrace>,
    /// What was decided about each resource, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionTrace>,
    /// How the objects changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<ObjectDiff>,
    /// `resources` as expressions saw it at the end.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub discovered_resources: Map<String, Value>,
    /// What each post action did, as far as they were reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_actions: Vec<ActionTrace>,
    /// What was sent to the API in phase 4.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ReportTrace>,
    /// What failed, by phase.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<&'static str, String>,
    /// What the author should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Every call to the API, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_requests: Vec<RequestTrace>,
    /// Every call to the object store, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transport_operations: Vec<OperationTrace>,
}

/// The event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "named as in the event")]
pub struct EventTrace {
    pub id: String,
    #[serde(rename = "type")]
    pub event_type: String,
    /// The clock of the pass.
    pub now: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_id: String,
    pub generation: i64,
}

/// The detail of a phase that found nothing to reconcile or to report to.
pub const RESOURCE_NOT_FOUND: &str = "resource not found";

/// A phase, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseTrace {
    /// The phase.
    pub phase: &'static str,
    /// How it ended.
    pub status: PhaseStatus,
    /// More words about that: why it was skipped, whether the preconditions are met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// How a phase ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// It did its part.
    Success,
    /// A step of it failed.
    Failed,
    /// It had nothing to do.
    Skipped,
    /// The pass ended before it.
    NotRun,
}

/// Where a param comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParamSource {
    /// The param.
    pub name: String,
    /// Its source, as the task spells it.
    pub source: String,
}

/// What a precondition gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreconditionTrace {
    /// Its name.
    pub name: String,
    /// `success` or `failed`.
    pub status: &'static str,
    /// Whether it is met.
    pub matched: bool,
    /// Why it could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it took from its response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CaptureTrace>,
}

/// A captured value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "named as in the task")]
pub struct CaptureTrace {
    pub name: String,
    pub value: Value,
}

/// What became of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTrace {
    /// Its name in the task.
    pub name: String,
    /// The kind of its object.
    pub kind: String,
    /// The namespace of its object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of its object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_name: String,
    /// `success`, `skipped` or `failed`.
    pub status: &'static str,
    /// `create`, `update`, `recreate`, `delete`, `skip`, or nothing if it failed before anything was chosen.
    pub operation: &'static str,
    /// What came of it: `created`, `deleting`, `waiting` and their like.
    pub result: &'static str,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of a deletion: the object as it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered_state: Option<Value>,
}

/// What was decided about a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionTrace {
    /// The resource.
    pub resource: String,
    /// The decision.
    pub decision: &'static str,
    /// Its reason, from a closed set.
    pub reason: &'static str,
    /// The reason in a sentence.
    pub because: String,
    /// The number of the row of the decision table that matched.
    pub row: &'static str,
    /// When that row matches.
    pub condition: &'static str,
    /// What would have to differ for a later row to match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<&'static str>,
    /// Whether nothing more is needed to consider the resource gone or disowned.
    pub finalized: bool,
    /// The gates that were asked, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateTrace>,
    /// How many live objects belonged to it before.
    pub versions: usize,
    /// The former versions that retention deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<PrunedTrace>,
    /// What the author should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A former version that retention deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrunedTrace {
    /// Its name.
    pub name: String,
    /// Which limits it exceeded.
    pub because: String,
}

/// A gate that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateTrace {
    /// The resource whose gate it is, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The gate.
    pub gate: String,
    /// Its answer.
    pub answer: String,
    /// Its expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// What the expression read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingTrace>,
}

/// Something that a gate read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadingTrace {
    /// Where, as the expression spells it.
    pub path: String,
    /// What was there, in short.
    pub value: String,
}

/// What a post action did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActionTrace {
    /// Its name.
    pub name: String,
    /// `success`, `skipped` or `failed`.
    pub status: &'static str,
    /// Whether it did not have to run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Why it did not have to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A JSON body that phase 4 sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "named as in HTTP")]
pub struct ReportTrace {
    pub method: &'static str,
    pub url: String,
    pub body: Value,
}

/// A call to the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestTrace {
    /// The phase that made it.
    pub phase: &'static str,
    /// The param, precondition or action that made it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// The method.
    pub method: &'static str,
    /// The URL, as answers match it.
    pub url: String,
    /// The status of the answer; zero if there was none.
    pub status_code: u16,
    /// Which entry of the answers file answered, such as `responses[0]`; `default` if none did.
    pub answered_by: String,
    /// The body that was sent, in a verbose trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_body: Option<String>,
    /// The body of the answer, in a verbose trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
}

/// A call to the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationTrace {
    /// `apply`, `patch`, `get`, `discover` or `delete`. The Go adapter has no `patch`: none of its tasks comes to one.
    pub operation: &'static str,
    /// The kind.
    pub kind: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
    /// What an apply or a patch did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'static str>,
}

impl Trace {
    /// Whether the pass failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.status == "failed"
    }

    /// The JSON form, indented, ending in a line break.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Every member is plain data with text keys, which always serialises.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
