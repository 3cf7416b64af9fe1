//! Walks a document along a schema, and reports what does not match.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::schema::{choices, is_any, resolve, type_of};
use super::text::{Typing, article, convert, no_integer, out_of_range, suggest};
use super::{CURE, DURATION, LENIENT};
use crate::diagnostics::{Diagnostics, Severity};
use crate::document::{Content, Document, Entry, Node, Path, Position, QUOTES, Scalar, Style};
use crate::duration::{Units, parse_nanoseconds};

const NULL: Value = Value::Null;

pub(super) struct Walker<'w> {
    pub(super) document: &'w Document,
    pub(super) schema: &'w Value,
    pub(super) typing: Typing,
    pub(super) supplied: &'w BTreeSet<String>,
    pub(super) diagnostics: &'w mut Diagnostics,
}

/// The value that the walker checks.
struct At<'w> {
    node: &'w Node,
    path: Path,
    lenient: bool,
}

impl<'w> Walker<'w> {
    pub(super) fn root(mut self) -> Value {
        let at = At { node: self.document.root(), path: Path::root(), lenient: false };
        if at.node.is_null() {
            return placeholder(self.schema, self.schema);
        }
        self.value(&at, self.schema)
    }

    fn report(&mut self, severity: Severity, path: &Path, position: Position, message: String, help: Option<String>) {
        let diagnostic = || self.document.diagnostic_at(severity, path, position, message, help);
        self.diagnostics.push_with(severity, diagnostic);
    }

