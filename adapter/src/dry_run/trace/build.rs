//! Builds the trace from the report of a pass.
//!
//! In: the task, the pass's report, and the store's objects before and after the pass. Out: a [`Trace`].
//! Building never fails and decides nothing; every statement in the trace comes from the report or from the
//! store.

use std::collections::BTreeSet;

use jiff::Timestamp;
use lifecycle_core::decision::Decision;
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::outcome::Outcome;
use lifecycle_core::post::{ActionEnd, ActionResult};
use lifecycle_core::precondition::{PreconditionResult, Verdict};
use lifecycle_core::stage::Phase;
use lifecycle_core::task::{Param, Task};
use lifecycle_language::secrets::SecretPaths;
use lifecycle_transport::memory::Operation;
use serde_json::{Map, Value};

use super::{
    AnsweredBy, CaptureTrace, EventTrace, LogTrace, OperationTrace, ParamSource, PhaseStatus, PhaseTrace, ReportTrace,
    RequestTrace, Trace,
};
use crate::dry_run::diff;
use crate::fetch::{CallRecord, LogRecord};
use crate::pass::account::{self, Account};
use crate::pass::{PassReport, Status};
use crate::redact::{self, Redactor};

/// The `detail` of a phase that ended because the API resource does not exist.
const RESOURCE_NOT_FOUND: &str = "resource not found";

/// The largest number up to which a double represents every integer: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The record of a pass that has ended.
#[derive(Clone, Copy)]
pub struct Recording<'a> {
    /// The event of the pass.
    pub event: &'a LifecycleEvent,
    /// The clock of the pass.
    pub now: Timestamp,
    /// The task of the pass.
    pub task: &'a Task,
    /// The report of the pass.
    pub report: &'a PassReport,
    /// Every object before the pass.
    pub before: &'a [Value],
    /// Every object after the pass.
    pub after: &'a [Value],
    /// The pass's calls to the object store.
    pub operations: &'a [Operation],
    /// For each call of the pass to the API, the entry of the answers file that answered it.
    pub answered_by: &'a [Option<usize>],
    /// The warning about a call that no entry answered, by method and URL.
    pub unmatched: &'a dyn Fn(&str, &str) -> Option<String>,
    /// Whether the trace contains the bodies of those calls.
    pub verbose: bool,
}

