//! The parts of a pass's account that a dry run's trace and the page of passes both tell.
//!
//! In: the report of a pass, and the task. Out: values that serialize. A value that a pass captured, a body and an object are
//! for the trace alone, which redacts them: the builders here leave them out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lifecycle_bundle::report::ObjectReport;
use lifecycle_core::decision::{Decision, Resent, SkipReason, WaitReason};
use lifecycle_core::outcome::{GateAnswer, GateRecord, Outcome, OutcomeResult};
use lifecycle_core::post::{ActionEnd, ActionResult};
use lifecycle_core::precondition::PreconditionResult;
use lifecycle_core::task::Task;
use lifecycle_objects::failure::FailReason;
use serde::Serialize;
use serde_json::Value;

use super::PassReport;

/// The result of a precondition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreconditionTrace {
    /// The name of the precondition in the task.
    pub name: String,
    /// Whether the precondition could be evaluated: `success` or `failed`.
    pub status: &'static str,
    /// Whether the precondition is met.
    pub matched: bool,
    /// Why the precondition could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The values captured from the response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CaptureTrace>,
}

impl PreconditionTrace {
    /// The result of a precondition, without the values that it captured.
    #[must_use]
    pub fn of(result: &PreconditionResult) -> Self {
        Self {
            name: result.name.clone(),
            status: if result.error.is_some() { "failed" } else { "success" },
            matched: result.met,
            error: result.error.clone(),
            captures: Vec::new(),
        }
    }
}

/// A value that a precondition captured from an API's answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "named as in the task")]
pub struct CaptureTrace {
    pub name: String,
    pub value: Value,
}

/// The result of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTrace {
    /// The resource's name in the task.
    pub name: String,
    /// The kind of the object that the resource manages.
    pub kind: String,
    /// The namespace of that object; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of that object in Kubernetes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_name: String,
    /// The result in the Go adapter's words: `success`, `skipped` or `failed`.
    pub status: &'static str,
    /// `create`, `update`, `recreate`, `delete` or `skip`; empty if the resource failed before a decision.
    pub operation: &'static str,
    /// The effect of the decision, such as `created`, `deleting` or `waiting`.
    pub result: &'static str,
    /// The reason of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The error of a failed resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The reason of the failure, which `error` begins with.
    #[serde(skip)]
    pub failed_for: Option<&'static str>,
    /// The object before its deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered_state: Option<Value>,
}

impl ResourceTrace {
    /// The result of a resource, without its object.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let failure = outcome.failure();
        Self {
            name: outcome.resource.clone(),
            kind: outcome.kind.kind.clone(),
            namespace: outcome.namespace.clone(),
            resource_name: outcome.name.clone(),
            status: status(outcome),
            operation: operation_word(&outcome.decision),
            result: outcome.result.as_str(),
            reason: failure.is_none().then(|| outcome.reason()),
            error: failure.map(ToString::to_string),
            failed_for: failure.map(|failure| failure.reason.as_str()),
            discovered_state: None,
        }
    }
}

/// The decision about a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionTrace {
    /// The resource's name in the task.
    pub resource: String,
    /// The decision, such as `create` or `skip`.
    pub decision: &'static str,
    /// The reason, from a closed set.
    pub reason: &'static str,
    /// The reason as a sentence.
    pub because: String,
    /// The number of the matching row of the decision table.
    pub row: &'static str,
    /// The condition of that row, or the gate of it that has no answer.
    pub condition: Cow<'static, str>,
    /// The change of conditions that would make a later row of the decision table match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<&'static str>,
    /// Whether nothing of the resource is left to delete or disown.
    pub finalized: bool,
    /// The gates that were evaluated, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateTrace>,
    /// The number of live objects that the resource owned before the pass.
    pub versions: usize,
    /// The former versions that `retention` deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<PrunedTrace>,
    /// What became of the objects of a bundle, in the order of their steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<MemberTrace>,
    /// Warnings to the author of the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The condition of the row that matched. Where a gate of the row failed, the condition is neither true nor false.
