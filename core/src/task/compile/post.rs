//! Compiles payloads and post actions.

use lifecycle_config::document::{Document, Path};
use serde_json::{Map, Value};

use super::check::{Checker, Key, Place};
use super::names::Known;
use crate::task::spec::{PayloadSpec, PostActionSpec, WhenSpec};
use crate::task::{Action, Payload, PayloadNode, PayloadSource};
use lifecycle_language::cel::Expression;
use lifecycle_language::template::Template;
use lifecycle_language::value;

pub(super) fn payloads(checker: &mut Checker<'_>, specs: &[PayloadSpec], place: &Place<'_>) -> Vec<Payload> {
    let all = specs.iter().enumerate();
    all.filter_map(|(index, spec)| payload(checker, spec, &place.index(index))).collect()
}

fn payload(checker: &mut Checker<'_>, spec: &PayloadSpec, place: &Place<'_>) -> Option<Payload> {
    checker.variable(&place.key("name"), &spec.name);
    let when = spec.when.as_ref().map(|spec| when(checker, spec, place));
    let file = spec.build_ref.as_deref().filter(|file| !file.is_empty());
    let build = match (&spec.build, file) {
        (Some(build), None) => root(checker, build, &place.key("build"), Key::Inherited),
        (None, Some(file)) => referenced(checker, file, &place.key("build_ref")),
        (Some(_), Some(_)) => {
            checker.error(place, "'build' and 'build_ref' are mutually exclusive");
            None
        }
        (None, None) => {
            if !checker.is_reported(&place.key("build_ref")) {
                checker.error(place, "must have either 'build' or 'build_ref' set");
            }
            None
        }
    };
    let when = match when {
        None => None,
        Some(when) => Some(when?),
    };
    Some(Payload { name: spec.name.clone(), when, build: build? })
}

fn when(checker: &mut Checker<'_>, spec: &WhenSpec, place: &Place<'_>) -> Option<Expression> {
    let known = checker.known;
    checker.expression(&place.key("when").key("expression"), &spec.expression, known, Key::Inherited)
}

fn referenced(checker: &mut Checker<'_>, file: &str, place: &Place<'_>) -> Option<PayloadNode> {
    let text = match (checker.surroundings.read)(file) {
        Ok(text) => text,
        Err(message) => {
            checker.error(place, message);
            return None;
        }
    };
    let document = match Document::parse(file, &text) {
        Ok(document) => document,
        Err(diagnostics) => {
            checker.extend(diagnostics);
            return None;
        }
    };
    let value = document.root().to_value();
    if !value.is_object() {
        checker.error(place, format!("the file must hold a mapping, but holds {}", document.root().describe()));
        return None;
    }
    // The Go adapter reads the file at load, but parses its expressions and templates only when it builds the
    // payload. So a mistake in the file must not keep the task from loading.
    root(checker, &value, &Place { document: &document, path: Path::root() }, Key::Unchecked)
}

/// Compiles the top level of a payload. A mapping there is never a value definition; any other value is
/// literal.
fn root(checker: &mut Checker<'_>, build: &Value, place: &Place<'_>, key: Key) -> Option<PayloadNode> {
    match build {
        Value::Object(object) => mapping(checker, object, place, key),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Some(PayloadNode::Literal(build.clone()))
        }
    }
}

fn node(checker: &mut Checker<'_>, build: &Value, place: &Place<'_>, key: Key) -> Option<PayloadNode> {
    match build {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(PayloadNode::Literal(build.clone())),
        Value::String(text) => {
            let known = checker.known;
            checker.template_in(place, text, known, key).map(PayloadNode::Text)
        }
        Value::Array(items) => {
            let nodes: Vec<_> =
                items.iter().enumerate().map(|(index, item)| node(checker, item, &place.index(index), key)).collect();
            nodes.into_iter().collect::<Option<_>>().map(PayloadNode::List)
        }
        Value::Object(object) => match definition(object) {
            Some(definition) => lookup(checker, object, &definition, place, key),
            None => mapping(checker, object, place, key),
        },
    }
}

fn mapping(checker: &mut Checker<'_>, object: &Map<String, Value>, place: &Place<'_>, of: Key) -> Option<PayloadNode> {
    let known = checker.known;
    let entries: Vec<_> = object
        .iter()
        .map(|(key, value)| {
            let place = place.key(key);
            let key = checker.template_in(&place, key, known, of);
            let value = node(checker, value, &place, of);
            Some((key?, value?))
        })
        .collect();
    entries.into_iter().collect::<Option<_>>().map(PayloadNode::Map)
}