impl Recording<'_> {
    /// Builds the trace from the recorded pass.
    #[must_use]
    pub fn trace(&self) -> Trace {
        let report = self.report;
        let redactor = Redactor::of(self.task, &report.scope, self.before.iter().chain(self.after));
        let Account { failed_param, mut preconditions, mut resources, decisions, post_actions, errors, warnings } =
            Account::of(report, self.task);
        for (told, result) in preconditions.iter_mut().zip(&report.preconditions) {
            told.captures = captures(result);
        }
        for (told, outcome) in resources.iter_mut().zip(&report.outcomes) {
            told.discovered_state = self.deleted(outcome).cloned();
        }
        let discovered = report.scope.get("resources").map(|value| redactor.value(&with_integers(value)));
        let mut trace = Trace {
            event: self.event(),
            status: match report.status() {
                Status::Failed => Status::Failed,
                Status::Success | Status::Skipped => Status::Success,
            },
            lacks_resource: matches!(report.verdict, Some(Verdict::ResourceNotFound(_))),
            phases: Phase::ALL.map(|phase| self.phase(phase)).into(),
            params: self.params(&redactor),
            param_sources: self.param_sources(),
            failed_param,
            preconditions,
            resources,
            decisions,
            diffs: diff::compare(self.before, self.after, &redactor),
            discovered_resources: match discovered {
                Some(Value::Object(resources)) => resources,
                Some(_) | None => Map::new(),
            },
            post_actions,
            reports: report.calls.iter().filter_map(sent_report).collect(),
            logs: report.logs.iter().map(log_line).collect(),
            errors,
            warnings: self.with_unanswered(warnings),
            api_requests: self.requests(),
            transport_operations: self.operations.iter().map(operation).collect(),
        };
        trace.redact(&redactor);
        trace
    }

    /// The warnings, and one about each call that no entry answered.
    fn with_unanswered(&self, mut warnings: Vec<String>) -> Vec<String> {
        let unanswered = self.report.calls.iter().zip(self.answered_by).filter(|(_, entry)| entry.is_none());
        for warning in unanswered.filter_map(|(call, _)| (self.unmatched)(call.method, &call.url)) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }

    fn event(&self) -> EventTrace {
        EventTrace {
            id: self.event.event_id.clone(),
            event_type: self.event.event_type.clone(),
            now: self.now.to_string(),
            kind: self.event.kind.clone(),
            resource_id: self.event.resource_id.clone(),
            generation: self.event.generation.0,
        }
    }

    fn phase(&self, phase: Phase) -> PhaseTrace {
        let report = self.report;
        let params_failed = report.params_error.is_some();
        // If a precondition's call found no resource, the report lists that precondition; if a param's call
        // did, the list is empty.
        let gone_in_params =
            matches!(report.verdict, Some(Verdict::ResourceNotFound(_))) && report.preconditions.is_empty();
        let (status, detail) = match phase {
            Phase::ParamExtraction if params_failed => (PhaseStatus::Failed, None),
            Phase::ParamExtraction if gone_in_params => (PhaseStatus::Success, Some(RESOURCE_NOT_FOUND.to_owned())),
            Phase::ParamExtraction => (PhaseStatus::Success, None),
            Phase::Preconditions => match &report.verdict {
                None => (PhaseStatus::NotRun, None),
                Some(Verdict::ResourceNotFound(_)) if gone_in_params => (PhaseStatus::NotRun, None),
                Some(Verdict::Met) if report.preconditions.is_empty() => (PhaseStatus::Success, None),
                Some(Verdict::Met) => (PhaseStatus::Success, Some("met".to_owned())),
                Some(Verdict::NotMet(_)) => (PhaseStatus::Success, Some("not met".to_owned())),
                Some(Verdict::ResourceNotFound(_)) => (PhaseStatus::Success, Some(RESOURCE_NOT_FOUND.to_owned())),
                Some(Verdict::Failed(_)) => (PhaseStatus::Failed, None),
            },
            Phase::Resources => match &report.verdict {
                None => (PhaseStatus::NotRun, None),
                // If the preconditions were not met, the phase only read objects, so that a failure is a failed
                // read.
                Some(_) if report.outcomes.iter().any(|outcome| outcome.failure().is_some()) => {
                    (PhaseStatus::Failed, None)
                }
                Some(Verdict::Met) => (PhaseStatus::Success, None),
                Some(Verdict::NotMet(reason)) => (PhaseStatus::Skipped, Some(reason.clone())),
                Some(Verdict::Failed(error)) => (PhaseStatus::Skipped, Some(error.to_string())),
                Some(Verdict::ResourceNotFound(_)) => {
                    (PhaseStatus::Skipped, Some(account::RESOURCE_NOT_FOUND.to_owned()))
                }
            },
            Phase::PostActions => match &report.post {
                None => (PhaseStatus::NotRun, None),
                Some(post) if post.error.is_some() => (PhaseStatus::Failed, None),
                Some(post) if post.resource_not_found => (PhaseStatus::Success, Some(RESOURCE_NOT_FOUND.to_owned())),
                Some(_) => (PhaseStatus::Success, None),
            },
        };
        PhaseTrace { phase, status, detail }
    }

    fn params(&self, redactor: &Redactor) -> Map<String, Value> {
        let scope = &self.report.scope;
        let shown = |name: &str, value: &Value| shown(scope.secret_paths(), &mut vec![name], value, redactor);
        let variables = scope.variables().filter(|(name, _)| *name != "resources");
        variables.map(|(name, variable)| (name.to_owned(), shown(name, &with_integers(variable)))).collect()
    }

    fn param_sources(&self) -> Vec<ParamSource> {
        let mut seen = BTreeSet::new();
        let params = self.task.params.iter().filter(|param| seen.insert(&param.name));
        let source = |param: &Param| ParamSource {
            name: param.name.clone(),
            source: param.source.to_string(),
            is_default: self.report.defaulted.contains(&param.name),
            has_failed: self.report.replaced.iter().any(|error| error.step == param.name),
        };
        params.map(source).collect()
    }

    /// The object of a resource before its deletion.
    fn deleted(&self, outcome: &Outcome) -> Option<&Value> {
        if outcome.decision != Decision::Delete {
            return None;
        }
        let is_it = |pointer: &str, object: &Value, text: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default() == text
        };
        self.before.iter().find(|object| {
            is_it("/kind", object, &outcome.kind.kind)
                && is_it("/metadata/namespace", object, &outcome.namespace)
                && is_it("/metadata/name", object, &outcome.name)
        })
    }

    /// Lists the calls, each with the step that made it. Phases 2 and 4 stop at the first failed call, so that
    /// the calls match the steps in order. Phase 1 continues after a failed call, so that its calls have no
    /// step.
    fn requests(&self) -> Vec<RequestTrace> {
        let task = self.task;
        let calls_api = |name: &&str| {
            task.preconditions.iter().any(|precondition| precondition.name == **name && precondition.api_call.is_some())
        };
        let mut preconditions = self.report.preconditions.iter().map(|result| result.name.as_str()).filter(calls_api);
        let acts = |name: &&str| task.actions.iter().any(|action| action.name == **name && action.api_call.is_some());
        let actions = self.report.post.iter().flat_map(|post| &post.actions).filter(|action| made_a_call(action));
        let mut actions = actions.map(|action| action.name.as_str()).filter(acts);
        let answers = self.answered_by.iter().copied().chain(std::iter::repeat(None));
        let calls = self.report.calls.iter().zip(answers).map(|(call, answer)| RequestTrace {
            phase: call.phase,
            step: match call.phase {
                Phase::Preconditions => preconditions.next(),
                Phase::PostActions => actions.next(),
                Phase::ParamExtraction | Phase::Resources => None,
            }
            .unwrap_or_default()
            .to_owned(),
            method: call.method,
            url: call.url.clone(),
            status_code: call.status.unwrap_or_default(),
            answered_by: answer.map_or(AnsweredBy::Default, AnsweredBy::Entry),
            request_body: call.request_body.clone().filter(|_| self.verbose),
            response_body: call.response_body.clone().filter(|_| self.verbose),
        });
        calls.collect()
    }
}

