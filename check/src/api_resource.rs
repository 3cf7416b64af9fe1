//! What a task's variables are while the event's API resource lives, and while it is being deleted.
//!
//! In: a task. Out: for each [`State`] of the API resource, what is certain of the variables: those that hold the API's answer
//! about the event's own resource have a `deleted_time` that is null, left out or a time, and what is computed from
//! that alone is computed. Fails: nothing; a variable of which nothing is certain has no fact.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use lifecycle_config::decode::suggest;
use lifecycle_core::api_call::{ApiCall, Method};
use lifecycle_core::condition;
use lifecycle_core::task::{CaptureSource, Condition, Operator, Param, ParamSource, Precondition, Task};
use lifecycle_language::cel::{AbstractValue, Expression, Fact, Possible, Presence};
use lifecycle_language::scope::Scope;

use crate::gate_values::definition;

/// The field that says that an API resource is being deleted.
pub(crate) const DELETED_TIME: &str = "deleted_time";

/// Fields of the API's answer whose names resemble `deleted_time`.
const OTHER_FIELDS: [&str; 3] = ["created_time", "deleted_by", "updated_time"];

/// Names by which authors call `deleted_time`, without underscores and in lower case.
const MISTAKEN: [&str; 10] = [
    "deleted",
    "deletedat",
    "deletedtimestamp",
    "deletetime",
    "deletion",
    "deletionat",
    "deletiontime",
    "deletiontimestamp",
    "deletedon",
    "isdeleted",
];

/// The states of an API resource that its answer tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It lives, and `deleted_time` is null.
    Living,
    /// It lives, and the API left `deleted_time` out.
    LivingWithoutField,
    /// It is being deleted.
    Deleting,
}

/// What is certain of the variables in one state.
pub(crate) struct Facts<'t> {
    task: &'t Task,
    variables: BTreeMap<String, Fact>,
}

/// Whether a field of the API's answer does not exist, and is probably meant to be `deleted_time`.
pub(crate) fn is_misspelt(field: &str) -> bool {
    let plain = field.to_lowercase().replace(['-', '_'], "");
    field != DELETED_TIME
        && !OTHER_FIELDS.contains(&field)
        && (MISTAKEN.contains(&plain.as_str()) || suggest(field, &[DELETED_TIME]).is_some())
}

/// The task's own way to ask whether the API resource is being deleted: its first variable that tells, or the whole test.
pub(crate) fn deletion_test(task: &Task) -> String {
    let of_states = [State::Living, State::LivingWithoutField, State::Deleting].map(|state| Facts::of(task, state));
    let tells = |name: &String| {
        let is = |facts: &Option<Facts<'_>>, told: bool| {
            let fact = facts.as_ref().and_then(|facts| facts.variables.get(name));
            matches!(fact, Some(Fact::Is(Value::Bool(value))) if *value == told)
        };
        let [living, without, deleting] = &of_states;
        is(living, false) && is(without, false) && is(deleting, true)
    };
    let captures = task.preconditions.iter().flat_map(|precondition| &precondition.captures);
    let mut names = task.params.iter().map(|param| &param.name).chain(captures.map(|capture| &capture.name));
    names.find(|name| tells(name)).cloned().unwrap_or_else(|| {
        let answer = answers(task).next().unwrap_or("cluster");
        format!("{answer}.?{DELETED_TIME}.orValue(null) != null")
    })
}

/// The test for an API resource that lives, by the task's own way to ask for the deletion.
pub(crate) fn living_test(task: &Task) -> String {
    let test = deletion_test(task);
    test.strip_suffix(" != null").map_or_else(|| format!("!{test}"), |path| format!("{path} == null"))
}

/// The variables that hold the API's answer about the event's own resource.
pub(crate) fn answers(task: &Task) -> impl Iterator<Item = &str> {
    let params = task.params.iter().filter(|param| is_answer(task, param)).map(|param| &param.name);
    let preconditions = task.preconditions.iter().filter(|precondition| of_own(task, precondition));
    let names = params.chain(preconditions.map(|precondition| &precondition.name));
    names.map(String::as_str).filter(|name| task.times_set(name) == 1)
}

fn is_answer(task: &Task, param: &Param) -> bool {
    matches!(&param.source, ParamSource::ApiCall(call) if is_own(task, call)) && param.default.is_none()
}

