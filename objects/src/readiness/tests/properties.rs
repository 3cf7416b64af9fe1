//! Properties of judgements about objects of any form.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Any JSON whose keys and texts are those that the rules read, so that most rules are reached.
fn json_of_our_words() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "True",
        "False",
        "Unknown",
        "Ready",
        "Stalled",
        "Failed",
        "Complete",
        "Available",
        "Running",
        "Pending",
        "Bound",
        "OnDelete",
        "Unschedulable",
        "PodScheduled",
        "2026-11-01T00:00:00Z",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..5).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys(), inner, 0..5).prop_map(|fields| json!(fields)),
        ]
    })
}

fn keys() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "type",
        "status",
        "reason",
        "phase",
        "conditions",
        "generation",
        "observedGeneration",
        "replicas",
        "readyReplicas",
        "updateStrategy",
        "suspend",
        "containerStatuses",
        "state",
        "waiting",
        "creationTimestamp",
        "deletionTimestamp",
    ])
}

/// Mostly a mapping, since nothing inside of anything else is read.
fn part() -> impl Strategy<Value = Value> {
    let mapping = prop::collection::btree_map(keys(), json_of_our_words(), 0..4).prop_map(|fields| json!(fields));
    prop_oneof![4 => mapping, 1 => json_of_our_words()]
}

fn objects() -> impl Strategy<Value = Value> {
    let kinds = prop::sample::select(vec![
        ("v1", "Service"),
        ("v1", "Secret"),
        ("v1", "Pod"),
        ("v1", "PersistentVolumeClaim"),
        ("batch/v1", "Job"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("example.io/v1", "Widget"),
    ]);
    (kinds, part(), part(), part()).prop_map(
        |((version, kind), metadata, spec, status)| {
            json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
        },
    )
}

fn hint_texts() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "has-observed-generation,has-ready-condition", "conditions=Ready;Available"])
}

proptest! {
    #[test]
    fn any_json_has_a_judgement_with_a_reason(value in json_of_our_words(), hints in hint_texts()) {
        let (readiness, why) = hinted(&value, hints);
        // Without a kind, nothing is understood.
        prop_assert!(matches!(readiness, InProgress | Terminating), "{readiness:?}");
        prop_assert!(!why.is_empty());
    }

    #[test]
    fn terminating_object_is_never_ready(object in objects(), at in json_of_our_words(), hints in hint_texts()) {
        prop_assume!(!at.is_null() && object["metadata"].is_object());
        let object = changed(&object, &[("metadata.deletionTimestamp", at)]);
        prop_assert_eq!(hinted(&object, hints).0, Terminating);
    }

    #[test]
    fn ready_object_has_a_status_of_the_right_form(object in objects(), hints in hint_texts()) {
        let (readiness, why) = hinted(&object, hints);
        if readiness == Ready {
            let status = &object["status"];
            prop_assert!(status.is_null() || status.is_object(), "{why}: {object}");
            let conditions = &status["conditions"];
            prop_assert!(conditions.is_null() || conditions.is_array(), "{why}: {object}");
            let (generation, observed) = (&object["metadata"]["generation"], &status["observedGeneration"]);
            prop_assert!(generation.is_null() || observed.is_null() || generation == observed, "{why}: {object}");
        }
    }

    #[test]
    fn hints_never_make_an_object_ready(object in objects(), hints in hint_texts()) {
        let (plain, hinted) = (judged(&object).0, hinted(&object, hints).0);
        prop_assert!(hinted == plain || hinted == InProgress, "{plain:?} became {hinted:?}");
    }

    #[test]
    fn data_of_a_secret_is_never_quoted(data in "[a-z]{12}", status in json_of_our_words(), hints in hint_texts()) {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {}, "status": status,
            "data": {"key": &data}, "stringData": {"key": &data},
        });
        prop_assert!(!hinted(&object, hints).1.contains(&data));
    }
}
