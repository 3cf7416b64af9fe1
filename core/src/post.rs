//! Phase 4 of a pass: builds the payloads, then runs the post actions.
//!
//! In: the task's payloads and actions, the event's [`Scope`] with the variable `adapter`, and the
//! [`Account`] of the pass, from which the [`report_overlay`] corrects conditions. Out: a [`PostReport`]. All
//! payloads are built before the first action runs. If a payload cannot be built, the actions whose body
//! reads it fail, and the others run. Any other failure of an action ends the phase.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api_call::{ApiCall, ApiRequest};
use crate::payload;
use crate::report_overlay::{self, Account, Corrected};
use crate::stage::{Answer, CallError, Need, Phase, PhaseError, Progress, Stage, log_need};
use crate::task::{Action, Payload, Task};
use lifecycle_language::scope::Scope;
use lifecycle_language::value;

/// The result of phase 4.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PostReport {
    /// The result of each action up to the one that ended the phase, in order.
    pub actions: Vec<ActionResult>,
    /// The first failure of an action, if one failed.
    pub error: Option<PhaseError>,
    /// Whether the phase ended because an API resource that an action named does not exist.
    pub resource_not_found: bool,
    /// The API's error message, if that was the event's own resource.
    pub gone: Option<String>,
    /// Problems that the task's author should see.
    pub warnings: Vec<String>,
}

/// The result of one action.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionResult {
    /// The post action's name in the task.
    pub name: String,
    /// How the post action ended: executed, skipped or failed.
    pub end: ActionEnd,
}

/// How an action ended: executed, skipped or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEnd {
    /// The post action ran, and its API call succeeded if it has one.
    Executed,
    /// The action did not run, for this reason.
    Skipped(String),
    /// The action's call found that the API resource does not exist, which counts as skipped.
    ResourceNotFound,
    /// The action failed, with this message.
    Failed(String),
}

/// Runs phase 4 of one event.
#[derive(Debug)]
pub struct Reporter<'t> {
    task: &'t Task,
    account: Account<'t>,
    skipped_payloads: BTreeSet<&'t str>,
    failed_payloads: BTreeMap<&'t str, String>,
    payloads_built: bool,
    position: usize,
    step: Step,
    report: PostReport,
}

/// The next step of the current action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Gate,
    Call,
    Settle,
}

impl<'t> Reporter<'t> {
    /// Starts phase 4, after the outcomes of phases 2 and 3 in `account`.
    #[must_use]
    pub fn new(task: &'t Task, account: Account<'t>) -> Self {
        Self {
            task,
            account,
            skipped_payloads: BTreeSet::new(),
            failed_payloads: BTreeMap::new(),
            payloads_built: false,
            position: 0,
            step: Step::Gate,
            report: PostReport::default(),
        }
    }

    fn build_payloads(&mut self, scope: &mut Scope) {
        for payload in &self.task.payloads {
            match self.payload_text(payload, scope) {
                Ok(Some(text)) => scope.set(&payload.name, Value::from(text)),
                Ok(None) => {
                    self.skipped_payloads.insert(&payload.name);
                }
                Err(error) => {
                    let message = format!("failed to build payload '{}': {error}", payload.name);
                    self.report.warnings.push(message.clone());
                    self.failed_payloads.insert(&payload.name, message);
                }
            }
        }
    }

    /// Builds a payload's JSON text; none if its `when` is false.
    fn payload_text(&mut self, payload: &Payload, scope: &Scope) -> Result<Option<String>, String> {
        if let Some(when) = &payload.when
            && !when.matches(scope).map_err(|error| error.to_string())?
        {
            return Ok(None);
        }
        let mut warnings = Vec::new();
        let built = payload::build(&payload.build, scope, &mut warnings).map_err(|error| error.to_string())?;
        let named = warnings.into_iter().map(|warning| format!("payload {}: {warning}", payload.name));
        self.report.warnings.extend(named);
        Ok(Some(self.corrected(value::json::to_string(&built)).text))
    }

    /// Corrects a text that may be a status. The body of an action is often a payload, so a warning is reported once.
    fn corrected(&mut self, text: String) -> Corrected {
        let corrected = report_overlay::apply(text, self.account);
        let warning = corrected.warning.as_ref().filter(|warning| !self.report.warnings.contains(warning));
        self.report.warnings.extend(warning.cloned());
        corrected
    }

    /// Returns why the action is skipped, or none if it runs.
    fn reason_to_skip(&self, action: &Action, scope: &Scope) -> Result<Option<String>, String> {
        if let Some(payload) = action.body_payloads.iter().find(|name| self.skipped_payloads.contains(name.as_str())) {
            return Ok(Some(format!("referenced payload '{payload}' was skipped")));
        }
        let Some(when) = &action.when else { return Ok(None) };
        let holds = when.matches(scope).map_err(|error| error.to_string())?;
        Ok((!holds).then(|| format!("when condition evaluated to false: {}", when.source())))
    }

    /// Returns the error of a payload that the action's body reads and that could not be built.
    fn payload_fault(&self, action: &Action) -> Option<String> {
        action.body_payloads.iter().find_map(|name| self.failed_payloads.get(name.as_str()).cloned())
    }

