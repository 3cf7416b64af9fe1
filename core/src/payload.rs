//! Payloads of phase 4: a `build` tree, evaluated.
//!
//! In: a [`PayloadNode`] and the event's [`Scope`]. Out: a JSON value. It fails if a string template fails; a lookup
//! that finds nothing, or cannot be evaluated, gives its default, or null with a warning. The conditions of a status are the
//! exception, because `Available=False` must not be lost with them. Where a condition's `status` fails, or is none of the API's
//! three texts, the condition becomes `Unknown` with the cause as its message. Where its `reason` or `message` fails, the
//! condition keeps its status and says so in that place.

use serde_json::{Map, Value};

use crate::cel::Answer;
use crate::field::Found;
use crate::overlay::{NOT_EVALUATED, REASON_NOT_RENDERED, is_key, status_fault};
use crate::scope::Scope;
use crate::task::{PayloadNode, PayloadSource};
use crate::template::{RenderError, Template};
use crate::value;

/// Builds a payload; adds to `warnings` what its author should know.
///
/// # Errors
/// The first template that fails.
pub fn build(node: &PayloadNode, scope: &Scope, warnings: &mut Vec<String>) -> Result<Value, RenderError> {
    Builder { scope, warnings }.build(node, Place::Root)
}

/// Where a node stands, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The payload itself.
    Root,
    /// The `conditions` of a status.
    Conditions,
    /// A condition of a status.
    Condition,
    /// Anywhere else.
    Elsewhere,
}

struct Builder<'b> {
    scope: &'b Scope,
    warnings: &'b mut Vec<String>,
}

impl Builder<'_> {
    fn build(&mut self, node: &PayloadNode, place: Place) -> Result<Value, RenderError> {
        Ok(match node {
            PayloadNode::Literal(value) => value.clone(),
            PayloadNode::Text(template) => Value::from(template.render(self.scope)?.into_owned()),
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
        let keys: Vec<String> = entries
            .iter()
            .map(|(key, _)| Ok(key.render(self.scope)?.into_owned()))
            .collect::<Result<_, RenderError>>()?;
        let is_status = place == Place::Root && keys.iter().any(|key| is_key(key, "adapter"));
        let mut map = Map::new();
        let mut unknown = None;
        for (key, (_, node)) in keys.into_iter().zip(entries) {
            if place == Place::Condition && is_key(&key, "status") {
                let status = self.status(node)?;
                unknown = status.as_ref().err().cloned();
                map.insert(key, status.unwrap_or_else(|_| Value::from("Unknown")));
                continue;
            }
            if place == Place::Condition && (is_key(&key, "reason") || is_key(&key, "message")) {
                let words = self.words(&key, node)?;
                map.insert(key, words);
                continue;
            }
            let inner = if is_status && is_key(&key, "conditions") { Place::Conditions } else { Place::Elsewhere };
            map.insert(key, self.build(node, inner)?);
        }
        if let Some(cause) = unknown {
            let kind = map.iter().find(|(key, _)| is_key(key, "type")).map(|(_, kind)| value::text(kind));
            let kind = kind.unwrap_or_default();
            self.warnings.push(format!(
                "the status of the condition {kind} cannot be sent, so it is reported as Unknown: {cause}"
            ));
            map.retain(|key, _| !is_key(key, "reason") && !is_key(key, "message"));
            map.insert("reason".to_owned(), Value::from(NOT_EVALUATED));
            map.insert("message".to_owned(), Value::from(cause));
        }
        Ok(map)
    }

    /// The reason or the message of a condition. One whose template fails says so: without it, the whole report would be lost.
    fn words(&mut self, key: &str, node: &PayloadNode) -> Result<Value, RenderError> {
        let PayloadNode::Text(template) = node else { return self.build(node, Place::Elsewhere) };
        Ok(template.render(self.scope).map_or_else(
            |error| {
                self.warnings
                    .push(format!("the {key} of a condition cannot be rendered, so the report says that: {error}"));
                let is_reason = is_key(key, "reason");
                Value::from(if is_reason { REASON_NOT_RENDERED.to_owned() } else { format!("not rendered: {error}") })
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

/// What a lookup finds, else its default, else why there is no value.
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
