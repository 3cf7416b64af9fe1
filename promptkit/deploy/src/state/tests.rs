//! Tables of states that are read, ignored and refused.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn owner() -> Owner {
    Owner::new("omnia", "", "ws-a")
}

#[test]
fn only_the_owners_own_state_is_used() {
    let one = r#""resources":[{"type":"agent","name":"a","status":"created"}]"#;
    let cases = [
        ("no text", String::new(), 0, None),
        ("an empty object", "{}".to_owned(), 0, None),
        ("a state of the Go adapters, without an owner", format!("{{{one}}}"), 1, None),
        ("our own", format!(r#"{{{one},"provider":"omnia","environment":"default","scope":"ws-a"}}"#), 1, None),
        ("another workspace", format!(r#"{{{one},"scope":"ws-b"}}"#), 0, Some(r#"scope "ws-b""#)),
        ("another environment", format!(r#"{{{one},"environment":"prod"}}"#), 0, Some(r#"environment "prod""#)),
        ("another provider", format!(r#"{{{one},"provider":"agentcore"}}"#), 0, Some(r#"provider "agentcore""#)),
        ("a dry run's", r#"{"resources":[{"type":"agent","name":"a","status":"planned"}]}"#.to_owned(), 0, None),
        ("Go's empty list", r#"{"resources":null}"#.to_owned(), 0, None),
        ("unknown members", format!(r#"{{{one},"later":[1]}}"#), 1, None),
    ];
    for (name, text, entries, foreign) in cases {
        let prior = Prior::read(&text, &owner()).unwrap();
        assert_eq!(prior.state.resources.len(), entries, "{name}");
        assert_eq!(prior.state.scope, "ws-a", "{name}");
        let warning = prior.foreign.unwrap_or_default();
        assert!(warning.contains(foreign.unwrap_or_default()), "{name}: {warning}");
        assert_eq!(warning.is_empty(), foreign.is_none(), "{name}: {warning}");
    }
}

#[test]
fn what_is_no_state_is_refused() {
    for text in ["{", "[]", "5", "null", r#"{"resources":5}"#, r#"{"resources":[{"type":"a"}]}"#] {
        assert!(Prior::read(text, &owner()).is_err(), "{text}");
    }
}

#[test]
fn states_of_the_go_adapters_keep_their_identifiers() {
    let omnia = r#"{"resources":[{"type":"agent_runtime","name":"a","uid":"u-1","resource_version":"7","status":"updated"}],"pack_id":"p","version":"v1.0.0"}"#;
    let agentcore = r#"{"resources":[{"type":"memory","name":"p_memory","arn":"arn:aws:x","status":"failed","metadata":{"id":"m-1"}}],"pack_id":"p","version":"1.0.0"}"#;
    for text in [omnia, agentcore] {
        let mut expected: Value = serde_json::from_str(text).unwrap();
        for (member, value) in [("provider", "omnia"), ("environment", "default"), ("scope", "ws-a")] {
            expected[member] = value.into();
        }
        assert_eq!(serde_json::to_value(Prior::read(text, &owner()).unwrap().state).unwrap(), expected);
    }
}

#[test]
fn record_keeps_the_order() {
    let mut state = State::default();
    for name in ["a", "b", "a"] {
        state.record(Entry::new("agent", name, ResourceStatus::Created));
    }
    assert_eq!(state.resources.iter().map(|entry| &*entry.name).collect::<Vec<_>>(), ["a", "b"]);
    state.forget("tool", "a");
    assert!(state.find("agent", "a").is_some());
    state.forget("agent", "a");
    assert!(state.find("agent", "a").is_none());
}
