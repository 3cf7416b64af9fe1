//! What the calls answer, and what of a failed call remains.

use serde_json::{Value, json};

use crate::{ask, request, talk};

fn params(does: &str, state: &str) -> Value {
    let config = json!({"does": does, "scope": "s"}).to_string();
    json!({"pack_json": "{}", "deploy_config": config, "environment": "test", "prior_state": state})
}

fn with(mut params: Value, extension: &str) -> Value {
    params["lifecycle"] = json!({extension: true});
    params
}

/// A state as the provider writes it, with these entries.
fn state(names: &[&str]) -> String {
    let entry = |name: &&str| json!({"type": "tool", "name": name, "status": "created"});
    json!({"resources": names.iter().map(entry).collect::<Vec<_>>()}).to_string()
}

fn statuses(state: &Value) -> Vec<String> {
    let state: Value = serde_json::from_str(state.as_str().unwrap_or("{}")).unwrap();
    let text = |entry: &Value| format!("{} {}", entry["name"].as_str().unwrap(), entry["status"].as_str().unwrap());
    state["resources"].as_array().into_iter().flatten().map(text).collect()
}

#[test]
fn plan_has_changes_even_if_there_are_none_and_all_warnings() {
    let answer = ask("plan", &params("warn", &state(&["a", "b"])));
    assert_eq!(
        answer["result"],
        json!({"changes": [], "summary": "0 to create", "warnings": ["be careful", "its own"]})
    );
}

#[test]
fn apply_returns_state_and_events_in_order() {
    let answer = ask("apply", &params("work", ""));
    let events = json!([
        {"type": "progress", "message": "Creating tool: a (50%)"},
        {"type": "resource", "resource": {"type": "tool", "name": "a", "action": "CREATE", "status": "created", "detail": "id-a"}},
    ]);
    assert_eq!(answer["result"]["events"], events);
    let expected = r#"{"resources":[{"type":"tool","name":"a","status":"created"}],"provider":"scripted","environment":"test","scope":"s"}"#;
    assert_eq!(answer["result"]["adapter_state"], expected);
}

#[test]
fn event_has_the_links_of_its_resource() {
    let answer = ask("apply", &params("link", ""));
    let expected = json!({
        "type": "tool", "name": "b", "action": "NO_CHANGE", "status": "unchanged",
        "links": [{"label": "Console", "url": "http://c"}],
    });
    assert_eq!(answer["result"]["events"][2]["resource"], expected);
}

#[test]
fn failed_apply_answers_with_what_was_done() {
    let one = r#"create tool "b" failed: 403 [hint: ask for rights]"#;
    let two = r#"create tool "c" failed: 403 [hint: ask for rights]"#;
    let cases = [
        ("fail one", format!("Deployment completed with 1 error(s):\n1. {one}"), vec!["a created", "b failed"], 1),
        (
            "fail two",
            format!("Deployment completed with 2 error(s):\n1. {one}\n2. {two}"),
            vec!["a created", "b failed", "c failed"],
            2,
        ),
        ("abort", "no route".to_owned(), vec!["a created"], 1),
        (
            "panic",
            "a defect of the adapter: index out of range [hint: report it, and run the command again]".to_owned(),
            vec!["a created"],
            1,
        ),
    ];
    for (does, message, entries, errors) in cases {
        let answer = ask("apply", &params(does, ""));
        let error = &answer["error"];
        assert_eq!(error["code"], -32603, "{answer}");
        assert_eq!(error["message"], message);
        assert_eq!(statuses(&error["data"]["adapter_state"]), entries);
        assert_eq!(error["data"]["errors"].as_array().unwrap().len(), errors);

        let answer = ask("apply", &with(params(does, ""), "partial"));
        assert_eq!(answer["result"]["error"], message);
        for member in ["adapter_state", "events", "errors"] {
            assert_eq!(answer["result"][member], error["data"][member], "{does} {member}");
        }
    }
}

#[test]
fn errors_are_classified() {
    let answer = ask("apply", &params("fail one", ""));
    let expected = json!([{
        "category": "permission", "operation": "create", "type": "tool", "name": "b", "message": "403", "remediation": "ask for rights",
    }]);
    assert_eq!(answer["error"]["data"]["errors"], expected);
}

#[test]
fn mistaken_configuration_is_refused_before_the_first_write() {
    for method in ["plan", "apply"] {
        let answer = ask(method, &json!({"deploy_config": "{\"scope\":\"s\"}"}));
        assert_eq!(answer["error"]["message"], "deploy.config: does: missing");
        let answer = ask(method, &json!({"deploy_config": "{}"}));
        assert_eq!(answer["error"]["message"], "deploy.config has 2 mistakes:\n1. does: missing\n2. scope: missing");
        assert!(answer["error"]["data"]["events"].is_null(), "{answer}");
    }
    let answer = ask("destroy", &json!({"deploy_config": "{\"scope\":\"s\"}"}));
    assert_eq!(answer["result"]["status"], "destroyed", "a mistake elsewhere does not keep what is to go");
}

