//! The account of a pass: what a dry run prints and traces, and what the page of passes shows.
//!
//! In: the report of a pass, and the task. Out: an [`Account`], which serializes each enum as the one word that JSON has for it. A value
//! that a pass captured, a body and an object are for the trace alone, which redacts them: the builders here leave them out.
//! Nothing fails.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lifecycle_bundle::member::Effect;
use lifecycle_bundle::report::ObjectReport;
use lifecycle_core::decision::{Decision, DecisionKind, Resent, SkipReason, WaitReason};
use lifecycle_core::outcome::{GateAnswer, GateRecord, Outcome, OutcomeResult};
use lifecycle_core::post::{ActionEnd, ActionResult};
use lifecycle_core::precondition::PreconditionResult;
use lifecycle_core::task::Task;
use lifecycle_objects::failure::FailReason;
use lifecycle_objects::identity::Identity;
use serde::Serialize;
use serde_json::Value;

use super::{PassReport, Status};

/// The reason of an action that was skipped because its API resource does not exist, and the detail of a phase that was skipped then.
pub const RESOURCE_NOT_FOUND: &str = "ResourceNotFound";

/// What a pass evaluated, decided, wrote and reported.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
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
    /// The result of each post action that was reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_actions: Vec<ActionTrace>,
    /// The errors of each phase that failed, in one text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<&'static str, String>,
    /// Warnings to the author of the task, other than those about a resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Account {
    /// The account of a pass of `task`.
    #[must_use]
    pub fn of(report: &PassReport, task: &Task) -> Self {
        let mut errors = BTreeMap::<_, String>::new();
        for error in report.errors() {
            let text = errors.entry(error.phase.as_str()).or_default();
            text.push_str(if text.is_empty() { "" } else { "; " });
            text.push_str(&error.to_string());
        }
        let actions = report.post.iter().flat_map(|post| &post.actions);
        Self {
            failed_param: report.params_error.as_ref().map(|error| error.step.clone()),
            preconditions: report.preconditions.iter().map(PreconditionTrace::of).collect(),
            resources: report.outcomes.iter().map(ResourceTrace::of).collect(),
            decisions: report.outcomes.iter().map(|outcome| DecisionTrace::of(outcome, task)).collect(),
            post_actions: actions.map(ActionTrace::of).collect(),
            errors,
            warnings: warnings(report),
        }
    }

    /// Says of each decision and of each object what the console needs to judge it without the words for reasons.
    #[must_use]
    pub fn with_flags(mut self, report: &PassReport) -> Self {
        for (decision, outcome) in self.decisions.iter_mut().zip(&report.outcomes) {
            decision.settled = Some(outcome.decision.is_settled());
            decision.unwritten = Some(outcome.decision.is_before_writing());
            let members = outcome.bundle.iter().flat_map(|bundle| bundle.in_steps());
            for (object, member) in decision.objects.iter_mut().zip(members) {
                object.ready = Some(member.is_ready());
            }
        }
        self
    }
}

fn warnings(report: &PassReport) -> Vec<String> {
    let replaced = report.replaced.iter();
    let replaced = replaced.map(|error| format!("param {}: its default is used: {}", error.step, error.message));
    let of_preconditions = report
        .preconditions
        .iter()
        .flat_map(|result| result.warnings.iter().map(|warning| format!("precondition {}: {warning}", result.name)));
    let of_payloads = report.post.iter().flat_map(|post| post.warnings.iter().cloned());
    replaced.chain(of_preconditions).chain(of_payloads).collect()
}

/// The result of a precondition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreconditionTrace {
    /// The name of the precondition in the task.
    pub name: String,
    /// Whether the precondition could be evaluated: `success` or `failed`.
    pub status: Status,
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
            status: if result.error.is_some() { Status::Failed } else { Status::Success },
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
    pub status: Status,
    /// The decision in the Go adapter's words.
    pub operation: Operation,
    /// The effect of the decision, such as `created`, `deleting` or `waiting`.
    pub result: OutcomeResult,
    /// The reason of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The error of a failed resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
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
            operation: Operation::of(&outcome.decision),
            result: outcome.result.clone(),
            reason: failure.is_none().then(|| outcome.reason()),
            error: failure.map(ToString::to_string),
            discovered_state: None,
        }
    }
}