fn of_own(task: &Task, precondition: &Precondition) -> bool {
    precondition.api_call.as_ref().is_some_and(|call| is_own(task, call))
}

/// Whether a call reads the event's own resource: its URL is a path of the API that ends with the event's id, or is the event's
/// `href`.
fn is_own(task: &Task, call: &ApiCall) -> bool {
    let url = call.url.source().trim_matches('/');
    let Some((before, last)) = url.rsplit_once("{{") else { return false };
    let Some(variable) = last.strip_suffix("}}").map(|last| last.trim().trim_start_matches('.')) else { return false };
    let field = if before.is_empty() { "href" } else { "id" };
    if field == "id" && !is_resource_path(url) {
        return false;
    }
    let is_id = |path: &str| path.strip_prefix("event.") == Some(field);
    let of_param = |param: &Param| match &param.source {
        ParamSource::Event(path) | ParamSource::Path(path) => path == field,
        ParamSource::Expression(expression) => is_id(expression.source()),
        ParamSource::Environment(_) | ParamSource::Config(_) | ParamSource::ApiCall(_) | ParamSource::File { .. } => {
            false
        }
    };
    let mut params = task.params.iter().filter(|param| param.name == variable);
    call.method == Method::Get && (is_id(variable) || params.next().is_some_and(of_param) && params.next().is_none())
}

/// Whether a relative URL consists of collections, each with an id, such as `clusters/{{ .a }}/nodepools/{{ .b }}`. The API of
/// another service has another host, or other parts in its path.
fn is_resource_path(url: &str) -> bool {
    let below = url.strip_prefix("api/hyperfleet/").and_then(|rest| rest.split_once('/'));
    let parts: Vec<&str> = below.map_or(url, |(_, below)| below).split('/').collect();
    parts.chunks(2).all(|pair| matches!(pair, [collection, id] if !collection.contains("{{") && id.starts_with("{{")))
}

impl<'t> Facts<'t> {
    /// The facts in one state; none if no variable holds the answer about the event's own resource.
    pub(crate) fn of(task: &'t Task, state: State) -> Option<Self> {
        answers(task).next()?;
        let mut facts = Self { task, variables: BTreeMap::new() };
        for param in &task.params {
            let fact = facts.of_param(param, state);
            facts.set(&param.name, fact);
        }
        for precondition in &task.preconditions {
            if of_own(task, precondition) {
                facts.set(&precondition.name, Some(answer(state)));
                for capture in &precondition.captures {
                    let fact = facts.of_capture(&capture.source, &precondition.name, state);
                    let fact = fact.map(|fact| defaulted(fact, capture.default.as_ref()));
                    facts.set(&capture.name, fact);
                }
            }
        }
        Some(facts)
    }

    fn set(&mut self, name: &str, fact: Option<Fact>) {
        if let Some(fact) = fact.filter(|_| self.task.times_set(name) == 1) {
            self.variables.insert(name.to_owned(), fact);
        }
    }

    fn of_param(&self, param: &Param, state: State) -> Option<Fact> {
        let value = match &param.source {
            ParamSource::ApiCall(_) => return is_answer(self.task, param).then(|| answer(state)),
            ParamSource::Expression(expression) => self.value(expression, &|_| Presence::Unknown).constant()?,
            ParamSource::Path(path) if param.kind.is_none() => {
                let (variable, field) = path.split_once('.')?;
                if field.contains('.') {
                    return None;
                }
                self.field(variable, field)?
            }
            ParamSource::Path(_)
            | ParamSource::Environment(_)
            | ParamSource::Event(_)
            | ParamSource::Config(_)
            | ParamSource::File { .. } => return None,
        };
        Some(set_to(value, param.default.as_ref()))
    }

    fn of_capture(&self, source: &CaptureSource, response: &str, state: State) -> Option<Fact> {
        match source {
            CaptureSource::Field(path) => self.field(response, path.source()).map(Fact::Is),
            CaptureSource::Expression(expression) => {
                // The keys of the response are variables of the expression.
                let facts = |name: &str| match (name, answer(state)) {
                    (name, answer) if name == response => Some(answer),
                    (DELETED_TIME, Fact::Object { fields, .. }) => {
                        Some(fields.get(DELETED_TIME).map_or(Fact::Unset, |value| Fact::Is(value.clone())))
                    }
                    (name, _) if is_misspelt(name) => Some(Fact::Unset),
                    (_, _) => None,
                };
                let value = expression.abstract_value_given(&|_| Presence::Unknown, &|_| None, &facts);
                value.constant().map(Fact::Is)
            }
        }
    }