#[test]
fn text_that_is_no_state_is_refused() {
    for method in ["plan", "apply", "destroy", "status", "import"] {
        let answer = ask(method, &params("work", "{"));
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(".promptarena/deploy.state"), "{answer}");
    }
}

#[test]
fn destroy_is_done_when_nothing_is_left() {
    let answer = ask("destroy", &params("work", ""));
    assert_eq!(answer["result"], json!({"status": "destroyed"}));
    let answer = ask("destroy", &params("work", &state(&["a", "b"])));
    assert_eq!(answer["result"]["status"], "destroyed");
    assert_eq!(answer["result"]["events"].as_array().unwrap().len(), 2);
    assert!(answer["result"]["adapter_state"].is_null());
}

#[test]
fn destroy_that_leaves_something_is_an_error() {
    let cases = [
        ("fail one", r#"1 of 2 resources could not be deleted: delete tool "a" failed: 403"#, vec!["a failed"]),
        ("forget one", r#"1 of 2 resources could not be deleted: tool "a" still exists"#, vec!["a created"]),
    ];
    for (does, message, entries) in cases {
        let answer = ask("destroy", &params(does, &state(&["a", "b"])));
        assert_eq!(answer["error"]["message"], message);
        assert_eq!(statuses(&answer["error"]["data"]["adapter_state"]), entries);
        let partial = ask("destroy", &with(params(does, &state(&["a", "b"])), "partial"));
        assert_eq!((&partial["result"]["status"], &partial["result"]["error"]), (&json!("failed"), &json!(message)));
        let rest = answer["error"]["data"]["adapter_state"].as_str().unwrap();
        assert_eq!(ask("destroy", &params("work", rest))["result"]["status"], "destroyed");
    }
}

#[test]
fn status_sums_up() {
    let cases = [
        (state(&[]), "not_deployed"),
        (String::new(), "not_deployed"),
        (state(&["a"]), "deployed"),
        (state(&["a", "sick"]), "degraded"),
    ];
    for (state, expected) in cases {
        let answer = ask("status", &params("work", &state));
        assert_eq!(answer["result"]["status"], expected, "{answer}");
        assert_eq!(answer["result"]["state"].as_str().unwrap_or_default(), state);
    }
}

#[test]
fn state_of_another_scope_is_ignored_and_kept() {
    let other =
        json!({"resources": [{"type": "tool", "name": "a", "status": "created"}], "scope": "elsewhere"}).to_string();
    let warning = r#"the stored state is ignored: it is of scope "elsewhere", and this is "s""#;
    let plan = ask("plan", &params("work", &other));
    assert_eq!(plan["result"]["summary"], "2 to create");
    assert_eq!(plan["result"]["warnings"][0], warning);
    let apply = ask("apply", &params("work", &other));
    assert_eq!(apply["result"]["events"][0]["message"], format!("warning: {warning}"));
    let status = ask("status", &params("work", &other));
    assert_eq!(status["result"], json!({"status": "not_deployed"}));
    let destroy = ask("destroy", &params("work", &other));
    assert_eq!(destroy["error"]["message"], format!("{warning}; it is kept, nothing of it was deleted"));
    assert_eq!(destroy["error"]["data"]["adapter_state"], other);
}

#[test]
fn dry_run_keeps_real_entries() {
    let answer = ask("apply", &params("plan only", ""));
    assert_eq!(statuses(&answer["result"]["adapter_state"]), ["a created", "z planned"]);
    let state = answer["result"]["adapter_state"].as_str().unwrap();
    let status = ask("status", &params("work", state));
    assert_eq!(status["result"]["resources"].as_array().unwrap().len(), 1, "a planned entry counts as absent");
}

#[test]
fn streamed_events_are_the_answers_events() {
    let lines = talk(request("apply", &with(params("fail one", ""), "stream")));
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (answer, events) = lines.split_last().unwrap();
    for (index, event) in events.iter().enumerate() {
        let expected = json!({
            "jsonrpc": "2.0", "method": "event",
            "params": {"id": 1, "seq": index + 1, "event": answer["error"]["data"]["events"][index]},
        });
        assert_eq!(*event, expected);
    }
    assert_eq!(events.len(), 3);
}

#[test]
fn long_answer_is_shortened_and_its_state_is_whole() {
    let lines = talk(request("apply", &params("talk much", "")));
    assert!(lines[0].len() < 10 << 20, "{}", lines[0].len());
    let answer: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(statuses(&answer["result"]["adapter_state"]), ["a created"]);
    let events = answer["result"]["events"].as_array().unwrap();
    assert!(events.iter().any(|event| event["resource"]["name"] == "a"));
    assert!(events.last().unwrap()["message"].as_str().unwrap().contains("events are left out"));
}

#[test]
fn state_that_the_client_could_not_read_is_an_error() {
    let answer = ask("apply", &params("keep much", ""));
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("the client reads"),
        "{}",
        answer["error"]["message"]
    );
}
