//! Phase 1 of a pass: resolves the task's params to variables.
//!
//! In: the task's params, the [`Host`] and the event's [`Scope`]. Out: the scope, with a variable for each
//! param that has a value. Fails if a required param has no value; an optional one is then absent from the
//! scope. Ends the pass if the API answers that the event's own resource does not exist.

use serde_json::Value;

use crate::host::Host;
use crate::precondition;
use crate::scope::Scope;
use crate::stage::{Answer, CallError, Need, Phase, PhaseError, Progress, Stage};
use crate::task::{Param, ParamSource, Task};
use crate::value::{self, Typed};

/// Why the params were not resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// A required param has no value.
    #[error(transparent)]
    Failed(#[from] PhaseError),
    /// The API answered that the event's own resource does not exist: nothing is left to do or to report on.
    #[error("{0}")]
    Gone(String),
}

/// Resolves the params of one event, in order.
#[derive(Debug)]
pub struct Resolver<'t> {
    host: &'t Host,
    params: std::slice::Iter<'t, Param>,
    waiting: Option<&'t Param>,
    has_fetched: bool,
}

impl<'t> Resolver<'t> {
    /// Starts before the first param.
    #[must_use]
    pub fn new(task: &'t Task, host: &'t Host) -> Self {
        Self { host, params: task.params.iter(), waiting: None, has_fetched: false }
    }

    /// Whether a param called the API or read a file.
    ///
    /// If none did, a failure follows from the event and the configuration alone, and the same event would
    /// fail again.
    #[must_use]
    pub fn has_fetched(&self) -> bool {
        self.has_fetched
    }
}

impl Stage for Resolver<'_> {
    type Done = Result<(), Unresolved>;

    fn resume(&mut self, scope: &mut Scope, answer: Option<Answer>) -> Progress<Self::Done> {
        if let (Some(param), Some(answer)) = (self.waiting.take(), answer) {
            if let Answer::Called(Err(CallError::Gone(message))) = answer {
                return Progress::Done(Err(Unresolved::Gone(message)));
            }
            if let Err(error) = set_variable(param, fetched(param, answer).map(Typed::from), scope) {
                return Progress::Done(Err(error.into()));
            }
        }
        for param in self.params.by_ref() {
            match extract(param, self.host, scope) {
                Extraction::Needs(need) => {
                    self.waiting = Some(param);
                    self.has_fetched = true;
                    return Progress::Needs(need);
                }
                Extraction::Value(extracted) => {
                    if let Err(error) = set_variable(param, extracted, scope) {
                        return Progress::Done(Err(error.into()));
                    }
                }
            }
        }
        Progress::Done(Ok(()))
    }
}

/// The result of extracting a param's value: known at once, or after a call or a file is read.
enum Extraction {
    Needs(Need),
    Value(Result<Typed, String>),
}

fn extract(param: &Param, host: &Host, scope: &Scope) -> Extraction {
    let extracted = match &param.source {
        ParamSource::Environment(name) => {
            host.environment.value().get(name).cloned().ok_or_else(|| format!("environment variable {name} is not set"))
        }
        ParamSource::Event(path) => event_value(path, scope),
        ParamSource::Config(path) => found(host.config_unredacted.value(), path),
        ParamSource::Path(path) => {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            match scope.lookup(first, rest) {
                Some(value) => return Extraction::Value(value.map_err(|error| error.to_string())),
                None => event_value(path, scope),
            }
        }
        ParamSource::ApiCall(call) => match call.render(scope) {
            Ok(request) => return Extraction::Needs(Need::Call(request)),
            Err(error) => Err(error.to_string()),
        },
        ParamSource::Expression(expression) => {
            let answer = expression.evaluate_typed(scope).map(Option::unwrap_or_default);
            return Extraction::Value(answer.map_err(|error| error.to_string()));
        }
        ParamSource::File { path, .. } => return Extraction::Needs(Need::File(path.clone())),
    };
    Extraction::Value(extracted.map(Typed::from))
}

fn event_value(path: &str, scope: &Scope) -> Result<Value, String> {
    scope.get("event").map_or_else(|| Err("there is no event".to_owned()), |event| found(event, path))
}

fn found(root: &Value, path: &str) -> Result<Value, String> {
    value::lookup(root, path).cloned().map_err(|error| error.to_string())
}

fn fetched(param: &Param, answer: Answer) -> Result<Value, String> {
    match answer {
        Answer::Called(Ok(body)) => precondition::response(&body),
        Answer::Called(Err(error)) => Err(error.to_string()),
        Answer::Read(Ok(text)) => {
            let trims = matches!(param.source, ParamSource::File { trim: true, .. });
            if param.required && text.trim().is_empty() {
                return Err("the file is blank".to_owned());
            }
            Ok(Value::from(if trims { text.trim() } else { &text }))
        }
        Answer::Read(Err(error)) => Err(error),
        Answer::Logged => Err("nothing was fetched".to_owned()),
    }
}

/// Applies the param's default and type, and sets its variable.
fn set_variable(param: &Param, extracted: Result<Typed, String>, scope: &mut Scope) -> Result<(), PhaseError> {
    let default = || param.default.clone().filter(|default| !default.is_null()).map(Typed::from);
    let failed = |message: String| PhaseError { phase: Phase::ParamExtraction, step: param.name.clone(), message };
    let not_extracted = |error: &str| {
        let (name, source) = (&param.name, &param.source);
        failed(format!("failed to extract required parameter '{name}' from source '{source}': {error}"))
    };
    let value = match extracted {
        Ok(value) => {
            let empty = value.value.is_null() || (value.value.as_str() == Some("") && value.kinds.is_empty());
            let value = if empty { default().unwrap_or(value) } else { value };
            match convert(param, value) {
                Ok(value) => Some(value),
                Err(error) if param.required => {
                    return Err(failed(format!("failed to convert parameter '{}': {error}", param.name)));
                }
                Err(_) => default(),
            }
        }
        Err(error) if param.required => return Err(not_extracted(&error)),
        Err(_) => default(),
    };
    match value.filter(|value| !value.value.is_null()) {
        Some(value) => scope.set_typed(&param.name, value),
        None if param.required => return Err(not_extracted("it has no value")),
        None => {}
    }
    Ok(())
}

fn convert(param: &Param, value: Typed) -> Result<Typed, String> {
    let applies_type = match param.source {
        ParamSource::ApiCall(_) | ParamSource::Expression(_) => false,
        ParamSource::Environment(_)
        | ParamSource::Event(_)
        | ParamSource::Config(_)
        | ParamSource::Path(_)
        | ParamSource::File { .. } => true,
    };
    match &param.kind {
        Some(kind) if applies_type && !value.value.is_null() => {
            value::convert(&value.value, kind).map(Typed::from).map_err(|error| error.to_string())
        }
        Some(_) | None => Ok(value),
    }
}

impl std::fmt::Display for ParamSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "env.{name}"),
            Self::Event(path) => write!(f, "event.{path}"),
            Self::Config(path) => write!(f, "config.{path}"),
            Self::Path(path) => f.write_str(path),
            Self::ApiCall(call) => write!(f, "api_call({} {})", call.method.as_str(), call.url.source()),
            Self::Expression(expression) => write!(f, "expression({:?})", expression.source()),
            Self::File { path, .. } => write!(f, "file({path})"),
        }
    }
}
