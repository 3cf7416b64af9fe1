//! Tests of the labels and the annotation that are stamped on an object before it is written.
#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_objects::keys;
use lifecycle_objects::proof::{Claim, Signer};
use lifecycle_objects::stamp::Stamp;
use serde_json::{Value, json};

use super::passes::{config_map, gated, labels, live, pass, pass_of, selecting, stamp, task, with, yes};
use super::store::Store;

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

/// An entry with more metadata in its manifest.
fn saying(metadata: Value) -> Value {
    with(config_map("settings"), json!({ "manifest": { "metadata": metadata } }))
}

fn written(entry: Value, stamp: Stamp) -> Value {
    let mut store = Store::new();
    let created = pass_of(&task(&[entry]), &mut store, stamp, &[]);
    assert_eq!(created.result().2, "created");
    store.object("settings")["metadata"].clone()
}

#[test]
fn ownership_labels_and_generation_are_added() {
    let metadata = written(config_map("settings"), stamp(3));
    let labels = json!({ keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: "settings" });
    assert_eq!((&metadata["labels"], &metadata["annotations"]), (&labels, &json!({ keys::GENERATION: "3" })));
}

#[test]
fn labels_of_the_author_are_kept() {
    let own = json!({
        "labels": { keys::ADAPTER: "mine", "team": "theirs" },
        "annotations": { keys::GENERATION: "9", "note": "theirs" },
    });
    let metadata = written(saying(own), stamp(3));
    let labels =
        json!({ keys::ADAPTER: "mine", keys::RESOURCE_ID: "c1", keys::RESOURCE: "settings", "team": "theirs" });
    assert_eq!(metadata["labels"], labels);
    assert_eq!(metadata["annotations"], json!({ keys::GENERATION: "9", "note": "theirs" }));
}

#[test]
fn numeric_generation_is_written_as_an_annotation_text() {
    for generation in [json!(9), json!("9"), json!(" 9 "), json!("{{ 9 }}")] {
        let metadata = written(saying(json!({ "annotations": { keys::GENERATION: generation } })), stamp(3));
        assert_eq!(metadata["annotations"], json!({ keys::GENERATION: "9" }));
    }
}

#[test]
fn null_labels_and_annotations_are_filled() {
    let metadata = written(saying(json!({ "labels": null, "annotations": null })), stamp(3));
    assert_eq!(metadata["labels"][keys::RESOURCE], json!("settings"));
}

#[test]
fn invalid_label_or_generation_fails_before_the_write() {
    let long = "x".repeat(64);
    let label = |value: &str| json!({ "labels": { keys::RESOURCE_ID: value } });
    let generation = |value: &str| json!({ "annotations": { keys::GENERATION: value } });
    let cases = [
        (label("a/b"), "InvalidLabel"),
        (label(""), "InvalidLabel"),
        (label("-a"), "InvalidLabel"),
        (label(&long), "InvalidLabel"),
        (json!({ "labels": { keys::ADAPTER: 3 } }), "InvalidLabel"),
        (generation("soon"), "InvalidGeneration"),
        (generation(""), "InvalidGeneration"),
        (generation("1.5"), "InvalidGeneration"),
        (json!({ "labels": ["a"] }), "RenderFailed"),
    ];
    for (metadata, reason) in cases {
        for object in [None, Some(live("ConfigMap", "settings", json!({}), Some(1)))] {
            let mut store = Store::with(object);
            let failed = pass(&task(&[saying(metadata.clone())]), &mut store, 3, &[]);
            assert_eq!((failed.result().1, store.log.len()), (reason, 0), "{metadata}");
        }
    }
}

#[test]
fn invalid_resource_id_fails_unless_the_manifest_sets_the_label() {
    let stamp = || Stamp { resource_id: "a/b".to_owned(), ..stamp(3) };
    let mut store = Store::new();
    let failed = pass_of(&task(&[config_map("settings")]), &mut store, stamp(), &[]);
    assert_eq!(failed.result(), ("fail", "InvalidLabel", "failed", "12"));
    let metadata = written(saying(json!({ "labels": { keys::RESOURCE_ID: "a-b" } })), stamp());
    assert_eq!(metadata["labels"][keys::RESOURCE_ID], json!("a-b"));
}

#[test]
fn failure_quotes_the_error_of_a_resource_id_that_does_not_render() {
    let fault = "failed to render `stamp.resource_id`: no entry for key \"nope\"";
    let stamp = || Stamp { resource_id: String::new(), resource_id_fault: Some(fault.to_owned()), ..stamp(3) };
    let mut store = Store::new();
    let failed = pass_of(&task(&[config_map("settings")]), &mut store, stamp(), &[]);
    let message = &failed.outcomes[0].failure().unwrap().message;
    assert_eq!(*message, format!("the label `hyperfleet.io/resource-id` has no value: {fault}"));
    assert_eq!(failed.result(), ("fail", "InvalidLabel", "failed", "12"));

    let disowning = gated(config_map("settings"), "orphan", "disowning");
    let mut store = Store::with([live("ConfigMap", "settings", labels("settings"), Some(3))]);
    let failed = pass_of(&task(&[disowning]), &mut store, stamp(), &yes("disowning"));
    let message = &failed.outcomes[0].failure().unwrap().message;
    assert!(message.starts_with("ownership is told by the label") && message.ends_with(fault), "{message}");
}

