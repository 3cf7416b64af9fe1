//! Tests of ownership by labels: two resources of one kind with the same selector never write or delete each
//! other's objects.

use lifecycle_objects::keys;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::passes::{assert_settled, config_map, gated, labels, live, pass, selecting, task, version, with, yes};
use super::store::Store;
use crate::manifest::reserved;

#[test]
fn resources_with_the_same_selector_write_only_their_own_objects() {
    let task = task(&[gated(selecting("left"), "delete", "deleting"), selecting("right")]);
    let mut store = Store::new();
    pass(&task, &mut store, 3, &[]);
    assert_eq!(store.log, ["create left-3", "create right-3"]);
    assert_settled(&task, &mut store, 3, &[]);
    pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(store.names(), ["right-3"]);
}

#[test]
fn only_owned_objects_are_deleted() {
    let alone = || vec![gated(selecting("left"), "delete", "deleting")];
    let beside = |other: Value| [alone(), vec![other]].concat();
    let by_name = |name: &str| {
        let metadata = json!({ "manifest": { "metadata": { "name": name } }, "discovery": { "by_name": name } });
        with(config_map("right"), metadata)
    };
    let mine = || labels("left");
    let but = |key: &str, value: Value| with(mine(), json!({ key: value }));
    let older = || json!({ "app": "demo" });
    let of_its_own = json!({
        "manifest": { "metadata": { "labels": { "side": "right" } } },
        "discovery": { "by_selectors": { "label_selector": { "side": "right" } } },
    });
    let elsewhere =
        json!({ "manifest": { "metadata": { "namespace": "other" } }, "discovery": { "namespace": "other" } });
    let another_kind = with(selecting("right"), json!({ "manifest": { "kind": "Secret" } }));
    let cases = [
        ("its own", alone(), live("ConfigMap", "left-1", mine(), Some(1)), true),
        ("another adapter's", alone(), live("ConfigMap", "left-1", but(keys::ADAPTER, json!("b")), Some(1)), false),
        (
            "another cluster's",
            alone(),
            live("ConfigMap", "left-1", but(keys::RESOURCE_ID, json!("c2")), Some(1)),
            false,
        ),
        ("another entry's", alone(), live("ConfigMap", "left-3", but(keys::RESOURCE, json!("right")), Some(1)), false),
        ("an older adapter's", alone(), live("ConfigMap", "any", older(), Some(1)), true),
        (
            "an older adapter's, for another cluster",
            alone(),
            live("ConfigMap", "any", json!({ "app": "demo", keys::RESOURCE_ID: "c2" }), Some(1)),
            false,
        ),
        (
            "an older adapter's, beside another kind",
            beside(another_kind),
            live("ConfigMap", "any", older(), Some(1)),
            true,
        ),
        (
            "an older adapter's, of the rendered name",
            beside(selecting("right")),
            live("ConfigMap", "left-3", older(), Some(1)),
            true,
        ),
        (
            "an older adapter's, of either entry",
            beside(selecting("right")),
            live("ConfigMap", "left-1", older(), Some(1)),
            false,
        ),
        (
            "an older adapter's, which the other entry's selector does not find",
            beside(with(selecting("right"), of_its_own.clone())),
            live("ConfigMap", "left-1", older(), Some(1)),
            true,
        ),
        (
            "an older adapter's, in a namespace in which the other entry does not look",
            beside(with(selecting("right"), elsewhere)),
            live("ConfigMap", "left-1", older(), Some(1)),
            true,
        ),
        (
            "an older adapter's, which another entry names",
            beside(by_name("left-1")),
            live("ConfigMap", "left-1", older(), Some(1)),
            false,
        ),
        (
            "an older adapter's, which no other entry names",
            beside(by_name("x")),
            live("ConfigMap", "left-1", older(), Some(1)),
            true,
        ),
    ];
    for (name, entries, object, belongs) in cases {
        let mut store = Store::with([object]);
        let deleted = pass(&task(&entries), &mut store, 3, &yes("deleting"));
        assert_eq!(deleted.results()[0].2 == "deleted", belongs, "{name}: {:?}", deleted.results());
        assert_eq!(
            store.log.first().is_some_and(|call| call.starts_with("delete")),
            belongs,
            "{name}: {:?}",
            store.log
        );
    }
}

