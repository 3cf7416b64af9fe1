#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

const FORMER: [&str; 2] = ["adapter", "hyperfleet-adapter"];

fn entry(manager: &str, operation: &str, time: &str, fields: Value) -> Value {
    json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": fields })
}

fn with(mut entry: Value, key: &str, value: &str) -> Value {
    entry[key] = value.into();
    entry
}

#[test]
fn update_entries_are_merged_into_the_apply_entry() {
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    let (x, y) = (json!({ "f:data": { "f:x": {} } }), json!({ "f:data": { "f:y": {} } }));
    let both = json!({ "f:data": { "f:x": {}, "f:y": {} } });
    let cases = [
        (
            "our own POST",
            json!([entry("me", "Update", early, x.clone())]),
            Some(json!([entry("me", "Apply", early, x.clone())])),
        ),
        (
            "our own POST beside a later apply",
            json!([entry("me", "Apply", late, y.clone()), entry("me", "Update", early, x.clone())]),
            Some(json!([entry("me", "Apply", late, both.clone())])),
        ),
        (
            "writes under former names",
            json!([
                entry("adapter", "Update", early, x.clone()),
                entry("hyperfleet-adapter", "Update", late, y.clone())
            ]),
            Some(json!([entry("me", "Apply", late, both.clone())])),
        ),
        (
            "foreign entries stay, in their order",
            json!([
                entry("kubectl", "Apply", early, y.clone()),
                entry("me", "Update", early, x.clone()),
                entry("manager", "Update", late, y.clone())
            ]),
            Some(json!([
                entry("me", "Apply", early, x.clone()),
                entry("kubectl", "Apply", early, y.clone()),
                entry("manager", "Update", late, y.clone())
            ])),
        ),
        (
            "our writes to a subresource stay",
            json!([
                entry("me", "Update", early, x.clone()),
                with(entry("me", "Update", late, y.clone()), "subresource", "status")
            ]),
            Some(json!([
                entry("me", "Apply", early, x.clone()),
                with(entry("me", "Update", late, y.clone()), "subresource", "status")
            ])),
        ),
        (
            "fields of another version of the API stay",
            json!([
                entry("me", "Apply", early, x.clone()),
                with(entry("me", "Update", late, y.clone()), "apiVersion", "v1beta1")
            ]),
            None,
        ),
        ("nothing but our apply", json!([entry("me", "Apply", early, x.clone())]), None),
        ("our patches", json!([entry("me-patch", "Update", early, x.clone())]), None),
        ("foreign entries only", json!([entry("kubectl", "Update", early, x.clone())]), None),
        ("no entries", json!([]), None),
        ("no list", Value::Null, None),
    ];
    for (name, before, expected) in cases {
        let after = migrate(&before, "me", &FORMER, Takeover::Own);
        assert_eq!(after, expected, "{name}");
        if let Some(after) = after {
            assert_eq!(
                migrate(&after, "me", &FORMER, Takeover::Own),
                None,
                "{name}: a second migration changes nothing"
            );
        }
    }
}

#[test]
fn unite_adds_members_and_keeps_parents() {
    let cases = [
        ("disjoint", json!({ "f:a": {} }), json!({ "f:b": {} }), json!({ "f:a": {}, "f:b": {} })),
        (
            "nested, with list items by key",
            json!({ "f:l": { "k:{\"name\":\"a\"}": { ".": {}, "f:x": {} } } }),
            json!({ "f:l": { "k:{\"name\":\"a\"}": { "f:y": {} }, "v:\"b\"": {} } }),
            json!({ "f:l": { "k:{\"name\":\"a\"}": { ".": {}, "f:x": {}, "f:y": {} }, "v:\"b\"": {} } }),
        ),
        (
            "a whole mapping and one key of it",
            json!({ "f:a": {} }),
            json!({ "f:a": { "f:b": {} } }),
            json!({ "f:a": { ".": {}, "f:b": {} } }),
        ),
        (
            "one key of a mapping and the whole",
            json!({ "f:a": { "f:b": {} } }),
            json!({ "f:a": {} }),
            json!({ "f:a": { ".": {}, "f:b": {} } }),
        ),
    ];
    for (name, left, right, expected) in cases {
        assert_eq!(united(&left, &right), expected, "{name}");
    }
}

fn united(left: &Value, right: &Value) -> Value {
    let mut fields = left.as_object().cloned().unwrap_or_default();
    unite(&mut fields, right.as_object().unwrap());
    Value::Object(fields)
}

/// Collects the members of a field set as paths.
fn members(node: &Value, path: &str, found: &mut Vec<String>) {
    let children = node.as_object().unwrap();
    if children.is_empty() {
        found.push(path.trim_end_matches("/.").to_owned());
    }
    for (key, child) in children {
        members(child, &format!("{path}/{key}"), found);
    }
}

fn set() -> impl Strategy<Value = Value> {
    let leaf = Just(json!({}));
    let node = leaf.prop_recursive(4, 24, 3, |inner| {
        (proptest::collection::btree_map("f:[abc]", inner, 1..3), any::<bool>()).prop_map(|(mut children, itself)| {
            if itself {
                children.insert(".".to_owned(), json!({}));
            }
            json!(children)
        })
    });
    proptest::collection::btree_map("f:[abc]", node, 0..3).prop_map(|children| json!(children))
}

