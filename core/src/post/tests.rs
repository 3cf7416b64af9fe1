//! What goes out in a body, whoever wrote it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use serde_json::json;

use super::*;
use crate::id::GroupVersionKind;
use crate::outcome::{Outcome, OutcomeResult};
use crate::plan::decision::{Decision, FailReason, Failure};
use crate::plan::row::Row;
use crate::task::compile::{Surroundings, compile};

/// What phase 4 does first, after a resource failed.
fn first(post: &Value) -> Progress<PostReport> {
    let text = json!({ "post": post }).to_string();
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text, &surroundings);
    let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
    let failure = Failure::new(FailReason::Conflict, "m");
    let failed = Outcome {
        resource: "a".to_owned(),
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        namespace: String::new(),
        name: String::new(),
        row: Row::Update,
        decision: Decision::Fail(failure.clone()),
        result: OutcomeResult::Failed(failure),
        can_be_released: false,
        can_be_deleted: false,
        finalized: false,
        gates: Vec::new(),
        pruned: Vec::new(),
        versions: 1,
        warnings: Vec::new(),
    };
    let outcomes = [failed];
    let mut scope = Scope::new(jiff::Timestamp::UNIX_EPOCH);
    Reporter::new(&task, Account { outcomes: &outcomes, unread: None }).resume(&mut scope, None)
}

/// The body of a task's only action.
fn body(post: &Value) -> Value {
    let progress = first(post);
    let Progress::Needs(Need::Call(request)) = progress else { panic!("{progress:?}") };
    serde_json::from_str(&request.body.unwrap()).unwrap()
}

#[test]
fn no_body_says_available_over_a_failure() {
    let status = r#"{"adapter": "a", "conditions": [{"type": "Available", "status": "True"}]}"#;
    let action = |body: &str| json!([{ "name": "report", "api_call": { "method": "PUT", "url": "/x", "body": body } }]);
    let build = json!({ "adapter": "a", "conditions": [{ "type": "Available", "status": "True" }] });
    let conditions = json!({ "conditions": build["conditions"] });
    for post in [
        json!({ "payloads": [{ "name": "status", "build": build }], "post_actions": action("{{ .status }}") }),
        json!({ "post_actions": action(status) }),
        json!({
            "payloads": [{ "name": "part", "build": conditions }],
            "post_actions": action(r#"{"adapter": "a", {{ slice .part 1 }}"#),
        }),
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
