//! Values that are secret: what a pass knows as such, and what its messages tell of them.

use lifecycle_core::params::Resolver;
use lifecycle_core::precondition::{Evaluator, Verdict};
use lifecycle_core::process_variables::Host;
use lifecycle_language::scope::Scope;
use serde_json::{Value, json};

use crate::world::{drive, scope, task};

/// A scope in which the event has a credential, and params with these keys beside `name: value` are resolved.
fn resolved(params: &[(&str, Value)]) -> Result<Scope, String> {
    let param = |(name, rest): &(&str, Value)| {
        let mut param = json!({ "name": name });
        param.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        param
    };
    let task = task(&json!({ "params": params.iter().map(param).collect::<Vec<_>>() }));
    let mut scope = scope();
    scope.set(
        "event",
        json!({ "id": "c-1", "note": "as hunter2-a", "spec": { "pull": "hunter2-a", "pin": "9f3", "region": "eu-west" } }),
    );
    match drive(Resolver::new(&task, &Host::default()), &mut scope).0 {
        Ok(()) => Ok(scope),
        Err(error) => Err(error.to_string()),
    }
}

fn expression(text: &str) -> Value {
    json!({ "source": { "expression": text } })
}

/// The sensitive param that the others read.
fn pull() -> (&'static str, Value) {
    ("pull", json!({ "source": "event.spec.pull", "sensitive": true }))
}

#[test]
fn param_is_secret_by_its_origin() {
    let with = |mut param: Value, key: &str, value: Value| {
        param[key] = value;
        param
    };
    let public = with(expression("pull.startsWith('y') ? pull : 'public'"), "default", json!("public"));
    let shown = with(expression("pull == '' ? pull : 'hunter2'"), "sensitive", json!(false));
    for (name, param, is_secret) in [
        ("what is derived", expression("'user:' + pull"), true),
        ("what is derived from its path", expression("event.spec.pull + '-b'"), true),
        ("something else", expression("event.spec.region + '-1'"), false),
        ("a boolean", expression("pull == 'x'"), false),
        ("a default", public, false),
        ("what its author shows", shown, false),
    ] {
        let scope = resolved(&[pull(), ("value", param)]).unwrap();
        assert_eq!(scope.secret_paths().cover(&["value"]), is_secret, "{name}");
        let text = lifecycle_language::value::text(scope.get("value").unwrap());
        assert_eq!(scope.secrets().text(&text) != *text, is_secret, "{name}");
    }
    let scope = resolved(&[pull()]).unwrap();
    assert_eq!(scope.secrets().text("hunter2-a in eu-west for c-1"), "[redacted] in eu-west for c-1");
}

#[test]
fn author_may_show_a_text_that_is_also_a_part_of_a_secret() {
    let spec = ("spec", json!({ "source": "event.spec", "sensitive": true }));
    let region = |is_sensitive: bool| ("region", json!({ "source": "event.spec.region", "sensitive": is_sensitive }));
    let shown = |region| resolved(&[spec.clone(), region]).unwrap().secrets().text("eu-west: hunter2-a").into_owned();
    assert_eq!(shown(region(false)), "eu-west: [redacted]");
    assert_eq!(shown(region(true)), "[redacted]: [redacted]");
}

#[test]
fn failed_conversion_of_a_secret_shows_nothing_of_it() {
    let port = |is_sensitive: bool| {
        resolved(&[("port", json!({ "source": "event.spec.pull", "type": "int", "sensitive": is_sensitive }))])
            .unwrap_err()
    };
    assert!(port(false).contains("hunter2-a"), "{}", port(false));
    assert!(port(true).ends_with("its value is sensitive, and is not shown"), "{}", port(true));
}

#[test]
fn unmet_precondition_shows_nothing_of_a_secret() {
    let verdict = |condition: Value| {
        let task = task(&json!({ "preconditions": [{ "name": "ready", "conditions": [condition] }] }));
        // Too short to be found within other texts.
        let pin = ("pin", json!({ "source": "event.spec.pin", "sensitive": true }));
        let mut scope = resolved(&[pull(), pin]).unwrap();
        match drive(Evaluator::new(&task), &mut scope).0 {
            Verdict::NotMet(text) => text,
            Verdict::Failed(error) => error.to_string(),
            verdict @ (Verdict::Met | Verdict::ResourceNotFound(_)) => panic!("{verdict:?}"),
        }
    };
    for (name, condition) in [
        ("a secret that differs", json!({ "field": "pull", "operator": "equals", "value": "x" })),
        ("a short secret", json!({ "field": "pin", "operator": "equals", "value": "x" })),
        ("a short secret that cannot be compared", json!({ "field": "pin", "operator": "greaterThan", "value": 5 })),
        ("a secret that cannot be compared", json!({ "field": "pull", "operator": "greaterThan", "value": 5 })),
        ("a mapping with a secret", json!({ "field": "event.spec", "operator": "equals", "value": "x" })),
        ("a text that repeats the secret", json!({ "field": "event.note", "operator": "equals", "value": "x" })),
        ("such a text, not compared", json!({ "field": "event.note", "operator": "greaterThan", "value": 5 })),
    ] {
        let text = verdict(condition);
        assert!(!text.contains("hunter2") && !text.contains("9f3"), "{name}: {text}");
    }
    let public = verdict(json!({ "field": "event.spec.region", "operator": "equals", "value": "x" }));
    assert!(public.contains("eu-west"), "{public}");
}
