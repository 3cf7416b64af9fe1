#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_config::diagnostics::Severity;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::reader::lines;

fn mistakes(value: &Value) -> Vec<String> {
    read(&value.to_string()).err().map(|found| lines(&found, Severity::Error)).unwrap_or_default()
}

#[test]
fn empty_object_is_a_pack() {
    let pack = read("{}").unwrap();
    assert_eq!(
        (pack.text.as_str(), pack.id.as_str(), pack.blocklist(), pack.is_multi_agent()),
        ("{}", "", vec![], false)
    );
    assert_eq!(
        mistakes(&json!({ "id": null, "prompts": null, "agents": null, "unknown": { "a": 1 } })),
        Vec::<String>::new()
    );
}

#[test]
fn every_part_is_read() {
    let text = json!({
        "id": "my-pack", "version": "v1.0.0+b1", "description": "d",
        "prompts": { "p": {
            "id": "q",
            "validators": [{ "type": "length", "enabled": false, "fail_on_violation": true, "params": { "max": 5 } }, { "type": "t" }],
            "evals": [{ "id": "e", "type": "t" }],
            "tool_policy": { "max_rounds": 3, "max_tool_calls_per_turn": 4, "blocklist": ["b", "a", "b"] }
        }, "r": {} },
        "tools": { "t": { "name": "u", "description": "d", "parameters": { "type": "object" } }, "sys__x": {} },
        "agents": { "entry": "m", "members": { "m": { "tags": ["x"], "input_modes": ["a/b"] } } },
        "evals": [{
            "id": "e", "type": "llm_as_judge", "trigger": "every_turn", "enabled": false, "sample_percentage": 0.5,
            "metric": { "name": "m", "type": "gauge", "range": { "min": 0, "max": 1.5 } }
        }]
    })
    .to_string();
    let pack = read(&text).unwrap();
    let prompt = &pack.prompts["p"];
    assert_eq!((prompt.id.as_str(), pack.prompts["r"].id.as_str()), ("q", "r"));
    assert_eq!((prompt.validators[0].enabled, prompt.validators[1].enabled), (false, true));
    assert_eq!(prompt.validators[0].params["max"], json!(5));
    assert_eq!(prompt.tool_policy.max_rounds, Some(3));
    assert_eq!(prompt.tool_policy.max_tool_calls_per_turn, Some(4));
    let tool = &pack.tools["t"];
    assert_eq!((tool.name.as_str(), tool.is_system(), pack.tools["sys__x"].is_system()), ("u", false, true));
    assert_eq!(tool.parameters, Some(json!({ "type": "object" })));
    let member = &pack.agents.members["m"];
    assert_eq!(
        (member.input_modes.as_slice(), member.output_modes.as_slice()),
        (&["a/b".to_owned()][..], &["text/plain".to_owned()][..])
    );
    assert!(pack.is_multi_agent());
    let (eval, of_prompt) = (&pack.evals[0], &prompt.evals[0]);
    assert_eq!((eval.enabled, eval.sample_percentage), (false, 0.5));
    assert_eq!((of_prompt.enabled, of_prompt.sample_percentage, &of_prompt.metric), (true, 5.0, &None));
    let metric = eval.metric.clone().unwrap();
    assert_eq!(
        (metric.name.as_str(), metric.kind.as_str(), metric.min, metric.max),
        ("m", "gauge", Some(0.0), Some(1.5))
    );
}

#[test]
fn wrong_types_are_reported_at_once_with_their_paths() {
    let found = mistakes(&json!({
        "id": 5,
        "prompts": { "p.q": { "tool_policy": { "blocklist": "all" } }, "r": [] },
        "tools": { "t": { "parameters": "object" } },
        "evals": [{ "metric": { "range": { "min": "0" } } }]
    }));
    assert_eq!(
        found,
        [
            "pack: id: must be text, but is a number; put the value in quotes",
            "pack: prompts[\"p.q\"].tool_policy.blocklist: must be a list, but is text; put the value in brackets, as in `[…]`",
            "pack: prompts.r: must be an object, but is a list; write `{…}`",
            "pack: tools.t.parameters: must be an object, but is text; write `{…}`",
            "pack: evals[0].metric.range.min: must be a number, but is text; write a number, without quotes",
        ]
    );
}

#[test]
fn blocklist_of_wrong_type_is_never_read_as_empty() {
    for blocklist in [json!("a"), json!({ "a": true }), json!([1]), json!([null]), json!(true)] {
        let pack = json!({ "prompts": { "p": { "tool_policy": { "blocklist": blocklist } } } });
        assert_eq!(mistakes(&pack).len(), 1, "{pack}");
    }
}

/// Any JSON, with the keys of packs among others.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z_]{0,4}".prop_map(Value::from)
    ];
    let key = prop_oneof!["prompts|tools|agents|members|evals|tool_policy|blocklist|metric|range|id", "[a-z.]{0,3}"];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused_with_a_cure(value in any_json()) {
        match read(&value.to_string()) {
            Ok(pack) => prop_assert_eq!(pack.text, value.to_string()),
            Err(found) => prop_assert!(!found.is_empty() && found.all().iter().all(|found| found.help.is_some())),
        }
    }

    #[test]
    fn blocklist_is_the_sorted_union(lists in prop::collection::vec(prop::collection::vec("[a-c]{1,2}", 0..6), 0..4)) {
        let prompt = |list: &Vec<String>| json!({ "tool_policy": { "blocklist": list } });
        let prompts: serde_json::Map<_, _> = lists.iter().enumerate().map(|(at, list)| (format!("p{at}"), prompt(list))).collect();
        let found = read(&json!({ "prompts": prompts }).to_string()).unwrap().blocklist();
        prop_assert!(found.is_sorted_by(|a, b| a < b));
        let blocked: BTreeSet<_> = lists.into_iter().flatten().collect();
        prop_assert_eq!(found, blocked.into_iter().collect::<Vec<_>>());
    }
}
