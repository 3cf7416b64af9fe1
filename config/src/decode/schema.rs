//! Reads what a JSON Schema says of one value.

use serde_json::Value;

/// Follows the reference of a schema to its definition.
pub(super) fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return schema };
    reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// The type that a schema requires. Null as a second type is left out: null means "not set".
pub(super) fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(wanted) => Some(wanted),
        Value::Array(wanted) => wanted.iter().filter_map(Value::as_str).find(|wanted| *wanted != "null"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Whether a schema accepts every value.
pub(super) fn is_any(schema: &Value) -> bool {
    type_of(schema).is_none() && ["anyOf", "oneOf", "enum"].iter().all(|key| schema.get(key).is_none())
}

/// The texts among which a schema lets an author choose.
pub(super) fn choices(schema: &Value) -> Option<Vec<&str>> {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return Some(choices.iter().filter_map(Value::as_str).collect());
    }
    let variants = schema.get("oneOf").and_then(Value::as_array)?;
    variants.iter().map(|variant| variant.get("const").and_then(Value::as_str)).collect()
}
