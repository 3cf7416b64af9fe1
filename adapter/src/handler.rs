//! Runs one pass in the serving adapter: the pipeline with span, log lines and metrics.
//!
//! In: an event from the dispatcher. Out: whether the event was malformed. The handler opens the event's span,
//! runs the [`Pipeline`], logs what each phase did, and counts it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_bundle::report::ObjectReport;
use lifecycle_core::decision::{Decision, SkipReason};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::outcome::{GateRecord, Outcome, OutcomeResult};
use lifecycle_core::post::ActionEnd;
use lifecycle_core::precondition::Verdict;
use lifecycle_core::warning::WarningReason;
use lifecycle_transport::Transport;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::api::Api;
use crate::dependency::kubernetes::SERVER_WARNING;
use crate::dispatch::{Handled, Handler};
use crate::metrics::{EventStatus, Metrics, Phase, PreconditionResult, WriteResult};
use crate::pass::account::RESOURCE_NOT_FOUND;
use crate::pass::{PassReport, Status};
use crate::passes::{Ended, Passes};
use crate::pipeline::Pipeline;
use crate::trace;

/// The label of warnings about payloads.
const PAYLOAD_WARNING: &str = "payload";
/// The label of warnings about params whose default stands in for a source that failed.
const PARAM_DEFAULT: &str = "param_default";

/// Every value of the label of `hyperfleet_adapter_warnings_total`.
pub fn warnings() -> impl Iterator<Item = &'static str> {
    WarningReason::ALL.into_iter().map(WarningReason::as_str).chain([PARAM_DEFAULT, PAYLOAD_WARNING, SERVER_WARNING])
}

/// Handles the events of one subscription.
#[derive(Debug)]
pub struct PassHandler<T, A> {
    pipeline: Pipeline<T, A>,
    metrics: Arc<Metrics>,
    subscription: String,
    clock: fn() -> Timestamp,
    passes: Option<Arc<Passes>>,
}

impl<T: Transport, A: Api> PassHandler<T, A> {
    /// Creates a handler that runs `pipeline`, and reads `clock` once per event.
    pub fn new(
        pipeline: Pipeline<T, A>,
        metrics: Arc<Metrics>,
        subscription: String,
        clock: fn() -> Timestamp,
    ) -> Self {
        Self { pipeline, metrics, subscription, clock, passes: None }
    }

    /// Keeps each pass for the page of passes, with what its gates read.
    #[must_use]
    pub fn keeping(mut self, passes: Arc<Passes>) -> Self {
        self.pipeline.keep_readings = true;
        self.passes = Some(passes);
        self
    }
}

impl<T: Transport, A: Api> Handler for PassHandler<T, A> {
    async fn handle(&self, event: LifecycleEvent, deadline: Instant) -> Handled {
        let (span, trace) = trace::event_span(&event, &self.pipeline.host.name, &self.subscription);
        let in_flight = self.metrics.event_started();
        let begun = Instant::now();
        let now = (self.clock)();
        let work = async {
            tracing::debug!(event_type = event.event_type, "event received");
            let report = self.pipeline.run(&event, now, deadline, &trace).await;
            log(&report);
            report
        };
        let report = work.instrument(span.clone()).await;
        drop(in_flight);
        let took = begun.elapsed();
        // Before the pass is counted: whoever reads the counters, and then the page, finds there what was counted.
        if let Some(passes) = &self.passes {
            let (task, trace_id) = (&self.pipeline.task, trace.trace_id());
            passes.keep(&Ended { event: &event, now, took, trace_id, task, report: &report });
        }
        self.count(&report, took);
        if report.status() == Status::Failed {
            trace::mark_failed(&span, "a phase failed");
        }
        match report.params_error {
            // An event is malformed only if its own data causes the failure; a failed API call or file may
            // succeed for the next event.
            Some(error) if report.is_malformed => Handled::Malformed { reason: error.to_string() },
            Some(_) | None => Handled::Done,
        }
    }
}

