//! What the expressions of one phase hand to those of later phases.

use lifecycle_core::params::Resolver;
use lifecycle_core::post::Reporter;
use lifecycle_core::precondition::{Evaluator, Verdict};
use lifecycle_core::process_variables::Host;
use lifecycle_core::report_overlay::Account;
use serde_json::{Value, json};

use crate::world::{drive, scope, task};

#[test]
fn times_keep_their_type_from_one_expression_to_the_next() {
    let expression = |name: &str, expression: &str| json!({"name": name, "source": {"expression": expression}});
    let value = |expression: &str| json!({"expression": expression});
    let task = task(&json!({
        "params": [
            expression("since", "timestamp('2026-03-01T13:50:00.5+02:00')"),
            expression("grace", "duration('5m')"),
            expression("day", "duration('24h')"),
            {"name": "copy", "source": "since"},
            expression("window", "{'start': since, 'spans': [grace, day], 'raw': b'hi', 'count': 2u}"),
            {"name": "start", "source": "window.start"},
            expression("held", "{'inner': window}"),
            expression("nothing", "b''"),
        ],
        "preconditions": [
            {"name": "age", "expression": "timestamp(now()) - since > grace && grace < day"},
            {"name": "copied", "expression": "copy == since && start == since && timestamp(since) == since"},
            {
                "name": "nested",
                "expression": "window.start + window.spans[0] < timestamp(now()) && window.raw == b'hi' && window.count + 1u == 3u",
            },
            {"name": "whole", "expression": "held.inner.start == since && window.spans == [grace, day]"},
            {"name": "bytes", "expression": "nothing"},
            {
                "name": "cluster",
                "api_call": {"method": "GET", "url": "/clusters/c-1"},
                "capture": [{"name": "at", "expression": "timestamp(now())"}],
                "expression": "at > since",
            },
        ],
        "post": {"payloads": [{"name": "one", "build": {
            "grace": value("grace"),
            "age": value("timestamp(now()) - since"),
            "window": value("window"),
            "field": {"field": "since"},
            "text": "{{ .grace }} since {{ .since }}, {{ .window.raw }} {{ .window.count }} {{ index .window.spans 1 }}",
        }}]},
    }));
    let mut scope = scope();
    drive(Resolver::new(&task, &Host::default()), &mut scope).0.unwrap();
    assert_eq!(drive(Evaluator::new(&task), &mut scope).0, Verdict::Met);
    assert_eq!(
        drive(Reporter::new(&task, Account { outcomes: &[], unread: None, is_deleting: Some(true) }), &mut scope)
            .0
            .error,
        None
    );
    let since = "2026-03-01T11:50:00.500Z";
    let expected = json!({
        "grace": "300s",
        "age": "599.500s",
        "window": {"start": since, "spans": ["300s", "86400s"], "raw": "aGk=", "count": 2},
        "field": since,
        "text": "5m0s since 2026-03-01 11:50:00.5 +0000 UTC, [104 105] 2 24h0m0s",
    });
    let payload: Value = serde_json::from_str(scope.get("one").unwrap().as_str().unwrap()).unwrap();
    assert_eq!(payload, expected);
}

#[test]
fn each_phase_reads_the_variables_of_earlier_phases() {
    let expression = |name: &str, expression: &str| json!({"name": name, "source": {"expression": expression}});
    let value = |expression: &str| json!({"expression": expression, "default": "not yet"});
    let call = |method: &str, body: &str| json!({"method": method, "url": "/clusters/c-1", "body": body});
    let mut task = task(&json!({
        "params": [
            expression("first", "event.id"),
            expression("before", "second"),
            expression("second", "first + '/' + now() + '/' + string(resources == {})"),
        ],
        "preconditions": [
            {"name": "early", "expression": "cluster.kind == 'Cluster'"},
            {
                "name": "cluster",
                "api_call": call("GET", ""),
                "capture": [{"name": "kind", "field": "kind"}],
                "expression": "second.startsWith('c-1/') && cluster.kind == kind",
            },
        ],
        "post": {
            "payloads": [
                {"name": "one", "build": {"two": value("two"), "kind": value("kind"), "resources": value("resources")}},
                {"name": "two", "build": {"one": value("one")}, "when": {"expression": "one != ''"}},
            ],
            "post_actions": [{"name": "send", "api_call": call("PUT", "{{ .two }}"), "when": {"expression": "two != ''"}}],
        },
    }));
    let mut scope = scope();
    drive(Resolver::new(&task, &Host::default()), &mut scope).0.unwrap();
    assert_eq!(scope.get("before"), None, "a param cannot read a later one");
    assert_eq!(scope.get("second"), Some(&json!("c-1/2026-03-01T12:00:00Z/true")));

    let (verdict, _) = drive(Evaluator::new(&task), &mut scope);
    assert!(matches!(verdict, Verdict::NotMet(reason) if reason.contains("undeclared reference to 'cluster'")));
    task.preconditions.remove(0);
    assert_eq!(drive(Evaluator::new(&task), &mut scope).0, Verdict::Met);

    scope.set("resources", json!({"job": {}}));
    let (report, _) =
        drive(Reporter::new(&task, Account { outcomes: &[], unread: None, is_deleting: Some(true) }), &mut scope);
    assert_eq!(report.error, None);
    let one = r#"{"kind":"Cluster","resources":{"job":{}},"two":"not yet"}"#;
    assert_eq!(scope.get("one"), Some(&json!(one)));
    assert_eq!(scope.get("two"), Some(&json!(json!({"one": one}).to_string())));
    assert_eq!(format!("{:?}", report.actions[0].end), "Executed");
}
