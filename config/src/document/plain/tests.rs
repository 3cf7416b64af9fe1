//! Compares the resolved values of plain scalars with those of Go's two YAML libraries.

#![expect(clippy::panic, reason = "tests")]

use serde_json::{Value, json};

use super::super::Document;
use super::is_not_finite;
use crate::go::float_json;

/// A table with one scalar per row, written by yaml.v3 3.0.1 and sigs.k8s.io/yaml 1.6.0.
///
/// Its columns: the scalar; its value in a file and Go's type of it; its value and its text as a key in a
/// manifest; its text as a key of a manifest inline in a file. `ERR` is an error.
const GOLDEN: &str = include_str!("golden.tsv");

/// Prints JSON as Go prints it, for the values that the table contains.
fn go_json(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => number.as_f64().map(float_json).unwrap_or_default(),
        Value::Object(map) => {
            let entries: Vec<_> =
                map.iter().map(|(key, value)| format!("{}:{}", go_json(&json!(key)), go_json(value))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            value.to_string().replace('<', "\\u003c")
        }
    }
}

fn at_k(value: Result<Value, String>) -> String {
    value.map_or_else(|_| "ERR".to_owned(), |value| go_json(&value["k"]))
}

fn in_file(text: &str) -> Result<Value, String> {
    Document::parse("f", text).map(|document| document.root().to_value()).map_err(|diagnostics| diagnostics.to_string())
}

fn in_manifest(text: &str) -> Result<Value, String> {
    let document = Document::parse("f", text).map_err(|diagnostics| diagnostics.to_string())?;
    document.root().to_manifest()
}

#[test]
fn plain_scalars_resolve_as_in_go() {
    let mut differences = Vec::new();
    for row in GOLDEN.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let [scalar, file, kind, manifest, manifest_key, inline_key] = columns[..] else { panic!("{row}") };
        let whole = |value: Result<Value, String>| value.map_or_else(|_| "ERR".to_owned(), |value| go_json(&value));
        let of_manifest = in_manifest(&format!("k: {scalar}\n"));
        let is_integral =
            |value: &Value| value.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() < 1e18);
        if of_manifest.as_ref().is_ok_and(|value| value["k"].is_f64() && is_integral(&value["k"])) {
            differences.push(format!("{scalar}: a double in a manifest"));
        }
        let cases = [
            ("in a file", at_k(in_file(&format!("k: {scalar}\n"))), file.to_owned()),
            ("in a manifest", whole(of_manifest), manifest.to_owned()),
            ("as a key of a manifest", whole(in_manifest(&format!("{scalar}: 1\n"))), manifest_key.to_owned()),
        ];
        let is_double = in_file(&format!("k: {scalar}\n")).is_ok_and(|value| value["k"].is_f64());
        if is_double != (kind == "float64" && file != "ERR") {
            differences.push(format!("{scalar}: {kind} in a file"));
        }
        // A null key, and a signed integer key beyond 64 bits, stay text in a file, where Go refuses the manifest.
        let key = whole(in_file(&format!("k: {{{scalar}: 1}}\n")).map(|value| value["k"].clone()));
        if inline_key != "ERR" && key != inline_key && !scalar.starts_with(['.', '+', '-']) {
            differences.push(format!("{scalar} as a key of a file: {key}, in Go {inline_key}"));
        }
        for (place, here, in_go) in cases {
            // This parser refuses `.inf` and `.nan` as keys, and Go accepts them: no author means such a key.
            let is_infinite_key = is_not_finite(scalar) && here == "ERR";
            if here != in_go && !is_infinite_key {
                differences.push(format!("{scalar} {place}: {here}, in Go {in_go}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn quotes_and_tags_override_the_type_of_the_text() {
    let manifest = "a: 'yes'\n'on': \"08\"\nc: !!str 08\nd: |\n  yes\n!!str no: 1\n";
    let expected = json!({"a": "yes", "on": "08", "c": "08", "d": "yes\n", "no": 1});
    assert_eq!(in_manifest(manifest), Ok(expected));
}