impl<T, A> PassHandler<T, A> {
    fn count(&self, report: &PassReport, took: Duration) {
        let status = match report.status() {
            Status::Success => EventStatus::Success,
            Status::Failed => EventStatus::Failed,
            Status::Skipped => EventStatus::Skipped,
        };
        let mut failed: Vec<Phase> = report.errors().iter().map(|error| error.phase.into()).collect();
        failed.dedup();
        self.metrics.event_finished(status, took, &failed, (self.clock)());
        for _ in &report.replaced {
            self.metrics.warning(PARAM_DEFAULT);
        }
        for precondition in &report.preconditions {
            let result = match (&precondition.error, precondition.met) {
                (Some(_), _) => PreconditionResult::Error,
                (None, true) => PreconditionResult::Pass,
                (None, false) => PreconditionResult::Fail,
            };
            self.metrics.precondition(&precondition.name, result);
        }
        for outcome in &report.outcomes {
            self.metrics.decision(outcome.decision.kind().as_str(), outcome.decision.reason());
            if let Some(failure) = outcome.failure() {
                self.metrics.resource_failed(failure.reason.as_str());
            }
            for warning in &outcome.warnings {
                self.metrics.warning(warning.reason.as_str());
            }
            if let Some(bundle) = &outcome.bundle {
                self.metrics.bundle(&outcome.resource, bundle);
            }
            if let Some(result) = creation(outcome) {
                self.metrics.resource_created(&outcome.kind.kind, result);
            }
        }
        for _ in report.post.iter().flat_map(|post| &post.warnings) {
            self.metrics.warning(PAYLOAD_WARNING);
        }
    }
}

/// The label of `resources_created`: whether a planned creation succeeded; `None` if the plan was not to
/// create.
fn creation(outcome: &Outcome) -> Option<WriteResult> {
    match (&outcome.decision, &outcome.result) {
        (_, OutcomeResult::Created | OutcomeResult::Recreated) => Some(WriteResult::Success),
        (Decision::Create | Decision::CreateVersion(_) | Decision::Recreate { .. }, OutcomeResult::Failed(_)) => {
            Some(WriteResult::Error)
        }
        _ => None,
    }
}

/// Logs each phase's result once: every decision and its reason, but no payloads.
fn log(report: &PassReport) {
    for error in &report.replaced {
        tracing::warn!(param = error.step, error = error.message, "a param failed, and its default is used");
    }
    if let Some(error) = &report.params_error {
        let fate = if report.is_malformed { "it will not be tried again" } else { "nothing was done or reported" };
        tracing::error!(error = %error, "params could not be resolved; {fate}");
        return;
    }
    for precondition in &report.preconditions {
        for warning in &precondition.warnings {
            tracing::warn!(precondition = precondition.name, "{warning}");
        }
    }
    match &report.verdict {
        Some(Verdict::NotMet(reason)) => tracing::info!(reason, "preconditions not met"),
        Some(Verdict::Failed(error)) => tracing::error!(error = %error, "preconditions could not be evaluated"),
        Some(Verdict::ResourceNotFound(_) | Verdict::Met) | None => {}
    }
    for outcome in &report.outcomes {
        log_outcome(outcome);
    }
    if let Some(post) = &report.post {
        for warning in &post.warnings {
            tracing::warn!("{warning}");
        }
        for action in &post.actions {
            match &action.end {
                // The line at the end of this function reports the missing resource.
                ActionEnd::ResourceNotFound if post.gone.is_some() => {}
                ActionEnd::ResourceNotFound => {
                    tracing::info!(action = action.name, reason = RESOURCE_NOT_FOUND, "post action skipped");
                }
                ActionEnd::Executed => tracing::debug!(action = action.name, "post action executed"),
                ActionEnd::Skipped(reason) => tracing::info!(action = action.name, reason, "post action skipped"),
                ActionEnd::Failed(error) => tracing::error!(action = action.name, error, "post action failed"),
            }
        }
    }
    let status = report.status().as_str();
    // If a param's call found no resource, no precondition ran.
    let precondition = match &report.verdict {
        Some(Verdict::ResourceNotFound(_)) => report.preconditions.last(),
        Some(Verdict::Met | Verdict::NotMet(_) | Verdict::Failed(_)) | None => None,
    };
    match (report.gone(), precondition) {
        // The missing resource may be another one than the event's, such as a placement, so name the
        // precondition.
        (Some(reason), Some(precondition)) => {
            let precondition = &precondition.name;
            tracing::info!(status, reason, precondition, "the API resource of a precondition does not exist");
        }
        (Some(reason), None) => tracing::info!(status, reason, "the API resource is gone"),
        (None, _) => tracing::info!(status, "event handled"),
    }
}

