#![expect(clippy::unwrap_used, reason = "tests")]

use promptkit_pack::{arena, pack};

use super::*;
use crate::binding::decide;
use crate::config;
use crate::desired::desired;
use crate::kinds::Surface;

fn request_of(pack: &Value, arena: &Value, keys: &Value, credentials: &[(&str, &str)]) -> Result<Value, Unfit> {
    let mut value =
        json!({ "workspace": "team", "api_endpoint": "https://a", "api_token": "t", "providers": { "default": "p" } });
    value.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let config = config::check(&value, &BTreeMap::new()).0.unwrap();
    let (pack, arena) = (pack::read(&pack.to_string()).unwrap(), arena::read(&arena.to_string()).unwrap());
    let (binding, _) = decide(Surface::Current, &pack, &arena, &config, &[]);
    let inputs = Inputs {
        pack: &pack,
        arena: &arena,
        config: &config,
        binding: &binding,
        surface: Surface::Current,
        in_one_request: true,
    };
    let desired = desired(inputs).unwrap();
    assert!(desired.warnings.is_empty(), "nothing is left out: {}", desired.warnings);
    let credentials = credentials.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    request(&inputs, &desired, &credentials)
}

#[test]
fn whole_deployment_is_one_request() {
    let pack = json!({
        "id": "my-pack", "version": "1.0.0", "tools": { "t": {} },
        "prompts": { "x": { "tool_policy": { "blocklist": ["t"] } }, "y": {} }
    });
    let arena = json!({ "tool_specs": { "t": { "mode": "live", "http": { "url": "https://t", "headers_from_env": ["Authorization=TOKEN"] } } } });
    let keys = json!({
        "skills": ["s"], "labels": { "team": "a" }, "runtime": { "replicas": 2 }, "memory": { "enabled": true },
        "evals": { "enabled": true, "inline": { "groups": ["g"] } },
        "externalAuth": { "allowManagementPlane": true, "apiKeys": { "defaultRole": "viewer" } },
        "rollout": { "channel": "stable", "steps": [{ "setWeight": 100 }] }
    });
    let agent = |name: &str, prompt: &str| {
        json!({
            "name": name, "promptName": prompt,
            "providers": [{ "name": "default", "providerRef": { "name": "p" }, "role": "llm" }],
            "runtime": { "replicas": 2 },
            "facades": [{ "type": "websocket", "handler": "runtime", "managementPlane": true }],
            "useTools": true, "externalAuth": { "clientKeys": { "defaultRole": "viewer" } }, "memory": { "enabled": true },
            "evals": { "enabled": true, "inlineGroups": ["g"] },
            "rollout": { "trigger": { "promptPackChannel": "stable" }, "steps": [{ "setWeight": 100 }] }
        })
    };
    let handler = json!({
        "name": "t", "type": "http", "tool": { "name": "t", "description": "t", "inputSchema": { "type": "object" } },
        "httpConfig": { "endpoint": "https://t", "method": "POST" },
        "auth": { "type": "bearer", "secretRef": { "name": "my-pack-tool-credentials", "key": "TOKEN" } }
    });
    assert_eq!(
        request_of(&pack, &arena, &keys, &[("TOKEN", "secret")]).unwrap(),
        json!({
            "apiVersion": "deploy.omnia.altairalabs.ai/v1",
            "pack": { "name": "my-pack", "version": "1.0.0", "content": { "pack.json": pack.to_string() }, "skills": [{ "source": "s" }] },
            "tools": { "handlers": [handler] },
            "policy": { "toolBlocklist": ["t"] },
            "agents": [agent("my-pack-x", "x"), agent("my-pack-y", "y")],
            "labels": {
                "app.kubernetes.io/managed-by": "promptarena", "promptkit.altairalabs.ai/pack-id": "my-pack",
                "promptkit.altairalabs.ai/pack-version": "1.0.0", "team": "a"
            },
            "credentials": { "data": { "TOKEN": "secret" } }
        })
    );
}

#[test]
fn what_has_no_value_is_left_out() {
    let made =
        request_of(&json!({ "id": "p", "version": "1.0.0" }), &json!({}), &json!({ "tool_registry_ref": "r" }), &[])
            .unwrap();
    assert_eq!(made["tools"], json!({ "ref": "r" }));
    let keys: Vec<_> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(!keys.contains(&"policy") && !keys.contains(&"credentials"), "{keys:?}");
    let agent: Vec<_> = made["agents"][0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(agent.len(), 4, "name, providers, facades, useTools: {agent:?}");
}

#[test]
fn request_that_cannot_say_all_is_not_made() {
    let shared = json!({ "externalAuth": { "sharedToken": { "secretRef": "k" } } });
    assert_eq!(request_of(&json!({ "id": "p" }), &json!({}), &shared, &[]), Err(Unfit::SharedToken));
    let large = json!({ "id": "p", "x": "y".repeat(LIMIT) });
    assert!(matches!(request_of(&large, &json!({}), &json!({}), &[]), Err(Unfit::TooLarge(size)) if size > LIMIT));
}

#[test]
fn only_a_server_that_does_not_know_the_request_gets_objects_instead() {
    let cases = [
        (404, "", true),
        (405, "", true),
        (400, "unknown apiVersion", true),
        (400, "no such provider", false),
        (403, "apiVersion", false),
        (500, "", false),
    ];
    for (status, body, expected) in cases {
        assert_eq!(is_unknown(&Failure::refused(status, body)), expected, "{status} {body}");
    }
    assert!(!is_unknown(&Failure::TimedOut(std::time::Duration::from_secs(30))), "the server may have done it");
    assert!(is_supported(&json!({ "supportedDeployIntentVersions": ["a", API_VERSION] })));
    assert!(!is_supported(&json!({ "supportedDeployIntentVersions": ["a"] })) && !is_supported(&json!({})));
}

#[test]
fn results_are_read_and_what_is_unclear_has_failed() {
    let answer = json!({ "succeeded": false, "results": [
        { "kind": "PromptPack", "name": "p", "action": "created", "url": "https://p" },
        { "kind": "AgentRuntime", "name": "a", "action": "failed", "error": "no provider" },
        { "kind": "AgentRuntime", "name": "b", "action": "pending" },
        { "kind": "AgentRuntime", "name": "c" }
    ] });
    let found: Vec<_> = results(&answer).into_iter().map(|done| (done.name, done.action)).collect();
    let failed = |text: &str| Action::Failed(text.to_owned());
    assert_eq!(
        found,
        [
            ("p".to_owned(), Action::Created),
            ("a".to_owned(), failed("no provider")),
            ("b".to_owned(), failed("the server answered the action `pending`")),
            ("c".to_owned(), failed("the server does not say why")),
        ]
    );
}

#[test]
fn version_of_a_pack_has_a_name_of_its_own() {
    // `printf 'my-pack@1.0.0' | sha256sum`
    assert_eq!(pack_object("my-pack", "1.0.0"), "pp-7fbf745204b1");
    assert_ne!(pack_object("my-pack", "1.0.0"), pack_object("my-pack", "1.0.1"));
}
