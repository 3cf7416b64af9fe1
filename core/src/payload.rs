//! Builds payloads from their definitions.
//!
//! In: a [`PayloadNode`] and the event's [`Scope`]. Out: JSON, and warnings for the task's author. A lookup that finds
//! nothing, or cannot be evaluated, gives its default, or null with a warning.
//!
//! A failing template fails a payload, except in a status, that is a payload with the key `adapter`: losing the
//! whole status would lose `Available=False` with it. In a status, a failing template has these effects:
//!
//! * a value becomes null, and an entry whose key fails is left out, each with a warning;
//! * a condition whose `status` fails, or is not `True`, `False` or `Unknown`, becomes `Unknown`, with the cause as its
//!   message;
//! * a condition whose `reason` or `message` fails keeps its status, and its message names the failure;
//! * a condition without a type is left out, with a warning;
//! * if the key of the conditions fails, every condition is sent as `Unknown`;
//! * if `adapter` or `observed_generation` fails, the payload fails: the API rejects a status without them.

use serde_json::{Map, Value};

use crate::report_overlay::{NOT_EVALUATED, REASON_NOT_RENDERED, is_key, status_fault};
use crate::task::{PayloadNode, PayloadSource};
use lifecycle_language::cel::Answer;
use lifecycle_language::field::Found;
use lifecycle_language::scope::Scope;
use lifecycle_language::template::{RenderError, Template};

/// Builds a payload. Adds to `warnings` what the task's author should know.
pub fn build(node: &PayloadNode, scope: &Scope, warnings: &mut Vec<String>) -> Result<Value, RenderError> {
    Builder { scope, warnings, is_status: false }.build(node, Place::Root)
}

/// The position of a node in a payload, as far as statuses are treated differently there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The root of the payload.
    Root,
    /// The `conditions` of a status.
    Conditions,
    /// A condition of a status.
    Condition,
    /// A member without which the API rejects a status.
    Required,
    /// A position at which the payload is built as any other value.
    Elsewhere,
}

struct Builder<'b> {
    scope: &'b Scope,
    warnings: &'b mut Vec<String>,
    is_status: bool,
}

