//! The rows of the kinds that keep a number of Pods.

use super::kinds::object;
use super::*;

#[test]
fn deployment_is_ready_when_its_roll_out_is_over() {
    let base = object(
        "apps/v1",
        "Deployment",
        json!({"replicas": 3, "progressDeadlineSeconds": 600}),
        json!({
            "observedGeneration": 3, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "readyReplicas": 3,
            "conditions": [condition("Available", "True"), because("Progressing", "True", "NewReplicaSetAvailable")],
        }),
    );
    let deadline = |seconds: Value| -> Change { ("spec.progressDeadlineSeconds", seconds) };
    let no_progress = || -> Change { ("status.conditions", json!([condition("Available", "True")])) };
    let is_over = "3 of 3 replicas are ready";
    let not_over = "its roll-out is not over";
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("rolled out", &[], Ready, is_over),
        ("a new one", &[("status", json!(null))], InProgress, "0 of 3 replicas exist"),
        ("too few replicas", &[("status.replicas", json!(2))], InProgress, "2 of 3 replicas exist"),
        ("a former replica", &[("status.updatedReplicas", json!(2))], InProgress, "2 of 3 replicas are updated"),
        ("a surplus replica", &[("status.replicas", json!(4))], InProgress, "there are 4 replicas, and 3 are wanted"),
        (
            "a replica that is not available",
            &[("status.availableReplicas", json!(2))],
            InProgress,
            "2 of 3 updated replicas are available",
        ),
        ("a replica that is not ready", &[("status.readyReplicas", json!(2))], InProgress, "2 of 3 replicas are ready"),
        (
            "the status may leave out zero",
            &[("status.readyReplicas", json!(null))],
            InProgress,
            "0 of 3 replicas are ready",
        ),
        (
            "the specification may leave out one",
            &[("spec.replicas", json!(null))],
            InProgress,
            "there are 3 replicas, and 1 are wanted",
        ),
        (
            "the deadline has passed",
            &[("status.conditions.1", because("Progressing", "False", "ProgressDeadlineExceeded"))],
            Failed,
            "its condition Progressing is False because of ProgressDeadlineExceeded",
        ),
        ("progress goes on", &[("status.conditions.1.reason", json!("ReplicaSetUpdated"))], InProgress, not_over),
        ("progress is unknown", &[("status.conditions.1.status", json!("Unknown"))], InProgress, not_over),
        ("no word of progress", &[no_progress()], InProgress, not_over),
        ("no word of progress without a deadline", &[no_progress(), deadline(json!(null))], Ready, is_over),
        ("the largest deadline is none", &[no_progress(), deadline(json!(i32::MAX))], Ready, is_over),
        (
            "not available",
            &[("status.conditions.0.status", json!("False"))],
            InProgress,
            "its condition Available is False",
        ),
        (
            "a number as text",
            &[("status.readyReplicas", json!("3"))],
            InProgress,
            "its `status.readyReplicas` is not a whole number",
        ),
        (
            "a negative number of replicas",
            &[("spec.replicas", json!(-1))],
            InProgress,
            "its `spec.replicas` is not a whole number",
        ),
    ];
    check(&base, cases);
}

#[test]
fn paused_deployment_is_ready_with_its_pods_of_whatever_revision() {
    let base = object(
        "apps/v1",
        "Deployment",
        json!({"replicas": 2, "paused": true, "progressDeadlineSeconds": 600}),
        json!({
            "observedGeneration": 3, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "conditions": [condition("Available", "True"), because("Progressing", "Unknown", "DeploymentPaused")],
        }),
    );
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("no Pod is updated", &[], Ready, "it is paused, as `spec.paused` demands; 2 of 2 replicas are ready"),
        ("a Pod is not ready", &[("status.readyReplicas", json!(1))], InProgress, "1 of 2 replicas are ready"),
        (
            "a new one has no Pods",
            &[("status.replicas", json!(0)), ("status.readyReplicas", json!(0))],
            InProgress,
            "0 of 2 replicas exist: it is paused, so no new one is created; remove `spec.paused` to go on",
        ),
        (
            "no Pod is wanted",
            &[("spec.replicas", json!(0)), ("status", json!(null))],
            Ready,
            "it is paused, as `spec.paused` demands; 0 of 0 replicas are ready",
        ),
    ];
    check(&base, cases);
}

#[test]
fn replica_set_is_ready_when_all_replicas_are() {
    let base = object(
        "apps/v1",
        "ReplicaSet",
        json!({"replicas": 3}),
        json!({"replicas": 3, "fullyLabeledReplicas": 3, "availableReplicas": 3, "readyReplicas": 3}),
    );
    let failure =
        |status: &str| -> Change { ("status.conditions", json!([because("ReplicaFailure", status, "FailedCreate")])) };
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("all are ready", &[], Ready, "3 of 3 replicas are ready"),
        (
            "none are wanted",
            &[("spec.replicas", json!(0)), ("status", json!(null))],
            Ready,
            "0 of 0 replicas are ready",
        ),
        (
            "one lacks a label",
            &[("status.fullyLabeledReplicas", json!(2))],
            InProgress,
            "2 of 3 replicas have all labels",
        ),
        (
            "one is not available",
            &[("status.availableReplicas", json!(2))],
            InProgress,
            "2 of 3 replicas are available",
        ),
        ("one is not ready", &[("status.readyReplicas", json!(2))], InProgress, "2 of 3 replicas are ready"),
        ("one too many", &[("status.replicas", json!(4))], InProgress, "there are 4 replicas, and 3 are wanted"),
        (
            "a creation failed",
            &[failure("True")],
            InProgress,
            "its condition ReplicaFailure is True because of FailedCreate",
        ),
        ("no creation failed", &[failure("False")], Ready, "3 of 3 replicas are ready"),
    ];
    check(&base, cases);
}

