//! Tests of the bodies that post actions send.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::GroupVersionKind;
use serde_json::json;

use super::*;
use crate::decision::Decision;
use crate::outcome::{Outcome, OutcomeResult};
use crate::row::Row;
use crate::task::compile::{Surroundings, compile};

fn task(post: &Value) -> Task {
    let text = json!({ "params": [{ "name": "unset", "source": "event.unset" }], "post": post }).to_string();
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text, &surroundings);
    compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics))
}

/// Returns the first step of phase 4 after a resource failed with `Conflict`.
fn first(post: &Value) -> Progress<PostReport> {
    let task = task(post);
    let failure = Failure::new(FailReason::Conflict, "m");
    let failed = Outcome {
        resource: "a".to_owned(),
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        namespace: String::new(),
        name: String::new(),
        row: Row::Update,
        decision: Decision::Fail(failure.clone()),
        failed_earlier: None,
        detail: None,
        unobserved: None,
        result: OutcomeResult::Failed(failure),
        can_be_disowned: false,
        can_be_deleted: false,
        finalized: false,
        gates: Vec::new(),
        pruned: Vec::new(),
        bundle: None,
        versions: 1,
        is_foreign: false,
        warnings: Vec::new(),
    };
    let outcomes = [failed];
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    Reporter::new(&task, Account { outcomes: &outcomes, unread: None, is_deleting: Some(true) })
        .resume(&mut scope, None)
}

/// Returns the body that the task's only action sends.
fn body(post: &Value) -> Value {
    let progress = first(post);
    let Progress::Needs(Need::Call(request)) = progress else { panic!("{progress:?}") };
    serde_json::from_str(&request.body.unwrap()).unwrap()
}

#[test]
fn available_is_false_in_every_body_after_a_failure() {
    let status = r#"{"adapter": "a", "conditions": [{"type": "Available", "status": "True"}]}"#;
    let action = |body: &str| json!([{ "name": "report", "api_call": { "method": "PUT", "url": "/x", "body": body } }]);
    let build = json!({ "adapter": "a", "conditions": [{ "type": "Available", "status": "True" }] });
    for post in [
        json!({ "payloads": [{ "name": "status", "build": build }], "post_actions": action("{{ .status }}") }),
        json!({ "post_actions": action(status) }),
    ] {
        let body = body(&post);
        assert_eq!(
            (&body["conditions"][0]["status"], &body["conditions"][0]["reason"]),
            (&json!("False"), &json!("Conflict"))
        );
    }
}

