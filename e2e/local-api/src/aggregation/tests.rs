#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;

/// Seconds after noon.
fn at(seconds: u64) -> Timestamp {
    "2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap() + std::time::Duration::from_secs(seconds)
}

fn required() -> Vec<String> {
    vec!["validation".to_owned(), "cl-dns".to_owned()]
}

/// A resource that was last changed at noon.
fn resource(generation: i64, is_deleted: bool) -> Resource {
    let deleted: Value = if is_deleted { json!(at(0)) } else { Value::Null };
    serde_json::from_value(json!({
        "id": "r", "kind": "Cluster", "name": "r", "href": "/r", "spec": {}, "generation": generation,
        "created_time": at(0), "updated_time": at(0), "created_by": "", "updated_by": "", "deleted_time": deleted,
    }))
    .unwrap()
}

/// A report with `Available`, or with `Finalized` if the status begins with `F:`.
fn report(adapter: &str, generation: i64, available: &str, seconds: u64) -> Report {
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "reason": "R", "message": "M", "last_transition_time": at(seconds) });
    let (available, finalized) = match available.strip_prefix("F:") {
        Some(finalized) => ("False", finalized),
        None => (available, "False"),
    };
    serde_json::from_value(json!({
        "adapter": adapter, "observed_generation": generation, "created_time": at(seconds),
        "last_report_time": at(seconds),
        "conditions": [condition("Available", available), condition("Finalized", finalized)],
    }))
    .unwrap()
}

/// Reports of both adapters, each as generation, status and second; generation 0 means none.
fn reports(validation: (i64, &str, u64), dns: (i64, &str, u64)) -> Vec<Report> {
    let both = [("validation", validation), ("cl-dns", dns)];
    let given = both.into_iter().filter(|(_, (generation, ..))| *generation > 0);
    given.map(|(adapter, (generation, status, seconds))| report(adapter, generation, status, seconds)).collect()
}

fn find<'a>(conditions: &'a [Condition], kind: &str) -> &'a Condition {
    conditions.iter().find(|condition| condition.kind == kind).unwrap()
}

const NONE: (i64, &str, u64) = (0, "", 0);

#[test]
fn reconciled_needs_every_adapter_at_the_current_generation() {
    let all = "ReconciledAll";
    let (missing, children) = ("ReconciledMissingAdapters", "ReconciledWaitingForChildren");
    for (name, is_deleted, validation, dns, child_count, status, reason, updated) in [
        ("nobody has reported", false, NONE, NONE, 0, "False", missing, 0),
        ("one has not", false, (2, "True", 5), NONE, 0, "False", missing, 5),
        ("both are available", false, (2, "True", 7), (2, "True", 5), 0, "True", all, 5),
        ("one is not", false, (2, "True", 7), (2, "False", 9), 0, "False", missing, 7),
        ("one speaks of an older generation", false, (2, "True", 7), (1, "True", 5), 0, "False", missing, 7),
        ("one speaks of a newer generation", false, (2, "True", 7), (3, "True", 5), 0, "False", missing, 7),
        ("one does not know", false, (2, "True", 7), (2, "Unknown", 5), 0, "False", missing, 7),
        ("children do not matter to a live one", false, (2, "True", 7), (2, "True", 5), 3, "True", all, 5),
        ("availability does not matter to a deleted one", true, (2, "True", 7), (2, "True", 5), 0, "False", missing, 5),
        ("both are finalized", true, (2, "F:True", 7), (2, "F:True", 5), 0, "True", all, 5),
        ("one is not finalized", true, (2, "F:True", 7), (2, "F:False", 5), 0, "False", missing, 5),
        ("one was finalized at an older generation", true, (2, "F:True", 7), (1, "F:True", 5), 0, "False", missing, 7),
        ("a child is left", true, (2, "F:True", 7), (2, "F:True", 5), 1, "False", children, 5),
    ] {
        let conditions = aggregate(&resource(2, is_deleted), &required(), &reports(validation, dns), child_count);
        let found = find(&conditions, RECONCILED);
        let reason = Some(reason.to_owned());
        assert_eq!((found.status.as_str(), &found.reason), (status, &reason), "{name}");
        assert_eq!(found.last_updated_time, at(updated), "{name}");
        assert_eq!(found.observed_generation, 2, "{name}: always that of the resource");
    }
}

