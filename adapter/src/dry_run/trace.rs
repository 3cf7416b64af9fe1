//! The trace of one pass, which a dry run prints, and which scenarios expect.
//!
//! The JSON form has every member of the Go adapter's dry-run trace, and additional ones. Empty members are
//! left out, and lists follow the order of the task or of the calls, so that equal runs give equal text.

mod build;

use std::collections::BTreeMap;

use lifecycle_bundle::member::Effect;
use lifecycle_core::outcome::{GateAnswer, OutcomeResult};
use lifecycle_core::stage::Phase;
use lifecycle_transport::memory::{ApplyResult, OperationVerb};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::diff::ObjectDiff;
use crate::pass::Status;
use crate::redact::Redactor;

pub use crate::pass::account::{
    ActionTrace, CaptureTrace, DecisionTrace, GateTrace, MemberTrace, PreconditionTrace, PrunedTrace, ReadingTrace,
    ResourceTrace,
};
pub use build::Recording;

/// The trace of one pass: what it read, decided, called and changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// The event of the pass.
    pub event: EventTrace,
    /// Whether the pass succeeded: `success` or `failed`.
    pub status: Status,
    /// Whether the pass ended because the API resource of a param or a precondition does not exist.
    #[serde(skip)]
    pub lacks_resource: bool,
    /// The status of each phase, in order.
    pub phases: Vec<PhaseTrace>,
    /// Every variable except `resources`: built-ins, params, captures, and payloads as text.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// The source of each param, in the order of the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub param_sources: Vec<ParamSource>,
    /// The param at which the pass ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_param: Option<String>,
    /// The result of each precondition that was evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preconditions: Vec<PreconditionTrace>,
    /// The result of each resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceTrace>,
    /// The decision about each resource, with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionTrace>,
    /// The changes that the pass made to objects of the store, as diffs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<ObjectDiff>,
    /// The variable `resources` at the end of the pass.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub discovered_resources: Map<String, Value>,
    /// The result of each post action that was reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_actions: Vec<ActionTrace>,
    /// The bodies that phase 4 sent to the API.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ReportTrace>,
    /// The lines that the task's `log` asks for, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogTrace>,
    /// The error of each phase that failed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<&'static str, String>,
    /// Warnings to the author of the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Every call to the API, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_requests: Vec<RequestTrace>,
    /// Every call to the object store, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transport_operations: Vec<OperationTrace>,
}

/// The event of the pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "named as in the event")]
pub struct EventTrace {
    pub id: String,
    #[serde(rename = "type")]
    pub event_type: String,
    /// The clock of the pass, in RFC 3339.
    pub now: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_id: String,
    pub generation: i64,
}

/// The status of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseTrace {
    /// The phase.
    pub phase: Phase,
    /// Whether the phase ran, and whether it succeeded.
    pub status: PhaseStatus,
    /// Details, such as why the phase was skipped, or whether the preconditions are met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The status of a phase in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// Every step of the phase succeeded.
    Success,
    /// A step of the phase failed.
    Failed,
    /// The phase had nothing to do.
    Skipped,
    /// The pass ended before the phase.
    NotRun,
}

/// The source of a param.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParamSource {
    /// The name of the param in the task.
    pub name: String,
    /// The source, as the task writes it.
    pub source: String,
    /// Whether the param has its default in place of a value of the source.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
    /// Whether the source failed, so that `on_error: default` applies.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_failed: bool,
}

/// A JSON body that phase 4 sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "named as in HTTP")]
pub struct ReportTrace {
    pub method: &'static str,
    pub url: String,
    pub body: Value,
}

/// A line that the task logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogTrace {
    /// The phase that logs the line.
    pub phase: Phase,
    /// The name of the precondition or action whose line it is.
    pub step: String,
    /// The level, such as `info`.
    pub level: &'static str,
    /// The text; empty if it could not be rendered.
    pub message: String,
    /// Why the text could not be rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A call to the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestTrace {
    /// The phase that made the call.
    pub phase: Phase,
    /// The name of the precondition or action that made the call; empty for a param.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// The HTTP method of the call, such as `GET`.
    pub method: &'static str,
    /// The resolved URL, which the patterns of canned answers match.
    pub url: String,
    /// The status of the response; zero if none came.
    pub status_code: u16,
    /// The entry of the answers file that answered.
    pub answered_by: AnsweredBy,
    /// The request's body, in a verbose trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_body: Option<String>,
    /// The response's body, in a verbose trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
}

/// What answered a call to the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredBy {
    /// This entry of the answers file.
    Entry(usize),
    /// No entry matched.
    Default,
}