fn condition(outcome: &Outcome) -> Cow<'static, str> {
    let is_failed = |gate: &&GateRecord| gate.resource.is_none() && matches!(gate.answer, GateAnswer::Failed(_));
    let is_unanswered = outcome.failure().is_some_and(|failure| failure.reason == FailReason::GateFailed);
    match outcome.gates.iter().rfind(is_failed).filter(|_| is_unanswered) {
        Some(gate) => Cow::Owned(format!("`{}` has no answer", gate.name)),
        None => Cow::Borrowed(outcome.row.condition()),
    }
}

impl DecisionTrace {
    /// The decision about a resource of `task`.
    #[must_use]
    pub fn of(outcome: &Outcome, task: &Task) -> Self {
        let pruned = outcome.pruned.iter();
        let pruned = pruned.map(|pruned| PrunedTrace { name: pruned.name.clone(), because: pruned.because.clone() });
        Self {
            resource: outcome.resource.clone(),
            row: outcome.row.number(),
            condition: condition(outcome),
            otherwise: outcome.otherwise(),
            decision: outcome.decision.kind(),
            reason: outcome.decision.reason(),
            because: outcome.reason(),
            finalized: outcome.finalized,
            gates: outcome.gates.iter().map(|gate| GateTrace::of(gate, outcome, task)).collect(),
            versions: outcome.versions,
            pruned: pruned.collect(),
            objects: outcome.bundle.iter().flat_map(|bundle| bundle.in_steps()).map(MemberTrace::of).collect(),
            warnings: outcome.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// An object of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemberTrace {
    /// The object, such as `Deployment.apps team/web`.
    pub object: String,
    /// The step in which it was handled, such as `wave 0`.
    pub step: String,
    /// The decision with its reason; empty if the pass decided nothing.
    pub decision: String,
    /// The number of the matching row of the table of bundles; empty if the pass decided nothing.
    pub row: &'static str,
    /// What became of the object.
    pub effect: &'static str,
    /// The paths of the fields that somebody had changed, and that this pass repaired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// Whether the object is ready.
    pub readiness: &'static str,
    /// Why it is not ready, or why it failed; empty if there is nothing to say.
    pub why: String,
}

impl MemberTrace {
    fn of(member: &ObjectReport) -> Self {
        let (readiness, why) = member.readiness();
        let failure = member.effect.failure().map(ToString::to_string);
        let verdict = member.verdict.as_ref();
        Self {
            object: member.identity.to_string(),
            step: member.step.to_string(),
            decision: verdict.map(|(_, decision)| decision.to_string()).unwrap_or_default(),
            row: verdict.map(|(row, _)| row.number()).unwrap_or_default(),
            effect: member.effect.as_str(),
            drift: member.effect.drift().unwrap_or_default().to_vec(),
            readiness,
            why: failure.unwrap_or_else(|| why.to_owned()),
        }
    }
}

/// A former version that `retention` deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrunedTrace {
    /// The name of the deleted object.
    pub name: String,
    /// The limits of `retention` that it exceeded.
    pub because: String,
}

/// A gate that was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateTrace {
    /// The resource that the gate belongs to, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The name of the gate, such as `create` or `delete`.
    pub gate: String,
    /// The result of the gate, as text.
    pub answer: Cow<'static, str>,
    /// The other resources for which a gate that does not hold waits.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub awaits: BTreeSet<String>,
    /// The CEL expression of the gate, as the task writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<Arc<str>>,
    /// The values that the expression read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingTrace>,
}