fn log_gate(gate: &GateRecord, outcome: &Outcome) {
    let readings = gate.readings.iter().map(|reading| format!("{} = {}", reading.path, reading.value));
    let readings: Vec<String> = readings.collect();
    let resource = gate.resource.as_ref().unwrap_or(&outcome.resource);
    let (gate, answer, read) = (&gate.name, &*gate.answer.to_string(), readings.join("; "));
    tracing::debug!(resource, gate, answer, read, "gate asked");
}

fn log_outcome(outcome: &Outcome) {
    for warning in &outcome.warnings {
        tracing::warn!(resource = outcome.resource, "{warning}");
    }
    if tracing::enabled!(tracing::Level::DEBUG) {
        outcome.gates.iter().for_each(|gate| log_gate(gate, outcome));
    }
    let (decision, result, row) = (outcome.decision.kind().as_str(), outcome.result.as_str(), outcome.row.number());
    let (kind, namespace, name) = (&outcome.kind.kind, &outcome.namespace, &outcome.name);
    let resource = &outcome.resource;
    // The reason is a text that is made only for a line that is written.
    macro_rules! log_resource {
        ($level:ident, $message:literal) => {
            tracing::$level!(
                resource,
                decision,
                result,
                row,
                kind,
                namespace,
                name,
                reason = outcome.reason(),
                otherwise = outcome.otherwise(),
                $message
            )
        };
    }
    match &outcome.result {
        OutcomeResult::Failed(_) => {
            let error = outcome.reason();
            tracing::error!(resource, decision, result, row, kind, namespace, name, error, "resource failed");
        }
        // Log an unchanged resource at debug level only, because it is the normal case, and every event repeats it.
        OutcomeResult::Skipped if matches!(outcome.decision, Decision::Skip(SkipReason::SameGeneration(_))) => {
            log_resource!(debug, "resource left alone");
        }
        OutcomeResult::Skipped => log_resource!(info, "resource left alone"),
        OutcomeResult::Created
        | OutcomeResult::Updated
        | OutcomeResult::Patched
        | OutcomeResult::Recreated
        | OutcomeResult::Disowned
        | OutcomeResult::Deleted
        | OutcomeResult::Deleting
        | OutcomeResult::Waiting => log_resource!(info, "resource {result}"),
    }
    for object in outcome.bundle.iter().flat_map(|bundle| &bundle.objects) {
        log_member(resource, object);
    }
    for pruned in &outcome.pruned {
        let (name, reason) = (&pruned.name, &pruned.because);
        tracing::debug!(resource, kind, namespace, name, reason, "former version pruned");
    }
    if !outcome.pruned.is_empty() {
        tracing::info!(resource, kind, count = outcome.pruned.len(), "former versions pruned");
    }
}

/// Logs what became of one object of a bundle: at debug level, unless it failed, or somebody else had changed it.
fn log_member(resource: &str, member: &ObjectReport) {
    let (object, step, effect) = (&member.identity, &*member.step, member.effect.as_str());
    if let Some(error) = member.effect.failure() {
        tracing::error!(resource, %object, step, %error, "object of the bundle failed");
        return;
    }
    if let Some(fields) = member.effect.drift() {
        let fields = fields.join(", ");
        tracing::warn!(resource, %object, step, fields, "object of the bundle was changed by somebody else; it is repaired");
    }
    let Some((row, decision)) = &member.verdict else { return };
    let (row, (readiness, why)) = (row.number(), member.readiness());
    tracing::debug!(resource, %object, step, %decision, row, effect, readiness, why, "object of the bundle decided");
}

#[cfg(test)]
mod tests;
