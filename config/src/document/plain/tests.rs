//! What plain scalars mean, against what Go's two YAML libraries made of them.

#![expect(clippy::panic, reason = "tests")]

use serde_json::{Value, json};

use super::super::Document;
use super::is_not_finite;
use crate::go::float_json;

/// A scalar, then what Go makes of it: as a value of a file, with Go's type; as a value and as a key of a manifest; as a key of an
/// inline manifest in a file. `ERR` is an error. Written by yaml.v3 3.0.1 and sigs.k8s.io/yaml 1.6.0.
const GOLDEN: &str = include_str!("golden.tsv");

/// JSON as Go writes it, as far as a row of the table needs it.
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
fn plain_scalars_mean_what_they_mean_in_go() {
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
        // A key that is null, or beyond 64 bits with a sign, stays text in a file: Go refuses the manifest.
        let key = whole(in_file(&format!("k: {{{scalar}: 1}}\n")).map(|value| value["k"].clone()));
        if inline_key != "ERR" && key != inline_key && !scalar.starts_with(['.', '+', '-']) {
            differences.push(format!("{scalar} as a key of a file: {key}, in Go {inline_key}"));
        }
        for (place, here, in_go) in cases {
            // An infinite key is refused as an infinite value is: nobody means it.
            let is_infinite_key = is_not_finite(scalar) && here == "ERR";
            if here != in_go && !is_infinite_key {
                differences.push(format!("{scalar} {place}: {here}, in Go {in_go}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn quotes_and_tags_decide_before_the_text_does() {
    let manifest = "a: 'yes'\n'on': \"08\"\nc: !!str 08\nd: |\n  yes\n!!str no: 1\n";
    let expected = json!({"a": "yes", "on": "08", "c": "08", "d": "yes\n", "no": 1});
    assert_eq!(in_manifest(manifest), Ok(expected));
}
