#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use lifecycle_config::diagnostics::Severity;
use lifecycle_objects::labels::{is_label_value, is_subdomain};
use promptkit_pack::arena;
use promptkit_pack::reader::lines;
use proptest::prelude::*;

use super::*;
use crate::binding::decide;

const SURFACES: [Surface; 3] = [Surface::Versioned, Surface::Current, Surface::Cluster];

fn config_with(keys: &Value) -> Value {
    let mut value =
        json!({ "workspace": "team", "api_endpoint": "https://a", "api_token": "t", "providers": { "default": "p" } });
    value.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    value
}

/// The objects of a pack in a workspace without registries.
fn make(surface: Surface, pack: &Value, arena: &Value, keys: &Value) -> Result<Desired, Vec<String>> {
    let pack = pack::read(&pack.to_string()).unwrap();
    let arena = arena::read(&arena.to_string()).unwrap();
    let config = config::check(&config_with(keys), &BTreeMap::new()).0.unwrap();
    let (binding, _) = decide(surface, &pack, &arena, &config, &[]);
    let inputs =
        Inputs { pack: &pack, arena: &arena, config: &config, binding: &binding, surface, in_one_request: false };
    desired(inputs).map_err(|found| lines(&found, Severity::Error))
}

fn body(desired: &Desired, kind: Kind) -> Option<&Value> {
    desired.objects.iter().find(|object| object.kind == kind).map(|object| &object.body)
}

/// A pack with one tool and a blocklist.
fn sample() -> Value {
    json!({
        "id": "my-pack", "version": "1.0.0+b1", "description": "d",
        "prompts": { "p": { "tool_policy": { "blocklist": ["b", "a", "b"] } } },
        "tools": { "get_weather": { "description": "weather", "parameters": { "type": "object", "properties": { "city": {} } } } }
    })
}

fn labels_of(kind: &str) -> Value {
    json!({
        "app.kubernetes.io/managed-by": "promptarena",
        "promptkit.altairalabs.ai/pack-id": "my-pack",
        "promptkit.altairalabs.ai/pack-version": "1.0.0_b1",
        "promptkit.altairalabs.ai/resource-type": kind,
    })
}

#[test]
fn versioned_api_gets_five_kinds_in_order() {
    let keys = json!({ "runtime": { "replicas": 2, "cpu": "500m", "memory": "1Gi" } });
    let made = make(Surface::Versioned, &sample(), &json!({}), &keys).unwrap();
    let tool = json!({ "name": "get_weather", "description": "weather", "inputSchema": sample()["tools"]["get_weather"]["parameters"] });
    let expected = [
        (
            "my-pack-packdata",
            json!({ "kind": "ConfigMap", "metadata": { "name": "my-pack-packdata", "labels": labels_of("configmap") }, "data": { "pack.json": sample().to_string() } }),
        ),
        (
            "my-pack",
            json!({
                "kind": "PromptPack", "metadata": { "name": "my-pack", "labels": labels_of("prompt_pack") },
                "spec": { "packId": "my-pack", "version": "1.0.0+b1", "configMapRef": "my-pack-packdata", "providerRef": "p", "description": "d" }
            }),
        ),
        (
            "my-pack-tools",
            json!({ "kind": "ToolRegistry", "metadata": { "name": "my-pack-tools", "labels": labels_of("tool_registry") }, "spec": { "tools": [tool] } }),
        ),
        (
            "my-pack-policy",
            json!({ "kind": "AgentPolicy", "metadata": { "name": "my-pack-policy", "labels": labels_of("agent_policy") }, "spec": { "toolBlocklist": ["a", "b"] } }),
        ),
        (
            "my-pack",
            json!({
                "kind": "AgentRuntime", "metadata": { "name": "my-pack", "labels": labels_of("agent_runtime") },
                "spec": {
                    "promptPackRef": "my-pack", "providerRef": "p", "replicas": 2, "resources": { "cpu": "500m", "memory": "1Gi" },
                    "toolRegistryRef": "my-pack-tools", "agentPolicyRef": "my-pack-policy"
                }
            }),
        ),
    ];
    let found: Vec<_> = made.objects.iter().map(|object| (object.name.as_str(), object.body.clone())).collect();
    assert_eq!(found, expected);
    assert!(made.objects.iter().map(|object| object.kind).eq(Kind::ALL));
    assert!(made.warnings.is_empty() && made.variables.is_empty());
}

