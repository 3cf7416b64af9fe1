//! The rows of the table of kinds, except for workloads: a ready object of each kind, and the changes that make it
//! something else.

use super::*;

pub(super) fn object(api_version: &str, kind: &str, spec: Value, status: Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": "a", "generation": 3, "creationTimestamp": "2026-11-01T11:59:45Z"},
        "spec": spec, "status": status,
    })
}

#[test]
fn object_that_only_stores_is_ready_when_it_exists() {
    let kinds = [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("batch/v1", "CronJob"),
        ("policy/v1", "PodDisruptionBudget"),
        ("v1", "Service"),
    ];
    for (api_version, kind) in kinds {
        let base = object(api_version, kind, json!({}), json!({"conditions": [condition("Ready", "False")]}));
        let outdated = "its controller has observed generation 2, not yet 3";
        let cases: &[(&str, &[Change], Readiness, &str)] = &[
            (kind, &[], Ready, "it exists"),
            (kind, &[("status.observedGeneration", json!(2))], InProgress, outdated),
        ];
        check(&base, cases);
    }
}

#[test]
fn group_is_part_of_the_kind_and_version_is_not() {
    let of = |api_version: &str| object(api_version, "Deployment", json!({}), json!({}));
    let cases = [
        ("a Deployment without status is not ready", of("apps/v1"), InProgress),
        ("nor is it in another version", of("apps/v1beta2"), InProgress),
        ("a Deployment of another group has other rules", of("example.io/v1"), Ready),
        ("the core group has no Deployment", of("v1"), Ready),
    ];
    for (name, object, readiness) in cases {
        assert_eq!(judged(&object).0, readiness, "{name}");
    }
}

#[test]
fn service_is_ready_unless_a_load_balancer_lacks_an_address() {
    let base = object("v1", "Service", json!({"type": "LoadBalancer", "clusterIP": "10.0.0.7"}), json!({}));
    let no_address = "it is a load balancer without a cluster IP";
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("a load balancer with an address", &[], Ready, "it exists"),
        ("a load balancer without an address", &[("spec.clusterIP", json!(null))], InProgress, no_address),
        ("an empty address is none", &[("spec.clusterIP", json!(""))], InProgress, no_address),
        (
            "another type needs no address",
            &[("spec.type", json!("ClusterIP")), ("spec.clusterIP", json!(null))],
            Ready,
            "it exists",
        ),
        ("a type that is no text", &[("spec.type", json!(1))], InProgress, "its `spec.type` is not text"),
    ];
    check(&base, cases);
}

#[test]
fn volume_claim_is_ready_when_it_is_bound() {
    let base = object("v1", "PersistentVolumeClaim", json!({}), json!({"phase": "Bound"}));
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("bound", &[], Ready, "it is bound to a volume"),
        ("pending", &[("status.phase", json!("Pending"))], InProgress, "its phase is Pending, not Bound"),
        ("lost", &[("status.phase", json!("Lost"))], InProgress, "its phase is Lost, not Bound"),
        ("without phase", &[("status.phase", json!(null))], InProgress, "it has no phase yet"),
        ("an odd phase", &[("status.phase", json!({}))], InProgress, "its `status.phase` is not text"),
    ];
    check(&base, cases);
}

#[test]
fn pod_is_ready_when_it_succeeded_or_serves() {
    let status = json!({"phase": "Running", "conditions": [condition("Ready", "True")]});
    let base = object("v1", "Pod", json!({}), status);
    let unready = || -> Change { ("status.conditions.0.status", json!("False")) };
    let crashing: Change = (
        "status.containerStatuses",
        json!([{"name": "web", "state": {"running": {}}}, {"name": "db", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]),
    );
    let starting: Change =
        ("status.containerStatuses", json!([{"name": "db", "state": {"waiting": {"reason": "ContainerCreating"}}}]));
    let waits = "it runs, but its condition Ready is not True";
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("running and Ready", &[], Ready, "it runs, and its condition Ready is True"),
        ("running, and not Ready", &[unready()], InProgress, waits),
        ("running without conditions", &[("status.conditions", json!(null))], InProgress, waits),
        ("a container still waits", &[unready(), starting], InProgress, waits),
        ("a container crashes", &[unready(), crashing.clone()], Failed, "its container db crashes again and again"),
        ("Ready precedes a crash", &[crashing], Ready, "it runs, and its condition Ready is True"),
        (
            "containers of another form",
            &[unready(), ("status.containerStatuses", json!("none"))],
            InProgress,
            "its `status.containerStatuses` is not a list",
        ),
        ("succeeded", &[("status.phase", json!("Succeeded"))], Ready, "it has succeeded"),
        ("a failed Pod is failed, not complete", &[("status.phase", json!("Failed"))], Failed, "it has failed"),
        ("an unknown phase", &[("status.phase", json!("Unknown"))], InProgress, "its phase is Unknown"),
        ("no phase", &[("status.phase", json!(null))], InProgress, "it has no phase yet"),
    ];
    check(&base, cases);
}

