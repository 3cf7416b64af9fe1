#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn path(text: &str) -> FieldPath {
    FieldPath::parse(text).unwrap()
}

fn laid(live: Value, own: Value, others: Value, desired: Value) -> Value {
    overlay(&live, &desired, &Owners { own, others }, &[])
}

#[test]
fn manifest_wins_and_own_fields_that_it_lacks_go() {
    let own = json!({ "f:a": {}, "f:old": {}, "f:part": { "f:x": {} }, "f:shared": { "f:x": {} } });
    let others = json!({ "f:theirs": {}, "f:shared": { "f:y": {} } });
    let live = json!({ "a": 1, "old": 1, "part": { "x": 1, "default": 1 }, "shared": { "x": 1, "y": 1 },
                       "theirs": 1, "allocated": 1 });
    let laid = laid(live, own, others, json!({ "a": 2, "new": { "x": null, "y": 1 }, "allocated": null }));
    assert_eq!(laid, json!({ "a": 2, "shared": { "y": 1 }, "theirs": 1, "new": { "y": 1 } }));
}

#[test]
fn list_is_merged_as_its_owners_say() {
    let keyed = json!({ "f:l": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {}, "f:name": {} },
                                 "k:{\"port\":81,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} } } });
    let ports = json!({ "l": [{ "port": 9, "protocol": "UDP" }, { "port": 80, "protocol": "TCP", "name": "a", "node": 7 },
                              { "port": 81, "protocol": "TCP", "node": 8 }] });
    let set = json!({ "f:l": { ".": {}, "v:\"a\"": {}, "v:\"b\"": {} } });
    let cases = [
        (
            "a keyed list",
            (keyed, ports, json!({ "l": [{ "port": 82 }, { "port": 80 }] })),
            json!({ "l": [{ "port": 82 }, { "port": 9, "protocol": "UDP" }, { "port": 80, "protocol": "TCP", "node": 7 }] }),
        ),
        (
            "a set",
            (set, json!({ "l": ["a", "b", "theirs"] }), json!({ "l": ["c", "b"] })),
            json!({ "l": ["b", "theirs", "c"] }),
        ),
        ("one value", (json!({ "f:l": {} }), json!({ "l": [1, 2] }), json!({ "l": [3] })), json!({ "l": [3] })),
        (
            "a mapping that is one value",
            (json!({ "f:l": {} }), json!({ "l": { "a": 1 } }), json!({ "l": { "b": 1 } })),
            json!({ "l": { "b": 1 } }),
        ),
    ];
    for (name, (own, live, desired), expected) in cases {
        assert_eq!(laid(live, own, Value::Null, desired), expected, "{name}");
    }
}

#[test]
fn finalizers_stay_whoever_set_them() {
    let own = json!({ "f:metadata": { "f:finalizers": { ".": {}, "v:\"own\"": {} } } });
    let live = json!({ "metadata": { "finalizers": ["own", "server"] } });
    assert_eq!(laid(live.clone(), own.clone(), Value::Null, json!({ "metadata": {} })), live);
    let more = laid(live, own, Value::Null, json!({ "metadata": { "finalizers": ["new"] } }));
    assert_eq!(more["metadata"]["finalizers"], json!(["own", "server", "new"]));
}

#[test]
fn blocked_field_goes_or_those_beside_it() {
    let owners = Owners {
        own: json!({ "f:spec": { "f:volumes": { "k:{\"name\":\"v\"}": { ".": {}, "f:name": {} } } } }),
        others: Value::Null,
    };
    let live = json!({ "spec": { "strategy": { "type": "A", "rolling": 1, "other": 1 }, "free": 1,
                                 "volumes": [{ "name": "v", "emptyDir": {} }] } });
    let desired = json!({ "spec": { "strategy": { "type": "B" }, "volumes": [{ "name": "v", "secret": 1 }] } });
    let strategy =
        |strategy: Value, volume: Value| json!({ "spec": { "strategy": strategy, "free": 1, "volumes": [volume] } });
    let (kept, volume) =
        (json!({ "type": "B", "rolling": 1, "other": 1 }), json!({ "name": "v", "emptyDir": {}, "secret": 1 }));
    let cases = [
        ("spec.strategy.rolling", strategy(json!({ "type": "B", "other": 1 }), volume.clone())),
        ("spec.strategy.renamed", strategy(json!({ "type": "B" }), volume.clone())),
        ("spec.strategy.type", strategy(json!({ "type": "B" }), volume.clone())),
        ("spec.volumes[0].secret", strategy(kept.clone(), json!({ "name": "v", "secret": 1 }))),
        ("spec.strategy", strategy(kept.clone(), volume.clone())),
        ("spec.unknown", strategy(kept.clone(), volume.clone())),
    ];
    for (blocked, expected) in cases {
        assert_eq!(overlay(&live, &desired, &owners, &[path(blocked)]), expected, "{blocked}");
    }
    let freed = overlay(&live, &desired, &owners, &[path("spec.free")]);
    assert_eq!(freed.pointer("/spec/free"), None);
}

#[test]
fn difference_is_a_merge_patch() {
    let (from, to) =
        (json!({ "a": 1, "b": { "x": 1, "y": 1 }, "c": [1] }), json!({ "b": { "x": 2, "y": 1 }, "c": [2], "d": {} }));
    let patch = json!({ "a": null, "b": { "x": 2 }, "c": [2], "d": {} });
    assert_eq!(difference(&from, &to), Some(patch));
    assert_eq!(difference(&to, &to), None);
}

#[test]
fn entries_get_one_version_and_those_of_one_writer_are_united() {
    let entry = |version: &str, manager: &str, fields: Value| json!({ "manager": manager, "operation": "Apply", "apiVersion": version, "fieldsV1": fields });
    let desired = json!({ "apiVersion": "e.io/v2", "kind": "Thing" });
    let (a, b) = (json!({ "f:a": {} }), json!({ "f:b": {} }));
    let entries =
        json!([entry("e.io/v1", "me", a.clone()), entry("e.io/v2", "me", b), entry("e.io/v1", "x", a.clone())]);
    let both = json!({ "f:a": {}, "f:b": {} });
    let united = json!([entry("e.io/v2", "me", both), entry("e.io/v2", "x", a.clone())]);
    assert_eq!(in_one_version(&entries, &desired), Some(united.clone()));
    assert_eq!(in_one_version(&united, &desired), None);
}
