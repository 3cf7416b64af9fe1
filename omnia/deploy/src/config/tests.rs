#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_config::diagnostics::Severity;
use promptkit_pack::reader::lines;
use serde_json::{Map, json};

use super::*;

fn minimal() -> Value {
    json!({ "api_endpoint": "https://omnia.example/", "workspace": "team", "api_token": "t", "providers": { "default": "p" } })
}

/// A configuration with every key.
fn full() -> Value {
    json!({
        "api_endpoint": "https://omnia.example", "workspace": "team", "api_token": "t",
        "providers": [{ "name": "default", "ref": "p", "role": "llm" }, { "name": "voice", "ref": "q", "role": "tts" }],
        "tools": [{
            "name": "a", "type": "http", "timeout": "5s", "selector": {},
            "tool": { "name": "a", "description": "d", "inputSchema": {}, "outputSchema": {} }, "httpConfig": { "endpoint": "e" }
        }],
        "skills": ["s", { "source": "t", "include": ["x"], "mountAs": "m" }],
        "skillsConfig": { "maxActive": 1, "selector": "tag" },
        "runtime": { "replicas": 2, "cpu": "500m", "memory": "1Gi", "autoscaling": {
            "enabled": true, "type": "hpa", "min_replicas": 1, "max_replicas": 3, "target_cpu_utilization": 80,
            "target_memory_utilization": 70, "scale_down_stabilization_seconds": 300
        } },
        "externalAuth": {
            "allowManagementPlane": true,
            "sharedToken": { "secretRef": { "name": "s" }, "trustEndUserHeader": true },
            "apiKeys": { "defaultRole": "viewer", "trustEndUserHeader": false },
            "oidc": { "issuer": "i", "audience": "a", "claimMapping": { "subject": "s", "role": "r", "endUser": "e" } },
            "edgeTrust": { "headerMapping": { "subject": "s", "role": "r", "endUser": "e", "email": "m" }, "claimsFromHeaders": {} }
        },
        "memory": { "enabled": true, "retrieval": { "strategy": "graph", "limit": 5, "accessFilter": { "denyCEL": "false" } } },
        "evals": { "enabled": true, "inline": { "groups": ["g"] }, "worker": { "groups": ["h"] } },
        "rollout": { "channel": "stable", "steps": [{ "setWeight": 50 }, { "pause": {} }] },
        "console_endpoint": "https://console.example", "labels": { "team": "a" }, "dry_run": true
    })
}

fn read_value(value: &Value) -> Result<(Config, Diagnostics), Diagnostics> {
    read_with(value, &BTreeMap::new())
}

fn read_with(value: &Value, environment: &BTreeMap<String, String>) -> Result<(Config, Diagnostics), Diagnostics> {
    match check(value, environment) {
        (Some(config), found) if !found.has_errors() => Ok((config, found)),
        (_, found) => Err(found),
    }
}

fn mistakes(value: &Value) -> Vec<String> {
    read_value(value).err().map(|found| lines(&found, Severity::Error)).unwrap_or_default()
}

fn warnings(value: &Value) -> Vec<String> {
    lines(&read_value(value).unwrap().1, Severity::Warning)
}

/// Sets the value at a pointer, in objects that may not be there yet.
fn with(mut value: Value, pointer: &str, new: Value) -> Value {
    let mut at = &mut value;
    for key in pointer.split('/').skip(1) {
        at = if at.is_array() { &mut at[key.parse::<usize>().unwrap()] } else { &mut at[key] };
    }
    *at = new;
    value
}

#[test]
fn minimal_configuration_is_read() {
    let (config, found) = read_value(&minimal()).unwrap();
    assert!(found.is_empty());
    assert_eq!(
        config.target,
        Target::Workspace { endpoint: "https://omnia.example".to_owned(), token: Token::from("t") }
    );
    assert_eq!(config.console_endpoint.as_deref(), Some("https://omnia.example"));
    assert_eq!(config.provider_of(Some("x")).unwrap().reference, "p");
    assert!(!format!("{config:?}").contains("\"t\""), "the token is not shown");
}