proptest! {
    #[test]
    fn union_has_exactly_the_members_of_both_sets(left in set(), right in set()) {
        let all = |sets: &[&Value]| {
            let mut found = Vec::new();
            for set in sets {
                // A root without children is the empty set, unlike any other node without children.
                if set.as_object().is_some_and(|set| !set.is_empty()) {
                    members(set, "", &mut found);
                }
            }
            found.sort();
            found.dedup();
            found
        };
        prop_assert_eq!(all(&[&united(&left, &right)]), all(&[&left, &right]));
    }
}

#[test]
fn kubectls_fields_are_taken_over_with_their_writers_names_alone() {
    let early = "2026-01-01T00:00:00Z";
    let (x, y) = (json!({ "f:data": { "f:x": {} } }), json!({ "f:data": { "f:y": {} } }));
    let both = json!({ "f:data": { "f:x": {}, "f:y": {} } });
    let kubectls = ["kubectl", "kubectl-edit", "kubectl-client-side-apply"];
    for (writer, operation) in kubectls.into_iter().flat_map(|writer| [(writer, "Apply"), (writer, "Update")]) {
        let before = json!([entry("me", "Apply", early, x.clone()), entry(writer, operation, early, y.clone())]);
        let after = migrate(&before, "me", &FORMER, Takeover::OwnAndKubectl);
        assert_eq!(
            after,
            Some(vec![entry("me", "Apply", early, both.clone())]).map(Value::from),
            "{writer} {operation}"
        );
        assert_eq!(migrate(&before, "me", &FORMER, Takeover::Own), None, "{writer} {operation}");
    }
    let others = json!([
        entry("helm", "Update", early, x.clone()),
        entry("my-kubectl", "Apply", early, y.clone()),
        with(entry("kubectl", "Update", early, y), "subresource", "status"),
        with(entry("kubectl", "Update", early, x.clone()), "apiVersion", "v2"),
        entry("me", "Apply", early, x),
    ]);
    assert_eq!(migrate(&others, "me", &FORMER, Takeover::OwnAndKubectl), None);
}

#[test]
fn texts_of_a_secret_that_the_manager_applied_are_its_data() {
    let time = "2026-01-01T00:00:00Z";
    let texts = json!({ "f:stringData": { ".": {}, "f:x": {} }, "f:data": { "f:y": {} } });
    let before = json!([entry("me", "Apply", time, texts.clone()), entry("other", "Apply", time, texts.clone())]);
    let data = json!({ "f:data": { ".": {}, "f:x": {}, "f:y": {} } });
    let after = json!([entry("me", "Apply", time, data), entry("other", "Apply", time, texts)]);
    let secret = GroupVersionKind::new("v1", "Secret");
    assert_eq!(texts_to_data(&secret, &before, Some("me")), Some(after.clone()));
    assert_eq!(texts_to_data(&secret, &after, Some("me")), None);
    let of_all = texts_to_data(&secret, &before, None).unwrap();
    assert_eq!((&of_all[0], &of_all[1]["fieldsV1"]), (&after[0], &after[0]["fieldsV1"]));
    let others = GroupVersionKind::new("example.com/v1", "Secret");
    assert_eq!(texts_to_data(&others, &before, Some("me")), None);
}

#[test]
fn values_that_kubectl_copied_to_an_annotation_of_a_secret_become_the_managers() {
    let time = "2026-01-01T00:00:00Z";
    let annotations = |keys: Value| json!({ "f:metadata": { "f:annotations": keys } });
    let last_applied = "f:kubectl.kubernetes.io/last-applied-configuration";
    let copy = || annotations(json!({ last_applied: {} }));
    let beside = |fields: Value, more: Value| {
        let mut fields = fields;
        unite(fields.as_object_mut().unwrap(), more.as_object().unwrap());
        fields
    };
    let data = || json!({ "f:data": { "f:x": {} } });
    let kubectl = |fields: Value| entry("kubectl-client-side-apply", "Update", time, fields);
    let me = |fields: Value| entry("me", "Apply", time, fields);
    let cases = [
        (
            "a Secret that is adopted",
            json!([kubectl(beside(copy(), data()))]),
            Some(json!([me(copy()), kubectl(data())])),
        ),
        (
            "one that was applied before",
            json!([kubectl(beside(annotations(json!({ last_applied: {}, "f:a": {} })), data())), me(data())]),
            Some(json!([kubectl(beside(annotations(json!({ "f:a": {} })), data())), me(beside(data(), copy()))])),
        ),
        ("who owns nothing else", json!([kubectl(copy()), me(data())]), Some(json!([me(beside(data(), copy()))]))),
        ("the manager's own", json!([me(beside(data(), copy()))]), None),
        ("none", json!([kubectl(data())]), None),
    ];
    let secret = GroupVersionKind::new("v1", "Secret");
    for (name, before, after) in cases {
        assert_eq!(last_applied_to(&secret, &before, "me"), after, "{name}");
    }
    let map = GroupVersionKind::new("v1", "ConfigMap");
    assert_eq!(last_applied_to(&map, &json!([kubectl(copy())]), "me"), None, "what is no secret is kubectl's");
}
