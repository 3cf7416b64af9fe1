#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_config::diagnostics::Severity;
use serde_json::{Value, json};

use super::*;
use crate::pack;
use crate::reader::lines;

fn sample() -> Value {
    json!({
        "$schema": "https://promptpack.org/schema/v1.4/promptpack.schema.json",
        "id": "my-pack", "name": "My pack", "version": "v1.0.0-rc.1+build.5",
        "template_engine": { "version": "v1", "syntax": "{{variable}}" },
        "prompts": { "main": { "id": "main_2-a", "evals": [{ "id": "e", "type": "t" }] } },
        "tools": { "t": { "name": "get_weather" } },
        "agents": { "entry": "a", "members": { "a": {}, "b": {} } },
        "evals": [{ "id": "e", "type": "llm_as_judge", "metric": { "name": "m", "type": "boolean" } }]
    })
}

fn errors(value: &Value) -> Vec<String> {
    lines(&check(&value.to_string()).1, Severity::Error)
}

#[test]
fn pack_with_every_part_keeps_the_schema() {
    assert_eq!(errors(&sample()), Vec::<String>::new());
    for id in ["my-pack", "a", "my-pack-2-"] {
        for version in ["1.0.0", "v1.0.0", "1.0.0+b1", "v0.0.1-alpha-1+20.x"] {
            let mut value = sample();
            (value["id"], value["version"]) = (json!(id), json!(version));
            assert_eq!(errors(&value), Vec::<String>::new(), "{id} {version}");
        }
    }
}

#[test]
fn each_breach_names_path_and_cure() {
    let cases = [
        ("/id", json!("My Pack"), "id: `My Pack` is not ^[a-z][a-z0-9-]*$ of at most 100 characters; write a lower"),
        ("/id", json!(null), "id: is required; write a lower case letter"),
        ("/name", json!(""), "name: is required; write a name for people"),
        ("/version", json!("1.0"), "version: `1.0` is not a semantic version; write it as in `1.0.0`"),
        ("/template_engine", json!("go"), "template_engine: must be an object, but is text"),
        ("/template_engine", json!(null), "template_engine: is required"),
        ("/prompts", json!({}), "prompts: has no prompt; write one prompt at least"),
        ("/prompts/main/id", json!("Main"), "prompts.main.id: `Main` is not ^[a-z][a-z0-9_-]*$"),
        ("/prompts/main/evals/0/id", json!(null), "prompts.main.evals[0].id: is required"),
        ("/tools/t/name", json!("get-weather"), "tools.t.name: `get-weather` is not ^[a-zA-Z_][a-zA-Z0-9_]*$"),
        ("/agents/entry", json!("c"), "agents.entry: `c` is no member; write the name of a member, such as `a`"),
        ("/evals/0/type", json!(null), "evals[0].type: is required"),
        ("/evals/0/metric/name", json!(""), "evals[0].metric.name: is required"),
        (
            "/evals/0/metric/type",
            json!("gage"),
            "evals[0].metric.type: `gage` is none of `gauge`, `counter`, `histogram`, `boolean`; write `gauge`",
        ),
    ];
    for (pointer, value, expected) in cases {
        let mut broken = sample();
        *broken.pointer_mut(pointer).unwrap() = value;
        let found = errors(&broken);
        assert!(found.len() == 1 && found[0].starts_with(&format!("pack: {expected}")), "{pointer}: {found:?}");
    }
}

#[test]
fn all_breaches_are_reported_at_once() {
    assert_eq!(errors(&json!({})).len(), 5);
    assert!(pack::read("{}").is_ok(), "what adapters read is read leniently");
}

#[test]
fn schema_is_named_and_never_fetched() {
    let cases = [
        ("no schema", json!(null), Version::V1_4, 0),
        ("1.0", json!("https://promptpack.org/schema/v1.0/promptpack.schema.json"), Version::V1_0, 0),
        ("1.1", json!("https://promptpack.org/schema/1.1/promptpack.schema.json"), Version::V1_1, 0),
        ("a correction of 1.3", json!("https://promptpack.org/schema/v1.3.1/promptpack.schema.json"), Version::V1_3, 0),
        ("the latest", json!("https://promptpack.org/schema/latest/promptpack.schema.json"), Version::V1_4, 0),
        ("a later one", json!("https://promptpack.org/schema/v1.40/promptpack.schema.json"), Version::V1_4, 1),
        ("another server", json!("http://127.0.0.1:9/any.json"), Version::V1_4, 1),
    ];
    for (name, url, version, warnings) in cases {
        let mut value = sample();
        value["$schema"] = url;
        let (found, diagnostics) = check(&value.to_string());
        let counts = (diagnostics.count(Severity::Error), diagnostics.count(Severity::Warning));
        assert_eq!((found, counts), (version, (0, warnings)), "{name}");
    }
}