    /// Returns the error of a status report, written as text, in which a value has become structure, such as a
    /// condition of its own. A payload may: its values are escaped. A text that is one action has no structure.
    fn forgery(&self, call: &ApiCall, request: &ApiRequest, scope: &Scope) -> Option<String> {
        let (template, body) = (call.body.as_ref()?, request.body.as_deref()?);
        let payloads = self.task.payloads.iter().filter_map(|payload| scope.get(&payload.name)?.as_str());
        let payloads: Vec<String> = payloads.map(str::to_owned).collect();
        let source = template.source().trim();
        let is_one_action = source.starts_with("{{") && source.ends_with("}}") && source.matches("{{").count() == 1;
        if is_one_action || payloads.iter().any(|payload| payload == body) || !report_overlay::is_status(body) {
            return None;
        }
        let Some(actual) = report_overlay::first_value(body) else {
            return Some("the body of the report has values that cannot be checked; send a payload".to_owned());
        };
        let confined = template.confine(scope, &actual, &payloads, report_overlay::first_value);
        confined.err().map(|error| format!("the body of the report: {error}"))
    }

    /// Records the end of the current action, and moves on to the next one.
    fn end_action(&mut self, action: &Action, end: ActionEnd) {
        self.report.actions.push(ActionResult { name: action.name.clone(), end });
        self.position += 1;
        self.step = Step::Gate;
    }

    /// Records the failure of the current action. The first failure of an action is the failure of the phase.
    fn note_failure(&mut self, action: &Action, message: String) {
        let error = PhaseError { phase: Phase::PostActions, step: action.name.clone(), message: message.clone() };
        self.report.error.get_or_insert(error);
        self.end_action(action, ActionEnd::Failed(message));
    }

    fn fail_action(&mut self, action: &Action, message: String) -> Progress<PostReport> {
        self.note_failure(action, message);
        Progress::Done(std::mem::take(&mut self.report))
    }
}

/// The failure of an action whose status report names no generation.
const NO_GENERATION: &str = "the status has no `observed_generation`, so the API would refuse it; \
                             give the payload `observed_generation: {expression: event.generation}`";

/// Returns why the API would reject a status report: no JSON, or no generation. Checks only URLs that end in
/// `/statuses`, because another service may accept any body.
fn refusal(request: &ApiRequest, lacks_generation: bool) -> Option<String> {
    let path = request.url.split(['?', '#']).next().unwrap_or_default();
    let body = request.body.as_deref().filter(|_| path.trim_end_matches('/').ends_with("/statuses"))?;
    if let Some(fault) = report_overlay::json_fault(body) {
        return Some(format!(
            "the body is no JSON, so the API would refuse it: {fault}; send a payload, which escapes the values in it"
        ));
    }
    lacks_generation.then(|| NO_GENERATION.to_owned())
}

impl Stage for Reporter<'_> {
    type Done = PostReport;

    fn resume(&mut self, scope: &mut Scope, answer: Option<Answer>) -> Progress<PostReport> {
        let mut answer = answer;
        if !self.payloads_built {
            self.payloads_built = true;
            self.build_payloads(scope);
        }
        let task = self.task;
        while let Some(action) = task.actions.get(self.position) {
            match self.step {
                Step::Gate => match self.reason_to_skip(action, scope) {
                    Err(message) => return self.fail_action(action, message),
                    Ok(Some(reason)) => self.end_action(action, ActionEnd::Skipped(reason)),
                    Ok(None) => {
                        if let Some(message) = self.payload_fault(action) {
                            self.note_failure(action, message);
                            continue;
                        }
                        self.step = Step::Call;
                        if let Some(need) = action.log.as_ref().and_then(|line| log_need(&action.name, line, scope)) {
                            return Progress::Needs(need);
                        }
                    }
                },
                Step::Call => {
                    self.step = Step::Settle;
                    answer = None;
                    if let Some(call) = &action.api_call {
                        match call.render(scope) {
                            Ok(mut request) => {
                                if let Some(fault) = self.forgery(call, &request, scope) {
                                    return self.fail_action(action, fault);
                                }
                                // The overlay corrects payloads too, but a body may also be written without a
                                // payload.
                                let corrected = request.body.map(|body| self.corrected(body));
                                let lacks_generation = corrected.as_ref().is_some_and(|body| body.lacks_generation);
                                request.body = corrected.map(|body| body.text);
                                if let Some(refusal) = refusal(&request, lacks_generation) {
                                    return self.fail_action(action, refusal);
                                }
                                return Progress::Needs(Need::Call(request));
                            }
                            Err(error) => return self.fail_action(action, error.to_string()),
                        }
                    }
                }
                Step::Settle => match answer.take() {
                    Some(Answer::Called(Err(ref error @ (CallError::Gone(_) | CallError::ResourceNotFound(_))))) => {
                        self.report.gone = matches!(error, CallError::Gone(_)).then(|| error.to_string());
                        self.end_action(action, ActionEnd::ResourceNotFound);
                        self.report.resource_not_found = true;
                        return Progress::Done(std::mem::take(&mut self.report));
                    }
                    Some(Answer::Called(Err(CallError::Failed(message)))) => return self.fail_action(action, message),
                    Some(Answer::Called(Ok(_)) | Answer::Read(_) | Answer::Logged) | None => {
                        self.end_action(action, ActionEnd::Executed);
                    }
                },
            }
        }
        Progress::Done(std::mem::take(&mut self.report))
    }
}

#[cfg(test)]
mod tests;
