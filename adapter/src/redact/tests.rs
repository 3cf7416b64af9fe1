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
