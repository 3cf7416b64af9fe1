#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_config::diagnostics::Severity;
use serde_json::json;

use super::*;
use crate::reader::lines;

fn mistakes(value: &Value) -> Vec<String> {
    read(&value.to_string()).err().map(|found| lines(&found, Severity::Error)).unwrap_or_default()
}

fn loaded(file: &str, yaml: &str) -> Value {
    use base64::Engine as _;
    json!({ "file_path": file, "data": base64::engine::general_purpose::STANDARD.encode(yaml) })
}

#[test]
fn absent_configuration_is_an_empty_one() {
    for text in ["", " \n", "{}", "null"] {
        assert_eq!(read(text).unwrap(), Arena::default(), "{text:?}");
    }
}

#[test]
fn every_part_is_read() {
    let arena = read(
        &json!({
            "tool_specs": { "t": {
                "name": "u", "description": "d", "mode": "live", "input_schema": { "type": "object" },
                "http": {
                    "url": "https://a.example", "method": "GET", "timeout_ms": 500, "headers": { "A": "b" },
                    "headers_from_env": ["Authorization=TOKEN", "X = Y"], "redact": ["r"],
                    "request": {
                        "query_params": ["q"], "body_mapping": "b", "header_params": { "p": "h" },
                        "static_query": { "s": "1" }, "static_headers": { "H": "2" }
                    },
                    "response": { "body_mapping": "m" }
                },
                "lambda_arn": "arn", "openapi": { "x": 1 }
            } },
            "loaded_providers": { "p": { "id": "q", "type": "claude", "model": "m" }, "r": { "type": "mock" } },
            "provider_specs": { "p": { "any": 1 } },
            "mcp_servers": [{ "name": "s" }],
            "loaded_scenarios": { "s": { "tool_policy": { "blocklist": ["b", "a"] } }, "t": {} }
        })
        .to_string(),
    )
    .unwrap();
    let tool = &arena.tools["t"];
    assert_eq!((tool.name.as_str(), tool.mode, tool.lambda_arn.as_deref()), ("u", Mode::Live, Some("arn")));
    let http = tool.http.clone().unwrap();
    assert_eq!(
        (http.url.as_str(), http.method.as_deref(), http.timeout_ms),
        ("https://a.example", Some("GET"), Some(500))
    );
    let from_env: Vec<_> = http.headers_from_env.iter().map(|it| (it.header.as_str(), it.variable.as_str())).collect();
    assert_eq!(from_env, [("Authorization", "TOKEN"), ("X", "Y")]);
    assert_eq!((http.request.query_params, http.request.body_mapping), (vec!["q".to_owned()], Some("b".to_owned())));
    assert_eq!((http.request.header_params["p"].as_str(), http.response_body_mapping.as_deref()), ("h", Some("m")));
    assert_eq!((arena.providers["p"].id.as_str(), arena.providers["r"].id.as_str()), ("q", "r"));
    assert_eq!(
        (arena.provider_specs["p"].clone(), arena.mcp_servers.clone()),
        (json!({ "any": 1 }), vec![json!({ "name": "s" })])
    );
    assert_eq!(arena.blocklist(), ["a", "b"]);
}

#[test]
fn inline_spec_wins_over_a_manifest() {
    let manifest = |name: &str| {
        loaded(
            &format!("tools/{name}.yaml"),
            &format!(
                "kind: Tool\nmetadata:\n  name: {name}\nspec:\n  description: loaded\n  mode: live\n  http: {{url: 'https://{name}'}}\n"
            ),
        )
    };
    let arena = read(
        &json!({
            "tool_specs": { "a": { "description": "inline" } },
            "loaded_tools": [manifest("a"), manifest("b")]
        })
        .to_string(),
    )
    .unwrap();
    let found: Vec<_> =
        arena.tools.iter().map(|(name, tool)| (name.as_str(), tool.description.as_deref(), tool.mode)).collect();
    assert_eq!(found, [("a", Some("inline"), Mode::Mock), ("b", Some("loaded"), Mode::Live)]);
    assert_eq!(arena.tools["b"].http.clone().unwrap().url, "https://b");
}

#[test]
fn mistakes_of_all_files_are_reported_at_once() {
    let found = mistakes(&json!({
        "tool_specs": {
            "a": { "mode": "lives" },
            "b": { "http": { "url": 5, "headers_from_env": ["Authorization: Bearer secret"] } }
        },
        "loaded_tools": [
            { "file_path": "x.yaml", "data": "%%%" },
            loaded("y.yaml", "metadata: {name: y}\nspec: {http: {url: [1]}}\n"),
            loaded("z.yaml", "metadata: {}\nspec: {}\n"),
            loaded("w.yaml", "a: [\n"),
            { "file_path": "v.yaml", "data": "/w==" },
            {}
        ]
    }));
    let expected = [
        "arena config: loaded_tools[0].data: is no base64; ",
        "y.yaml: spec.http.url: must be text, but is a list; ",
        "z.yaml: metadata.name: is required; ",
        "w.yaml:",
        "arena config: loaded_tools[4].data: is no UTF-8 text; save v.yaml as UTF-8",
        "arena config: loaded_tools[5].data: is required; ",
        "arena config: tool_specs.a.mode: `lives` is none of `mock`, `live`, `mcp`, `a2a`; write `live`",
        "arena config: tool_specs.b.http.url: must be text, but is a number; ",
        "arena config: tool_specs.b.http.headers_from_env[0]: is not `HEADER=VARIABLE`; ",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
        assert!(!found.contains("secret"), "a value may be a token: {found}");
    }
}
