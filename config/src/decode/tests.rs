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
    #[schemars(extend("x-cure" = "write `small: 1`, or remove `small`"))]
    small: Option<u32>,
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
    let lines: Vec<_> = diagnostics.all().iter().map(|m| format!("{}: {}", m.path, m.message)).collect();
    (sample, lines.join("; "))
}

#[test]
fn scalar_is_converted_only_to_a_matching_type() {
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
    for (name, text, wanted, diagnostics) in cases {
        let (sample, found) = read(text, Typing::Strict);
        assert_eq!((sample.unwrap().name.as_str(), found.as_str()), (wanted, diagnostics), "{name}");
    }
}

#[test]
fn integer_keys_accept_whole_numbers_only() {
    let cases = [
        ("a whole number", "1", Ok(1)),
        ("a whole number with a point", "3.0", Ok(3)),
        ("a whole number with an exponent", "1e3", Ok(1000)),
        ("a fraction below one", "0.9", Err("count: must be a whole number, but is 0.9; write 0 or 1")),
        ("a fraction below zero", "-1.5", Err("count: must be a whole number, but is -1.5; write -2 or -1")),
        ("a huge number", "1e30", Err("count: 1e30 is too large; write a whole number up to 9223372036854775807")),
        (
            "more digits than there are",
            "99999999999999999999",
            Err("count: 99999999999999999999 is too large; write a whole number up to 9223372036854775807"),
        ),
        ("text", "many", Err("count: must be an integer, but is text")),
    ];
    for typing in [Typing::Strict, Typing::Weak] {
        for (name, written, expected) in &cases {
            let mut diagnostics = Diagnostics::default();
            let document = Document::parse("f.yaml", &format!("{{name: a, count: {written}}}")).unwrap();
            let sample: Option<Sample> = decode(&document, typing, &mut diagnostics);
            let reported = diagnostics.all().iter().map(|diagnostic| {
                let help = diagnostic.help.iter().map(|help| format!("; {help}"));
                std::iter::once(format!("{}: {}", diagnostic.path, diagnostic.message)).chain(help).collect::<String>()
            });
            let reported: Vec<String> = reported.collect();
            match expected {
                Ok(count) => assert_eq!((sample.unwrap().count, reported), (Some(*count), vec![]), "{name} {typing:?}"),
                Err(message) => assert_eq!(reported, [*message], "{name} {typing:?}"),
            }
        }
    }
    let found = |written: &str| read(&format!("{{name: a, small: {written}}}"), Typing::Strict).1;
    assert_eq!(found("-1"), "small: must be at least 0, but is -1");
    assert_eq!(found("4294967296"), "small: must be at most 4294967295, but is 4294967296");
    assert_eq!(
        coerce(&schema_of::<Sample>(), &Path::of_keys("count"), "0.9"),
        Err("must be an integer, but is \"0.9\"".to_owned())
    );
}

#[test]
fn key_is_required_unless_another_is_set() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(extend("if" = json!({ "required": ["many"] }), "else" = json!({ "required": ["one"] })))]
    struct Either {
        #[expect(dead_code, reason = "read by the schema alone")]
        #[schemars(extend("x-cure" = "write `one: …`"))]
        one: Option<String>,
        #[expect(dead_code, reason = "read by the schema alone")]
        many: Option<String>,
    }
    let cases = [
        ("{}", "one: is required"),
        ("{one: ~, many: ~}", "one: is required"),
        ("{one: ''}", "one: is required"),
        ("{one: a}", ""),
        ("{many: a}", ""),
        ("{many: a, one: ~}", "one: has no value"),
    ];
    for (text, expected) in cases {
        let mut diagnostics = Diagnostics::default();
        let document = Document::parse("f.yaml", text).unwrap();
        decode::<Either>(&document, Typing::Strict, &mut diagnostics).unwrap();
        let lines: Vec<_> = diagnostics.all().iter().map(|m| format!("{}: {}", m.path, m.message)).collect();
        assert_eq!(lines.join("; "), expected, "{text}");
        let cures = diagnostics.all().iter().all(|found| found.help.as_deref() == Some("write `one: …`"));
        assert!(cures, "{text}: {diagnostics}");
    }
}

#[test]
fn key_with_a_cure_must_not_be_empty() {
    for null in ["", "~", "null"] {
        assert_eq!(read(&format!("name: a\nsmall: {null}\n"), Typing::Strict).1, "small: has no value", "{null}");
    }
    assert_eq!(read("{name: a, count: ~}", Typing::Strict).1, "", "null means \"not set\" for other keys");
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
fn flag_or_variable_text_is_converted_to_the_type_of_its_key() {
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
    assert!(coerce(&schema, &Path::of_keys("wait"), "5").is_err(), "a duration needs a unit");
}

#[test]
fn without_zeros_removes_only_typed_zero_values() {
    let value = json!({"name": "", "enabled": false, "count": 0, "free": {"enabled": false, "x": null}, "items": []});
    assert_eq!(without_zeros(&schema_of::<Sample>(), &value), json!({"free": {"enabled": false, "x": null}}));
}

#[test]
fn suggest_finds_the_word_with_the_fewest_typing_errors() {
    let known = ["discovery", "nested_discoveries", "recreate_on_change", "name"];
    let cases = [
        ("a letter too few", "discovry", Some("discovery")),
        ("camel case", "recreateOnChange", Some("recreate_on_change")),
        ("two letters swapped", "naem", Some("name")),
        ("something else", "volume", None),
        ("the same beginning", "discoveryStatus", None),
        ("the same beginning, in a short word", "namespace", None),
        ("too long to be compared", "discovery-discovery-discovery-discovery-discovery-discovery-discovery", None),
    ];
    for (name, written, expected) in cases {
        assert_eq!(suggest(written, &known), expected, "{name}");
    }
}