#[test]
fn message_names_the_adapters_that_are_not_ready_and_those_that_reported() {
    let conditions = aggregate(&resource(1, false), &required(), &reports((1, "False", 1), NONE), 0);
    assert_eq!(
        find(&conditions, RECONCILED).message.as_deref(),
        Some("Adapters that are not ready: cl-dns, validation; adapters that have reported: validation")
    );
}

/// A report as generation, status and second.
type Reported<'a> = (i64, &'a str, u64);

/// The conditions after each of these steps: the resource's generation, and the report of each adapter.
fn history(steps: &[(i64, Reported<'_>, Reported<'_>)]) -> Vec<Condition> {
    let mut last = Vec::new();
    for (generation, validation, dns) in steps {
        let resource = Resource {
            conditions: last,
            updated_time: at(100 * (*generation as u64 - 1)),
            ..resource(*generation, false)
        };
        last = aggregate(&resource, &required(), &reports(*validation, *dns), 0);
    }
    last
}

#[test]
fn transition_of_reconciled_is_the_change_that_caused_it() {
    let available = (1, (1, "True", 5), (1, "True", 7));
    for (name, steps, expected) in [
        ("the first report that completes it", vec![(1, NONE, NONE), available], 5),
        ("a later report of the same status moves nothing", vec![available, (1, (1, "True", 50), (1, "True", 60))], 5),
        ("a failure at the same generation", vec![available, (1, (1, "False", 50), (1, "True", 60))], 50),
        ("a new generation: the time of the user's change", vec![available, (2, (1, "True", 5), (1, "True", 7))], 100),
        (
            "true again at the new generation",
            vec![available, (2, (1, "True", 5), (1, "True", 7)), (2, (2, "True", 130), (2, "True", 140))],
            130,
        ),
    ] {
        let conditions = history(&steps);
        assert_eq!(find(&conditions, RECONCILED).last_transition_time, at(expected), "{name}");
    }
}

#[test]
fn last_known_state_stays_true_until_an_adapter_fails_at_that_generation() {
    let all = "AllAdaptersReconciled";
    let (missing, failed, mixed) =
        ("AdaptersMissingReports", "AdapterReportedNotAvailable", "AdaptersNotAtSameGeneration");
    let known = (1, (1, "True", 5), (1, "True", 7));
    for (name, steps, status, reason, generation, updated) in [
        ("nobody has reported", vec![(1, NONE, NONE)], "False", missing, 1, 0),
        ("one is missing", vec![(1, (1, "True", 5), NONE)], "False", missing, 1, 0),
        ("all at one generation", vec![known], "True", all, 1, 5),
        ("all at an older generation", vec![known, (2, (1, "True", 5), (1, "True", 7))], "True", all, 1, 5),
        ("one is ahead", vec![known, (2, (2, "True", 120), (1, "True", 7))], "True", all, 1, 5),
        ("one is ahead, and it never was true", vec![(2, (2, "True", 120), (1, "True", 7))], "False", mixed, 2, 100),
        ("one failed ahead", vec![known, (2, (2, "False", 120), (1, "True", 7))], "True", all, 1, 5),
        (
            "one failed at the known generation",
            vec![known, (1, (1, "False", 20), (1, "True", 7))],
            "False",
            failed,
            1,
            7,
        ),
        ("one failed, and it never was true", vec![(1, (1, "False", 20), (1, "True", 7))], "False", failed, 1, 7),
        ("all are ahead", vec![known, (2, (2, "True", 120), (2, "True", 110))], "True", all, 2, 110),
    ] {
        let conditions = history(&steps);
        let found = find(&conditions, LAST_KNOWN);
        assert_eq!((found.status.as_str(), found.reason.as_deref()), (status, Some(reason)), "{name}");
        assert_eq!((found.observed_generation, found.last_updated_time), (generation, at(updated)), "{name}");
    }
}

