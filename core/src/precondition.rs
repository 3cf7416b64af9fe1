//! Phase 2 of a pass: evaluates the preconditions, which decide whether the pass writes to resources.
//!
//! In: the task's preconditions and the event's [`Scope`]. Out: a [`Verdict`], a result for each
//! precondition, and in the scope the API's responses and the captures. The first precondition that is not
//! met or fails ends the phase.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::condition::{self, ConditionResult};
use crate::stage::{Answer, CallError, Need, Phase, PhaseError, Progress, Stage, log_need};
use crate::task::{Capture, CaptureSource, Check, Precondition, Task};
use lifecycle_language::field::Found;
use lifecycle_language::scope::{Scope, Variable};
use lifecycle_language::secrets::REDACTED;
use lifecycle_language::value::bounded::{self, BoundedError};
use lifecycle_language::value::{self, Typed};

/// The most JSON values in a response of the API. They take about 10 MiB; a list of a thousand clusters has fewer.
const MAX_RESPONSE_VALUES: usize = 100_000;

/// The result of all preconditions.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Every precondition of the task is met.
    Met,
    /// A precondition is not met; the text names it and says why.
    NotMet(String),
    /// A precondition could not be evaluated.
    Failed(PhaseError),
    /// The API answered that a precondition's resource does not exist: nothing is left to do or to report on.
    ResourceNotFound(String),
}

/// The result of one precondition.
#[derive(Debug, Clone, PartialEq)]
pub struct PreconditionResult {
    /// The precondition's name in the task.
    pub name: String,
    /// Whether the precondition is met; false also if it could not be evaluated.
    pub met: bool,
    /// The error, if the precondition could not be evaluated.
    pub error: Option<String>,
    /// The captured values, by name, in order.
    pub captures: Vec<(String, Value)>,
    /// Problems that the task's author should see.
    pub warnings: Vec<String>,
}

/// Evaluates the preconditions of one event, in order.
#[derive(Debug)]
pub struct Evaluator<'t> {
    preconditions: &'t [Precondition],
    position: usize,
    step: Step,
    results: Vec<PreconditionResult>,
}

/// The next step of the current precondition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Log,
    Call,
    Check,
}

impl<'t> Evaluator<'t> {
    /// Starts before the first precondition.
    #[must_use]
    pub fn new(task: &'t Task) -> Self {
        Self { preconditions: &task.preconditions, position: 0, step: Step::Log, results: Vec::new() }
    }

    /// Returns the results of the preconditions that were evaluated.
    #[must_use]
    pub fn into_results(self) -> Vec<PreconditionResult> {
        self.results
    }

    fn end(&mut self, name: &str, error: &PhaseError) -> Progress<Verdict> {
        self.results.push(PreconditionResult {
            name: name.to_owned(),
            met: false,
            error: Some(error.message.clone()),
            captures: Vec::new(),
            warnings: Vec::new(),
        });
        Progress::Done(Verdict::Failed(error.clone()))
    }
}

impl Stage for Evaluator<'_> {
    type Done = Verdict;

    fn resume(&mut self, scope: &mut Scope, answer: Option<Answer>) -> Progress<Verdict> {
        let mut answer = answer;
        while let Some(precondition) = self.preconditions.get(self.position) {
            let failure =
                |message: String| PhaseError { phase: Phase::Preconditions, step: precondition.name.clone(), message };
            match self.step {
                Step::Log => {
                    self.step = Step::Call;
                    let line = precondition.log.as_ref();
                    if let Some(need) = line.and_then(|line| log_need(&precondition.name, line, scope)) {
                        return Progress::Needs(need);
                    }
                }
                Step::Call => {
                    self.step = Step::Check;
                    answer = None;
                    if let Some(call) = &precondition.api_call {
                        return match call.render(scope) {
                            Ok(request) => Progress::Needs(Need::Call(request)),
                            Err(error) => self.end(&precondition.name, &failure(error.to_string())),
                        };
                    }
                }
                Step::Check => {
                    let mut result = PreconditionResult {
                        name: precondition.name.clone(),
                        met: false,
                        error: None,
                        captures: Vec::new(),
                        warnings: Vec::new(),
                    };
                    match answer.take() {
                        Some(Answer::Called(Ok(body))) => {
                            let taken = response(&body)
                                .and_then(|response| set_captures(precondition, response, scope, &mut result));
                            if let Err(message) = taken {
                                return self.end(&precondition.name, &failure(message));
                            }
                        }
                        Some(Answer::Called(Err(CallError::Gone(message) | CallError::ResourceNotFound(message)))) => {
                            result.error = Some(message.clone());
                            self.results.push(result);
                            return Progress::Done(Verdict::ResourceNotFound(message));
                        }
                        Some(Answer::Called(Err(CallError::Failed(message)))) => {
                            return self.end(&precondition.name, &failure(message));
                        }
                        Some(Answer::Read(_) | Answer::Logged) | None => {}
                    }
                    match check(&precondition.check, scope) {
                        Ok(unmet) => {
                            result.met = unmet.is_none();
                            self.results.push(result);
                            if let Some(details) = unmet {
                                let reason = format!("precondition '{}' not met: {details}", precondition.name);
                                return Progress::Done(Verdict::NotMet(reason));
                            }
                        }
                        Err(message) => return self.end(&precondition.name, &failure(message)),
                    }
                    self.position += 1;
                    self.step = Step::Log;
                }
            }
        }
        Progress::Done(Verdict::Met)
    }
}