impl Serialize for AnsweredBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Entry(entry) => serializer.collect_str(&format_args!("responses[{entry}]")),
            Self::Default => serializer.serialize_str("default"),
        }
    }
}

/// A call to the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationTrace {
    /// `apply`, `patch`, `get`, `discover` or `delete`. The Go adapter's traces have no `patch`.
    #[serde(serialize_with = "verb")]
    pub operation: OperationVerb,
    /// The kind of the object that the operation names.
    pub kind: String,
    /// The namespace of that object; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of that object.
    pub name: String,
    /// The effect of an apply or a patch.
    #[serde(serialize_with = "applied", skip_serializing_if = "Option::is_none")]
    pub result: Option<ApplyResult>,
}

fn verb<S: Serializer>(verb: &OperationVerb, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verb.as_str())
}

fn applied<S: Serializer>(result: &Option<ApplyResult>, serializer: S) -> Result<S::Ok, S::Error> {
    result.map(ApplyResult::as_str).serialize(serializer)
}

impl Trace {
    /// Returns whether the pass failed in any phase.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.status == Status::Failed
    }

    /// Removes secrets from the texts that the pass made. Params, discovered objects and diffs have none any more.
    fn redact(&mut self, redactor: &Redactor) {
        let redact = |text: &mut String| {
            let redacted = redactor.text(text);
            if *redacted != **text {
                *text = redacted.into_owned();
            }
        };
        let any = |texts: &mut Vec<String>| texts.iter_mut().for_each(redact);
        let maybe = |text: &mut Option<String>| text.iter_mut().for_each(redact);
        self.phases.iter_mut().for_each(|phase| maybe(&mut phase.detail));
        for precondition in &mut self.preconditions {
            maybe(&mut precondition.error);
            precondition.captures.iter_mut().for_each(|capture| capture.value = redactor.value(&capture.value));
        }
        for resource in &mut self.resources {
            [&mut resource.namespace, &mut resource.resource_name].into_iter().for_each(redact);
            [&mut resource.reason, &mut resource.error].into_iter().for_each(maybe);
            if let OutcomeResult::Failed(failure) = &mut resource.result {
                redact(&mut failure.message);
            }
            resource.discovered_state = resource.discovered_state.as_ref().map(|object| redactor.value(object));
        }
        for decision in &mut self.decisions {
            redact(&mut decision.because);
            for gate in &mut decision.gates {
                if let GateAnswer::Failed(cause) = &mut gate.answer {
                    redact(cause);
                }
                gate.readings.iter_mut().for_each(|reading| redact(&mut reading.value));
            }
            decision.pruned.iter_mut().for_each(|pruned| redact(&mut pruned.name));
            for object in &mut decision.objects {
                [&mut object.object, &mut object.decision, &mut object.why].into_iter().for_each(redact);
                if let Effect::Failed(failure) = &mut object.effect {
                    redact(&mut failure.message);
                }
            }
            any(&mut decision.warnings);
        }
        for action in &mut self.post_actions {
            [&mut action.reason, &mut action.error].into_iter().for_each(maybe);
        }
        for report in &mut self.reports {
            redact(&mut report.url);
            report.body = redactor.value(&report.body);
        }
        for line in &mut self.logs {
            redact(&mut line.message);
            maybe(&mut line.error);
        }
        self.errors.values_mut().for_each(redact);
        any(&mut self.warnings);
        for request in &mut self.api_requests {
            redact(&mut request.url);
            let bodies = [&mut request.request_body, &mut request.response_body];
            bodies.into_iter().flatten().for_each(|body| redactor.body(body));
        }
        for operation in &mut self.transport_operations {
            [&mut operation.namespace, &mut operation.name].into_iter().for_each(redact);
        }
    }

    /// The writes of the pass that were not refused, one text each.
    #[must_use]
    pub fn writes(&self) -> Vec<String> {
        let is_write = |operation: &&OperationTrace| match operation.operation {
            OperationVerb::Apply | OperationVerb::Patch => operation.result != Some(ApplyResult::Failed),
            OperationVerb::Delete => true,
            OperationVerb::Get | OperationVerb::Discover => false,
        };
        let name = |operation: &OperationTrace| match operation.namespace.as_str() {
            "" => operation.name.clone(),
            namespace => format!("{namespace}/{}", operation.name),
        };
        self.transport_operations
            .iter()
            .filter(is_write)
            .map(|operation| format!("{} {} {}", operation.operation.as_str(), operation.kind, name(operation)))
            .collect()
    }

    /// The trace as indented JSON, with a final line break.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serializing cannot fail: every member is plain data with text keys.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