/// A value definition: the path or the expression that gives a value.
#[derive(Debug, PartialEq, Eq)]
struct Definition {
    field: Option<String>,
    expression: Option<String>,
}

/// Reads a value definition: a mapping with a scalar under `field`, `expression`, or both. The Go adapter
/// decodes either key as text, so `true` and `5` become text, and null counts as not set.
fn definition(object: &Map<String, Value>) -> Option<Definition> {
    let text = |key: &str| match object.get(key)? {
        scalar @ (Value::Bool(_) | Value::Number(_)) => Some(value::text(scalar)),
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let definition = Definition { field: text("field"), expression: text("expression") };
    let is_ordinary = ["field", "expression"].iter().any(|key| object.get(*key).is_some_and(is_collection));
    let names_one = definition.field.is_some() || definition.expression.is_some();
    (names_one && !is_ordinary).then_some(definition)
}

fn is_collection(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn lookup(
    checker: &mut Checker<'_>,
    object: &Map<String, Value>,
    definition: &Definition,
    place: &Place<'_>,
    of: Key,
) -> Option<PayloadNode> {
    let known = checker.known;
    for key in object.keys().filter(|key| !matches!(key.as_str(), "field" | "expression" | "default")) {
        checker.warn(&place.key(key), "is ignored: the mapping is a value definition", None);
    }
    let default = object.get("default").filter(|default| !default.is_null()).cloned();
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let source = match (text(&definition.field), text(&definition.expression)) {
        (Some(_), Some(_)) => {
            let message = "'field' and 'expression' are mutually exclusive";
            let help = "remove one of the two: as in the Go adapter, the payload cannot be built".to_owned();
            checker.warn(place, message, Some(help));
            return Some(failing_node(message));
        }
        (Some(field), None) if !field.trim().is_empty() => {
            let path = checker.variable_field(&place.key("field"), &field);
            if let Some(fault) = path.fault() {
                return Some(failing_node(&fault.to_string()));
            }
            PayloadSource::Field(path)
        }
        (None, Some(text)) => {
            let place = place.key("expression");
            match (checker.expression(&place, &text, known, of), Expression::parse(&text)) {
                (Some(expression), _) => PayloadSource::Expression(expression),
                (None, Err(fault)) if of == Key::Unchecked => return Some(failing_node(&fault.to_string())),
                (None, Ok(_) | Err(_)) => return None,
            }
        }
        (Some(_) | None, None) => return Some(PayloadNode::Literal(default.unwrap_or(Value::Null))),
    };
    Some(PayloadNode::Lookup { source, default })
}

/// Returns a node that fails the payload whenever it is built.
fn failing_node(why: &str) -> PayloadNode {
    PayloadNode::Text(Template::malformed(why, why))
}

pub(super) fn actions(checker: &mut Checker<'_>, specs: &[PostActionSpec], place: &Place<'_>) -> Vec<Action> {
    let all = specs.iter().enumerate();
    all.filter_map(|(index, spec)| action(checker, spec, &place.index(index))).collect()
}

fn action(checker: &mut Checker<'_>, spec: &PostActionSpec, place: &Place<'_>) -> Option<Action> {
    let known = checker.known;
    checker.name(&place.key("name"), &spec.name);
    let when = spec.when.as_ref().map(|spec| when(checker, spec, place));
    let log = spec.log.as_ref().and_then(|log| checker.log(&place.key("log"), log));
    let api_call = spec.api_call.as_ref().map(|call| checker.api_call(&place.key("api_call"), call, known));
    if spec.api_call.is_none() && spec.log.is_none() {
        checker.warn(place, "does nothing: it has neither `api_call` nor `log`", None);
    }
    let api_call = match api_call {
        None => None,
        Some(call) => Some(call?),
    };
    let when = match when {
        None => None,
        Some(when) => Some(when?),
    };
    let body_payloads = api_call.as_ref().and_then(|call| call.body.as_ref()).map(|body| payloads_of(body, known));
    let body_payloads = body_payloads.unwrap_or_default();
    Some(Action { name: spec.name.clone(), when, log, api_call, body_payloads })
}

/// Returns the payloads that a body reads; all of them if the body does not parse.
fn payloads_of(body: &Template, known: &Known) -> Vec<String> {
    if body.is_malformed() {
        return known.payloads().map(str::to_owned).collect();
    }
    let first = |path: &String| path.split('.').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = body.variables().iter().map(first).filter(|name| known.has_payload(name)).collect();
    names.dedup();
    names
}