/// Parses the JSON object in the body of a response, unless it has too many values. Captures read its members, so any
/// other JSON fails.
pub(crate) fn response(body: &str) -> Result<Value, String> {
    match bounded::parse(body.as_bytes(), MAX_RESPONSE_VALUES) {
        Ok(Value::Object(object)) => Ok(value::as_go_numbers(Value::Object(object))),
        Ok(_) => Err("the response is not a JSON object".to_owned()),
        Err(BoundedError::NotJson(error)) => Err(format!("the response is not JSON: {error}")),
        Err(error @ BoundedError::TooManyValues { .. }) => Err(format!("the response is too large: {error}")),
    }
}

/// Says why a precondition is not met; none if it is.
fn check(check: &Check, scope: &Scope) -> Result<Option<String>, String> {
    match check {
        Check::CallSucceeds => Ok(None),
        Check::Expression(expression) => Ok(match expression.matches(scope) {
            Ok(true) => None,
            Ok(false) => Some(format!("expression {} is false", expression.source())),
            Err(error) => Some(format!("CEL error: {error}")),
        }),
        Check::Conditions(conditions) => {
            let mut unmet = Vec::new();
            for condition in conditions {
                let hides = scope.secret_paths().touch(&condition.field.prefix());
                let result = condition::evaluate(condition, scope).map_err(|error| match hides {
                    true => {
                        format!("`{}`: its value is sensitive, and cannot be compared so", condition.field.source())
                    }
                    false => scope.secrets().text(&error.to_string()).into_owned(),
                })?;
                if !result.matched {
                    let actual = if hides { Value::from(REDACTED) } else { result.actual };
                    let unmet_text = condition::not_met(condition, &ConditionResult { actual, ..result });
                    unmet.push(scope.secrets().text(&unmet_text).into_owned());
                }
            }
            Ok(if unmet.is_empty() { None } else { Some(unmet.join("; ")) })
        }
    }
}

/// Sets the response and the captures as variables. A capture reads the response alone, not the variables of
/// the event.
///
/// A capture whose path does not parse fails the precondition.
fn set_captures(
    precondition: &Precondition,
    response: Value,
    scope: &mut Scope,
    result: &mut PreconditionResult,
) -> Result<(), String> {
    let response = Variable::from(response);
    let mut inner = Scope::new(scope.now());
    if !precondition.captures.is_empty() {
        let read = members_read(&precondition.captures);
        if let Value::Object(members) = response.value() {
            for (key, member) in members {
                if read.as_ref().is_none_or(|read| read.contains(key.as_str())) {
                    inner.set(key, member.clone());
                }
            }
        }
        inner.share(&precondition.name, &response);
    }
    scope.share(&precondition.name, &response);
    for capture in &precondition.captures {
        if let CaptureSource::Field(path) = &capture.source
            && let Some(fault) = path.fault()
        {
            return Err(format!("capture {}: {fault}", capture.name));
        }
        let value = captured(capture, &inner, &mut result.warnings);
        result.captures.push((capture.name.clone(), value.value.clone()));
        scope.set_typed(&capture.name, value);
    }
    Ok(())
}

/// Returns the top-level members of a response that the captures read, so that the others are not copied;
/// none if a capture may read any member.
fn members_read(captures: &[Capture]) -> Option<BTreeSet<&str>> {
    let members = captures.iter().map(|capture| match &capture.source {
        CaptureSource::Field(path) => path.prefix().first().copied(),
        CaptureSource::Expression(_) => None,
    });
    members.collect()
}

fn captured(capture: &Capture, response: &Scope, warnings: &mut Vec<String>) -> Typed {
    match &capture.source {
        CaptureSource::Field(path) => match path.find_in(response) {
            Found::Value(value) => value.into(),
            Found::Missing => match &capture.default {
                Some(default) if !default.is_null() => default.clone().into(),
                Some(_) | None => {
                    warnings.push(format!("capture {}: {} is not in the response", capture.name, path.source()));
                    Value::Null.into()
                }
            },
        },
        CaptureSource::Expression(expression) => match expression.evaluate_typed(response) {
            Ok(value) => value.unwrap_or_default(),
            Err(error) => {
                warnings.push(format!("capture {}: {error}", capture.name));
                Value::Null.into()
            }
        },
    }
}

#[cfg(test)]
mod tests;