/// The decision about a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecisionTrace {
    /// The resource's name in the task.
    pub resource: String,
    /// The decision, such as `create` or `skip`.
    pub decision: DecisionKind,
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
    /// Whether the objects are as the task wants them, or on their way out of it. Traces do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Whether the objects may not have been written yet. Traces do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwritten: Option<bool>,
    /// The other resources for which the resource waits: the gate that decided does not hold because of these.
    #[serde(skip)]
    pub awaits: BTreeSet<String>,
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
        let decided = outcome.gates.last().filter(|_| outcome.decision.is_held_by_a_gate());
        Self {
            resource: outcome.resource.clone(),
            row: outcome.row.number(),
            condition: condition(outcome),
            otherwise: outcome.otherwise(),
            decision: outcome.decision.kind(),
            reason: outcome.decision.reason(),
            because: outcome.reason(),
            finalized: outcome.finalized,
            settled: None,
            unwritten: None,
            awaits: decided.map(|gate| gate.awaits.clone()).unwrap_or_default(),
            gates: outcome.gates.iter().map(|gate| GateTrace::of(gate, outcome, task)).collect(),
            versions: outcome.versions,
            pruned: pruned.collect(),
            objects: outcome.bundle.iter().flat_map(|bundle| bundle.in_steps()).map(MemberTrace::of).collect(),
            warnings: outcome.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// An object of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemberTrace {
    /// The object.
    #[serde(skip)]
    pub identity: Identity,
    /// The object in words, such as `Deployment.apps team/web`.
    pub object: String,
    /// The step in which it was handled, such as `wave 0`.
    pub step: String,
    /// The decision with its reason; empty if the pass decided nothing.
    pub decision: String,
    /// The number of the matching row of the table of bundles; empty if the pass decided nothing.
    pub row: &'static str,
    /// What became of the object.
    pub effect: Effect,
    /// The paths of the fields that somebody had changed, and that this pass repaired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// Whether the object is ready.
    pub readiness: &'static str,
    /// Whether it is ready, or has served and may be gone. Traces do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Why it is not ready, or why it failed; empty if there is nothing to say.
    pub why: String,
}

impl MemberTrace {
    fn of(member: &ObjectReport) -> Self {
        let (readiness, why) = member.readiness();
        let failure = member.effect.failure().map(ToString::to_string);
        let verdict = member.verdict.as_ref();
        Self {
            identity: member.identity.clone(),
            object: member.identity.to_string(),
            step: member.step.to_string(),
            decision: verdict.map(|(_, decision)| decision.to_string()).unwrap_or_default(),
            row: verdict.map(|(row, _)| row.number()).unwrap_or_default(),
            effect: member.effect.clone(),
            drift: member.effect.drift().unwrap_or_default().to_vec(),
            readiness,
            ready: None,
            why: failure.unwrap_or_else(|| why.to_owned()),
        }
    }
}

/// A former version that `retention` deleted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrunedTrace {
    /// The name of the deleted object.
    pub name: String,
    /// The limits of `retention` that it exceeded.
    pub because: String,
}

/// A gate that was evaluated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateTrace {
    /// The resource that the gate belongs to, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The name of the gate, such as `create` or `delete`.
    pub gate: String,
    /// The result of the gate.
    pub answer: GateAnswer,
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
            answer: gate.answer.clone(),
            awaits: gate.awaits.clone(),
            expression: expression.map(|expression| Arc::clone(expression.one_line())),
            readings: readings
                .map(|reading| ReadingTrace { path: Arc::clone(&reading.path), value: reading.value.clone() })
                .collect(),
        }
    }
}

/// A value that a gate read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadingTrace {
    /// The path, as the expression writes it.
    pub path: Arc<str>,
    /// The value at the path, shortened for display.
    pub value: String,
}

/// The result of a post action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionTrace {
    /// The name of the post action in the task.
    pub name: String,
    /// The result in the Go adapter's words: `success`, `skipped` or `failed`.
    pub status: Status,
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
            ActionEnd::Executed => (Status::Success, None, None),
            ActionEnd::Skipped(reason) => (Status::Skipped, Some(reason.clone()), None),
            ActionEnd::ResourceNotFound => (Status::Skipped, Some(RESOURCE_NOT_FOUND.to_owned()), None),
            ActionEnd::Failed(message) => (Status::Failed, None, Some(message.clone())),
        };
        Self { name: result.name.clone(), status, skipped: status == Status::Skipped, reason, error }
    }
}

/// The status of a resource in the Go adapter's words.
fn status(outcome: &Outcome) -> Status {
    match (&outcome.result, &outcome.decision) {
        (OutcomeResult::Failed(_), _) => Status::Failed,
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
        ) => Status::Skipped,
        _ => Status::Success,
    }
}

/// A decision in the Go adapter's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "as the decisions themselves")]
pub enum Operation {
    Create,
    Update,
    Patch,
    Disown,
    Recreate,
    Delete,
    Skip,
    /// The resource failed before a decision.
    #[serde(rename = "")]
    None,
}

impl Operation {
    fn of(decision: &Decision) -> Self {
        match decision {
            Decision::Create | Decision::CreateVersion(_) => Self::Create,
            Decision::Update { .. } | Decision::Resend(Resent::Content) => Self::Update,
            Decision::Patch(_) => Self::Patch,
            Decision::Disown(_) => Self::Disown,
            Decision::Recreate { .. } => Self::Recreate,
            Decision::Delete
            | Decision::Resend(Resent::Deletion)
            | Decision::Wait(WaitReason::Deleting)
            | Decision::Skip(SkipReason::AlreadyAbsent) => Self::Delete,
            Decision::Wait(
                WaitReason::Terminating
                | WaitReason::DisownPending(_)
                | WaitReason::NotYet(_)
                | WaitReason::NamespaceTerminating(_),
            )
            | Decision::Skip(_) => Self::Skip,
            Decision::Fail(_) => Self::None,
        }
    }
}
