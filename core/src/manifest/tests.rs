//! Tests of manifests that are written as text: the objects they render to, and their errors.
#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_bundle::draft::Draft;
use lifecycle_bundle::policy::Policies;
use lifecycle_language::template::Template;
use lifecycle_objects::secret::encode_patch;
use serde_json::json;

use super::*;
use crate::task::compile::{Surroundings, compile};

fn rendered(text: &str) -> Result<Value, String> {
    let template = Template::parse(text).map_err(|error| error.to_string())?;
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    scope.set("n", json!(3));
    render(&Manifest::Text(template), &scope).map_err(|failure| failure.message)
}

#[test]
fn text_manifest_is_parsed_as_kubernetes_parses_yaml() {
    let cases = [
        ("an octal mode", "mode: 0644", json!({ "mode": 420 })),
        ("an octal mode with an eight", "mode: 08", json!({ "mode": 8 })),
        ("yes", "a: yes\noff: 1\n", json!({ "a": true, "false": 1 })),
        ("yes in quotes", "a: \"yes\"\n'off': 1\n", json!({ "a": "yes", "off": 1 })),
        ("a date", "a: 2026-01-02", json!({ "a": "2026-01-02" })),
        ("a rendered number", "replicas: {{ .n }}", json!({ "replicas": 3 })),
        ("a quoted number", "replicas: \"{{ .n }}\"", json!({ "replicas": "3" })),
        ("the first document of several", "a: 1\n---\nb: 2\n", json!({ "a": 1 })),
        ("structure that a template chooses", "a:\n{{ if true }}  b: 1{{ end }}\n", json!({ "a": { "b": 1 } })),
    ];
    for (name, text, expected) in cases {
        assert_eq!(rendered(text), Ok(expected), "{name}");
    }
}

#[test]
fn manifest_that_renders_to_nothing_fails() {
    for text in ["", "  \n", "{{ if false }}a: 1{{ end }}", "{}"] {
        assert_eq!(rendered(text), Err("empty manifest: it renders to nothing".to_owned()), "{text:?}");
    }
}

#[test]
fn yaml_error_in_a_rendered_manifest_never_quotes_it() {
    let message = rendered("kind: Secret\nstringData:\n  password: hunter2: x\n").unwrap_err();
    assert!(message.starts_with("failed to parse rendered manifest as YAML: line 3"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn value_that_becomes_structure_fails_and_is_not_quoted() {
    let rendered = |x: &str| {
        let text =
            "kind: Secret\nmetadata:\n  name: a\n  labels: {a: \"{{ .x }}\", b: lit}\nstringData:\n  note: {{ .x }}\n";
        let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
        scope.set("x", json!(x));
        render(&Manifest::Text(Template::parse(text).unwrap()), &scope).map_err(|failure| failure.message)
    };
    assert_eq!(rendered("it's (fine), really").unwrap()["stringData"]["note"], "it's (fine), really");
    for forged in ["hunter2\n---\nkind: Pod", "hunter2\n  more: hunter2", "hunter2\nimmutable: true", "[hunter2]"] {
        let message = rendered(forged).unwrap_err();
        assert!(!message.contains("hunter2"), "{message}");
    }
    let message = rendered("hunter2\n  more: hunter2").unwrap_err();
    assert!(message.contains("a value becomes structure"), "{message}");
}

#[test]
fn texts_of_a_secret_become_its_data() {
    let secret = |fields: Value| {
        let mut object = json!({ "apiVersion": "v1", "kind": "Secret" });
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        object
    };
    let cases = [
        ("alone", json!({ "stringData": { "a": "hi" } }), json!({ "data": { "a": "aGk=" } })),
        (
            "over data",
            json!({ "stringData": { "a": "hi" }, "data": { "a": "eA==", "b": "eA==" } }),
            json!({ "data": { "a": "aGk=", "b": "eA==" } }),
        ),
        ("beside null", json!({ "stringData": { "a": "" }, "data": null }), json!({ "data": { "a": "" } })),
        ("none left", json!({ "stringData": {} }), json!({})),
        ("no text", json!({ "stringData": { "a": 1 } }), json!({ "stringData": { "a": 1 } })),
        (
            "no mapping",
            json!({ "stringData": { "a": "x" }, "data": 1 }),
            json!({ "stringData": { "a": "x" }, "data": 1 }),
        ),
    ];
    for (name, before, after) in cases {
        let mut object = secret(before);
        encode_texts(&mut object);
        assert_eq!(object, secret(after), "{name}");
    }
    let mut other = json!({ "apiVersion": "example.io/v1", "kind": "Secret", "stringData": { "a": "hi" } });
    encode_texts(&mut other);
    assert_eq!(other["stringData"]["a"], "hi");
}

#[test]
fn patch_of_a_secret_keeps_null_which_removes_a_key_of_the_data() {
    let cases = [
        ("null alone", json!({ "stringData": { "a": null } }), json!({ "data": { "a": null } })),
        (
            "beside a text and data",
            json!({ "stringData": { "a": null, "b": "hi" }, "data": { "c": "eA==" } }),
            json!({ "data": { "a": null, "b": "aGk=", "c": "eA==" } }),
        ),
        (
            "beside data that goes as a whole",
            json!({ "stringData": { "a": "hi" }, "data": null }),
            json!({ "stringData": { "a": "hi" }, "data": null }),
        ),
        ("no text", json!({ "stringData": { "a": 1 } }), json!({ "stringData": { "a": 1 } })),
        ("the whole", json!({ "stringData": null }), json!({ "stringData": null })),
    ];
    for (name, mut before, after) in cases {
        encode_patch(&mut before);
        assert_eq!(before, after, "{name}");
    }
}

#[test]
fn manifest_of_an_entry_has_the_texts_of_a_secret_as_data() {
    let text = r#"params: [{name: n, source: event.n}]
resources:
  - name: a
    manifest: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: n}, stringData: {k: "{{ .n }}"}}
    discovery: {by_name: a, namespace: n}
"#;
    let surroundings = Surroundings { read: &|_| Err(String::new()), environment: &|_| None };
    let task = compile("task.yaml", text, &surroundings).task.unwrap();
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    scope.set("n", json!("hi"));
    let stamp = Stamp {
        adapter: "tester".to_owned(),
        resource_id: "c-1".to_owned(),
        resource_id_fault: None,
        generation: Generation(1),
        signer: None,
    };
    let object = desired(&task.resources[0], &scope, &stamp, Reserved::Refused).unwrap().object;
    assert_eq!((&object["data"], object.get("stringData")), (&json!({ "k": "aGk=" }), None));
}

#[test]
fn secret_with_a_text_made_from_null_is_not_written() {
    let secret = |kind: &str, text: &str| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "a" }, "stringData": { "user": "x", "password": text } });
    let cases = [
        ("null alone", secret("Secret", "<no value>"), true),
        ("null within a text", secret("Secret", "user:<no value>@host"), true),
        ("a value", secret("Secret", "hunter2"), false),
        ("another kind, as from the Go adapter", secret("ConfigMap", "<no value>"), false),
    ];
    for (name, object, is_refused) in cases {
        let fault = lacks_value(&object);
        assert_eq!(fault.as_ref().is_some_and(|fault| fault.contains("`stringData.password`")), is_refused, "{name}");
        let draft = Draft::new(object, "example.io", &Policies::default());
        assert_eq!(draft.is_err(), is_refused, "{name}, in a bundle");
    }
}