impl Builder<'_> {
    fn build(&mut self, node: &PayloadNode, place: Place) -> Result<Value, RenderError> {
        Ok(match node {
            PayloadNode::Literal(value) => value.clone(),
            PayloadNode::Text(template) => match template.render(self.scope) {
                Ok(text) => Value::from(text.into_owned()),
                Err(error) if self.is_status && place != Place::Required => {
                    self.warnings.push(format!("a template fails, so its value is null: {error}"));
                    Value::Null
                }
                Err(error) => return Err(error),
            },
            PayloadNode::List(nodes) => {
                let place = if place == Place::Conditions { Place::Condition } else { Place::Elsewhere };
                Value::Array(nodes.iter().map(|node| self.build(node, place)).collect::<Result<_, _>>()?)
            }
            PayloadNode::Map(entries) => Value::Object(self.map(entries, place)?),
            PayloadNode::Lookup { source, default } => {
                look_up(source, default.as_ref(), self.scope).unwrap_or_else(|cause| {
                    self.warnings.push(format!("{cause}; it has no default, so it is null"));
                    Value::Null
                })
            }
        })
    }

    fn map(&mut self, entries: &[(Template, PayloadNode)], place: Place) -> Result<Map<String, Value>, RenderError> {
        let keys: Vec<_> = entries.iter().map(|(key, _)| key.render(self.scope)).collect();
        if place == Place::Root {
            self.is_status = keys.iter().flatten().any(|key| is_key(key, "adapter"));
        }
        let mut map = Map::new();
        let mut unknown = None;
        let mut not_rendered = None;
        let mut has_conditions = place != Place::Root || keys.iter().flatten().any(|key| is_key(key, "conditions"));
        for (key, (_, node)) in keys.into_iter().zip(entries) {
            let key = match key {
                Ok(key) => key.into_owned(),
                // Sending the status without its conditions would hide the failure, and leave the overlay no
                // conditions to correct.
                Err(error) if self.is_status && !has_conditions && matches!(node, PayloadNode::List(_)) => {
                    has_conditions = true;
                    map.insert("conditions".to_owned(), self.unknown_conditions(node, &error)?);
                    continue;
                }
                Err(error) if self.is_status => {
                    self.warnings.push(format!("a key cannot be rendered, so its entry is left out: {error}"));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if place == Place::Condition && is_key(&key, "status") {
                match self.status(node)? {
                    Ok(status) => drop(map.insert(key, status)),
                    Err(cause) => drop(unknown.get_or_insert(cause)),
                }
                continue;
            }
            if place == Place::Condition && (is_key(&key, "reason") || is_key(&key, "message")) {
                let words = self.words(&key, node, &mut not_rendered)?;
                map.insert(key, words);
                continue;
            }
            let inner = self.place_of(&key, place);
            let mut value = self.build(node, inner)?;
            if inner == Place::Conditions {
                self.leave_out_untyped(&mut value);
            }
            map.insert(key, value);
        }
        if let Some(cause) = not_rendered {
            map.retain(|key, _| !is_key(key, "message"));
            map.insert("message".to_owned(), Value::from(cause));
        }
        if let Some(cause) = unknown {
            // `leave_out_untyped` removes a condition without a type, and warns of it.
            if let Some(kind) = condition_type(&map) {
                self.warnings.push(format!(
                    "the status of the condition {kind} cannot be sent, so it is reported as Unknown: {cause}"
                ));
            }
            make_unknown(&mut map, cause);
        }
        Ok(map)
    }

    /// The list whose key cannot be rendered in a status without `conditions`, with every condition `Unknown`:
    /// the author's statuses may belong to another key.
    fn unknown_conditions(&mut self, node: &PayloadNode, error: &RenderError) -> Result<Value, RenderError> {
        let cause = format!("the key of the conditions cannot be rendered: {error}");
        self.warnings.push(format!("{cause}; its list counts as `conditions`, all of them Unknown"));
        let mut conditions = self.build(node, Place::Conditions)?;
        self.leave_out_untyped(&mut conditions);
        for condition in conditions.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            make_unknown(condition, cause.clone());
        }
        Ok(conditions)
    }

    /// The position of the value of `key`.
    fn place_of(&self, key: &str, of: Place) -> Place {
        let is_member = self.is_status && of == Place::Root;
        match key {
            key if is_member && is_key(key, "conditions") => Place::Conditions,
            key if is_member && (is_key(key, "adapter") || is_key(key, "observed_generation")) => Place::Required,
            _ => Place::Elsewhere,
        }
    }

    /// Removes each condition without a type, for which the API would reject the whole report.
    fn leave_out_untyped(&mut self, conditions: &mut Value) {
        if conditions.is_null() {
            // Conditions that are no list become an empty list, to which the overlay can add.
            *conditions = Value::Array(Vec::new());
        }
        let Value::Array(conditions) = conditions else { return };
        let mut index = 0..;
        conditions.retain(|condition| {
            let index = index.next().unwrap_or_default();
            let has_type = condition.as_object().and_then(condition_type).is_some();
            if !has_type {
                let warning = format!("conditions[{index}] is left out of the status: it has no text as its type");
                self.warnings.push(warning);
            }
            has_type
        });
    }

    /// The reason or the message of a condition. If its template fails, `not_rendered` receives the text for
    /// the condition's message.
    fn words(
        &mut self,
        key: &str,
        node: &PayloadNode,
        not_rendered: &mut Option<String>,
    ) -> Result<Value, RenderError> {
        let PayloadNode::Text(template) = node else { return self.build(node, Place::Elsewhere) };
        Ok(template.render(self.scope).map_or_else(
            |error| {
                self.warnings
                    .push(format!("the {key} of a condition cannot be rendered, so the report says that: {error}"));
                not_rendered.get_or_insert(format!("not rendered: {error}"));
                Value::from(REASON_NOT_RENDERED)
            },
            |text| Value::from(text.into_owned()),
        ))
    }

    /// The status of a condition, or why it cannot be sent.
    fn status(&mut self, node: &PayloadNode) -> Result<Result<Value, String>, RenderError> {
        let status = match node {
            PayloadNode::Text(template) => template
                .render(self.scope)
                .map(|text| Value::from(text.into_owned()))
                .map_err(|error| error.to_string()),
            PayloadNode::Lookup { source, default } => look_up(source, default.as_ref(), self.scope),
            PayloadNode::Literal(_) | PayloadNode::List(_) | PayloadNode::Map(_) => {
                Ok(self.build(node, Place::Elsewhere)?)
            }
        };
        Ok(status.and_then(|status| status_fault(&status).map_or(Ok(status), Err)))
    }
}

/// The type of a condition; `None` if it is absent, empty or not a string.
fn condition_type(condition: &Map<String, Value>) -> Option<&str> {
    let mut types = condition.iter().filter(|(key, _)| is_key(key, "type")).filter_map(|(_, kind)| kind.as_str());
    types.find(|kind| !kind.is_empty())
}

/// Sets a condition to `Unknown`, with the cause as its message.
fn make_unknown(condition: &mut Map<String, Value>, cause: String) {
    condition.retain(|key, _| !["status", "reason", "message"].iter().any(|known| is_key(key, known)));
    condition.insert("status".to_owned(), Value::from("Unknown"));
    condition.insert("reason".to_owned(), Value::from(NOT_EVALUATED));
    condition.insert("message".to_owned(), Value::from(cause));
}

/// The value that a lookup finds, or its default. The error says why there is neither.
fn look_up(source: &PayloadSource, default: Option<&Value>, scope: &Scope) -> Result<Value, String> {
    let (found, place) = match source {
        PayloadSource::Field(path) => {
            let found = match path.find_in(scope) {
                Found::Value(Value::Null) => Err("it is empty".to_owned()),
                Found::Value(value) => Ok(value),
                Found::Missing => Err("it is not there".to_owned()),
            };
            (found, path.source())
        }
        PayloadSource::Expression(expression) => {
            let found = match expression.evaluate(scope) {
                Ok(Answer::Value(value)) => Ok(value),
                Ok(Answer::Absent) => Err("it gave no value".to_owned()),
                Err(error) => Err(error.message),
            };
            (found, expression.source())
        }
    };
    found.or_else(|cause| match default {
        Some(default) if !default.is_null() => Ok(default.clone()),
        Some(_) | None => Err(format!("{place}: {cause}")),
    })
}

#[cfg(test)]
mod tests;