#[test]
fn manifest_that_does_not_render_does_not_block_deletion() {
    let unrenderable = json!({ "manifest": { "data": { "a": "{{ .unset }}" } } });
    let of_its_own = json!({
        "manifest": { "metadata": { "labels": { "side": "right" } } },
        "discovery": { "by_selectors": { "label_selector": { "side": "right" } } },
    });
    let left = || with(gated(selecting("left"), "delete", "deleting"), unrenderable.clone());
    let another_clusters = with(labels("left"), json!({ keys::RESOURCE_ID: "c2" }));
    for (name, other, objects, left_alone) in [
        (
            "what only its own selector finds",
            with(selecting("right"), of_its_own),
            vec![live("ConfigMap", "left-1", json!({ "app": "demo" }), Some(1))],
            vec![],
        ),
        (
            "what has the rendered name",
            selecting("right"),
            vec![live("ConfigMap", "left-3", json!({ "app": "demo" }), Some(1))],
            vec![],
        ),
        (
            "what its labels name, beside another cluster's",
            selecting("right"),
            vec![version("left", "left-1", 1, 1), live("ConfigMap", "theirs", another_clusters, Some(1))],
            vec!["theirs"],
        ),
    ] {
        let mut store = Store::with(objects);
        let deleted = pass(&task(&[left(), gated(other, "create", "false")]), &mut store, 3, &yes("deleting"));
        assert_eq!(deleted.results()[0].2, "deleted", "{name}: {:?}", deleted.results());
        assert_eq!(store.names(), left_alone, "{name}");
    }
}

#[test]
fn kinds_in_different_api_versions_count_as_the_same_kind() {
    let older = with(selecting("right"), json!({ "manifest": { "apiVersion": "v1beta1" } }));
    let task = task(&[gated(selecting("left"), "delete", "deleting"), older]);
    let mut store = Store::with([live("ConfigMap", "any", json!({ "app": "demo" }), Some(1))]);
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).results()[0].1, "AlreadyAbsent");
    assert!(store.names().contains(&"any"));
}

/// An entry with one fixed name for all API resources, whose manifest renders its own ownership labels.
fn shared(id: &str) -> Value {
    let own =
        json!({ "manifest": { "metadata": { "labels": { keys::RESOURCE_ID: id, keys::ADAPTER: "{{ .unset }}" } } } });
    gated(with(config_map("left"), own), "delete", "deleting")
}

#[test]
fn ownership_label_of_the_author_that_equals_the_stamped_one_changes_nothing() {
    let task = task(&[shared("{{ .stage }}")]);
    let variables =
        |deleting: bool| [("stage", json!("c1")), ("unset", json!("tester")), ("deleting", json!(deleting))];
    let mut store = Store::new();
    assert_eq!(pass(&task, &mut store, 3, &variables(false)).result().2, "created");
    assert_settled(&task, &mut store, 3, &variables(false));
    assert_eq!(pass(&task, &mut store, 3, &variables(true)).result().2, "deleted");
}

#[test]
fn ownership_label_of_the_author_that_differs_keeps_the_manifest_from_being_written() {
    let task = task(&[shared("{{ .stage }}")]);
    for (stage, adapter, label) in [("shared", "tester", keys::RESOURCE_ID), ("c1", "mine", keys::ADAPTER)] {
        let mut store = Store::new();
        let refused = pass(&task, &mut store, 3, &[("stage", json!(stage)), ("unset", json!(adapter))]);
        assert_eq!(refused.result(), ("fail", "InvalidLabel", "failed", "12"));
        let message = refused.outcomes[0].failure().map(|failure| failure.message.as_str()).unwrap_or_default();
        assert!(message.contains(label) && message.ends_with(reserved::CURE), "{message}");
        assert_eq!(store.log.len(), 0);
    }
}

#[test]
fn object_that_api_resources_share_by_a_label_of_the_author_is_deleted_by_none() {
    let task = task(&[shared("{{ .stage }}")]);
    let variables = [("stage", json!("shared")), ("unset", json!("tester")), ("deleting", json!(true))];
    let labels = with(labels("left"), json!({ keys::RESOURCE_ID: "shared" }));
    let mut store = Store::with([live("ConfigMap", "left", labels, Some(1))]);
    let failed = pass(&task, &mut store, 3, &variables);
    assert_eq!(failed.result(), ("fail", "DiscoveryFailed", "failed", "1"));
    assert_eq!((failed.outcomes[0].finalized, store.names()), (false, vec!["left"]));
}

#[test]
fn object_of_the_go_adapter_is_stamped_on_its_next_update() {
    let task = task(&[selecting("left"), selecting("right")]);
    let mut store = Store::with([live("ConfigMap", "left-3", json!({ "app": "demo" }), Some(2))]);
    pass(&task, &mut store, 3, &[]);
    assert_eq!(store.log, ["update left-3", "create right-3"]);
    assert_eq!(store.object("left-3")["metadata"]["labels"], labels("left"));
    assert_settled(&task, &mut store, 3, &[]);
}

/// Generates the value of a label, if any: the resource's own, or another's.
fn label(ours: &'static str, others: &'static str) -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![3 => Just(Some(ours)), 1 => Just(Some(others)), 1 => Just(None)]
}

