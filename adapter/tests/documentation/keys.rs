//! The keys of a JSON Schema as a table.

use serde_json::Value;

/// One key with what its row says.
struct Key {
    path: String,
    kind: String,
    meaning: String,
}

/// Writes a row for every key; `variable` names the environment variable of a leaf, if there is one for each.
pub(crate) fn table(schema: &Value, variable: Option<fn(&str) -> String>) -> String {
    let mut keys = Vec::new();
    properties(schema, schema, "", &mut keys);
    assert!(!keys.is_empty());
    let (header, rule) = if variable.is_some() { (" Variable |", " --- |") } else { ("", "") };
    let mut table = format!("| Key | Value |{header} Meaning |\n| --- | --- |{rule} --- |\n");
    for Key { path, kind, meaning } in keys {
        let variable = match variable {
            Some(_) if kind == "mapping" => " |".to_owned(),
            Some(variable) => format!(" `{}` |", variable(&path)),
            None => String::new(),
        };
        table.push_str(&format!("| `{path}` | {kind} |{variable} {meaning} |\n"));
    }
    table
}

/// The variable that sets a key of the broker's file.
pub(crate) fn broker_variable(path: &str) -> String {
    path.to_uppercase().replace('.', "_")
}

fn properties(root: &Value, schema: &Value, parent: &str, keys: &mut Vec<Key>) {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|required| required == name))
    };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = if parent.is_empty() { name.clone() } else { format!("{parent}.{name}") };
        let shapes = shapes(root, property);
        let kinds: Vec<String> = shapes.iter().map(|shape| kind(root, shape)).collect();
        let description = property["description"].as_str().unwrap_or_else(|| panic!("{path} has no description"));
        let note = if required(name) { "Required. " } else { "" };
        let meaning = format!("{note}{}", description.replace('\n', " ").replace('|', "\\|"));
        keys.push(Key { path: path.clone(), kind: kinds.join(" or "), meaning });
        for shape in shapes {
            below(root, shape, &path, keys);
        }
    }
}

/// What is inside of a value of this shape.
fn below(root: &Value, shape: &Value, path: &str, keys: &mut Vec<Key>) {
    properties(root, shape, path, keys);
    if shape["items"].is_object() {
        for item in shapes(root, &shape["items"]) {
            below(root, item, &format!("{path}[]"), keys);
        }
    }
}

/// The shapes that a value can have, references resolved, null left out.
fn shapes<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    if let Some(pointer) = schema["$ref"].as_str() {
        return shapes(root, root.pointer(&pointer[1..]).expect("references lead somewhere"));
    }
    match schema["anyOf"].as_array() {
        Some(alternatives) => alternatives.iter().flat_map(|alternative| shapes(root, alternative)).collect(),
        None if schema["type"] == "null" => Vec::new(),
        None => vec![schema],
    }
}

fn kind(root: &Value, shape: &Value) -> String {
    if shape["format"] == "go-duration" {
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
        _ => "any",
    };
    match name {
        "string" => "text".to_owned(),
        "array" => match shapes(root, &shape["items"]).as_slice() {
            [item] => format!("list of {}s", kind(root, item)),
            _ => "list".to_owned(),
        },
        "object" if shape["additionalProperties"].is_object() => "mapping of texts".to_owned(),
        "object" => "mapping".to_owned(),
        "any" => "any value".to_owned(),
        other => other.to_owned(),
    }
}