    fn value(&mut self, at: &At<'_>, schema: &'w Value) -> Value {
        let schema = resolve(self.schema, schema);
        if let Some(choices) = choices(schema) {
            return self.one_of(at, schema, &choices);
        }
        if let Some(alternatives) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
            return self.alternative(at, alternatives);
        }
        match (type_of(schema), &at.node.content) {
            (None, _) => at.node.to_value(),
            (Some("object"), Content::Map(entries)) => self.object(at, entries, schema),
            (Some("array"), Content::List(items)) => self.list(at, items, schema),
            (Some(wanted), Content::Scalar(scalar)) if wanted != "object" && wanted != "array" => {
                self.scalar(at, scalar, wanted, schema)
            }
            (Some(wanted), Content::Map(_) | Content::List(_) | Content::Scalar(_)) => {
                self.wrong_type(at, wanted, schema)
            }
        }
    }

    fn wrong_type(&mut self, at: &At<'_>, wanted: &str, schema: &Value) -> Value {
        if let ("integer", Content::Scalar(scalar)) = (wanted, &at.node.content)
            && let Some((message, help)) = no_integer(scalar)
        {
            self.report(Severity::Error, &at.path, at.node.position, message, Some(help));
            return placeholder(self.schema, schema);
        }
        let message = format!("must be {}, but is {}", article(wanted), at.node.describe());
        let help = match (wanted, &at.node.content) {
            ("boolean" | "integer" | "number", Content::Scalar(scalar)) if scalar.tag.is_none() => {
                let text = Scalar { style: Style::Plain, ..scalar.clone() };
                let unquoted = convert(&text, wanted, Typing::Strict);
                unquoted.map(|_| format!("remove the quotes: `{}`", scalar.text))
            }
            ("array", Content::Scalar(_) | Content::Map(_)) => Some("begin each item with `- `".to_owned()),
            _ => None,
        };
        self.report(Severity::Error, &at.path, at.node.position, message, help);
        placeholder(self.schema, schema)
    }

    fn scalar(&mut self, at: &At<'_>, scalar: &Scalar, wanted: &str, schema: &Value) -> Value {
        let Some(value) = convert(scalar, wanted, self.typing) else {
            return self.wrong_type(at, wanted, schema);
        };
        if schema.get("format").and_then(Value::as_str) == Some(DURATION) {
            return self.duration(at, scalar, schema);
        }
        if let Some((message, help)) = out_of_range(&value, schema) {
            self.report(Severity::Error, &at.path, at.node.position, message, Some(help));
            return placeholder(self.schema, schema);
        }
        value
    }

    fn duration(&mut self, at: &At<'_>, scalar: &Scalar, schema: &Value) -> Value {
        let (message, help) = if scalar.to_value().is_number() {
            let message = format!("must be a duration, but is the number {}", scalar.text);
            (message, Some(format!("add a unit: `{}s`", scalar.text)))
        } else {
            match parse_nanoseconds(&scalar.text, Units::Go) {
                Ok(_) => return Value::String(scalar.text.clone()),
                Err(error) => (error.to_string(), None),
            }
        };
        self.report(Severity::Error, &at.path, at.node.position, message, help);
        placeholder(self.schema, schema)
    }

    fn list(&mut self, at: &At<'_>, items: &[Node], schema: &'w Value) -> Value {
        let item_schema = schema.get("items").unwrap_or(&NULL);
        let items = items.iter().enumerate().map(|(index, node)| {
            let at = At { node, path: at.path.index(index), lenient: at.lenient };
            self.present(&at, item_schema)
        });
        Value::Array(items.collect())
    }

    /// Checks an item of a list or a value of a mapping. Null means an empty value there, except where any
    /// value is allowed.
    fn present(&mut self, at: &At<'_>, schema: &'w Value) -> Value {
        let resolved = resolve(self.schema, schema);
        if !at.node.is_null() || is_any(resolved) {
            return self.value(at, schema);
        }
        if type_of(resolved) == Some("object") {
            return self.object(at, &[], resolved);
        }
        placeholder(self.schema, resolved)
    }

    fn object(&mut self, at: &At<'_>, entries: &[Entry], schema: &'w Value) -> Value {
        let lenient = at.lenient || schema.get(LENIENT).is_some();
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut result = Map::new();
        for entry in entries {
            let path = at.path.key(&entry.key);
            let declared = properties.and_then(|properties| properties.get(&entry.key));
            let others = schema.get("additionalProperties");
            let Some(property) = declared.or_else(|| others.filter(|schema| **schema != false)) else {
                if others.is_some() {
                    self.unknown_key(entry, &path, lenient, properties);
                }
                continue;
            };
            let child = At { node: &entry.value, path, lenient };
            if declared.is_some() && entry.value.is_null() {
                // As in Go, a null value means that the key is not set: it keeps its default, or is reported
                // below if required.
                if let Some(cure) =
                    cure(property).filter(|_| !required_keys(schema, at.node).contains(&entry.key.as_str()))
                {
                    let message = "has no value".to_owned();
                    self.report(Severity::Error, &child.path, entry.key_position, message, Some(cure));
                }
                continue;
            }
            result.insert(entry.key.clone(), self.present(&child, property));
        }
        self.required(at, schema, &mut result);
        Value::Object(result)
    }

    fn unknown_key(&mut self, entry: &Entry, path: &Path, lenient: bool, known: Option<&Map<String, Value>>) {
        let severity = if lenient { Severity::Warning } else { Severity::Error };
        let known: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let accepted = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let is_word = entry.key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
        let help = match suggest(&entry.key, &known) {
            // In `{expression: x in [a, b], y}`, YAML ends the text at a comma, and reads the rest as another key.
            None if known.contains(&"expression") && !is_word => QUOTES.to_owned(),
            Some(similar) => format!("did you mean `{similar}`? Accepted here: {accepted}"),
            None => format!("accepted here: {accepted}"),
        };
        self.report(severity, path, entry.key_position, "unknown key".to_owned(), Some(help));
    }

    fn required(&mut self, at: &At<'_>, schema: &'w Value, result: &mut Map<String, Value>) {
        for key in required_keys(schema, at.node) {
            let empty = result.get(key).is_none_or(|value| value.as_str() == Some(""));
            let reported = at.node.get(key).is_some_and(|node| !node.is_null() && !node.is_empty_text());
            if !empty || reported {
                continue;
            }
            let path = at.path.key(key);
            let position = self.document.locate(&path);
            let property = schema.get("properties").and_then(|properties| properties.get(key)).unwrap_or(&NULL);
            if !self.supplied.contains(&path.to_string()) {
                let help = unquoted(self.document, at.node, key).or_else(|| cure(property));
                self.report(Severity::Error, &path, position, "is required".to_owned(), help);
            }
            result.insert(key.to_owned(), placeholder(self.schema, property));
        }
    }

    fn alternative(&mut self, at: &At<'_>, alternatives: &'w [Value]) -> Value {
        let fitting = alternatives.iter().find(|alternative| {
            let wanted = type_of(resolve(self.schema, alternative));
            match &at.node.content {
                Content::Map(_) => wanted.is_none_or(|wanted| wanted == "object"),
                Content::List(_) => wanted.is_none_or(|wanted| wanted == "array"),
                Content::Scalar(_) => wanted.is_none_or(|wanted| !matches!(wanted, "object" | "array" | "null")),
            }
        });
        // The schema of `Option<T>` is "T or null": a value that is neither is reported as a wrong `T`.
        let only = || {
            let mut others = alternatives.iter().filter(|a| type_of(resolve(self.schema, a)) != Some("null"));
            others.next().filter(|_| others.next().is_none())
        };
        if let Some(alternative) = fitting.or_else(only) {
            return self.value(at, alternative);
        }
        let wanted: Vec<&str> =
            alternatives.iter().filter_map(|a| type_of(resolve(self.schema, a))).map(article).collect();
        let message = format!("must be {}, but is {}", wanted.join(" or "), at.node.describe());
        self.report(Severity::Error, &at.path, at.node.position, message, None);
        alternatives.first().map_or(NULL, |first| placeholder(self.schema, first))
    }

    fn one_of(&mut self, at: &At<'_>, schema: &Value, choices: &[&str]) -> Value {
        let Content::Scalar(scalar) = &at.node.content else { return self.wrong_type(at, "string", schema) };
        if choices.contains(&scalar.text.as_str()) {
            return Value::String(scalar.text.clone());
        }
        let message = format!("\"{}\" is invalid (allowed: {})", scalar.text, choices.join(", "));
        let help = suggest(&scalar.text, choices).map(|similar| format!("did you mean `{similar}`?"));
        self.report(Severity::Error, &at.path, at.node.position, message, help);
        placeholder(self.schema, schema)
    }
}

