#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_core::task::compile::{Surroundings, compile};
use serde_json::json;

use super::*;

fn redactor(secrets: &[&str]) -> Redactor {
    let mut redactor = Redactor::default();
    secrets.iter().for_each(|secret| redactor.secrets.add(&Value::from(*secret)));
    redactor
}

#[test]
fn refusal_that_quotes_a_secret_is_told_without_it() {
    let text = "params: [{name: token, source: env.TOKEN}]\nresources:\n  - name: a\n    manifest:\n      apiVersion: v1\n      \
                kind: ConfigMap\n      metadata: {name: a, namespace: n, labels: {b: 'x-{{ .token | upper }}'}}\n    \
                discovery: {namespace: n, by_name: a}\n";
    let surroundings = Surroundings { read: &|_| Err(String::new()), environment: &|_| Some("s3cret".to_owned()) };
    let task = compile("task.yaml", text, &surroundings).task.unwrap();
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    scope.set("token", json!("s3cret"));
    scope.conceal(&["token"], true);
    let redactor = Redactor::of(&task, &scope, []);
    let refusal = "invalid label value \"x-S3CRET\", got s3cret";
    assert_eq!(redactor.text(refusal), "invalid label value \"[redacted]\", got [redacted]");
}

#[test]
fn refusal_of_an_object_of_a_bundle_is_told_without_the_secret() {
    let text = "params: [{name: token, source: env.TOKEN}]\nresources:\n  - name: a\n    bundle:\n      manifests:\n        - |\n          \
                a: 1\n          ---\n          b: 'x-{{ .token | upper }}'\n        - {apiVersion: v1, kind: Pod, metadata: {name: p}, a: 'yy{{ .token | upper }}'}\n";
    let surroundings = Surroundings { read: &|_| Err(String::new()), environment: &|_| Some("s3cret".to_owned()) };
    let task = compile("task.yaml", text, &surroundings).task.unwrap();
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    scope.set("token", json!("s3cret"));
    scope.conceal(&["token"], true);
    let redactor = Redactor::of(&task, &scope, []);
    assert_eq!(redactor.text("got \"x-S3CRET\""), "got \"[redacted]\"");
    assert_eq!(redactor.text("yyS3CRET"), "[redacted]");
}

#[test]
fn data_of_a_secret_is_redacted_wherever_the_secret_is() {
    let secret = |password: &str| {
        json!({
            "kind": "Secret",
            "metadata": {"name": "a", "annotations": {LAST_APPLIED: password, "kept": "b"}},
            "data": {"password": password, "same": "c2FtZQ=="},
        })
    };
    let before = json!({"spec": {"manifests": [secret("b25l")]}});
    let after = json!({"spec": {"manifests": [secret("dHdv")]}});
    let redacted = redactor(&[]).beside(&after, Some(&before));
    let expected = json!({
        "kind": "Secret",
        "metadata": {"name": "a", "annotations": {LAST_APPLIED: CHANGED, "kept": "b"}},
        "data": {"password": CHANGED, "same": REDACTED},
    });
    assert_eq!(redacted, json!({"spec": {"manifests": [expected]}}));
    assert_eq!(
        redactor(&[]).value(&json!({"kind": "ConfigMap", "data": {"a": "b"}})),
        json!({"kind": "ConfigMap", "data": {"a": "b"}})
    );
}

#[test]
fn number_that_is_a_secret_is_redacted() {
    let mut redactor = Redactor::default();
    redactor.secrets.add(&json!([4711, 7, true]));
    assert_eq!(
        redactor.value(&json!({"a": 4711, "b": 7, "c": true, "d": "4711"})),
        json!({"a": REDACTED, "b": 7, "c": true, "d": REDACTED})
    );
}

/// What a redactor makes of a text, for a task with this manifest, the credential `s3cret` and the public text `a-public-one`.
fn shown(manifest: &Value, text: &str) -> String {
    let params = json!([{ "name": "token", "source": "env.TOKEN" }, { "name": "plain", "source": "event.plain" }]);
    let discovery = json!({ "namespace": "n", "by_name": "a" });
    let task = json!({
        "params": params, "resources": [{ "name": "a", "manifest": manifest, "discovery": discovery }],
    });
    let surroundings = Surroundings { read: &|_| Err(String::new()), environment: &|_| Some("s3cret".to_owned()) };
    let task = compile("task.yaml", &task.to_string(), &surroundings).task.unwrap();
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    scope.set("event", json!({ "id": "c-12345" }));
    scope.set("plain", json!("a-public-one"));
    scope.set("token", json!("s3cret"));
    scope.conceal(&["token"], true);
    Redactor::of(&task, &scope, []).text(text).into_owned()
}

#[test]
fn what_the_data_of_a_secret_is_made_of_is_redacted_but_for_the_event() {
    let secret = |value: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "stringData": { "k": value } });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "{{ .plain }}" } });
    for (name, manifest, text, expected) in [
        ("a Secret", secret("x-{{ .plain }}"), "got x-a-public-one", "got [redacted]"),
        ("an object of another kind", map, "got a-public-one", "got a-public-one"),
        ("the event's id", secret("{{ .event.id }}"), "/clusters/c-12345/s3cret", "/clusters/c-12345/[redacted]"),
    ] {
        assert_eq!(shown(&manifest, text), expected, "{name}");
    }
}

#[test]
fn short_secret_is_found_in_a_body_of_json() {
    let redactor = redactor(&["dev", "hunter2"]);
    for (before, after) in [
        (r#"{"stage":"dev","on":"device"}"#, r#"{"stage":"[redacted]","on":"device"}"#),
        (r#"{ "on": "device" }"#, r#"{ "on": "device" }"#),
        ("stage=dev&password=hunter2", "stage=dev&password=[redacted]"),
    ] {
        let mut body = before.to_owned();
        redactor.body(&mut body);
        let same = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::from(text));
        assert_eq!(same(&body), same(after), "{before}");
    }
}
