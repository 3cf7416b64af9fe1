//! Phase 1 of a pass: resolves the task's params to variables.
//!
//! In: the task's params, the [`Host`] and the event's [`Scope`]. Out: the scope, with a variable for each
//! param that has a value. A param without a value gets its default, and is otherwise absent from the scope. Fails
//! if a required param has no value, and if a source fails, such as a call that gets no answer: a default would then
//! stand for a value that may exist. Ends the pass if the API answers that the event's own resource does not exist.

use serde_json::Value;

use crate::precondition;
use crate::process_variables::Host;
use crate::sensitive;
use crate::stage::{Answer, CallError, Need, Phase, PhaseError, Progress, ReadError, Stage};
use crate::task::{Param, ParamSource, Task};
use lifecycle_language::cel::{EvaluationError, EvaluationErrorKind};
use lifecycle_language::scope::Scope;
use lifecycle_language::value::{self, Typed};

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
    replaced: Vec<PhaseError>,
    defaulted: Vec<&'t str>,
}

/// Why a source gave no value.
#[derive(Debug)]
enum NoValue {
    /// What was read does not contain the value.
    Absent(String),
    /// Nothing is known of the value: the source failed.
    Failed(String),
}

impl<'t> Resolver<'t> {
    /// Starts before the first param.
    #[must_use]
    pub fn new(task: &'t Task, host: &'t Host) -> Self {
        Self {
            host,
            params: task.params.iter(),
            waiting: None,
            has_fetched: false,
            replaced: Vec::new(),
            defaulted: Vec::new(),
        }
    }

    /// Whether a param called the API or read a file.
    ///
    /// If none did, a failure follows from the event and the configuration alone, and the same event would
    /// fail again.
    #[must_use]
    pub fn has_fetched(&self) -> bool {
        self.has_fetched
    }

    /// The params that have their default, in order.
    #[must_use]
    pub fn defaulted(&self) -> &[&'t str] {
        &self.defaulted
    }

    /// The failures for which `on_error: default` put the default of a param, in order.
    #[must_use]
    pub fn into_replaced(self) -> Vec<PhaseError> {
        self.replaced
    }

    /// Applies the param's default and type, and sets its variable.
    fn set_variable(
        &mut self,
        param: &'t Param,
        extracted: Result<Typed, NoValue>,
        scope: &mut Scope,
    ) -> Result<(), PhaseError> {
        let is_secret = param.sensitive.unwrap_or_else(|| is_secret(&param.source, self.host, scope));
        let mut is_default = false;
        let mut default = || {
            let default = param.default.clone().filter(|default| !default.is_null()).map(Typed::from);
            is_default = default.is_some();
            default
        };
        let failed = |message: String| PhaseError { phase: Phase::ParamExtraction, step: param.name.clone(), message };
        let not_extracted = |error: &str| {
            let (name, source) = (&param.name, &param.source);
            let required = if param.required { "required " } else { "" };
            failed(format!("failed to extract {required}parameter '{name}' from source '{source}': {error}"))
        };
        let mut why = "its value is null".to_owned();
        let value = match extracted {
            Ok(value) => {
                let empty = value.value.is_null() || (value.value.as_str() == Some("") && value.kinds.is_empty());
                let value = if empty { default().unwrap_or(value) } else { value };
                let converted = convert(param, value).map(Some);
                converted.map_err(|error| {
                    let error = if is_secret { "its value is sensitive, and is not shown".to_owned() } else { error };
                    failed(format!("failed to convert parameter '{}': {error}", param.name))
                })
            }
            Err(NoValue::Absent(error)) if !param.required => {
                why = error;
                Ok(default())
            }
            Err(NoValue::Absent(error) | NoValue::Failed(error)) => Err(not_extracted(&error)),
        };
        let value = match value {
            Err(error) if param.default_on_error => {
                self.replaced.push(error);
                default()
            }
            value => value?,
        };
        if is_default {
            self.defaulted.push(&param.name);
        }
        match value.filter(|value| !value.value.is_null()) {
            Some(value) => {
                // A boolean tells too little of a secret, and a default is not one.
                let is_harmless = value.value.is_boolean() || param.default.as_ref() == Some(&value.value);
                let is_secret = is_secret && (param.sensitive.is_some() || !is_harmless);
                sensitive::note(param, is_secret, &mut |path, is_secret| scope.conceal(path, is_secret));
                scope.reveal(&param.name, param.sensitive == Some(false));
                scope.set_typed(&param.name, value);
            }
            None if param.required => return Err(not_extracted("it has no value")),
            None => scope.note_absence(&param.name, why),
        }
        Ok(())
    }
}