#[test]
fn configuration_that_says_where_is_enough_to_destroy() {
    let cases = [
        ("an unknown key", "/zzz", json!(1), true),
        ("no provider", "/providers", json!({}), true),
        ("no URL", "/api_endpoint", json!("omnia"), false),
        ("no token", "/api_token", json!(null), false),
        ("no workspace", "/workspace", json!("a b"), false),
    ];
    for (name, pointer, value, expected) in cases {
        let (config, found) = check(&with(minimal(), pointer, value), &BTreeMap::new());
        assert_eq!((config.is_some(), found.has_errors()), (expected, true), "{name}");
    }
}

#[test]
fn token_may_be_in_the_environment() {
    let config = with(minimal(), "/api_token", Value::Null);
    let of_environment = BTreeMap::from([(TOKEN.to_owned(), "e".to_owned())]);
    let (read_config, _) = read_with(&config, &of_environment).unwrap();
    assert!(matches!(read_config.target, Target::Workspace { token, .. } if token.reveal() == "e"));
    let found = lines(&read_with(&config, &BTreeMap::new()).unwrap_err(), Severity::Error);
    assert_eq!(
        found,
        ["deploy config: api_token: is required; set the environment variable OMNIA_API_TOKEN, or log in"]
    );
}

#[test]
fn cluster_needs_neither_endpoint_nor_token() {
    let direct =
        |kubeconfig: &str| json!({ "kubeconfig": kubeconfig, "workspace": "w", "providers": { "default": "p" } });
    for (written, expected) in [("in-cluster", None), ("~/.kube/config", Some("~/.kube/config".to_owned()))] {
        let (config, _) = read_value(&direct(written)).unwrap();
        assert_eq!(config.target, Target::Cluster { kubeconfig: expected });
    }
    let both = with(direct("in-cluster"), "/api_endpoint", json!("https://a"));
    assert_eq!(mistakes(&both), ["deploy config: api_endpoint: excludes `kubeconfig`; remove one of them"]);
}

#[test]
fn providers_are_a_list_or_a_map() {
    let of = |providers: Value| {
        let (config, found) = read_value(&with(minimal(), "/providers", providers)).unwrap();
        let names: Vec<_> = config.providers.into_iter().map(|it| (it.name, it.reference, it.role)).collect();
        (names, lines(&found, Severity::Warning).len())
    };
    let one = |name: &str, role| (name.to_owned(), format!("ref-{name}"), role);
    assert_eq!(of(json!({ "b": "ref-b", "a": "ref-a" })), (vec![one("a", "llm"), one("b", "llm")], 1));
    let list =
        json!([{ "name": "voice", "ref": "ref-voice", "role": "tts" }, { "name": "default", "ref": "ref-default" }]);
    assert_eq!(of(list), (vec![one("default", "llm"), one("voice", "tts")], 0));
}

