//! Tests of which values are structure, in YAML and in JSON.
#![expect(clippy::unwrap_used, reason = "tests")]

use jiff::Timestamp;
use lifecycle_config::document::Document;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn yaml(text: &str) -> Option<Value> {
    let document = Document::parse_secret("text", text).ok().filter(|document| !document.has_other_documents())?;
    document.root().to_manifest().ok()
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn scope(values: &[(&str, Value)]) -> Scope {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    values.iter().for_each(|(name, value)| scope.set(name, value.clone()));
    scope
}

/// The value to which the text renders, or `None` if a value becomes structure. Panics if the text does not parse.
fn confined(template: &str, values: &[(&str, Value)], parse: fn(&str) -> Option<Value>) -> Option<Value> {
    let template = Template::parse(template).unwrap();
    let scope = scope(values);
    let (text, is_suspicious) = template.render_watched(&scope).unwrap();
    let actual = parse(&text)?;
    let checked = template.confine(&scope, &actual, &[], parse);
    assert!(is_suspicious || checked.is_ok(), "the short cut differs: {text}");
    checked.ok().map(|()| actual)
}

/// Name, template, values, and what the text parses to unless it is refused.
type Case<'a> = (&'a str, &'a str, Vec<(&'a str, Value)>, Option<Value>);

#[test]
fn value_stays_within_its_scalar() {
    let x = |x: &str| vec![("x", json!(x))];
    let cases: [Case<'_>; 38] = [
        ("a word", "a: {{ .x }}\n", x("v1"), Some(json!({ "a": "v1" }))),
        ("an image", "a: {{ .x }}\n", x("quay.io/a/b:1@sha256:ab"), Some(json!({ "a": "quay.io/a/b:1@sha256:ab" }))),
        ("a sentence", "a: \"{{ .x }}\"\n", x("It's (not) here, yet."), Some(json!({ "a": "It's (not) here, yet." }))),
        ("a second document", "a: {{ .x }}\n", x("1\n---\nb: 2"), None),
        ("a second document at the end", "a: 1 # {{ .x }}", x("c\n---\nb: 2"), None),
        ("a key", "a: {{ .x }}\n", x("1\nb: 2"), None),
        ("a key of the map around", "m:\n  a: {{ .x }}\nc: 3\n", x("1\nb: 2"), None),
        ("a key in a comment", "a: 1 # {{ .x }}\nc: 3\n", x("c\nb: 2\n# d"), None),
        ("only a comment", "a: 1 # {{ .x }}\nc: 3\n", x("it's: \"this\""), Some(json!({ "a": 1, "c": 3 }))),
        ("the end of its quotes", "{a: \"{{ .x }}\", b: lit}", x("1\", b: \"evil\"} #"), None),
        ("the end of its quotes and new ones", "{a: \"{{ .x }}\", b: \"lit-{{ .x }}\"}", x("1\", c: \""), None),
        ("quotes of its own", "a: {{ .x }}\n", x("\"b: c\""), Some(json!({ "a": "b: c" }))),
        ("quotes within quotes", "a: '{{ .x }}'\n", x("\"b: c\""), Some(json!({ "a": "\"b: c\"" }))),
        ("a comment in place of a value", "a: {{ .x }}\n", x("# gone"), None),
        ("a comment behind a value", "a: {{ .x }}\n", x("b # gone"), None),
        ("a sign for nothing", "a: {{ .x }}\n", x("~"), None),
        ("an anchor", "a: {{ .x }}\n", x("&b c"), None),
        ("the sign of a block", "a: {{ .x }}\n", x("|"), None),
        ("an escape in quotes", "a: \"{{ .x }}\"\n", x("\\x41"), None),
        ("a list", "a: {{ .x }}\n", x("[1, 2]"), None),
        ("a mapping", "a: {{ .x }}\n", x("{b: 1}"), None),
        ("an element", "a: [{{ .x }}]\n", x("1, 2"), None),
        ("an alias of a mapping", "m: &m {b: 1}\na: {{ .x }}\n", x("*m"), None),
        ("a comment that hides the rest", "a: {{ .x }} b\n", x("1 # "), None),
        ("a line break at its end", "a: {{ .x }}\nb: 1\n", x("it, is\n"), Some(json!({ "a": "it, is", "b": 1 }))),
        ("a block", "a: |\n  {{ .x }}\n  end\n", x("one: 1\n  two: 2"), Some(json!({ "a": "one: 1\ntwo: 2\nend\n" }))),
        ("the end of its block", "a: |\n  {{ .x }}\n", x("one\nb: 2"), None),
        (
            "a template's own structure",
            "a: {{ if eq .x \"b: c\" }}{k: v}{{ end }}\n",
            x("b: c"),
            Some(json!({ "a": { "k": "v" } })),
        ),
        ("a constant", "{{ \"a: 1\" }}\nb: {{ .x }}\n", x("(c)"), Some(json!({ "a": 1, "b": "(c)" }))),
        ("a value as a key", "{{ .x }}: 1\n", x("a (b)"), Some(json!({ "a (b)": 1 }))),
        ("two values as keys", "{{ .x }}: 1\n\"{{ .x }}!\": 2\n", x("(a)"), Some(json!({ "(a)": 1, "(a)!": 2 }))),
        ("a format that brings a key", "{{ printf \"a: %s\" .x }}\n", x("(1)"), None),
        ("toJson of a text", "a: {{ .x | toJson }}\n", x("1\n---\nb: \"2\""), Some(json!({ "a": "1\n---\nb: \"2\"" }))),
        ("toJson within quotes", "{a: \"{{ .x | toJson }}\", b: lit}", x(", c: 1, d: "), None),
        (
            "toJson of a mapping",
            "a: {{ toJson .x }}\nb: 1\n",
            vec![("x", json!({ "k": ["v: w", 1, null] }))],
            Some(json!({ "a": { "k": ["v: w", 1, null] }, "b": 1 })),
        ),
        (
            "toJson of a mapping within a text",
            "a: |\n  x {{ toJson .x }}\n",
            vec![("x", json!({ "k": 1 }))],
            Some(json!({ "a": "x {\"k\":1}\n" })),
        ),
        (
            "toJson of a mapping within quotes",
            "{a: \"{{ toJson .x }}\", b: lit}",
            vec![("x", json!({ ", c: 1, d: ": 1 }))],
            None,
        ),
        (
            "a mapping as Go prints it",
            "a: {{ .x }}\n",
            vec![("x", json!({ "k": "v" }))],
            Some(json!({ "a": "map[k:v]" })),
        ),
    ];
    for (name, template, values, expected) in cases {
        assert_eq!(confined(template, &values, yaml), expected, "{name}");
    }
}