#[test]
fn resource_whose_id_does_not_render_is_unread_where_labels_tell_ownership() {
    let fault = "failed to render `stamp.resource_id`: no entry for key \"nope\"";
    let empty = "the resource id is empty";
    let cases = [
        ("delete", "deleting", fault),
        ("orphan", "disowning", fault),
        ("delete", "deleting", empty),
        ("orphan", "disowning", empty),
    ];
    for (gate, variable, fault) in cases {
        let resource_id_fault = (fault != empty).then(|| fault.to_owned());
        let stamp = Stamp { resource_id: String::new(), resource_id_fault, ..stamp(3) };
        let mut store = Store::with([live("ConfigMap", "settings-3", labels("settings"), Some(3))]);
        let entry = gated(selecting("settings"), gate, variable);
        let failed = pass_of(&task(&[entry]), &mut store, stamp, &yes(variable));
        assert_eq!(failed.result(), ("fail", "DiscoveryFailed", "failed", "1"), "{gate}");
        let outcome = &failed.outcomes[0];
        let message = &outcome.failure().unwrap().message;
        assert!(message.contains(fault), "{gate}: {message}");
        assert_eq!((outcome.finalized, store.log.len()), (false, 0), "{gate}");
    }
}

#[test]
fn without_a_signing_key_no_proof_is_written() {
    let metadata = written(config_map("settings"), stamp(3));
    assert_eq!(metadata["annotations"].get(keys::OWNERSHIP_PROOF), None);
}

#[test]
fn proof_covers_the_labels_that_are_written() {
    let signer = Signer::new(KEY).unwrap();
    let signing = || Stamp { signer: Some(signer.clone()), ..stamp(3) };
    let claim = Claim {
        adapter: "tester",
        resource_id: "c1",
        group: "",
        kind: "ConfigMap",
        namespace: "team",
        name: "settings",
    };
    let metadata = written(config_map("settings"), signing());
    let proof = metadata["annotations"][keys::OWNERSHIP_PROOF].as_str().unwrap();
    assert!(signer.verify(&claim, proof));

    let own = json!({ "labels": { keys::ADAPTER: "mine", keys::RESOURCE_ID: "shared" } });
    let metadata = written(saying(own), signing());
    let proof = metadata["annotations"][keys::OWNERSHIP_PROOF].as_str().unwrap();
    assert!(signer.verify(&Claim { adapter: "mine", resource_id: "shared", ..claim }, proof));
    assert!(!signer.verify(&claim, proof));
}

#[test]
fn proof_of_a_cluster_scoped_object_ignores_the_manifests_namespace() {
    let signer = Signer::new(KEY).unwrap();
    let role = json!({ "manifest": { "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole" } });
    let metadata = written(with(config_map("settings"), role), Stamp { signer: Some(signer.clone()), ..stamp(3) });
    let proof = metadata["annotations"][keys::OWNERSHIP_PROOF].as_str().unwrap();
    let claim = Claim {
        adapter: "tester",
        resource_id: "c1",
        group: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        namespace: "",
        name: "settings",
    };
    assert!(signer.verify(&claim, proof), "the server drops the namespace");
}

#[test]
fn object_of_the_go_adapter_gets_a_proof_on_its_next_update() {
    let signing = |generation| Stamp { signer: Signer::new(KEY).ok(), ..stamp(generation) };
    let task = task(&[config_map("settings")]);
    let mut store = Store::with([live("ConfigMap", "settings", json!({ "team": "theirs" }), Some(2))]);
    assert_eq!(pass_of(&task, &mut store, signing(2), &[]).result().1, "SameGeneration", "it is left alone until then");
    pass_of(&task, &mut store, signing(3), &[]);
    let metadata = &store.object("settings")["metadata"];
    let labels =
        json!({ keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1", keys::RESOURCE: "settings", "team": "theirs" });
    assert_eq!(metadata["labels"], labels);
    assert!(metadata["annotations"].get(keys::OWNERSHIP_PROOF).is_some());
}

#[test]
fn manifest_that_renders_to_a_disowned_object_is_not_written() {
    let labels = json!({ "manifest": { "metadata": { "labels": { "{{ .stage }}": "c1" } } } });
    let task = task(&[with(config_map("settings"), labels)]);
    for live in [None, Some(live("ConfigMap", "settings", json!({}), Some(2)))] {
        let mut store = Store::with(live);
        let refused = pass(&task, &mut store, 3, &[("stage", json!(keys::DISOWNED))]);
        assert_eq!((refused.result().1, refused.result().2), ("InvalidLabel", "failed"));
        let failure = refused.outcomes[0].failure().unwrap();
        assert!(failure.message.contains("use `lifecycle.orphan`"), "{}", failure.message);
        assert_eq!(store.log.len(), 0);
    }
}
