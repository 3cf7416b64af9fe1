#![expect(clippy::unwrap_used, reason = "tests")]

use base64::Engine as _;
use lifecycle_errors::Chain;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::event::MAX_EVENT_BYTES;

fn envelope(data: &Value) -> Value {
    json!({
        "specversion": "1.0",
        "id": "0199",
        "source": "hyperfleet-sentinel",
        "type": "com.redhat.hyperfleet.cluster.reconcile",
        "datacontenttype": "application/json",
        "data": data,
    })
}

fn parse(event: &Value) -> Result<LifecycleEvent, EventError> {
    LifecycleEvent::from_structured(event.to_string().as_bytes(), MAX_EVENT_BYTES)
}

#[test]
fn sentinel_event_is_parsed_with_numbers_as_doubles() {
    let event = parse(&json!({
        "specversion": "1.0",
        "id": "0199",
        "source": "hyperfleet-sentinel",
        "type": "com.redhat.hyperfleet.nodepool.reconcile",
        "datacontenttype": "application/json",
        "data": {
            "id": "np-1", "kind": "NodePool", "href": "/np-1", "generation": 7,
            "owner_references": {"id": "c-1", "kind": "Cluster", "href": "/c-1"},
            "spec": {"replicas": 3, "zones": [1, 2.5]},
        },
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    }))
    .unwrap();
    let expected = LifecycleEvent {
        event_id: "0199".into(),
        source: "hyperfleet-sentinel".into(),
        event_type: "com.redhat.hyperfleet.nodepool.reconcile".into(),
        time: None,
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        tracestate: None,
        resource_id: "np-1".into(),
        kind: "NodePool".into(),
        href: "/np-1".into(),
        generation: Generation(7),
        owner: Some(OwnerReference { id: "c-1".into(), kind: "Cluster".into(), href: "/c-1".into() }),
        data: json!({
            "id": "np-1", "kind": "NodePool", "href": "/np-1", "generation": 7.0,
            "owner_references": {"id": "c-1", "kind": "Cluster", "href": "/c-1"},
            "spec": {"replicas": 3.0, "zones": [1.0, 2.5]},
        }),
    };
    assert_eq!(event, expected);
}