/// The help for a missing value of a key, from its schema.
fn cure(property: &Value) -> Option<String> {
    property.get(CURE).and_then(Value::as_str).map(str::to_owned)
}

/// The keys that a schema requires of this mapping. `if` with `required` asks whether the mapping has other keys; if so,
/// `then` names more required keys, else `else` does.
fn required_keys<'s>(schema: &'s Value, node: &Node) -> Vec<&'s str> {
    let listed = |schema: &'s Value| {
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    };
    // Null is "not set", except for a key that must not be empty, which is reported as such.
    let has_cure = |key: &str| schema.get("properties").and_then(|of| of.get(key)).and_then(cure).is_some();
    let is_set = |key: &str| node.get(key).is_some_and(|value| !value.is_null() || has_cure(key));
    let branch =
        schema.get("if").and_then(|condition| schema.get(if listed(condition).all(is_set) { "then" } else { "else" }));
    listed(schema).chain(branch.into_iter().flat_map(listed)).collect()
}

/// Suggests quotes if the value of `key` is missing because YAML reads its text as a tag (`!done`), an anchor
/// (`&x`) or a comment (`# …`).
fn unquoted(document: &Document, node: &Node, key: &str) -> Option<String> {
    let Content::Map(entries) = &node.content else { return None };
    let entry = entries.iter().find(|entry| entry.key == key)?;
    let text = document.rest_of_line(entry.key_position)?.strip_prefix(key)?.trim_start().strip_prefix(':')?.trim();
    let is_lost = text.starts_with(['!', '&', '#']) && !text.starts_with("!!");
    is_lost.then(|| QUOTES.to_owned())
}

/// A value of the schema's type that replaces an invalid value, so that the rest of the document can be checked.
fn placeholder(root: &Value, schema: &Value) -> Value {
    let schema = resolve(root, schema);
    if let Some(first) = choices(schema).and_then(|choices| choices.first().copied()) {
        return Value::String(first.to_owned());
    }
    if schema.get("type").is_some_and(Value::is_array) {
        return NULL;
    }
    if let Some(alternatives) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        let nullable = alternatives.iter().any(|alternative| type_of(alternative) == Some("null"));
        let first = alternatives.first().filter(|_| !nullable);
        return first.map_or(NULL, |first| placeholder(root, first));
    }
    match type_of(schema) {
        Some("string") if schema.get("format").and_then(Value::as_str) == Some(DURATION) => json!("0s"),
        Some("string") => json!(""),
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(0),
        Some("array") => json!([]),
        Some("object") => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let fields = required.filter_map(Value::as_str).map(|key| {
                let property = schema.get("properties").and_then(|p| p.get(key)).unwrap_or(&NULL);
                (key.to_owned(), placeholder(root, property))
            });
            Value::Object(fields.collect())
        }
        Some(_) | None => NULL,
    }
}

/// Returns `value` without keys that have the zero value of their type: false, zero, empty text, empty
/// collections.
///
/// Values without a type in the schema (manifests, defaults, payloads) stay unchanged.
#[must_use]
pub fn without_zeros(schema: &Value, value: &Value) -> Value {
    prune(schema, schema, value).unwrap_or_else(|| json!({}))
}

fn prune(root: &Value, schema: &Value, value: &Value) -> Option<Value> {
    let schema = resolve(root, schema);
    if let Some(alternatives) = schema.get("anyOf").and_then(Value::as_array) {
        let fits = |alternative: &&Value| match (type_of(resolve(root, alternative)), value) {
            (Some("object"), Value::Object(_)) | (Some("array"), Value::Array(_)) => true,
            (Some("object" | "array" | "null"), _) | (Some(_), Value::Object(_) | Value::Array(_)) => false,
            (Some(_) | None, _) => true,
        };
        return alternatives.iter().find(fits).and_then(|alternative| prune(root, alternative, value));
    }
    if is_any(schema) {
        return (!value.is_null()).then(|| value.clone());
    }
    match value {
        Value::Null => None,
        Value::Bool(false) => schema.get("type").is_some_and(Value::is_array).then(|| value.clone()),
        Value::Bool(true) => Some(value.clone()),
        Value::Number(number) => (number.as_f64() != Some(0.0)).then(|| value.clone()),
        Value::String(text) => (!text.is_empty()).then(|| value.clone()),
        Value::Array(items) => {
            let item_schema = schema.get("items").unwrap_or(&NULL);
            let items: Vec<_> = items.iter().map(|item| prune(root, item_schema, item).unwrap_or(NULL)).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(object) => {
            let others = schema.get("additionalProperties").filter(|schema| **schema != false);
            let fields = object.iter().filter_map(|(key, value)| {
                let property = schema.get("properties").and_then(|properties| properties.get(key)).or(others)?;
                Some((key.clone(), prune(root, property, value)?))
            });
            let fields: Map<_, _> = fields.collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
    }
}