#[test]
fn each_rule_names_key_and_cure() {
    let long_workspace = json!("a-");
    let cases = [
        ("/api_endpoint", json!("omnia"), "api_endpoint: is no URL of a server; write it as in"),
        ("/api_endpoint", json!(""), "api_endpoint: is required; write the URL"),
        ("/workspace", long_workspace, "workspace: `a-` is not ^[a-z0-9]"),
        ("/workspace", json!(null), "workspace: is required; write the name"),
        ("/providers", json!({}), "providers: names no provider; write one"),
        (
            "/providers",
            json!([{ "name": "a", "ref": "b" }, { "name": "a", "ref": "c" }]),
            "providers: `a` is there twice",
        ),
        (
            "/providers",
            json!([{ "name": "default", "ref": "b", "role": "lm" }, { "name": "a", "ref": "c" }]),
            "providers[0].role: `lm` is none of",
        ),
        ("/apiEndpoint", json!(1), "apiEndpoint: unknown key; write `api_endpoint`"),
        ("/tool_registry_ref", json!(5), "tool_registry_ref: must be text"),
        ("/skills", json!([{ "mountAs": "x" }]), "skills[0].source: is required"),
        ("/skillsConfig", json!({ "maxActive": 0 }), "skillsConfig.maxActive: must be 1 or more, but is 0"),
        ("/runtime", json!({ "replicas": 0 }), "runtime.replicas: must be 1 or more, but is 0"),
        (
            "/runtime",
            json!({ "autoscaling": { "min_replicas": 4, "max_replicas": 3 } }),
            "runtime.autoscaling.min_replicas: 4 is more than max_replicas, 3",
        ),
        (
            "/runtime",
            json!({ "autoscaling": { "target_cpu_utilization": 101 } }),
            "runtime.autoscaling.target_cpu_utilization: must be 1 to 100",
        ),
        (
            "/externalAuth",
            json!({ "oidc": { "claimMapping": { "user": "x" } } }),
            "externalAuth.oidc.claimMapping.user: unknown key",
        ),
        ("/externalAuth", json!({ "sharedToken": {} }), "externalAuth.sharedToken.secretRef: is required"),
        ("/memory", json!({ "retrieval": { "limit": 51 } }), "memory.retrieval.limit: must be 1 to 50, but is 51"),
        ("/evals", json!({ "inline": { "groups": "all" } }), "evals.inline.groups: must be a list"),
        ("/rollout", json!({ "channel": "stable", "steps": [] }), "rollout.steps: has no step"),
        ("/rollout", json!({ "steps": [{ "setWeight": 5 }] }), "rollout.channel: is required"),
        (
            "/rollout",
            json!({ "channel": "stable", "steps": [{ "setWeight": 5, "pause": {} }] }),
            "rollout.steps[0]: must be either",
        ),
        ("/rollout", json!({ "channel": "stable", "steps": [{}] }), "rollout.steps[0]: must be either"),
        ("/labels", json!({ "a b": "c" }), "labels[\"a b\"]: Kubernetes refuses this key"),
        ("/dry_run", json!("yes"), "dry_run: must be a boolean, but is text"),
    ];
    for (pointer, value, expected) in cases {
        let found = mistakes(&with(minimal(), pointer, value));
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("deploy config: {expected}")),
            "{pointer}: {found:?}"
        );
    }
}

#[test]
fn handlers_keep_the_rules_of_their_types() {
    let whole = json!({ "name": "a", "description": "d", "inputSchema": {} });
    let cases = [
        ("http", json!({ "name": "a", "type": "http", "tool": whole, "httpConfig": {} }), ""),
        ("grpc by a selector", json!({ "name": "a", "type": "grpc", "tool": whole, "selector": {} }), ""),
        ("mcp", json!({ "name": "a", "type": "mcp", "mcpConfig": {} }), ""),
        ("client", json!({ "name": "a", "type": "client" }), ""),
        (
            "http without address",
            json!({ "name": "a", "type": "http", "tool": whole }),
            "tools[0].httpConfig: is required; write `httpConfig` or `selector`",
        ),
        (
            "http without schema",
            json!({ "name": "a", "type": "http", "tool": { "name": "a", "description": "d" }, "httpConfig": {} }),
            "tools[0].tool: is not whole",
        ),
        ("openapi without address", json!({ "name": "a", "type": "openapi" }), "tools[0].openAPIConfig: is required"),
        (
            "another type's block",
            json!({ "name": "a", "type": "mcp", "mcpConfig": {}, "httpConfig": {} }),
            "tools[0].httpConfig: does not belong to the type `mcp`",
        ),
        ("an unknown type", json!({ "name": "a", "type": "htp" }), "tools[0].type: `htp` is none of"),
        ("no type", json!({ "name": "a" }), "tools[0].type: is required"),
        ("a name that is none", json!({ "name": "a_b", "type": "client" }), "tools[0].name: `a_b` is not"),
        (
            "an unknown key",
            json!({ "name": "a", "type": "client", "tol": {} }),
            "tools[0].tol: unknown key; write `tool`",
        ),
    ];
    for (name, handler, expected) in cases {
        let found = mistakes(&with(minimal(), "/tools", json!([handler])));
        match expected {
            "" => assert_eq!(found, Vec::<String>::new(), "{name}"),
            expected => assert!(
                found[0].starts_with(&format!("deploy config: {expected}")) && found.len() == 1,
                "{name}: {found:?}"
            ),
        }
    }
    let twice = json!([{ "name": "a", "type": "client" }, { "name": "a", "type": "client" }]);
    assert_eq!(
        mistakes(&with(minimal(), "/tools", twice)),
        ["deploy config: tools: `a` is there twice; give each handler a name of its own"]
    );
    let both = with(full(), "/tool_registry_ref", json!("r"));
    assert_eq!(mistakes(&both), ["deploy config: tool_registry_ref: excludes `tools`; remove one of them"]);
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let found = mistakes(&json!({ "workspce": "a", "runtime": { "replicas": "two" }, "dry_run": 1 }));
    assert_eq!(found.len(), 7, "{found:#?}");
}

