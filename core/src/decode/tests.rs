#![expect(clippy::unwrap_used, reason = "tests")]

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Typing, coerce, decode, schema_of, suggest, without_zeros};
use crate::diagnostics::Diagnostics;
use crate::document::{Document, Path};

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
struct Sample {
    name: String,
    #[serde(default)]
    enabled: bool,
    count: Option<i64>,
    ratio: Option<f64>,
    #[schemars(extend("format" = "go-duration"))]
    wait: Option<String>,
    free: Option<Value>,
    #[serde(default)]
    items: Vec<Sample>,
}

fn read(text: &str, typing: Typing) -> (Option<Sample>, String) {
    let mut diagnostics = Diagnostics::default();
    let document = Document::parse("f.yaml", text).unwrap();
    let sample = decode(&document, typing, &mut diagnostics);
    let lines: Vec<_> = diagnostics.mistakes().iter().map(|m| format!("{}: {}", m.path, m.message)).collect();
    (sample, lines.join("; "))
}

#[test]
fn scalars_are_taken_as_the_type_that_is_wanted() {
    let cases = [
        ("a number as text", "name: 1.0", "1.0", ""),
        ("a boolean as text", "name: yes", "yes", ""),
        ("yes as a boolean", "{name: a, enabled: yes}", "a", ""),
        ("quoted text is no boolean", "{name: a, enabled: 'true'}", "a", "enabled: must be a boolean, but is text"),
        ("text is no number", "{name: a, count: many}", "a", "count: must be an integer, but is text"),
        ("a mapping is no text", "name: {}", "", "name: must be text, but is a mapping"),
        ("a required key is missing", "{}", "", "name: is required"),
        ("null is not set", "{name: ~}", "", "name: is required"),
        ("empty text is not set", "{name: ''}", "", "name: is required"),
        ("a bare number is no duration", "{name: a, wait: 5}", "a", "wait: must be a duration, but is the number 5"),
        ("an item of a list", "{name: a, items: [~, {name: 1}]}", "a", "items[0].name: is required"),
    ];
    for (name, text, wanted, mistakes) in cases {
        let (sample, found) = read(text, Typing::Strict);
        assert_eq!((sample.unwrap().name.as_str(), found.as_str()), (wanted, mistakes), "{name}");
    }
}

#[test]
fn weak_typing_converts_text() {
    let (sample, found) = read("{name: a, enabled: 't', count: '7', ratio: '1.5', free: '7'}", Typing::Weak);
    let sample = sample.unwrap();
    assert_eq!(found, "");
    assert_eq!((sample.enabled, sample.count, sample.ratio, sample.free), (true, Some(7), Some(1.5), Some(json!("7"))));
    assert_eq!(read("{name: a, count: x}", Typing::Weak).1, "count: must be an integer, but is text");
}

#[test]
fn text_from_outside_is_converted_to_what_the_key_wants() {
    let schema = schema_of::<Sample>();
    let cases = [
        ("text", "name", "7", Ok(json!("7"))),
        ("a boolean", "enabled", "T", Ok(json!(true))),
        ("an integer", "count", "7", Ok(json!(7))),
        ("a number", "ratio", "7", Ok(json!(7.0))),
        ("a duration", "wait", "5s", Ok(json!("5s"))),
        ("no integer", "count", "7.5", Err("must be an integer, but is \"7.5\"")),
        ("no boolean", "enabled", "maybe", Err("must be a boolean, but is \"maybe\"")),
        ("no key", "nothing", "7", Err("unknown key")),
    ];
    for (name, key, text, expected) in cases {
        assert_eq!(coerce(&schema, &Path::of_keys(key), text), expected.map_err(str::to_owned), "{name}");
    }
    assert!(coerce(&schema, &Path::of_keys("wait"), "5").is_err(), "a duration needs its unit here, too");
}

#[test]
fn zeros_are_left_out_where_the_schema_knows_them() {
    let value = json!({"name": "", "enabled": false, "count": 0, "free": {"enabled": false, "x": null}, "items": []});
    assert_eq!(without_zeros(&schema_of::<Sample>(), &value), json!({"free": {"enabled": false, "x": null}}));
}

#[test]
fn the_most_likely_word_is_suggested() {
    let known = ["discovery", "nested_discoveries", "recreate_on_change", "name"];
    let cases = [
        ("a letter too few", "discovry", Some("discovery")),
        ("camel case", "recreateOnChange", Some("recreate_on_change")),
        ("something else", "volume", None),
        ("too long to be compared", "discovery-discovery-discovery-discovery-discovery-discovery-discovery", None),
    ];
    for (name, written, expected) in cases {
        assert_eq!(suggest(written, &known), expected, "{name}");
    }
}