#[test]
fn value_forges_nothing_in_json() {
    let body = r#"{"adapter": "{{ .name }}", "conditions": [{"type": "Available", "status": "False", "message": "{{ .x }}"}]}"#;
    let with = |x: &str| confined(body, &[("name", json!("a")), ("x", json!(x))], json);
    let message =
        |found: Option<Value>| found.and_then(|found| Some(found["conditions"][0]["message"].as_str()?.to_owned()));
    assert_eq!(message(with("it is: (so)")).as_deref(), Some("it is: (so)"));
    assert_eq!(message(with(r#"an escaped \"quote\""#)).as_deref(), Some("an escaped \"quote\""));
    for forged in [
        r#"", "status": "True"#,
        r#""}, {"type": "Finalized", "status": "True"#,
        r#"", "type": "Finalized", "status": "True", "more": ""#,
    ] {
        assert_eq!(with(forged), None, "{forged}");
    }
}

#[test]
fn refusal_names_the_place_and_not_the_value() {
    let template = Template::parse("m:\n  a: {{ .x }}\n").unwrap();
    let scope = scope(&[("x", json!("[secret, 1]"))]);
    let (text, _) = template.render_watched(&scope).unwrap();
    let error = template.confine(&scope, &yaml(&text).unwrap(), &[], yaml).unwrap_err().to_string();
    assert!(error.starts_with("a value becomes structure at `m.a`: "), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

proptest! {
    /// Whatever a value is, the keys and the other scalars are the author's.
    #[test]
    fn structure_is_the_authors(x in r#"[a1:"'{}\[\], \n#&*|>\-?!%\\]{0,12}"#, y in r#"["', :\na}\]#]{0,6}"#) {
        let template = "{{ .x }}: key\nm: {a: {{ .x }}, b: \"-{{ .y }}\", c: lit}\nl:\n- '{{ .y }}'\n- lit\nt: |\n  {{ .x }}\nz: lit\n";
        if let Some(found) = confined(template, &[("x", json!(x)), ("y", json!(y))], yaml) {
            prop_assert_eq!(found.as_object().unwrap().len(), 5);
            prop_assert_eq!(found["m"].as_object().unwrap().len(), 3);
            prop_assert_eq!((&found["m"]["c"], &found["z"], &found["l"][1]), (&json!("lit"), &json!("lit"), &json!("lit")));
            prop_assert!(found["m"]["b"].as_str().unwrap().starts_with('-'));
            prop_assert!(!found["m"]["a"].is_object() && !found["m"]["a"].is_array());
        }
    }
}