#[test]
fn members_have_runtimes_with_their_own_providers() {
    let pack = json!({ "id": "p", "agents": { "members": { "b_2": {}, "a": {} } } });
    let keys = json!({ "providers": { "default": "d", "a": "own" } });
    let made = make(Surface::Versioned, &pack, &json!({}), &keys).unwrap();
    let runtimes: Vec<_> = made.objects.iter().filter(|object| object.kind == Kind::AgentRuntime).collect();
    assert_eq!(runtimes[0].body["spec"], json!({ "promptPackRef": "p", "agentName": "a", "providerRef": "own" }));
    assert_eq!(runtimes[1].body["spec"], json!({ "promptPackRef": "p", "agentName": "b_2", "providerRef": "d" }));
    assert_eq!(body(&made, Kind::ToolRegistry).or(body(&made, Kind::AgentPolicy)), None);
}

#[test]
fn current_api_gets_pack_policy_and_runtimes() {
    let pack = json!({
        "id": "p", "version": "1.0.0", "tools": { "t": {} },
        "prompts": { "x": { "tool_policy": { "blocklist": ["t"] } }, "y": {} }
    });
    let keys = json!({
        "tool_registry_ref": "shared", "skills": ["s"], "memory": { "enabled": true },
        "runtime": { "replicas": 2, "cpu": "1", "autoscaling": { "enabled": true } },
        "externalAuth": { "allowManagementPlane": false, "sharedToken": { "secretRef": "k" } }
    });
    let made = make(Surface::Current, &pack, &json!({}), &keys).unwrap();
    let specs: Vec<_> =
        made.objects.iter().map(|object| (object.kind, object.name.as_str(), &object.body["spec"])).collect();
    let runtime = |prompt: &str| {
        json!({
            "promptPackRef": { "name": "p" },
            "facades": [{ "type": "websocket", "handler": "runtime", "managementPlane": false }],
            "providers": [{ "name": "default", "providerRef": { "name": "p" }, "role": "llm" }],
            "toolRegistryRef": { "name": "shared" },
            "runtime": {
                "replicas": 2, "resources": { "requests": { "cpu": "1" } }, "autoscaling": { "enabled": true, "type": "hpa" },
                "extraEnv": [{ "name": "OMNIA_PROMPT_NAME", "value": prompt }]
            },
            "externalAuth": { "sharedToken": { "secretRef": { "name": "k" } } },
            "memory": { "enabled": true }
        })
    };
    let policy = json!({
        "selector": { "agents": ["p-x", "p-y"] },
        "toolAccess": { "mode": "denylist", "rules": [{ "registry": "shared", "tools": ["t"] }] }
    });
    assert_eq!(
        specs,
        [
            (Kind::PromptPack, "p", &json!({ "version": "1.0.0", "skills": [{ "source": "s" }] })),
            (Kind::AgentPolicy, "p-policy", &policy),
            (Kind::AgentRuntime, "p-x", &runtime("x")),
            (Kind::AgentRuntime, "p-y", &runtime("y")),
        ]
    );
    assert_eq!(body(&made, Kind::PromptPack).unwrap()["content"], json!({ "pack.json": pack.to_string() }));
}