#[test]
fn upper_case_workspace_is_lowered_with_a_warning() {
    let value = with(minimal(), "/workspace", json!("Team-A"));
    assert_eq!(read_value(&value).unwrap().0.workspace, "team-a");
    assert_eq!(warnings(&value), ["deploy config: workspace: `Team-A` is read as `team-a`; write `team-a`"]);
    assert_eq!(mistakes(&with(minimal(), "/workspace", json!("a"))), Vec::<String>::new(), "one character is a name");
}

#[test]
fn blocks_are_kept_as_targets_want_them() {
    let (config, found) = read_value(&with(full(), "/externalAuth/sharedToken/secretRef", json!("s"))).unwrap();
    assert!(found.is_empty());
    assert_eq!(config.external_auth.unwrap()["sharedToken"]["secretRef"], json!({ "name": "s" }));
    assert_eq!(config.skills, [json!({ "source": "s" }), json!({ "source": "t", "include": ["x"], "mountAs": "m" })]);
    assert_eq!(
        config.runtime.autoscaling.unwrap(),
        json!({
            "enabled": true, "type": "hpa", "minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 80,
            "targetMemoryUtilizationPercentage": 70, "scaleDownStabilizationSeconds": 300
        })
    );
    assert_eq!(config.rollout.unwrap().steps.len(), 2);
}

/// The schema of the objects in a value, and the objects: those with fixed keys alone.
fn objects<'s>(schema: &'s Value, value: &Value, pointer: String, found: &mut Vec<(String, &'s Map<String, Value>)>) {
    let alternatives = schema["oneOf"].as_array().filter(|_| schema["type"].is_null());
    let kind = if value.is_object() {
        "object"
    } else if value.is_array() {
        "array"
    } else {
        return;
    };
    let schema = alternatives.map_or(schema, |all| all.iter().find(|one| one["type"] == kind).unwrap());
    if let Some(properties) = schema["properties"].as_object() {
        assert_eq!(schema["additionalProperties"], json!(false), "{pointer}");
        found.push((pointer.clone(), properties));
        for (key, below) in value.as_object().unwrap() {
            objects(&properties[key], below, format!("{pointer}/{key}"), found);
        }
    } else if let Some(items) = value.as_array() {
        for (index, item) in items.iter().enumerate() {
            objects(&schema["items"], item, format!("{pointer}/{index}"), found);
        }
    }
}

#[test]
fn schema_and_reader_know_the_same_keys() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert!(read_value(&full()).unwrap().1.is_empty());
    let mut found = Vec::new();
    objects(&schema, &full(), String::new(), &mut found);
    assert_eq!(found.len(), 26, "objects with fixed keys");
    for (pointer, properties) in found {
        let unknown = mistakes(&with(full(), &format!("{pointer}/zzzzzzzz"), json!(1)));
        assert!(unknown.iter().any(|line| line.contains("zzzzzzzz: unknown key")), "{pointer}: {unknown:?}");
        for key in properties.keys() {
            let line = format!("{key}: unknown key");
            let known = mistakes(&with(full(), &format!("{pointer}/{key}"), json!("x")));
            assert!(!known.iter().any(|found| found.contains(&line)), "{pointer}/{key}: {known:?}");
        }
    }
    let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys.into_iter().collect::<std::collections::BTreeSet<_>>(), KEYS.into(), "top level");
}
