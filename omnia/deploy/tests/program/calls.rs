//! What the program sends, and what it makes of answers.

use std::time::{Duration, Instant};

use lifecycle_e2e::workspaces::{Api, Fault, Workspaces};
use serde_json::{Value, json};

use super::{call, count, pack, writes};

fn answer(method: &str, path: &str, status: u16, body: &str, times: Option<usize>) -> Fault {
    Fault::Answer { method: method.to_owned(), path: path.to_owned(), status, body: body.to_owned(), times }
}

fn state(answer: &Value) -> String {
    let state = if answer["result"].is_null() { &answer["error"]["data"] } else { &answer["result"] };
    state["adapter_state"].as_str().unwrap().to_owned()
}

fn category(answer: &Value) -> String {
    answer["error"]["data"]["errors"][0]["category"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn kinds_are_created_in_order_with_their_progress() {
    let server = Workspaces::start(Api::Versioned).unwrap();
    let applied = call("apply", server.url(), &pack(&[], &["a"], &["b", "a", "b"]), "");
    let kinds = ["configmaps", "promptpacks", "toolregistries", "agentpolicies", "agentruntimes"];
    assert_eq!(writes(&server), kinds.map(|kind| format!("POST team/{kind}")), "{applied}");
    let policy = server.object("team/agentpolicies/my-pack-policy").unwrap();
    assert_eq!(policy["spec"], json!({ "toolBlocklist": ["a", "b"] }));
    let events = applied["result"]["events"].as_array().unwrap();
    let progress = events.iter().filter_map(|event| event["message"].as_str()?.split_once('('));
    let progress: Vec<_> = progress.map(|(_, percent)| percent).collect();
    assert_eq!(progress, ["0%)", "20%)", "40%)", "60%)", "80%)"], "{events:?}");
}

#[test]
fn object_of_the_pack_is_adopted_and_one_of_others_is_not() {
    let cases = [("promptarena", "my-pack", true), ("promptarena", "other", false), ("helm", "my-pack", false)];
    for (manager, pack_id, is_ours) in cases {
        let server = Workspaces::start(Api::Versioned).unwrap();
        let labels = json!({ "app.kubernetes.io/managed-by": manager, "promptkit.altairalabs.ai/pack-id": pack_id });
        let object = json!({ "metadata": { "name": "my-pack", "labels": labels }, "spec": { "version": "0.9.0" } });
        server.put("team/promptpacks/my-pack", object);
        let before = server.object("team/promptpacks/my-pack");
        let applied = call("apply", server.url(), &pack(&[], &[], &[]), "");
        let name = format!("{manager} {pack_id}: {applied}");
        assert_eq!(count(&server, "PUT", "team/promptpacks/my-pack"), usize::from(is_ours), "{name}");
        assert_eq!(server.object("team/promptpacks/my-pack") == before, !is_ours, "{name}");
        if is_ours {
            assert!(applied["result"].is_object(), "{name}");
            assert_eq!(count(&server, "POST", "team/promptpacks"), 0, "{name}");
            continue;
        }
        let message = applied["error"]["message"].as_str().unwrap();
        let owner = if manager == "helm" { "helm" } else { pack_id };
        assert!(message.contains("belongs to") && message.contains(owner), "{name}");
        let destroyed = call("destroy", server.url(), &Value::Null, &state(&applied));
        assert!(server.object("team/promptpacks/my-pack") == before, "{name}, then {destroyed}");
    }
}

#[test]
fn update_that_meets_a_change_is_sent_again_three_times() {
    let conflict = r#"{"reason":"Conflict","message":"the object has been modified"}"#;
    for (conflicts, puts, expected) in [(2, 3, ""), (4, 4, "conflict")] {
        let server = Workspaces::start(Api::Versioned).unwrap();
        let deployed = state(&call("apply", server.url(), &pack(&[], &[], &[]), ""));
        let mut changed = pack(&[], &[], &[]);
        changed["version"] = json!("1.0.1");
        server.fault(answer("PUT", "promptpacks/my-pack", 409, conflict, Some(conflicts)));
        let started = Instant::now();
        let applied = call("apply", server.url(), &changed, &deployed);
        assert_eq!(category(&applied), expected, "{conflicts}: {applied}");
        assert_eq!(count(&server, "PUT", "team/promptpacks/my-pack"), puts);
        assert!(started.elapsed() >= Duration::from_millis(300) * u32::try_from(puts - 1).unwrap());
    }
}

#[test]
fn error_has_the_category_of_the_answer() {
    let cases = [
        (500, r#"{"message":"proxied","code":422}"#, "configuration"),
        (503, "", "network"),
        (403, "", "permission"),
        (429, "", "resource"),
    ];
    for (status, body, expected) in cases {
        let server = Workspaces::start(Api::Versioned).unwrap();
        server.fault(answer("POST", "promptpacks", status, body, None));
        let applied = call("apply", server.url(), &pack(&[], &[], &[]), "");
        assert_eq!(category(&applied), expected, "{status}: {applied}");
        assert_eq!(server.objects(), ["team/agentruntimes/my-pack", "team/configmaps/my-pack-packdata"], "{status}");
    }
    let server = Workspaces::start(Api::Versioned).unwrap();
    let url = server.url().to_owned();
    drop(server);
    assert_eq!(category(&call("apply", &url, &pack(&[], &[], &[]), "")), "network", "a port at which nobody listens");
}

#[test]
fn blocklist_without_a_registry_ends_before_the_first_write() {
    let server = Workspaces::start(Api::Current).unwrap();
    let applied = call("apply", server.url(), &pack(&["x"], &[], &["b"]), "");
    let message = applied["error"]["message"].as_str().unwrap();
    assert!(message.contains("`b` would not be blocked"), "{message}");
    assert_eq!(writes(&server), [""; 0]);
}

#[test]
fn destroy_tells_of_a_type_that_it_does_not_know_and_forgets_it() {
    let server = Workspaces::start(Api::Versioned).unwrap();
    let deployed = state(&call("apply", server.url(), &pack(&[], &[], &[]), ""));
    let mut with_unknown: Value = serde_json::from_str(&deployed).unwrap();
    let unknown = json!({ "type": "agent_team", "name": "x", "status": "created" });
    with_unknown["resources"].as_array_mut().unwrap().push(unknown);
    let destroyed = call("destroy", server.url(), &Value::Null, &with_unknown.to_string());
    assert_eq!(destroyed["result"]["status"], "destroyed", "{destroyed}");
    let events = destroyed["result"]["events"].as_array().unwrap();
    let told: Vec<_> = events.iter().filter(|event| event["type"] == "error").map(|event| &event["message"]).collect();
    assert_eq!(told, ["agent_team \"x\" is left: this adapter writes no agent_team; delete it by hand"]);
    assert_eq!(server.objects(), [""; 0]);
}