#[test]
fn each_adapter_has_a_condition_of_its_own_once_it_reported() {
    let conditions = aggregate(&resource(2, false), &required(), &reports((1, "True", 3), (2, "False", 5)), 0);
    let types: Vec<_> = conditions.iter().map(|condition| condition.kind.as_str()).collect();
    assert_eq!(types, [RECONCILED, LAST_KNOWN, "ValidationSuccessful", "ClDnsSuccessful"]);
    let dns = find(&conditions, "ClDnsSuccessful");
    assert_eq!((dns.status.as_str(), dns.reason.as_deref(), dns.message.as_deref()), ("False", Some("R"), Some("M")));
    assert_eq!((dns.observed_generation, dns.last_updated_time, dns.last_transition_time), (2, at(5), at(5)));
    assert_eq!(find(&conditions, "ValidationSuccessful").observed_generation, 1);
    let silent = aggregate(&resource(2, false), &required(), &reports((2, "Unknown", 3), NONE), 0);
    assert_eq!(silent.len(), 2, "an adapter that does not know has none");
    let later = history(&[(1, (1, "True", 5), (1, "True", 7)), (1, (1, "True", 50), (1, "False", 60))]);
    assert_eq!(find(&later, "ValidationSuccessful").last_transition_time, at(5));
    assert_eq!(find(&later, "ClDnsSuccessful").last_transition_time, at(60));
}

#[test]
fn kind_without_adapters_has_no_conditions() {
    assert_eq!(aggregate(&resource(1, false), &[], &reports((1, "True", 1), NONE), 0), []);
}

#[test]
fn reports_of_other_adapters_count_for_nothing() {
    let mut all = reports((1, "True", 1), (1, "True", 2));
    all.push(report("stranger", 1, "False", 3));
    let conditions = aggregate(&resource(1, false), &required(), &all, 0);
    assert_eq!((find(&conditions, RECONCILED).status.as_str(), conditions.len()), ("True", 4));
}

#[test]
fn same_reports_give_the_same_conditions_again() {
    for is_deleted in [false, true] {
        let mut resource = resource(2, is_deleted);
        for reports in [reports((1, "True", 3), (2, "False", 5)), reports((2, "F:True", 9), (2, "F:True", 8))] {
            resource.conditions = aggregate(&resource, &required(), &reports, 0);
            assert_eq!(aggregate(&resource, &required(), &reports, 0), resource.conditions);
        }
    }
}

#[test]
fn deletion_is_done_when_every_adapter_finalized_the_current_generation() {
    for (is_deleted, validation, dns, expected) in [
        (true, (2, "F:True", 1), (2, "F:True", 1), true),
        (true, (2, "F:True", 1), (1, "F:True", 1), false),
        (true, (2, "F:True", 1), (2, "F:False", 1), false),
        (true, (2, "F:True", 1), NONE, false),
        (false, (2, "F:True", 1), (2, "F:True", 1), false),
    ] {
        let found = is_finalized(&resource(2, is_deleted), &required(), &reports(validation, dns));
        assert_eq!(found, expected, "{is_deleted} {validation:?} {dns:?}");
    }
    assert!(is_finalized(&resource(2, true), &[], &[]), "without adapters there is nothing to wait for");
}

#[test]
fn conditions_are_sorted_as_they_were_computed() {
    let conditions = aggregate(&resource(2, false), &required(), &reports((1, "True", 3), (2, "False", 5)), 0);
    let mut shuffled: Vec<_> = conditions.iter().rev().cloned().collect();
    sort(&mut shuffled, &required());
    assert_eq!(shuffled, conditions);
}
