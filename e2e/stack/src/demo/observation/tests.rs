#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

fn object(uid: &str, state: &str) -> ObjectState {
    ObjectState { uid: uid.to_owned(), state: state.to_owned() }
}

fn seen(objects: &[(&str, &str, &str)]) -> Observation {
    let objects = objects.iter().map(|&(name, uid, state)| ((Kind::Job, name.to_owned()), object(uid, state)));
    Observation { objects: objects.collect(), ..Observation::default() }
}

#[test]
fn changes_of_objects_are_told_once() {
    let cases: [(&[_], &[_], &[&str]); 6] = [
        (&[], &[("a", "1", "exists")], &["Job a is there"]),
        (&[("a", "1", "exists")], &[("a", "1", "exists")], &[]),
        (&[("a", "1", "exists")], &[("a", "1", "is complete")], &["Job a is complete"]),
        (&[("a", "1", "is complete")], &[("a", "2", "exists")], &["Job a is made again"]),
        (&[("a", "1", "exists")], &[], &["Job a is gone"]),
        (&[], &[("a", "1", "is disowned")], &["Job a is there", "Job a is disowned"]),
    ];
    for (before, after, expected) in cases {
        let lines = changes(&seen(before), &seen(after));
        let lines: Vec<&str> = lines.iter().map(|line| line.strip_prefix("Kubernetes").unwrap().trim()).collect();
        assert_eq!(lines, expected, "{before:?} {after:?}");
    }
}

#[test]
fn cluster_is_reconciled_only_at_its_current_generation() {
    for (status, observed, expected) in [("True", 2, true), ("True", 1, false), ("False", 2, false)] {
        let condition =
            json!({ "type": "Reconciled", "status": status, "message": "M", "observed_generation": observed });
        let document = json!({ "generation": 2, "status": { "conditions": [{ "type": "Other" }, condition] } });
        assert_eq!(ClusterState::read(&document).is_reconciled, expected, "{status} {observed}");
    }
    let without = ClusterState::read(&json!({ "generation": 1 }));
    assert_eq!((without.is_reconciled, without.reconciled.as_str()), (false, "Reconciled=?: ?"));
}

#[test]
fn report_shows_reasons_of_what_is_not_true() {
    let conditions = json!([
        { "type": "Available", "status": "False", "reason": "JobFailed", "message": "M" },
        { "type": "Late", "status": "False", "reason": "Waiting", "message": "resource a: wave 2" },
        { "type": "Health", "status": "True", "reason": "Healthy" },
        { "type": "Finalized", "status": "False", "reason": "Cleanup" },
        { "type": "Other", "status": "Unknown", "reason": null, "message": null },
    ]);
    let statuses = json!({ "items": [{ "adapter": "a", "observed_generation": 3, "conditions": conditions }] });
    assert_eq!(
        adapters(&statuses)["a"],
        "generation 3: Available=False (JobFailed) Late=False (Waiting: resource a: wave 2) Health=True Other=Unknown (no reason)"
    );
}

#[test]
fn work_is_applied_once_its_agent_has_reported_on_this_version() {
    let status = |observed: u32, applied: &str| {
        let conditions = json!([{ "type": "Applied", "status": applied }]);
        json!({ "ObservedVersion": observed, "conditions": conditions })
    };
    let cases = [
        ("no report yet", json!(null), json!(null), "is not yet applied, version 2"),
        ("a report on an older version", status(1, "True"), json!(null), "is not yet applied, version 2"),
        ("a report on this version", status(2, "True"), json!(null), "is applied by its agent, version 2"),
        ("a report of a failure", status(2, "False"), json!(null), "is not yet applied, version 2"),
        ("a deletion", status(2, "True"), json!("2026-01-01T00:00:00Z"), "is being deleted"),
    ];
    for (name, status, deleted, expected) in cases {
        let work = json!({ "id": "w", "created_at": "t", "version": 2, "status": status, "deleted_at": deleted });
        assert_eq!(ObjectState::of_work(&work).state, expected, "{name}");
    }
}

#[test]
fn line_of_a_work_names_maestro() {
    let work = (Kind::ManifestWork, "remote/a".to_owned());
    let after = Observation { objects: [(work, object("1", "exists"))].into(), ..Observation::default() };
    assert_eq!(changes(&Observation::default(), &after), ["Maestro      ManifestWork remote/a is there"]);
}
