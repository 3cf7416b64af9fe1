//! The results of phases 1 to 3, which post actions read as `adapter.executionStatus`, `adapter.outcomes` and
//! so on.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::bundle::conditions::conditions;
use crate::decision::{Decision, SkipReason};
use crate::outcome::Outcome;
use crate::precondition::Verdict;
use crate::process_variables::Host;
use crate::stage::{Phase, PhaseError};
use crate::task::Task;
use lifecycle_language::scope::Scope;

/// Collects the results of phases 1 to 3.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Execution {
    /// The failures so far, in order.
    pub errors: Vec<PhaseError>,
    /// Whether a precondition or a create gate kept at least one resource from being created.
    pub resources_skipped: bool,
    /// The reason of the first skip; empty if `resources_skipped` is false.
    pub skip_reason: String,
    /// The failures of params for which `on_error: default` put the default, by the param's name.
    pub param_errors: BTreeMap<String, PhaseError>,
    /// The failures of resources, by the resource's name in the task.
    pub resource_errors: BTreeMap<String, PhaseError>,
    /// The value of the task variable `adapter.outcomes`: what the adapter did with each resource.
    pub outcomes: Map<String, Value>,
}

impl Execution {
    /// Records the failures of params that their defaults replaced (phase 1).
    pub fn note_replaced(&mut self, failures: &[PhaseError]) {
        self.param_errors = failures.iter().map(|failure| (failure.step.clone(), failure.clone())).collect();
    }

    /// Records the verdict of the preconditions (phase 2).
    pub fn note_verdict(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Met => {}
            Verdict::NotMet(reason) => {
                self.resources_skipped = true;
                self.skip_reason.clone_from(reason);
            }
            Verdict::ResourceNotFound(_) => {
                self.resources_skipped = true;
                "ResourceNotFound".clone_into(&mut self.skip_reason);
            }
            Verdict::Failed(error) => {
                self.resources_skipped = true;
                self.skip_reason = error.to_string();
                self.errors.push(error.clone());
            }
        }
    }

    /// Records the outcomes of the resources (phase 3).
    pub fn note_outcomes(&mut self, outcomes: &[Outcome]) {
        for outcome in outcomes {
            self.outcomes.insert(outcome.resource.clone(), outcome.to_value());
            if counts_as_skipped(&outcome.decision) {
                self.resources_skipped = true;
                if self.skip_reason.is_empty() {
                    self.skip_reason = format!("{}: {}", outcome.resource, outcome.reason());
                }
            }
            if let Some(failure) = outcome.failure() {
                let error = PhaseError {
                    phase: Phase::Resources,
                    step: outcome.resource.clone(),
                    message: failure.message.clone(),
                };
                self.resource_errors.insert(outcome.resource.clone(), error.clone());
                self.errors.push(error);
            }
        }
    }

    /// Whether no phase has failed yet.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.errors.is_empty()
    }

    /// Sets the variable `adapter` of the scope.
    pub fn publish(&self, host: &Host, scope: &mut Scope) {
        let error =
            |error: &PhaseError| json!({ "phase": error.phase.as_str(), "step": error.step, "message": error.message });
        let reason = match self.errors.first().map(|error| error.phase) {
            None => "",
            Some(Phase::ParamExtraction) => "ParameterExtractionFailed",
            Some(Phase::Preconditions) => "PreconditionFailed",
            Some(Phase::Resources) => "ResourceFailed",
            Some(Phase::PostActions) => "PostActionFailed",
        };
        let by_name = |failures: &BTreeMap<String, PhaseError>| -> Map<String, Value> {
            failures.iter().map(|(name, failed)| (name.clone(), error(failed))).collect()
        };
        scope.set(
            "adapter",
            json!({
                "name": host.name,
                "version": host.version,
                "executionStatus": if self.succeeded() { "success" } else { "failed" },
                "resourcesSkipped": self.resources_skipped,
                "skipReason": self.skip_reason,
                "errorReason": reason,
                "errorMessage": self.message(),
                "executionError": self.errors.first().map_or(Value::Null, error),
                "paramErrors": by_name(&self.param_errors),
                "resourceErrors": by_name(&self.resource_errors),
                "outcomes": self.outcomes,
            }),
        );
    }

    /// Sets `adapter.conditions`, the conditions of each bundle of the task, for payloads: nothing is known of a bundle before its
    /// turn. A bundle without an outcome was not reached.
    pub fn publish_conditions(&self, task: &Task, outcomes: &[Outcome], scope: &mut Scope) {
        let (status, reason, message) = match self.errors.first() {
            Some(error) => ("False", format!("ExecutionFailed:{}", error.phase.as_str()), self.message()),
            None if self.resources_skipped => ("False", "ResourcesSkipped".to_owned(), self.skip_reason.clone()),
            None => ("True", "Healthy".to_owned(), "the pass succeeded".to_owned()),
        };
        let health = json!({ "type": "Health", "status": status, "reason": reason, "message": message });
        let bundles = task.resources.iter().filter(|resource| resource.bundle.is_some());
        let of_bundles: Map<_, _> = bundles
            .map(|bundle| {
                let outcome = outcomes.iter().find(|outcome| outcome.resource == bundle.name);
                let conditions = conditions(outcome).into_iter().chain([health.clone()]);
                (bundle.name.clone(), conditions.collect::<Value>())
            })
            .collect();
        if !of_bundles.is_empty() {
            scope.set_member("adapter", "conditions", Some(of_bundles.into()));
        }
    }

    /// All failures, in words.
    fn message(&self) -> String {
        self.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// Whether the decision counts as "skipped" for `adapter.resourcesSkipped`: only a create gate that does not
/// hold does, as in the Go adapter. `when` and `apply` leave a live resource as it is; and during a deletion an
/// absent resource is finished, so counting it would keep statuses that read `resourcesSkipped` from ever
/// reporting `Finalized`.
fn counts_as_skipped(decision: &Decision) -> bool {
    matches!(decision, Decision::Skip(SkipReason::CreateGateFalse))
}
