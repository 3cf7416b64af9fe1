//! Generates the documentation's tables of keys, flags and variables.

use serde_json::Value;

use super::Setting;
use crate::decode::DURATION;

/// The row of a key.
struct Key {
    path: String,
    kind: String,
    meaning: String,
}

/// Returns a table with a row for each key of a schema; `with_variables` adds a column with derived variables.
#[must_use]
pub fn keys(schema: &Value, with_variables: bool) -> String {
    let (header, rule) = if with_variables { (" Variable |", " --- |") } else { ("", "") };
    let mut table = format!("| Key | Value |{header} Meaning |\n| --- | --- |{rule} --- |\n");
    for Key { path, kind, meaning } in of_schema(schema) {
        let variable = match with_variables {
            true if kind == MAPPING => " |".to_owned(),
            true => format!(" `{}` |", path.to_uppercase().replace('.', "_")),
            false => String::new(),
        };
        table.push_str(&format!("| `{path}` | {kind} |{variable} {meaning} |\n"));
    }
    table
}

/// Returns a table with a row for each key that a flag or a listed variable sets.
#[must_use]
pub fn settings(settings: &[Setting]) -> String {
    let mut table = "| Key | Flag | Variable |\n| --- | --- | --- |\n".to_owned();
    for setting in settings {
        let flag = setting.flag.map_or_else(|| "–".to_owned(), |flag| format!("`--{flag}`"));
        let variables: Vec<_> = setting.variables.iter().map(|variable| format!("`{variable}`")).collect();
        table.push_str(&format!("| `{}` | {flag} | {} |\n", setting.key, variables.join(", else ")));
    }
    table
}

/// Returns the paths of a schema's keys that hold scalars or lists, without keys inside of lists.
pub(super) fn leaves(schema: &Value) -> Vec<String> {
    let keys = of_schema(schema).into_iter().filter(|key| key.kind != MAPPING && !key.path.contains("[]"));
    keys.map(|key| key.path).collect()
}

const MAPPING: &str = "mapping";

fn of_schema(schema: &Value) -> Vec<Key> {
    let mut keys = Vec::new();
    properties(schema, schema, "", &mut keys);
    keys
}

fn properties(root: &Value, schema: &Value, parent: &str, keys: &mut Vec<Key>) {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|required| required == name))
    };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = if parent.is_empty() { name.clone() } else { format!("{parent}.{name}") };
        let shapes = shapes(root, property);
        let kinds: Vec<String> = shapes.iter().map(|shape| kind(root, shape)).collect();
        let of_shape = || shapes.iter().find_map(|shape| shape["description"].as_str());
        let description = property["description"].as_str().or_else(of_shape).unwrap_or_default();
        let note = if required(name) { "Required. " } else { "" };
        let meaning = format!("{note}{}", description.replace('\n', " ").replace('|', "\\|"));
        keys.push(Key { path: path.clone(), kind: kinds.join(" or "), meaning });
        for shape in shapes {
            below(root, shape, &path, keys);
        }
    }
}

/// Adds the keys inside of a value with this shape.
fn below(root: &Value, shape: &Value, path: &str, keys: &mut Vec<Key>) {
    properties(root, shape, path, keys);
    if shape["items"].is_object() {
        for item in shapes(root, &shape["items"]) {
            below(root, item, &format!("{path}[]"), keys);
        }
    }
}

/// The types that a schema allows: references and alternatives resolved, null left out.
fn shapes<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    if let Some(target) = schema["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#'))) {
        return shapes(root, target);
    }
    match schema["anyOf"].as_array() {
        Some(alternatives) => alternatives.iter().flat_map(|alternative| shapes(root, alternative)).collect(),
        None if schema["type"] == "null" => Vec::new(),
        None => vec![schema],
    }
}

fn kind(root: &Value, shape: &Value) -> String {
    if shape["format"] == DURATION {
        return "duration".to_owned();
    }
    let choices = shape["enum"]
        .as_array()
        .cloned()
        .or_else(|| shape["oneOf"].as_array().map(|all| all.iter().map(|choice| choice["const"].clone()).collect()));
    if let Some(choices) = choices {
        let words: Vec<_> = choices.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    let name = match &shape["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any",
    };
    match name {
        "string" => "text".to_owned(),
        "array" => match shapes(root, &shape["items"]).as_slice() {
            [item] => format!("list of {}s", kind(root, item)),
            _ => "list".to_owned(),
        },
        "object" if shape["additionalProperties"].is_object() => "mapping of texts".to_owned(),
        "object" => MAPPING.to_owned(),
        "any" => "any value".to_owned(),
        other => other.to_owned(),
    }
}
