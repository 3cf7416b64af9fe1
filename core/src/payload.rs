//! Payloads of phase 4: a `build` tree, evaluated.
//!
//! In: a [`PayloadNode`] and the event's [`Scope`]. Out: a JSON value. It fails if a string template fails; a lookup
//! that finds nothing, or cannot be evaluated, gives its default, or null with a warning.

use serde_json::{Map, Value};

use crate::cel::Answer;
use crate::field::Found;
use crate::scope::Scope;
use crate::task::{PayloadNode, PayloadSource};
use crate::template::RenderError;

/// Builds a payload; adds to `warnings` what its author should know.
///
/// # Errors
/// The first template that fails.
pub fn build(node: &PayloadNode, scope: &Scope, warnings: &mut Vec<String>) -> Result<Value, RenderError> {
    Ok(match node {
        PayloadNode::Literal(value) => value.clone(),
        PayloadNode::Text(template) => Value::from(template.render(scope)?.into_owned()),
        PayloadNode::List(nodes) => {
            Value::Array(nodes.iter().map(|node| build(node, scope, warnings)).collect::<Result<_, _>>()?)
        }
        PayloadNode::Map(entries) => {
            let mut map = Map::new();
            for (key, node) in entries {
                map.insert(key.render(scope)?.into_owned(), build(node, scope, warnings)?);
            }
            Value::Object(map)
        }
        PayloadNode::Lookup { source, default } => {
            let (found, place) = look_up(source, scope);
            found.unwrap_or_else(|cause| match default {
                Some(default) if !default.is_null() => default.clone(),
                Some(_) | None => {
                    warnings.push(format!("{place}: {cause}; it has no default, so it is null"));
                    Value::Null
                }
            })
        }
    })
}

fn look_up<'s>(source: &'s PayloadSource, scope: &Scope) -> (Result<Value, String>, &'s str) {
    match source {
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
    }
}