#[test]
fn pod_fails_when_no_node_suits_it_for_15_seconds() {
    let scheduled = because("PodScheduled", "False", "Unschedulable");
    let base = object("v1", "Pod", json!({}), json!({"phase": "Pending", "conditions": [scheduled]}));
    let at = |time: &str| -> Change { ("metadata.creationTimestamp", json!(time)) };
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("16 s old", &[at("2026-11-01T11:59:44Z")], Failed, "no node suits it"),
        ("exactly 15 s old", &[at("2026-11-01T11:59:45Z")], InProgress, "no node suits it yet"),
        ("created in the future", &[at("2026-11-01T12:00:20Z")], InProgress, "no node suits it yet"),
        (
            "created at an unknown time",
            &[("metadata.creationTimestamp", json!(null))],
            InProgress,
            "no node suits it yet",
        ),
        (
            "created at an odd time",
            &[at("yesterday")],
            InProgress,
            "its `metadata.creationTimestamp` is not a timestamp",
        ),
        (
            "old, but gated",
            &[at("2026-11-01T10:00:00Z"), ("status.conditions.0.reason", json!("SchedulingGated"))],
            InProgress,
            "it is pending",
        ),
        (
            "old, but scheduled",
            &[at("2026-11-01T10:00:00Z"), ("status.conditions.0.status", json!("True"))],
            InProgress,
            "it is pending",
        ),
    ];
    check(&base, cases);
}

#[test]
fn job_is_ready_when_it_completed_or_is_suspended_on_purpose() {
    let base = object("batch/v1", "Job", json!({"suspend": false}), json!({"startTime": "2026-11-01T11:59:50Z"}));
    let of = |conditions: Value| -> Change { ("status.conditions", conditions) };
    let suspended = || of(json!([condition("Suspended", "True")]));
    let complete = condition("Complete", "True");
    let failed = because("Failed", "True", "BackoffLimitExceeded");
    let failure = "its condition Failed is True because of BackoffLimitExceeded";
    let suspend = || -> Change { ("spec.suspend", json!(true)) };
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("a running Job is not ready", &[], InProgress, "it has started, but not completed"),
        ("a new Job is not ready", &[("status", json!(null))], InProgress, "it has not started yet"),
        ("completed", &[of(json!([complete]))], Ready, "it has completed"),
        ("a failed Job is failed", &[of(json!([failed]))], Failed, failure),
        ("a failure precedes all else", &[suspend(), of(json!([complete, failed]))], Failed, failure),
        (
            "a failure that is not final",
            &[of(json!([condition("FailureTarget", "True"), condition("Failed", "False")]))],
            InProgress,
            "it has started, but not completed",
        ),
        ("suspended on purpose", &[suspend(), suspended()], Ready, "it is suspended, as `spec.suspend` demands"),
        ("to be suspended", &[suspend()], InProgress, "`spec.suspend` is true, but it is not suspended yet"),
        ("about to resume", &[suspended()], InProgress, "it is suspended, although `spec.suspend` is not true"),
        (
            "suspended for an odd reason",
            &[("spec.suspend", json!("true")), suspended()],
            InProgress,
            "its `spec.suspend` is not true or false",
        ),
    ];
    check(&base, cases);
}

#[test]
fn crd_is_ready_when_its_kind_is_served() {
    let conditions = json!([condition("NamesAccepted", "True"), condition("Established", "True")]);
    let base =
        object("apiextensions.k8s.io/v1", "CustomResourceDefinition", json!({}), json!({"conditions": conditions}));
    let conflict = because("NamesAccepted", "False", "ListKindConflict");
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("established", &[], Ready, "the API server serves its kind"),
        ("a new one", &[("status", json!(null))], InProgress, "it has no condition Established yet"),
        (
            "the names are not judged yet",
            &[("status.conditions.0.status", json!("Unknown"))],
            InProgress,
            "its condition NamesAccepted is Unknown",
        ),
        (
            "the names conflict",
            &[("status.conditions.0", conflict)],
            Failed,
            "its condition NamesAccepted is False because of ListKindConflict",
        ),
        (
            "installing",
            &[("status.conditions.1", because("Established", "False", "Installing"))],
            InProgress,
            "its condition Established is False because of Installing",
        ),
        (
            "not established for another reason",
            &[("status.conditions.1", because("Established", "False", "NotAccepted"))],
            Failed,
            "its condition Established is False because of NotAccepted",
        ),
        (
            "established, and the names unknown",
            &[("status.conditions", json!([condition("Established", "True")]))],
            InProgress,
            "it has no condition NamesAccepted yet",
        ),
    ];
    check(&base, cases);
}

#[test]
fn api_service_is_ready_when_it_is_available() {
    let conditions = json!({"conditions": [condition("Available", "True")]});
    let base = object("apiregistration.k8s.io/v1", "APIService", json!({}), conditions);
    let cases: &[(&str, &[Change], Readiness, &str)] = &[
        ("available", &[], Ready, "the API server serves its kinds"),
        ("a new one", &[("status", json!(null))], InProgress, "it has no condition Available yet"),
        (
            "its server does not answer",
            &[("status.conditions.0", because("Available", "False", "FailedDiscoveryCheck"))],
            InProgress,
            "its condition Available is False because of FailedDiscoveryCheck",
        ),
    ];
    check(&base, cases);
}
