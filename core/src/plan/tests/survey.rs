//! Tests of a survey, which reads the live objects without deciding or writing.
#![expect(clippy::panic, reason = "tests")]

use lifecycle_language::scope::Scope;
use lifecycle_objects::keys;
use serde_json::{Value, json};

use super::passes::{config_map, gated, labels, live, scope, selecting, stamp, task, version, with};
use super::store::Store;
use crate::outcome::Outcome;
use crate::plan::Planner;

/// Surveys a task's resources; returns the variables and the outcomes.
fn surveyed(resources: &[Value], store: &Store) -> (Scope, Vec<Outcome>) {
    let (scope, outcomes, _) = surveyed_with_objects(resources, store);
    (scope, outcomes)
}

/// Also returns the objects that have to be deleted.
fn surveyed_with_objects(resources: &[Value], store: &Store) -> (Scope, Vec<Outcome>, Option<String>) {
    let task = task(resources);
    let mut scope = scope(store, 3, &[("deleting", json!(true))]);
    let mut planner = Planner::new(&task, stamp(3));
    while let Some(wanted) = planner.survey(&mut scope) {
        for wanted in wanted {
            planner.observe(&mut scope, wanted.resource, store.find(&wanted.query));
        }
    }
    let left = planner.surveyed_objects(&scope);
    (scope, planner.into_outcomes(), left)
}

fn visible_name(scope: &Scope, name: &str) -> Option<String> {
    Some(scope.get("resources")?.get(name)?["metadata"]["name"].as_str()?.to_owned())
}

/// A live object with a Secret inside.
fn holder() -> Value {
    let manifests = json!([{ "kind": "Secret", "metadata": { "name": "inner", "namespace": "team" } }]);
    with(live("ConfigMap", "holder", json!({}), Some(1)), json!({ "spec": { "workload": { "manifests": manifests } } }))
}

#[test]
fn survey_shows_live_objects_with_and_without_lifecycle_keys() {
    let inside = json!({ "nested_discoveries": [{ "name": "inside", "discovery": { "by_name": "inner" } }] });
    for gate in ["create", "delete"] {
        let entries = [with(config_map("holder"), inside.clone()), selecting("run"), config_map("gone")];
        let gated = [gated(entries[0].clone(), gate, "true"), entries[1].clone(), entries[2].clone()];
        for entries in [entries, gated] {
            let store = Store::with([holder(), version("run", "run-2", 2, 1), version("run", "run-3", 3, 2)]);
            let (scope, outcomes) = surveyed(&entries, &store);
            let names = ["holder", "inside", "run", "gone"].map(|name| visible_name(&scope, name));
            let expected = [Some("holder"), Some("inner"), Some("run-3"), None].map(|name| name.map(str::to_owned));
            assert_eq!((names, outcomes), (expected, Vec::new()));
            assert_eq!(store.log.len(), 0);
        }
    }
}

#[test]
fn survey_reports_resources_that_could_not_be_read() {
    let role = with(config_map("role"), json!({ "manifest": { "kind": "Role" } }));
    for entries in [[config_map("a"), role.clone()], [config_map("a"), gated(role, "delete", "deleting")]] {
        let mut store = Store::with([live("ConfigMap", "a", json!({}), Some(3))]);
        store.unreadable = vec!["Role".to_owned()];
        let (scope, outcomes) = surveyed(&entries, &store);
        assert_eq!(visible_name(&scope, "a").as_deref(), Some("a"));
        let [outcome] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        let reason = outcome.failure().map(|failure| failure.reason.as_str());
        assert_eq!((outcome.resource.as_str(), reason, outcome.row.number()), ("role", Some("DiscoveryFailed"), "1"));
    }
}