#[test]
fn current_api_gets_handlers_that_call_the_tools() {
    let pack = json!({ "id": "p", "tools": {
        "get_weather": { "parameters": { "properties": { "city": {}, "at": {} } } }, "other": {}, "own": {}, "memory__x": {}
    } });
    let arena = json!({ "tool_specs": { "get_weather": { "description": "from the arena", "mode": "live", "http": {
        "url": "https://weather", "method": "GET", "timeout_ms": 500, "headers": { "A": "1" },
        "headers_from_env": ["authorization=TOKEN", "X-Key=KEY"], "redact": ["r"],
        "request": { "body_mapping": "b", "header_params": { "city": "X-City" }, "static_query": { "v": "1" } },
        "response": { "body_mapping": "m" }
    } } } });
    let own = json!({
        "name": "mine", "type": "http", "tool": { "name": "own", "description": "d", "inputSchema": {} }, "httpConfig": { "endpoint": "https://own" }
    });
    let made = make(Surface::Current, &pack, &arena, &json!({ "tools": [own] })).unwrap();
    let weather = json!({
        "name": "get-weather", "type": "http", "timeout": "500ms",
        "tool": { "name": "get_weather", "description": "from the arena", "inputSchema": { "properties": { "city": {}, "at": {} } } },
        "httpConfig": {
            "endpoint": "https://weather", "method": "GET", "headers": { "A": "1" }, "queryParams": ["at", "city"], "bodyMapping": "b",
            "responseMapping": "m", "headerParams": { "city": "X-City" }, "staticQuery": { "v": "1" }, "redact": ["r"],
            "headersFromSecret": { "X-Key": { "name": "p-tool-credentials", "key": "KEY" } }
        },
        "auth": { "type": "bearer", "secretRef": { "name": "p-tool-credentials", "key": "TOKEN" } }
    });
    let other = json!({
        "name": "other", "type": "http", "tool": { "name": "other", "description": "other", "inputSchema": { "type": "object" } },
        "httpConfig": { "endpoint": "https://placeholder.invalid/other", "method": "POST" }
    });
    assert_eq!(body(&made, Kind::ToolRegistry).unwrap()["spec"]["handlers"], json!([own, weather, other]));
    assert_eq!(made.variables, ["KEY", "TOKEN"]);
}

#[test]
fn cluster_gets_kinds_of_kubernetes_without_the_blocked_tools() {
    let mut pack = sample();
    pack["tools"]["a"] = json!({});
    let made = make(Surface::Cluster, &pack, &json!({}), &json!({ "runtime": { "replicas": 1 } })).unwrap();
    let found: Vec<_> = made
        .objects
        .iter()
        .map(|it| (it.body["apiVersion"].as_str().unwrap(), it.body["kind"].as_str().unwrap()))
        .collect();
    let own = "omnia.altairalabs.ai/v1alpha1";
    assert_eq!(found, [("v1", "ConfigMap"), (own, "PromptPack"), (own, "ToolRegistry"), (own, "AgentRuntime")]);
    assert!(made.objects.iter().all(|object| object.body["metadata"]["namespace"] == "team"));
    let spec = |kind| body(&made, kind).unwrap()["spec"].clone();
    assert_eq!(
        spec(Kind::PromptPack),
        json!({
            "source": { "type": "configmap", "configMapRef": { "name": "my-pack-packdata" } },
            "version": "1.0.0+b1", "rollout": { "type": "immediate" }
        })
    );
    assert_eq!(
        spec(Kind::ToolRegistry),
        json!({ "handlers": [{
            "name": "get-weather", "type": "http",
            "tool": { "name": "get_weather", "description": "weather", "inputSchema": sample()["tools"]["get_weather"]["parameters"] },
            "httpConfig": { "endpoint": "https://placeholder.invalid/get_weather" }
        }] })
    );
    assert_eq!(
        spec(Kind::AgentRuntime),
        json!({
            "promptPackRef": { "name": "my-pack" }, "facade": { "type": "websocket", "handler": "runtime" },
            "providerRef": { "name": "p" }, "runtime": { "replicas": 1 }, "toolRegistryRef": { "name": "my-pack-tools" }
        })
    );
    // All tools blocked: no registry, and no reference to one.
    let only = json!({ "id": "p", "version": "1.0.0", "tools": { "a": {} }, "prompts": { "x": { "tool_policy": { "blocklist": ["a"] } } } });
    let made = make(Surface::Cluster, &only, &json!({}), &json!({})).unwrap();
    assert_eq!(body(&made, Kind::ToolRegistry), None);
    assert_eq!(body(&made, Kind::AgentRuntime).unwrap()["spec"].get("toolRegistryRef"), None);
}