#[test]
fn stateful_set_is_ready_when_its_replicas_are_ready_and_updated() {
    let base = object(
        "apps/v1",
        "StatefulSet",
        json!({"replicas": 3}),
        json!({
            "replicas": 3, "readyReplicas": 3, "currentReplicas": 3,
            "currentRevision": "a-1", "updateRevision": "a-1",
        }),
    );
    let partition =
        |number: Value| -> Change { ("spec.updateStrategy", json!({"rollingUpdate": {"partition": number}})) };
    let updated = |number: u64| -> Change { ("status.updatedReplicas", json!(number)) };
    let not_ready = || -> Change { ("status.readyReplicas", json!(2)) };
    let on_delete = || -> Change { ("spec.updateStrategy", json!({"type": "OnDelete"})) };
    let done = "3 of 3 replicas are ready";
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("all are ready", &[], Ready, done),
        ("a new one", &[("status", json!(null))], InProgress, "0 of 3 replicas exist"),
        ("one is not ready", &[not_ready()], InProgress, "2 of 3 replicas are ready"),
        ("one too many", &[("status.replicas", json!(4))], InProgress, "there are 4 replicas, and 3 are wanted"),
        ("one is not current", &[("status.currentReplicas", json!(2))], InProgress, "2 of 3 replicas are current"),
        (
            "a new revision",
            &[("status.updateRevision", json!("a-2"))],
            InProgress,
            "its replicas are not of the new revision yet",
        ),
        (
            "no revisions are not equal revisions",
            &[("status.currentRevision", json!(null)), ("status.updateRevision", json!(null))],
            InProgress,
            "its status names no revision yet",
        ),
        (
            "with OnDelete no revision counts",
            &[on_delete(), ("status.updateRevision", json!("a-2")), ("status.currentReplicas", json!(0))],
            Ready,
            done,
        ),
        ("with OnDelete without Pods", &[on_delete(), ("status", json!(null))], InProgress, "0 of 3 replicas exist"),
        ("with OnDelete one is not ready", &[on_delete(), not_ready()], InProgress, "2 of 3 replicas are ready"),
        (
            "a partition of 2 wants 1 updated replica",
            &[partition(json!(2)), updated(1), ("status.updateRevision", json!("a-2"))],
            Ready,
            done,
        ),
        (
            "a partition of 2, and nothing updated",
            &[partition(json!(2))],
            InProgress,
            "0 of 1 replicas above the partition are updated",
        ),
        (
            "a partition of 0 wants all updated",
            &[partition(json!(0)), updated(2)],
            InProgress,
            "2 of 3 replicas above the partition are updated",
        ),
        ("a partition above all replicas wants none updated", &[partition(json!(9))], Ready, done),
        (
            "a partition does not excuse a replica that is not ready",
            &[partition(json!(9)), not_ready()],
            InProgress,
            "2 of 3 replicas are ready",
        ),
        (
            "a partition that is text",
            &[partition(json!("2"))],
            InProgress,
            "its `spec.updateStrategy.rollingUpdate.partition` is not a whole number",
        ),
        (
            "a strategy that is text",
            &[("spec.updateStrategy", json!("OnDelete"))],
            InProgress,
            "its `spec.updateStrategy` is not a mapping",
        ),
    ];
    check(&base, cases);
}

#[test]
fn daemon_set_is_ready_when_each_node_has_its_pod() {
    let base = object(
        "apps/v1",
        "DaemonSet",
        json!({}),
        json!({
            "observedGeneration": 3, "desiredNumberScheduled": 3, "currentNumberScheduled": 3,
            "updatedNumberScheduled": 3, "numberAvailable": 3, "numberReady": 3,
        }),
    );
    let not_counted = "its controller has not counted its nodes yet";
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("each node has one", &[], Ready, "3 of 3 Pods are ready"),
        ("no node suits", &[("status.desiredNumberScheduled", json!(0))], Ready, "0 of 0 Pods are ready"),
        ("a new one", &[("status", json!(null))], InProgress, not_counted),
        ("not observed", &[("status.observedGeneration", json!(null))], InProgress, not_counted),
        ("without generation", &[("metadata.generation", json!(null))], InProgress, not_counted),
        ("not counted", &[("status.desiredNumberScheduled", json!(null))], InProgress, not_counted),
        ("one to schedule", &[("status.currentNumberScheduled", json!(2))], InProgress, "2 of 3 Pods are scheduled"),
        ("one to update", &[("status.updatedNumberScheduled", json!(2))], InProgress, "2 of 3 Pods are updated"),
        (
            "one to update by hand",
            &[("spec.updateStrategy", json!({"type": "OnDelete"})), ("status.updatedNumberScheduled", json!(0))],
            Ready,
            "3 of 3 Pods are ready",
        ),
        ("one not available", &[("status.numberAvailable", json!(2))], InProgress, "2 of 3 Pods are available"),
        ("one not ready", &[("status.numberReady", json!(2))], InProgress, "2 of 3 Pods are ready"),
    ];
    check(&base, cases);
}