#[test]
fn survey_reports_nested_objects_that_could_not_be_read() {
    let inside = json!({ "nested_discoveries": [{ "name": "inside", "discovery": { "by_name": "{{ .unset }}" } }] });
    for gate in [None, Some("delete")] {
        let entry = with(config_map("holder"), inside.clone());
        let entry = gate.map_or_else(|| entry.clone(), |gate| gated(entry.clone(), gate, "deleting"));
        let (scope, outcomes) = surveyed(&[entry], &Store::with([holder()]));
        assert_eq!(visible_name(&scope, "holder").as_deref(), Some("holder"));
        let [outcome] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        let failure = outcome.failure().map(|failure| failure.message.as_str()).unwrap_or_default();
        assert!(failure.contains("nested discovery inside"), "{failure}");
    }
}

#[test]
fn survey_hides_objects_whose_ownership_is_unclear() {
    let unnamed = json!({ "manifest": { "metadata": { "name": "{{ .unset }}" } } });
    let labels = with(labels("run"), json!({ keys::RESOURCE_ID: "c2" }));
    let inside = json!({ "nested_discoveries": [{ "name": "inside", "discovery": { "by_name": "inner" } }] });
    for gate in [None, Some("delete")] {
        let entry = with(with(selecting("run"), unnamed.clone()), inside.clone());
        let entry = gate.map_or_else(|| entry.clone(), |gate| gated(entry.clone(), gate, "deleting"));
        let foreign = with(holder(), json!({ "metadata": { "name": "foreign", "labels": labels.clone() } }));
        let (scope, outcomes) = surveyed(&[entry], &Store::with([foreign]));
        assert_eq!((visible_name(&scope, "run"), visible_name(&scope, "inside")), (None, None), "{gate:?}");
        let [outcome] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        let reason = outcome.failure().map(|failure| failure.reason.as_str());
        assert_eq!((reason, outcome.row.number()), (Some("DiscoveryFailed"), "1"), "{gate:?}");
    }
}

#[test]
fn survey_reports_a_terminating_version_beside_a_disowned_one() {
    let entry = gated(selecting("job"), "orphan", "disowning");
    let mark = json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } });
    let mut store = Store::with([with(version("job", "kept", 1, 1), mark), version("job", "going", 2, 2)]);
    assert_eq!(surveyed(std::slice::from_ref(&entry), &store).1, []);
    store.change("going", &json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } }));
    let outcomes = surveyed(&[entry], &store).1;
    assert_eq!((outcomes[0].decision.reason(), outcomes[0].finalized), ("Disowned", false));
}

#[test]
fn survey_names_the_objects_that_have_to_be_deleted() {
    let entry = || gated(selecting("job"), "delete", "deleting");
    let mark = json!({ "metadata": { "labels": { "hyperfleet.io/disowned": "c1" } } });
    let going = json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } });
    let lost = json!({ "metadata": { "labels": { keys::ADAPTER: null } } });
    let written = || version("job", "job-1", 1, 1);
    let foreign = || live("ConfigMap", "theirs", json!({ "app": "demo" }), None);
    let remains = Some("resource job: ConfigMap team/job-1 still exists");
    let cases = [
        ("no object", entry(), vec![], None),
        ("a live one", entry(), vec![written()], remains),
        ("a terminating one", entry(), vec![with(written(), going)], remains),
        ("one beside a foreign one", entry(), vec![foreign(), written()], remains),
        ("a foreign one", entry(), vec![foreign()], None),
        ("a disowned one", gated(entry(), "orphan", "disowning"), vec![with(written(), mark)], None),
        ("an entry without a delete gate", selecting("job"), vec![written()], None),
    ];
    for (name, entry, objects, expected) in cases {
        let (_, outcomes, left) = surveyed_with_objects(&[entry], &Store::with(objects));
        assert_eq!((outcomes, left.as_deref()), (Vec::new(), expected), "{name}");
    }
    let mut store = Store::with([written()]);
    store.change("job-1", &lost);
    let left = surveyed_with_objects(&[entry()], &store).2.unwrap_or_default();
    assert!(left.starts_with("ConfigMap team/job-1 exists, but has lost the label"), "{left}");
}