#[test]
fn blocklist_that_would_not_hold_is_refused() {
    let pack = |tools: Value, blocked: &str| json!({ "id": "p", "version": "1.0.0", "tools": tools, "prompts": { "x": { "tool_policy": { "blocklist": [blocked] } } } });
    let mcp = json!({ "tools": [{ "name": "m", "type": "mcp", "mcpConfig": {} }] });
    let shared = json!({ "tool_registry_ref": "shared" });
    use Surface::{Cluster, Current, Versioned};
    let cases = [
        ("no registry", Current, pack(json!({}), "a"), json!({}), "the agents have none"),
        ("no registry that covers", Current, pack(json!({ "a": {} }), "a"), json!({}), "the agents have none"),
        ("a registry", Current, pack(json!({}), "a"), shared.clone(), ""),
        (
            "the runtime's own tool",
            Current,
            pack(json!({ "sys__a": {} }), "sys__a"),
            shared.clone(),
            "the runtime serves it by itself",
        ),
        ("the versioned API", Versioned, pack(json!({}), "a"), json!({}), ""),
        ("Kubernetes, a tool of the pack", Cluster, pack(json!({ "a": {} }), "a"), json!({}), ""),
        ("Kubernetes, a tool of nobody", Cluster, pack(json!({}), "a"), json!({}), ""),
        (
            "Kubernetes, another's registry",
            Cluster,
            pack(json!({ "a": {} }), "a"),
            shared,
            "the registry `shared` is not made by this deployment",
        ),
        ("Kubernetes, an MCP server", Cluster, pack(json!({}), "a"), mcp, "the handler `m` may serve it"),
        (
            "Kubernetes, the runtime's own tool",
            Cluster,
            pack(json!({ "sys__a": {} }), "sys__a"),
            json!({}),
            "the runtime serves it",
        ),
    ];
    for (name, surface, pack, keys, expected) in cases {
        let found = make(surface, &pack, &json!({}), &keys).err().unwrap_or_default();
        match expected {
            "" => assert_eq!(found, Vec::<String>::new(), "{name}"),
            expected => {
                assert!(found.len() == 1 && found[0].contains(expected), "{name}: {found:?}");
                assert!(found[0].starts_with("pack: prompts.x.tool_policy.blocklist: `"), "{name}: {found:?}");
            }
        }
    }
}