impl Stage for Resolver<'_> {
    type Done = Result<(), Unresolved>;

    fn resume(&mut self, scope: &mut Scope, answer: Option<Answer>) -> Progress<Self::Done> {
        if let (Some(param), Some(answer)) = (self.waiting.take(), answer) {
            if let Answer::Called(Err(CallError::Gone(message))) = answer {
                return Progress::Done(Err(Unresolved::Gone(message)));
            }
            if let Err(error) = self.set_variable(param, fetched(param, answer).map(Typed::from), scope) {
                return Progress::Done(Err(error.into()));
            }
        }
        while let Some(param) = self.params.next() {
            match extract(param, self.host, scope) {
                Extraction::Needs(need) => {
                    self.waiting = Some(param);
                    self.has_fetched = true;
                    return Progress::Needs(need);
                }
                Extraction::Value(extracted) => {
                    if let Err(error) = self.set_variable(param, extracted, scope) {
                        return Progress::Done(Err(error.into()));
                    }
                }
            }
        }
        Progress::Done(Ok(()))
    }
}

/// Whether a source reads a secret, also by what only the pass knows: the parts of the configuration that are redacted.
fn is_secret(source: &ParamSource, host: &Host, scope: &Scope) -> bool {
    let is_redacted = |path| found(host.config.value(), path) != found(host.config_unredacted.value(), path);
    matches!(source, ParamSource::Config(path) if is_redacted(path))
        || sensitive::reads_secret(source, scope.secret_paths())
}

/// The result of extracting a param's value: known at once, or after a call or a file is read.
enum Extraction {
    Needs(Need),
    Value(Result<Typed, NoValue>),
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
                Some(value) => {
                    return Extraction::Value(value.map_err(|error| NoValue::Absent(error.to_string())));
                }
                None => event_value(path, scope),
            }
        }
        ParamSource::ApiCall(call) => {
            return match call.render(scope) {
                Ok(request) => Extraction::Needs(Need::Call(request)),
                Err(error) => Extraction::Value(Err(NoValue::Failed(error.to_string()))),
            };
        }
        ParamSource::Expression(expression) => {
            let answer = expression.evaluate_typed(scope).map(Option::unwrap_or_default);
            return Extraction::Value(answer.map_err(|error| not_evaluated(&error)));
        }
        ParamSource::File { path, .. } => return Extraction::Needs(Need::File(path.clone())),
    };
    Extraction::Value(extracted.map(Typed::from).map_err(NoValue::Absent))
}

/// An expression lacks its value if a key or a variable that it reads does not exist, such as a param without a value.
/// `check` warns of a name that nothing declares; tasks of the Go adapter rely on the default then.
fn not_evaluated(error: &EvaluationError) -> NoValue {
    let is_absent = match &error.kind {
        EvaluationErrorKind::MissingKey { .. } | EvaluationErrorKind::Undeclared(_) => true,
        EvaluationErrorKind::Other => false,
    };
    if is_absent { NoValue::Absent(error.to_string()) } else { NoValue::Failed(error.to_string()) }
}

fn event_value(path: &str, scope: &Scope) -> Result<Value, String> {
    scope.get("event").map_or_else(|| Err("there is no event".to_owned()), |event| found(event, path))
}

fn found(root: &Value, path: &str) -> Result<Value, String> {
    value::lookup(root, path).cloned().map_err(|error| error.to_string())
}

fn fetched(param: &Param, answer: Answer) -> Result<Value, NoValue> {
    match answer {
        Answer::Called(Ok(body)) => precondition::response(&body).map_err(NoValue::Failed),
        Answer::Called(Err(CallError::Gone(error) | CallError::ResourceNotFound(error))) => Err(NoValue::Absent(error)),
        Answer::Called(Err(CallError::Failed(error))) => Err(NoValue::Failed(error)),
        Answer::Read(Ok(text)) => {
            let trims = matches!(param.source, ParamSource::File { trim: true, .. });
            if param.required && text.trim().is_empty() {
                return Err(NoValue::Absent("the file is blank".to_owned()));
            }
            Ok(Value::from(if trims { text.trim() } else { &text }))
        }
        Answer::Read(Err(ReadError::Missing(error))) => Err(NoValue::Absent(error)),
        Answer::Read(Err(ReadError::Failed(error))) => Err(NoValue::Failed(error)),
        Answer::Logged => Err(NoValue::Failed("nothing was fetched".to_owned())),
    }
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