/// Generates objects that the selector finds.
fn objects() -> impl Strategy<Value = Vec<Value>> {
    let resource =
        prop_oneof![2 => Just(Some("left")), 2 => Just(Some("right")), 1 => Just(Some("x")), 1 => Just(None)];
    let mark = prop_oneof![8 => Just(None), 1 => Just(Some("c1")), 1 => Just(Some("c2"))];
    let by = prop_oneof![Just(None), Just(Some("tester/left")), Just(Some("tester/right")), Just(Some("b/left"))];
    let one = (label("tester", "b"), label("c1", "c2"), resource, mark, by, 0..5_i64).prop_map(
        |(adapter, id, resource, mark, by, generation)| {
            let mut labels = json!({ "app": "demo" });
            let all =
                [(keys::ADAPTER, adapter), (keys::RESOURCE_ID, id), (keys::RESOURCE, resource), (keys::DISOWNED, mark)];
            for (key, value) in all.into_iter().filter_map(|(key, value)| Some((key, value?))) {
                labels[key] = json!(value);
            }
            let mut object = live("ConfigMap", "", labels, Some(generation));
            if let Some(by) = by.filter(|_| mark.is_some()) {
                object["metadata"]["annotations"][keys::DISOWNED_BY] = json!(by);
            }
            object
        },
    );
    prop::collection::vec(one, 0..6).prop_map(|mut objects| {
        for (index, object) in objects.iter_mut().enumerate() {
            // The first two objects have the names that the two manifests render to.
            object["metadata"]["name"] = json!(match index {
                0 => "left-3".to_owned(),
                1 => "right-3".to_owned(),
                other => format!("other-{other}"),
            });
        }
        objects
    })
}

/// Whether ownership allows an entry to write an object, judged by the object's labels and name alone.
fn may_write(resource: &str, generation: i64, object: &Value) -> bool {
    let label = |key: &str| object["metadata"]["labels"].get(key).and_then(Value::as_str);
    match (label(keys::DISOWNED), label(keys::RESOURCE)) {
        (Some(_), _) => false,
        (None, Some(of)) => {
            of == resource && label(keys::ADAPTER) == Some("tester") && label(keys::RESOURCE_ID) == Some("c1")
        }
        // An object of the Go adapter, which sets no labels, with the rendered name.
        (None, None) => object["metadata"]["name"] == json!(format!("{resource}-{generation}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn resource_writes_only_objects_with_its_labels_or_name(
        objects in objects(),
        gates in prop::collection::vec(prop_oneof![Just("delete"), Just("orphan"), Just("recreate"), Just("create")], 2),
        retention in any::<bool>(),
        generation in 2..5_i64,
    ) {
        let mut entries: Vec<Value> =
            ["left", "right"].into_iter().zip(&gates).map(|(name, gate)| gated(selecting(name), gate, "deleting")).collect();
        if retention {
            entries[0]["retention"] = json!({ "historyLimit": 0 });
        }
        let mut store = Store::with(objects);
        let before = store.objects();
        let done = pass(&task(&entries), &mut store, generation, &yes("deleting"));
        // A creation cannot change an existing object: its name is taken.
        for (resource, call) in done.calls.iter().filter(|(_, call)| !call.starts_with("create")) {
            let object = before.iter().find(|object| call.ends_with(&format!(" {}", object["metadata"]["name"].as_str().unwrap_or_default())));
            prop_assert!(object.is_some_and(|object| may_write(resource, generation, object)), "{}: {} {:?}", resource, call, object);
        }
        for object in &before {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if !["left", "right"].iter().any(|resource| may_write(resource, generation, object)) {
                prop_assert!(store.names().contains(&name) && store.object(name) == object, "{}: {:?}", name, &store.log);
            }
        }
    }
}

#[test]
fn text_manifest_with_a_failing_template_does_not_block_the_deletion() {
    let text = |more: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: left-{{{{ .generation }}}}\n  namespace: team\n  labels:\n    app: demo\n{more}"
        )
    };
    let action_in_comment = "    # {{ if .deleting }}\n    note: x\n    # {{ end }}\ndata:\n  a: \"{{ .unset }}\"\n";
    let action_in_place_of_a_line = "{{ if .deleting }}data:\n  a: \"{{ .unset }}\"\n{{ end }}";
    let cases = [
        ("data:\n  a: \"{{ .unset }}\"\n", true),
        // These texts have no structure before they are rendered.
        (action_in_comment, false),
        (action_in_place_of_a_line, false),
    ];
    for (more, is_deleted) in cases {
        let mut entry = gated(selecting("left"), "delete", "deleting");
        entry["manifest"] = json!(text(more));
        let task = task(&[entry, selecting("right")]);
        let mut store = Store::with([live("ConfigMap", "left-3", json!({ "app": "demo" }), Some(3))]);
        let done = pass(&task, &mut store, 3, &yes("deleting"));
        let expected = if is_deleted { ("delete", "DeleteGateHolds") } else { ("fail", "DiscoveryFailed") };
        assert_eq!((done.results()[0].0, done.results()[0].1), expected, "{more}");
    }
}