#[test]
fn what_a_target_refuses_is_refused_before_it() {
    let tools = |tools: Value| json!({ "id": "p", "version": "1.0.0", "tools": tools });
    let secret = json!({ "tool_specs": { "a": { "http": { "headers_from_env": ["X=Y"] } } } });
    let auth = json!({ "externalAuth": { "allowManagementPlane": true } });
    use Surface::{Cluster, Versioned};
    let cases = [
        (
            "a name of a tool",
            Cluster,
            tools(json!({ "getWeather": {} })),
            json!({}),
            json!({}),
            "tools.getWeather: `getWeather` is not",
        ),
        (
            "handlers of one name",
            Cluster,
            tools(json!({ "a_b": {}, "a__b": { "name": "a-b" } })),
            json!({}),
            json!({}),
            "would share the handler `a-b`",
        ),
        (
            "a header from the environment",
            Cluster,
            tools(json!({ "a": {} })),
            secret,
            json!({}),
            "pack: tools.a: has a header from the environment",
        ),
        (
            "a version",
            Cluster,
            json!({ "id": "p", "version": "1" }),
            json!({}),
            json!({}),
            "pack: version: `1` is not a semantic version",
        ),
        (
            "a long id",
            Cluster,
            json!({ "id": "a".repeat(64), "version": "1.0.0" }),
            json!({}),
            json!({}),
            "would be no name of the runtime's Service",
        ),
        (
            "a digit first",
            Cluster,
            json!({ "id": "p", "version": "1.0.0", "agents": { "members": { "2a": {} } } }),
            json!({}),
            json!({}),
            "pack: agents.members.2a: `2a` would be no name of the runtime's Service",
        ),
        (
            "who may call",
            Cluster,
            tools(json!({})),
            json!({}),
            auth.clone(),
            "deploy config: externalAuth: Kubernetes itself cannot say",
        ),
        (
            "who may call",
            Versioned,
            tools(json!({})),
            json!({}),
            auth,
            "deploy config: externalAuth: the workspace API v1 cannot say",
        ),
        (
            "a large pack",
            Cluster,
            json!({ "id": "p", "version": "1.0.0", "x": "y".repeat(1 << 20) }),
            json!({}),
            json!({}),
            "and a ConfigMap keeps 1048576",
        ),
    ];
    for (name, surface, pack, arena, keys, expected) in cases {
        let found = make(surface, &pack, &arena, &keys).unwrap_err();
        assert!(found.iter().any(|line| line.contains(expected)), "{name}: {found:?}");
    }
}

#[test]
fn what_a_target_leaves_out_is_told() {
    let keys = json!({ "memory": { "enabled": true }, "rollout": { "channel": "stable", "steps": [{ "pause": {} }] } });
    for (surface, expected) in SURFACES.into_iter().zip([2, 1, 2]) {
        let made = make(surface, &json!({ "id": "p", "version": "1.0.0" }), &json!({}), &keys).unwrap();
        assert_eq!(made.warnings.count(Severity::Warning), expected, "{surface:?}");
    }
}

proptest! {
    #[test]
    fn names_and_labels_are_valid_on_every_surface(
        id in "[a-zA-Z][a-zA-Z0-9_. +-]{0,120}", version in "[0-9]\\.[0-9]\\.[0-9](\\+[a-z0-9.]{1,80}[a-z])?",
        members in prop::collection::btree_set("[a-zA-Z0-9_-]{0,80}", 0..4),
        blocked in prop::collection::vec("[a-c]", 0..3), tools in prop::collection::btree_set("[a-d]", 0..4),
    ) {
        let members: Map<_, _> = members.into_iter().map(|name| (name, json!({}))).collect();
        let tools: Map<_, _> = tools.into_iter().map(|name| (name, json!({}))).collect();
        let pack = json!({
            "id": id, "version": version, "agents": { "members": members }, "tools": tools,
            "prompts": { "x": { "tool_policy": { "blocklist": blocked } } }
        });
        for surface in SURFACES {
            let Ok(made) = make(surface, &pack, &json!({}), &json!({ "labels": { "a": "b c" } })) else { continue };
            prop_assert!(made.objects.iter().map(|object| object.kind).is_sorted());
            for object in &made.objects {
                prop_assert!(is_subdomain(&object.name), "{}", object.name);
                prop_assert_eq!(object.body["metadata"]["name"].as_str(), Some(object.name.as_str()));
                let labels = object.body["metadata"]["labels"].as_object().unwrap();
                prop_assert!(labels.values().all(|value| is_label_value(value.as_str().unwrap())), "{:?}", labels);
            }
            if surface == Surface::Cluster && let Some(registry) = body(&made, Kind::ToolRegistry) {
                for handler in registry["spec"]["handlers"].as_array().unwrap() {
                    let tool = handler["tool"]["name"].as_str().unwrap().to_owned();
                    prop_assert!(!blocked.contains(&tool), "a blocked tool is served: {}", tool);
                }
            }
            prop_assert_eq!(make(surface, &pack, &json!({}), &json!({ "labels": { "a": "b c" } })), Ok(made));
        }
    }
}
