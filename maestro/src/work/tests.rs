use proptest::prelude::*;

use super::*;

fn row(version: i64, status: Value) -> Value {
    json!({
        "id": "u-1", "kind": "ResourceBundle", "consumer_name": "c1", "version": version, "name": "u-1",
        "created_at": "2026-01-02T03:04:05Z",
        "metadata": {"name": "w", "namespace": "c1", "uid": "u-1", "resourceVersion": "0", "labels": {"a": "b"}},
        "manifests": [{"kind": "ConfigMap"}],
        "delete_option": {"propagationPolicy": "Orphan"},
        "manifest_configs": [],
        "status": status,
    })
}

#[test]
fn bundle_is_a_work_whose_version_is_its_generation() {
    let work = of_bundle(&row(4, json!(null)));
    let expected = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {
            "name": "w", "namespace": "c1", "uid": identity::uid("u-1", "2026-01-02T03:04:05Z"), "labels": {"a": "b"}, "resourceVersion": "4", "generation": 4,
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {"workload": {"manifests": [{"kind": "ConfigMap"}]}, "deleteOption": {"propagationPolicy": "Orphan"}},
        "unobserved": {"since": "2026-01-02T03:04:05Z", "sent": "2026-01-02T03:04:05Z"},
    });
    assert_eq!(work, expected);
}

#[test]
fn status_of_an_older_version_is_not_shown() {
    let reported = json!({
        "ObservedVersion": 3, "SequenceID": "1", "conditions": [{"type": "Applied"}], "resourceStatus": [{"conditions": []}],
    });
    assert_eq!(of_bundle(&row(4, reported.clone())).get("status"), None);
    let shown = json!({"conditions": [{"type": "Applied"}], "resourceStatus": {"manifests": [{"conditions": []}]}});
    assert_eq!(of_bundle(&row(3, reported))["status"], shown);
}

#[test]
fn condition_of_an_older_version_is_not_shown_and_proves_nothing() {
    let reported = |generation: i64, status: &str| {
        let applied = json!({"type": "Applied", "status": status, "observedGeneration": generation});
        json!({"ObservedVersion": 4, "conditions": [{"type": "Available", "observedGeneration": 4}, applied]})
    };
    let shown = of_bundle(&row(4, reported(3, "True")));
    assert_eq!(shown["status"]["conditions"], json!([{"type": "Available", "observedGeneration": 4}]));
    for (generation, status, expected) in [(3, "True", false), (4, "False", false), (4, "True", true)] {
        assert_eq!(is_applied(&of_bundle(&row(4, reported(generation, status)))), expected, "{generation} {status}");
    }
}

#[test]
fn soft_deleted_bundle_is_terminating() {
    let mut bundle = row(1, json!(null));
    bundle["deleted_at"] = json!("2026-01-02T03:05:00Z");
    assert_eq!(of_bundle(&bundle)["metadata"]["deletionTimestamp"], "2026-01-02T03:05:00Z");
}

#[test]
fn bundle_without_metadata_is_named_by_its_id() {
    let mut bundle = row(1, json!(null));
    bundle["metadata"] = json!({});
    let work = of_bundle(&bundle);
    assert_eq!((&work["metadata"]["name"], &work["metadata"]["namespace"]), (&json!("u-1"), &json!("c1")));
}

#[test]
fn event_has_maestros_keys_and_whole_identifiers() {
    let work = json!({
        "metadata": {"name": "w", "uid": "other", "resourceVersion": "9", "labels": {"a": "b"}},
        "spec": {
            "workload": {"manifests": [1]}, "executor": {"subject": {}}, "deleteOption": null,
            "manifestConfigs": [{"resourceIdentifier": {"resource": "configmaps", "name": "m"}}],
        },
    });
    let expected = json!({
        "manifests": [1], "executer": {"subject": {}},
        "manifestConfigs": [{"resourceIdentifier": {"group": "", "resource": "configmaps", "name": "m", "namespace": ""}}],
    });
    assert_eq!(bundle(&work), expected);
    let kept = json!({"name": "w", "labels": {"a": "b"}, "namespace": "c1", "uid": "u-1"});
    assert_eq!(metadata(&work, "c1", "u-1"), kept);
}

proptest! {
    /// What is read back and sent again is the same, but for the executor, which Maestro does not show.
    #[test]
    fn work_survives_a_round_trip(manifests in proptest::collection::vec("[a-z]{1,8}", 1..4), orphan in any::<bool>()) {
        let mut work = json!({"metadata": {"name": "w"}, "spec": {"workload": {"manifests": manifests}}});
        if orphan {
            work["spec"]["deleteOption"] = json!({"propagationPolicy": "Orphan"});
        }
        let sent = bundle(&work);
        let row = json!({
            "id": "u-1", "consumer_name": "c1", "version": 1, "metadata": metadata(&work, "c1", "u-1"),
            "manifests": sent["manifests"], "delete_option": sent.get("deleteOption").cloned().unwrap_or_default(),
        });
        prop_assert_eq!(bundle(&of_bundle(&row)), sent);
    }
}

#[test]
fn unobserved_version_says_since_when() {
    let written = |mut row: Value| {
        row["updated_at"] = json!("2026-01-02T03:10:00Z");
        of_bundle(&row).get("unobserved").cloned()
    };
    let observed = |version: i64| json!({"ObservedVersion": version, "conditions": []});
    let fresh = json!({"since": "2026-01-02T03:10:00Z", "sent": "2026-01-02T03:10:00Z"});
    assert_eq!(written(row(4, json!(null))), Some(fresh.clone()));
    assert_eq!(written(row(4, observed(3))), Some(fresh));
    assert_eq!(written(row(4, observed(4))), None);
    // What was published again tells the time of its first publication.
    let mut again = row(5, observed(3));
    again["metadata"]["annotations"] = json!({keys::UNOBSERVED_SINCE: "2026-01-02T03:05:00Z", "mine": "a"});
    assert_eq!(of_bundle(&again)["metadata"]["annotations"], json!({"mine": "a"}));
    assert_eq!(written(again), Some(json!({"since": "2026-01-02T03:05:00Z", "sent": "2026-01-02T03:10:00Z"})));
}

#[test]
fn deletion_is_unobserved_until_the_agent_says_that_it_deletes() {
    let mut deleted = row(1, json!({"ObservedVersion": 1, "conditions": [{"type": "Applied", "status": "True"}]}));
    deleted["deleted_at"] = json!("2026-01-02T03:05:00Z");
    let unobserved = json!({"since": "2026-01-02T03:05:00Z", "sent": "2026-01-02T03:05:00Z"});
    assert_eq!(of_bundle(&deleted)["unobserved"], unobserved);
    deleted["status"]["conditions"] = json!([{"type": "Deleting", "status": "True", "observedGeneration": 1}]);
    assert_eq!(of_bundle(&deleted).get("unobserved"), None);
}