impl GateTrace {
    fn of(gate: &GateRecord, outcome: &Outcome, task: &Task) -> Self {
        let name = gate.resource.as_ref().unwrap_or(&outcome.resource);
        let resource = task.resources.iter().find(|resource| resource.name == *name);
        let expression = resource.and_then(|resource| resource.gates.expression(&gate.name));
        let readings = gate.readings.iter();
        Self {
            resource: gate.resource.clone(),
            gate: gate.name.clone(),
            answer: gate.answer_text(),
            awaits: gate.awaits.clone(),
            expression: expression.map(|expression| Arc::clone(expression.one_line())),
            readings: readings
                .map(|reading| ReadingTrace { path: Arc::clone(&reading.path), value: reading.value.clone() })
                .collect(),
        }
    }
}

/// A value that a gate read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadingTrace {
    /// The path, as the expression writes it.
    pub path: Arc<str>,
    /// The value at the path, shortened for display.
    pub value: String,
}

/// The result of a post action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActionTrace {
    /// The name of the post action in the task.
    pub name: String,
    /// The result in the Go adapter's words: `success`, `skipped` or `failed`.
    pub status: &'static str,
    /// Whether the action was skipped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Why the action was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason why the action failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ActionTrace {
    /// The result of a post action.
    #[must_use]
    pub fn of(result: &ActionResult) -> Self {
        let (status, reason, error) = match &result.end {
            ActionEnd::Executed => ("success", None, None),
            ActionEnd::Skipped(reason) => ("skipped", Some(reason.clone()), None),
            ActionEnd::Failed(message) => ("failed", None, Some(message.clone())),
        };
        Self { name: result.name.clone(), status, skipped: status == "skipped", reason, error }
    }
}

/// The errors of a pass, those of one phase in one text.
#[must_use]
pub fn errors(report: &PassReport) -> BTreeMap<&'static str, String> {
    let mut errors = BTreeMap::<_, String>::new();
    for error in report.errors() {
        let text = errors.entry(error.phase.as_str()).or_default();
        text.push_str(if text.is_empty() { "" } else { "; " });
        text.push_str(&error.to_string());
    }
    errors
}

/// The warnings of a pass to the author of its task, other than those about a resource.
#[must_use]
pub fn warnings(report: &PassReport) -> Vec<String> {
    let replaced = report.replaced.iter();
    let replaced = replaced.map(|error| format!("param {}: its default is used: {}", error.step, error.message));
    let of_preconditions = report
        .preconditions
        .iter()
        .flat_map(|result| result.warnings.iter().map(|warning| format!("precondition {}: {warning}", result.name)));
    let of_payloads = report.post.iter().flat_map(|post| post.warnings.iter().cloned());
    replaced.chain(of_preconditions).chain(of_payloads).collect()
}

/// The status of a resource as the Go adapter's traces spell it: `success`, `skipped` or `failed`.
fn status(outcome: &Outcome) -> &'static str {
    match (&outcome.result, &outcome.decision) {
        (OutcomeResult::Failed(_), _) => "failed",
        (
            _,
            Decision::Skip(
                SkipReason::WhenFalse
                | SkipReason::CreateGateFalse
                | SkipReason::ApplyGateFalse
                | SkipReason::NotOurs
                | SkipReason::EarlierFailure,
            )
            | Decision::Wait(WaitReason::NotYet(_) | WaitReason::NamespaceTerminating(_)),
        ) => "skipped",
        _ => "success",
    }
}

/// The decision as the Go adapter's traces spell it, such as `create`.
fn operation_word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Create | Decision::CreateVersion(_) => "create",
        Decision::Update { .. } | Decision::Resend(Resent::Content) => "update",
        Decision::Patch(_) => "patch",
        Decision::Disown(_) => "disown",
        Decision::Recreate { .. } => "recreate",
        Decision::Delete
        | Decision::Resend(Resent::Deletion)
        | Decision::Wait(WaitReason::Deleting)
        | Decision::Skip(SkipReason::AlreadyAbsent) => "delete",
        Decision::Wait(
            WaitReason::Terminating
            | WaitReason::DisownPending(_)
            | WaitReason::NotYet(_)
            | WaitReason::NamespaceTerminating(_),
        )
        | Decision::Skip(_) => "skip",
        Decision::Fail(_) => "",
    }
}