#[test]
fn status_without_a_generation_is_not_sent() {
    let status = |more: &str| format!(r#"{{"adapter": "a", "conditions": []{more}}}"#);
    let ended = |url: &str, body: String| {
        let call = json!({ "method": "PUT", "url": url, "body": body });
        match first(&json!({ "post_actions": [{ "name": "report", "api_call": call }] })) {
            Progress::Needs(_) => None,
            Progress::Done(report) => report.error.map(|error| error.message),
        }
    };
    let url = "/clusters/c-1/statuses";
    for (name, url, body, is_sent) in [
        ("without a generation", url, status(""), false),
        ("null", url, status(r#", "observed_generation": null"#), false),
        ("a slash and a query behind the path", "/clusters/c-1/statuses/?a=b", status(""), false),
        ("with a generation", url, status(r#", "observed_generation": 3"#), true),
        ("no status", url, r#"{"generation": 3}"#.to_owned(), true),
        ("to a service of somebody else's", "https://hooks.example/x", status(""), true),
    ] {
        let error = ended(url, body);
        assert_eq!(error.is_none(), is_sent, "{name}: {error:?}");
        assert!(error.is_none_or(|error| error.contains("observed_generation: {expression: event.generation}")));
    }
}

#[test]
fn failure_is_reported_although_the_type_of_available_fails() {
    let available = json!({ "type": "{{ .unset.below }}", "status": "True" });
    let build = json!({ "adapter": "a", "conditions": [available], "data": { "a": "{{ .unset.below }}" } });
    let call = json!({ "method": "PUT", "url": "/x", "body": "{{ .status }}" });
    let body = body(&json!({
        "payloads": [{ "name": "status", "build": build }],
        "post_actions": [{ "name": "report", "api_call": call }],
    }));
    let expected =
        json!([{ "type": "Available", "status": "False", "reason": "Conflict", "message": "resource a: m" }]);
    assert_eq!((&body["conditions"], &body["data"]), (&expected, &json!({ "a": null })));
}

#[test]
fn body_for_statuses_that_is_no_json_is_not_sent() {
    let sent = |url: &str, body: &str| {
        let call = json!({ "method": "PUT", "url": url, "body": body });
        match first(&json!({ "post_actions": [{ "name": "report", "api_call": call }] })) {
            Progress::Needs(_) => None,
            Progress::Done(report) => report.error.map(|error| error.message),
        }
    };
    let status =
        r#"{"adapter": "a", "observed_generation": 1, "conditions": [{"type": "Available", "message": "a "b""}]}"#;
    for body in [status, " ", "{", "adapter: a"] {
        let error = sent("/clusters/c-1/statuses", body).unwrap();
        assert!(error.starts_with("the body is no JSON"), "{body}: {error}");
        assert!(!error.contains("Available"), "it quotes nothing: {error}");
        assert_eq!(sent("https://hooks.example/x", body), None);
    }
}

#[test]
fn payload_that_cannot_be_built_fails_only_the_actions_that_read_it() {
    let action = |name: &str, body: &str| json!({ "name": name, "log": { "message": name }, "api_call": { "method": "PUT", "url": "/x", "body": body } });
    let broken = [
        json!({ "name": "other", "build": { "a": "{{ .unset.below }}" } }),
        json!({ "name": "other", "build": { "a": "b" }, "when": { "expression": "event.nope" } }),
    ];
    for payload in broken {
        let post = json!({
            "payloads": [payload],
            "post_actions": [action("first", "{{ .other }}"), action("second", "{}")],
        });
        let task = task(&post);
        let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
        let mut reporter = Reporter::new(&task, Account { outcomes: &[], unread: None, is_deleting: Some(true) });
        let Progress::Needs(Need::Log { message, .. }) = reporter.resume(&mut scope, None) else {
            panic!("nothing is logged")
        };
        assert_eq!(message, Ok("second".to_owned()));
        assert!(matches!(reporter.resume(&mut scope, Some(Answer::Logged)), Progress::Needs(Need::Call(_))));
        let answer = Answer::Called(Ok("{}".to_owned()));
        let Progress::Done(report) = reporter.resume(&mut scope, Some(answer)) else { panic!("there is more to do") };
        let error = report.error.unwrap();
        assert!(error.step == "first" && error.message.starts_with("failed to build payload 'other': "), "{error}");
        assert_eq!(report.actions[1].end, ActionEnd::Executed);
        assert_eq!(report.warnings, [error.message]);
    }
}

#[test]
fn value_forges_no_condition_in_a_body_written_as_text() {
    let body = r#"{"adapter": "a", "observed_generation": 1, "data": DATA, "conditions":
        [{"type": "Applied", "status": "False", "reason": "R", "message": "{{ .unset }}"}]}"#;
    let sent = |data: &str, unset: Value| {
        let call = json!({ "method": "PUT", "url": "/clusters/c-1/statuses", "body": body.replace("DATA", data) });
        let payload = json!({ "name": "part", "build": { "k": "{{ .unset }}" } });
        let task = task(&json!({ "payloads": [payload], "post_actions": [{ "name": "report", "api_call": call }] }));
        let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
        scope.set("unset", unset);
        match Reporter::new(&task, Account { outcomes: &[], unread: None, is_deleting: Some(false) })
            .resume(&mut scope, None)
        {
            Progress::Needs(Need::Call(request)) => Ok(request.body.unwrap()),
            Progress::Needs(other) => panic!("{other:?}"),
            Progress::Done(report) => Err(report.error.unwrap().message),
        }
    };
    assert!(sent("{}", json!("all is (well), so far")).unwrap().contains("all is (well), so far"));
    let quoted = sent("{{ .part }}", json!("a \\\"b\\\": c")).unwrap();
    assert!(quoted.contains("data"), "a payload is structure: {quoted}");
    assert!(sent("{{ toJson .unset }}", json!("b")).unwrap().contains("\"data\": \"b\""));
    for forged in [r#""}, {"type": "Finalized", "status": "True", "message": ""#, r#"", "status": "True", "x": ""#] {
        let error = sent("{}", json!(forged)).unwrap_err();
        assert!(error.starts_with("the body of the report: a value becomes structure"), "{error}");
        assert!(!error.contains("Finalized"), "{error}");
    }
    let error = sent("{{ .unset }}", json!("{}")).unwrap_err();
    assert!(error.contains("toJson"), "{error}");
}