/// The value at a path, without what is secret at the path or below it, and without the texts that are secret elsewhere.
fn shown<'v>(secrets: &SecretPaths, path: &mut Vec<&'v str>, value: &'v Value, redactor: &Redactor) -> Value {
    match value {
        _ if secrets.cover(path) => redact::concealed(value, None),
        Value::Object(members) if secrets.touch(path) => {
            let mut shown_members = Map::new();
            for (key, member) in members {
                path.push(key);
                shown_members.insert(key.clone(), shown(secrets, path, member, redactor));
                path.pop();
            }
            Value::Object(shown_members)
        }
        _ => redactor.value(value),
    }
}

/// Whether an action sent its call.
fn made_a_call(action: &ActionResult) -> bool {
    match &action.end {
        ActionEnd::Executed | ActionEnd::ResourceNotFound | ActionEnd::Failed(_) => true,
        ActionEnd::Skipped(_) => false,
    }
}

fn captures(result: &PreconditionResult) -> Vec<CaptureTrace> {
    let captures = result.captures.iter();
    captures.map(|(name, value)| CaptureTrace { name: name.clone(), value: with_integers(value) }).collect()
}

/// The value with whole numbers as integers. Variables hold every JSON number as a double, which Go prints as
/// `3`, but serde as `3.0`.
fn with_integers(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough to be exact")]
            Some(whole) if whole.fract() == 0.0 && whole.abs() < EXACT => Value::from(whole as i64),
            Some(_) | None => value.clone(),
        },
        Value::Array(items) => items.iter().map(with_integers).collect(),
        Value::Object(members) => members.iter().map(|(key, member)| (key.clone(), with_integers(member))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

/// The JSON body of a call of phase 4; `None` if the body is not JSON.
fn sent_report(call: &CallRecord) -> Option<ReportTrace> {
    let body = call.request_body.as_ref().filter(|_| call.phase == Phase::PostActions)?;
    Some(ReportTrace { method: call.method, url: call.url.clone(), body: serde_json::from_str(body).ok()? })
}

fn log_line(line: &LogRecord) -> LogTrace {
    let (message, error) = match &line.message {
        Ok(text) => (text.clone(), None),
        Err(cause) => (String::new(), Some(cause.clone())),
    };
    LogTrace { phase: line.phase, step: line.step.clone(), level: line.level.as_str(), message, error }
}

fn operation(operation: &Operation) -> OperationTrace {
    OperationTrace {
        operation: operation.verb,
        kind: operation.kind.clone(),
        namespace: operation.namespace.clone(),
        name: operation.name.clone(),
        result: operation.result,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variable_is_shown_but_for_what_is_secret_of_it() {
        let mut secrets = SecretPaths::default();
        secrets.set(&["cluster", "spec", "pin"], true);
        secrets.set(&["flag"], true);
        let shown = |name: &str, value: Value| shown(&secrets, &mut vec![name], &value, &Redactor::default());
        // Too short to be found as a text.
        let cluster = |pin: &str| json!({ "spec": { "pin": pin, "region": "eu" }, "name": "c" });
        assert_eq!(shown("cluster", cluster("7")), cluster(redact::REDACTED));
        assert_eq!(shown("flag", json!(true)), json!(redact::REDACTED));
        assert_eq!(shown("other", cluster("7")), cluster("7"));
    }
}