    /// The value of a field of a variable, null if the variable lacks it; none if only an event knows.
    fn field(&self, variable: &str, field: &str) -> Option<Value> {
        match self.variables.get(variable)? {
            Fact::Object { fields, lacks } => {
                fields.get(field).cloned().or_else(|| lacks(field).then_some(Value::Null))
            }
            Fact::Is(_) | Fact::Unset => None,
        }
    }

    fn value(&self, expression: &Expression, entries: &dyn Fn(&str) -> Presence) -> AbstractValue {
        let facts = |name: &str| self.variables.get(name).cloned();
        expression.abstract_value_given(entries, &|name| definition(self.task, name), &facts)
    }

    /// Whether a structured condition is met in this state; none if only an event knows.
    ///
    /// The time of a deletion stands for any other, so only what tells a time from null is judged.
    pub(crate) fn meets(&self, condition: &Condition) -> Option<bool> {
        match condition.operator {
            Operator::Equals | Operator::NotEquals | Operator::In | Operator::NotIn | Operator::Exists => {}
            Operator::Contains | Operator::GreaterThan | Operator::LessThan => return None,
        }
        let (mut scope, path) = (Scope::new(Timestamp::UNIX_EPOCH), condition.field.prefix());
        let variable = *path.first()?;
        match (self.variables.get(variable)?, path.get(1)) {
            (Fact::Unset, _) => {}
            (Fact::Is(value), _) => scope.set(variable, value.clone()),
            (Fact::Object { .. }, Some(field)) => {
                let value = self.field(variable, field)?;
                scope.set(variable, json!({ *field: value }));
            }
            (Fact::Object { .. }, None) => return None,
        }
        condition::evaluate(condition, &scope).ok().map(|result| result.matched)
    }

    /// Whether an expression reads a variable of which the state decides something.
    pub(crate) fn are_read_by(&self, expression: &Expression) -> bool {
        expression.member_paths().iter().any(|path| {
            match (path.as_slice(), path.first().and_then(|name| self.variables.get(*name))) {
                ([_, field, ..], Some(Fact::Object { .. })) => *field == DELETED_TIME,
                (_, Some(Fact::Is(_) | Fact::Unset)) => true,
                (_, Some(Fact::Object { .. }) | None) => false,
            }
        })
    }

    /// The results that an expression can have in this state, given what is certain of the entries of `resources`.
    pub(crate) fn possible(&self, expression: &Expression, entries: &dyn Fn(&str) -> Presence) -> Possible {
        self.value(expression, entries).possible()
    }
}

/// What is certain of the API's answer.
fn answer(state: State) -> Fact {
    let deleted_time = match state {
        State::Living => Some(Value::Null),
        State::LivingWithoutField => None,
        State::Deleting => Some(json!("2026-01-02T12:00:00Z")),
    };
    let fields = deleted_time.map(|value| (DELETED_TIME.to_owned(), value)).into_iter().collect();
    Fact::Object {
        fields,
        lacks: match state {
            State::LivingWithoutField => |field| field == DELETED_TIME || is_misspelt(field),
            State::Living | State::Deleting => is_misspelt,
        },
    }
}

/// A param that is null or empty has its default, and without one it is not set.
fn set_to(value: Value, default: Option<&Value>) -> Fact {
    let is_empty = value.is_null() || value.as_str() == Some("");
    match default.filter(|default| is_empty && !default.is_null()) {
        Some(default) => Fact::Is(default.clone()),
        None if value.is_null() => Fact::Unset,
        None => Fact::Is(value),
    }
}

fn defaulted(fact: Fact, default: Option<&Value>) -> Fact {
    match (&fact, default) {
        (Fact::Is(Value::Null) | Fact::Unset, Some(default)) => Fact::Is(default.clone()),
        (Fact::Is(_) | Fact::Unset | Fact::Object { .. }, _) => fact,
    }
}