#[test]
fn unusual_but_valid_events_parse_like_a_plain_one() {
    let plain = parse(&envelope(&json!({"id": "c-1", "generation": 2}))).unwrap();
    let base64 = STANDARD.encode(r#"{"id":"c-1","generation":2}"#);
    let cases = [
        ("an unknown attribute", json!({"partitionkey": "x", "sequence": 5})),
        ("an attribute that is null", json!({"subject": null, "time": null})),
        ("a trace context of a wrong type", json!({"traceparent": 1, "tracestate": {}})),
        ("an empty trace context", json!({"traceparent": ""})),
        ("version 0.3", json!({"specversion": "0.3"})),
        ("data as base64", json!({"data": "<absent>", "data_base64": base64})),
        ("data as base64 in version 0.3", json!({"data": base64, "datacontentencoding": "base64"})),
    ];
    for (name, changes) in cases {
        assert_eq!(parse(&changed(&envelope(&plain_data()), &changes)).unwrap(), plain, "{name}");
    }
}

fn plain_data() -> Value {
    json!({"id": "c-1", "generation": 2})
}

/// Sets members of the event; the text `<absent>` removes a member.
fn changed(event: &Value, changes: &Value) -> Value {
    let mut event = event.as_object().unwrap().clone();
    for (name, value) in changes.as_object().unwrap() {
        if value == "<absent>" {
            event.remove(name);
        } else {
            event.insert(name.clone(), value.clone());
        }
    }
    Value::Object(event)
}

#[test]
fn absent_data_is_an_empty_object() {
    for (name, changes) in [
        ("absent", json!({"data": "<absent>"})),
        ("null", json!({"data": null})),
        ("null as base64", json!({"data": "<absent>", "data_base64": null})),
        ("an empty base64 text", json!({"data": "<absent>", "data_base64": ""})),
        ("an empty object", json!({"data": {}})),
    ] {
        let event = parse(&changed(&envelope(&json!({})), &changes)).unwrap();
        assert_eq!(event.data, json!({}), "{name}");
        assert_eq!((event.resource_id.as_str(), event.generation), ("", Generation(0)), "{name}");
    }
}

#[test]
fn error_names_the_faulty_member_and_the_cure() {
    let integer = "it must be an integer of 64 bits, written without fraction, exponent and quotes";
    let cases = [
        (json!({"id": "<absent>"}), "CloudEvent attribute `id` is missing or empty; it must be a non-empty string".into()),
        (json!({"source": ""}), "CloudEvent attribute `source` is missing or empty; it must be a non-empty string".into()),
        (json!({"type": null}), "CloudEvent attribute `type` is missing or empty; it must be a non-empty string".into()),
        (json!({"id": 5}), "CloudEvent attribute `id` is a number; it must be a string".into()),
        (json!({"time": 5}), "CloudEvent attribute `time` is a number; it must be a string".into()),
        (json!({"specversion": "<absent>"}), "CloudEvent attribute `specversion` is missing or empty; it must be a non-empty string".into()),
        (json!({"specversion": "2.0"}), "CloudEvents version \"2.0\" is not supported; send `specversion` \"1.0\" (or \"0.3\")".into()),
        (json!({"data_base64": "e30="}), "event has both `data` and `data_base64`; send one of them".into()),
        (json!({"data": "<absent>", "data_base64": {}}), "CloudEvent attribute `data_base64` is an object; it must be a string".into()),
        (json!({"data": "<absent>", "data_base64": "e30"}), "event data is not valid base64; use the standard alphabet with padding: Invalid padding".into()),
        (json!({"data": []}), "failed to parse event data: data is a list; it must be an object, or absent".into()),
        (json!({"data": "{}"}), "failed to parse event data: data is a string; it must be an object, or absent".into()),
        (json!({"data": {"generation": "1"}}), format!("failed to parse event data: `data.generation` is a string; {integer}")),
        (json!({"data": {"generation": 1.5}}), format!("failed to parse event data: `data.generation` is a number with a fraction or beyond 64 bits; {integer}")),
        (json!({"data": {"generation": u64::MAX}}), format!("failed to parse event data: `data.generation` is a number; {integer}")),
        (json!({"data": {"id": 1}}), "failed to parse event data: `data.id` is a number; it must be a string".into()),
        (json!({"data": {"kind": true}}), "failed to parse event data: `data.kind` is a boolean; it must be a string".into()),
        (json!({"data": {"owner_references": [{"id": "c"}]}}), "failed to parse event data: `data.owner_references` is a list; it must be one object with `id`, `kind` and `href`".into()),
        (json!({"data": {"owner_references": {"href": 1}}}), "failed to parse event data: `data.owner_references.href` is a number; it must be a string".into()),
    ];
    for (changes, expected) in cases {
        let error = parse(&changed(&envelope(&json!({})), &changes)).unwrap_err();
        let expected: String = expected;
        assert_eq!(Chain(&error).to_string(), expected);
    }
}

#[test]
fn hostile_bodies_are_refused() {
    let deep = format!(r#"{{"data":{}1{}}}"#, "[".repeat(1_000), "]".repeat(1_000));
    let cases: [(&str, &[u8], &str); 5] = [
        ("not JSON", b"\xff\xfe", "event is not valid JSON"),
        ("nothing", b"", "event is not valid JSON"),
        ("a batch", b"[]", "event is a list"),
        ("more than one event", b"{} {}", "event is not valid JSON"),
        ("nesting that would exhaust the stack", deep.as_bytes(), "event is not valid JSON"),
    ];
    for (name, body, expected) in cases {
        let error = LifecycleEvent::from_structured(body, MAX_EVENT_BYTES).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{name}: {error}");
    }
}

#[test]
fn event_of_too_many_values_is_refused_by_its_id() {
    let event = |items: usize| json!({"specversion": "1.0", "id": "e-9", "source": "s", "type": "t", "data": {"id": "c", "list": vec![1; items]}});
    // The envelope, its five members, the two members of `data`, and the items.
    assert!(parse(&event(MAX_EVENT_VALUES - 8)).is_ok());
    let too_many = format!(
        "event `e-9` of {} JSON values exceeds the limit of 2000; send what is large by reference",
        MAX_EVENT_VALUES + 1
    );
    assert_eq!(parse(&event(MAX_EVENT_VALUES - 7)).unwrap_err().to_string(), too_many);

    let data = json!(vec![1; MAX_EVENT_VALUES]).to_string();
    let mut encoded = event(0);
    encoded["data"].take();
    encoded["data_base64"] = base64::engine::general_purpose::STANDARD.encode(&data).into();
    encoded.as_object_mut().unwrap().remove("data");
    assert_eq!(parse(&encoded).unwrap_err().to_string(), too_many);
    let attributes = [("specversion", "1.0"), ("id", "e-9"), ("source", "s"), ("type", "t")];
    let error = LifecycleEvent::from_binary(attributes, data.as_bytes(), MAX_EVENT_BYTES).unwrap_err();
    assert_eq!(error.to_string(), too_many);
}

#[test]
fn event_of_exactly_the_size_limit_is_accepted() {
    let body = envelope(&json!({})).to_string();
    assert!(LifecycleEvent::from_structured(body.as_bytes(), body.len()).is_ok());
    let error = LifecycleEvent::from_structured(body.as_bytes(), body.len() - 1).unwrap_err();
    assert!(matches!(error, EventError::TooLarge { bytes, limit } if bytes == limit + 1), "{error}");
    let error = LifecycleEvent::from_binary([], &[b' '; 9], 8).unwrap_err();
    assert!(matches!(error, EventError::TooLarge { bytes: 9, limit: 8 }), "{error}");
}

#[test]
fn binary_mode_ignores_the_case_of_attribute_names() {
    let attributes = [("SpecVersion", "1.0"), ("id", "first"), ("ID", "e"), ("source", "s"), ("type", "t"), ("x", "y")];
    let event = LifecycleEvent::from_binary(attributes, br#"{"id":"c","generation":1}"#, MAX_EVENT_BYTES).unwrap();
    assert_eq!((event.event_id.as_str(), event.resource_id.as_str()), ("e", "c"));
    let error = LifecycleEvent::from_binary(attributes, b"nonsense", MAX_EVENT_BYTES).unwrap_err();
    assert!(
        Chain(&error).to_string().starts_with("failed to parse event data: data is not valid JSON"),
        "{}",
        Chain(&error).to_string()
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let name = prop_oneof![
            Just("id".to_owned()),
            Just("kind".to_owned()),
            Just("generation".to_owned()),
            Just("owner_references".to_owned()),
            ".{0,6}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(name, inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

prop_compose! {
    fn any_event()(
        event_id in ".{1,12}",
        source in ".{1,12}",
        event_type in ".{1,12}",
        time in prop::option::of(".{1,12}"),
        traceparent in prop::option::of(".{1,12}"),
        tracestate in prop::option::of(".{1,12}"),
        resource_id in ".{0,12}",
        kind in ".{0,12}",
        href in ".{0,12}",
        generation in -(1_i64 << 53)..(1_i64 << 53),
        owner in prop::option::of((".{0,4}", ".{0,4}", ".{0,4}")),
        rest in any_json(),
    ) -> LifecycleEvent {
        let owner = owner.map(|(id, kind, href)| OwnerReference { id, kind, href });
        let mut data = json!({
            "id": resource_id, "kind": kind, "href": href, "generation": generation,
            "rest": rest,
        });
        if let Some(owner) = &owner {
            data["owner_references"] = json!({"id": owner.id, "kind": owner.kind, "href": owner.href});
        }
        LifecycleEvent {
            event_id, source, event_type, time, traceparent, tracestate, resource_id, kind, href, owner,
            generation: Generation(generation),
            data: lifecycle_language::value::as_go_numbers(data),
        }
    }
}

/// Returns `data` as the Sentinel writes it, with an integer generation.
fn wire_data(event: &LifecycleEvent) -> Value {
    let mut data = event.data.clone();
    data["generation"] = event.generation.0.into();
    data
}

fn attributes(event: &LifecycleEvent) -> Vec<(&'static str, &str)> {
    let mut attributes = vec![
        ("specversion", "1.0"),
        ("id", event.event_id.as_str()),
        ("source", event.source.as_str()),
        ("type", event.event_type.as_str()),
    ];
    for (name, value) in [("time", &event.time), ("traceparent", &event.traceparent), ("tracestate", &event.tracestate)]
    {
        attributes.extend(value.as_deref().map(|value| (name, value)));
    }
    attributes
}

proptest! {
    #[test]
    fn structured_event_survives_serialising_and_parsing(event in any_event()) {
        let mut wire: Map<String, Value> =
            attributes(&event).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        wire.insert("data".to_owned(), wire_data(&event));
        prop_assert_eq!(parse(&Value::Object(wire)).unwrap(), event);
    }

    #[test]
    fn binary_event_survives_serialising_and_parsing(event in any_event()) {
        let body = wire_data(&event).to_string();
        let parsed = LifecycleEvent::from_binary(attributes(&event), body.as_bytes(), MAX_EVENT_BYTES).unwrap();
        prop_assert_eq!(parsed, event);
    }

    #[test]
    fn parser_never_panics_on_random_bytes(body in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = LifecycleEvent::from_structured(&body, MAX_EVENT_BYTES);
        let _ = LifecycleEvent::from_binary([("id", "e")], &body, MAX_EVENT_BYTES);
    }

    #[test]
    fn parsed_data_of_random_json_has_only_doubles(body in any_json(), data in any_json()) {
        let _ = parse(&body);
        if let Ok(event) = parse(&envelope(&data)) {
            prop_assert!(only_doubles(&event.data));
        }
    }
}

fn only_doubles(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().all(only_doubles),
        Value::Object(members) => members.values().all(only_doubles),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}
