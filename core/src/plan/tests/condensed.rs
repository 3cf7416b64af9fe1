//! Versions that a list left without their content. That a pass comes to the same is checked by every [`pass`](super::passes::pass).

use serde_json::{Value, json};

use super::passes::{gated, live, pass, scope, selecting, stamp, task, version, with};
use super::store::Store;
use crate::observation::{Observation, QueryBy, Version, condense};
use crate::plan::{Next, Planner, Step, Wanted};
use crate::task::Task;
use crate::write::Command;

/// A store in which lists leave nothing whole.
fn store(versions: impl IntoIterator<Item = Value>) -> Store {
    let mut store = Store::with(versions);
    store.kept = Some(0);
    store
}

/// A plan of generation 3 up to its first write, and the names that it read; `before_name` changes the world before each of
/// those reads.
fn planned<'t>(
    task: &'t Task,
    store: &mut Store,
    before_name: impl Fn(&mut Store, &str),
) -> (Planner<'t>, Option<Step>, Vec<String>) {
    let mut scope = scope(store, 3, &[]);
    let mut planner = Planner::new(task, stamp(3));
    let mut read = Vec::new();
    loop {
        match planner.next(&mut scope) {
            Next::Read(wanted) => {
                for Wanted { resource, query } in wanted {
                    if let QueryBy::Name(name) = &query.by {
                        before_name(store, name);
                        read.push(name.clone());
                    }
                    planner.observe(&mut scope, resource, store.find(&query));
                }
            }
            Next::Write(step) => return (planner, Some(*step), read),
            Next::Done => return (planner, None, read),
        }
    }
}

/// Deletes what its current version's content says.
fn deleting_by_content() -> Task {
    task(&[gated(selecting("job"), "delete", "resources.?job.data.end.orValue(\"no\") == \"yes\"")])
}

fn with_data(object: Value, end: &str) -> Value {
    with(object, json!({ "data": { "end": end } }))
}

fn history() -> [Value; 3] {
    [
        with_data(version("job", "a", 1, 1), "no"),
        with_data(version("job", "b", 3, 2), "yes"),
        with_data(version("job", "c", 2, 3), "no"),
    ]
}

fn deleted(step: Option<Step>) -> Vec<String> {
    match step.map(|step| step.command) {
        Some(Command::Delete { targets, .. }) => targets.into_iter().map(|target| target.name).collect(),
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn only_the_version_that_is_seen_is_read_again() {
    let task = deleting_by_content();
    let (_, step, read) = planned(&task, &mut store(history()), |_, _| {});
    assert_eq!(read, ["b"], "the one of the desired generation");
    assert_eq!(deleted(step), ["a", "b", "c"]);
}

#[test]
fn what_a_list_left_whole_is_not_read_again() {
    let task = deleting_by_content();
    let mut store = store(history());
    store.kept = Some(1);
    let (_, step, read) = planned(&task, &mut store, |_, _| {});
    assert_eq!((deleted(step).len(), read.len()), (3, 0));
}

#[test]
fn what_is_gone_by_then_was_never_seen() {
    let task = deleting_by_content();
    let (planner, step, read) = planned(&task, &mut store(history()), |store, name| {
        if name == "b" {
            store.remove("b");
        }
    });
    assert_eq!(read, ["b", "c"], "then the newest is current");
    assert!(matches!(step.map(|step| step.command), Some(Command::Create { .. })), "{:?}", planner.outcomes());
}

#[test]
fn what_discovery_would_not_find_by_then_is_left_alone() {
    let task = deleting_by_content();
    let (_, step, read) = planned(&task, &mut store(history()), |store, name| {
        if name == "b" {
            store.change("b", &json!({ "metadata": { "labels": { "app": "other" } } }));
        }
    });
    assert_eq!(read, ["b", "c"]);
    assert!(matches!(step.map(|step| step.command), Some(Command::Create { .. })));
}

#[test]
fn what_changed_meanwhile_is_decided_as_it_is_then_and_fenced_so() {
    let task = deleting_by_content();
    let mut store = store(history());
    let (_, step, _) = planned(&task, &mut store, |store, _| store.change("b", &json!({ "data": { "more": "x" } })));
    let Some(Command::Delete { targets, .. }) = step.map(|step| step.command) else {
        unreachable!("its content says so")
    };
    let fence = |name: &str| targets.iter().find(|target| target.name == name).map(|target| &*target.resource_version);
    assert_eq!(fence("b"), store.object("b")["metadata"]["resourceVersion"].as_str());
}

#[test]
fn what_cannot_be_read_whole_is_unknown() {
    let task = deleting_by_content();
    let (planner, step, _) =
        planned(&task, &mut store(history()), |store, _| store.unreadable = vec!["ConfigMap".to_owned()]);
    assert_eq!(step, None);
    assert_eq!(planner.outcomes()[0].failure().map(|failure| failure.reason.as_str()), Some("DiscoveryFailed"));
}

#[test]
fn an_update_knows_the_managed_fields_of_what_it_is_applied_to() {
    let named = with(selecting("job"), json!({ "manifest": { "metadata": { "name": "a" } } }));
    let managed = |object| with(object, json!({ "metadata": { "managedFields": [{ "manager": "tester" }] } }));
    let task = task(&[named]);
    let mut store = store([managed(version("job", "a", 1, 1)), managed(version("job", "b", 2, 2))]);
    let (_, step, read) = planned(&task, &mut store, |_, _| {});
    assert_eq!(read, ["b", "a"], "the one that is seen, and the one that is written");
    let Some(Command::Update { target, take_over, .. }) = step.map(|step| step.command) else { unreachable!() };
    assert_eq!((target.name.as_str(), take_over), ("a", Some(json!([{ "manager": "tester" }]))));
}

#[test]
fn what_is_looked_at_while_an_earlier_resource_is_not_there_to_be_seen_is_looked_at_again() {
    let gate = "resources.?b.metadata.name.orValue(\"\") != \"b-of-a-2\"";
    let of_a = json!({ "manifest": { "metadata": { "name": "b-of-{{ .resources.a.metadata.name }}" } } });
    let task = task(&[gated(selecting("a"), "delete", gate), with(selecting("b"), of_a)]);
    // An older adapter wrote it: only the rendered name tells whose it is. Meanwhile, a late event's version has to be read.
    let older = live("ConfigMap", "b-of-a-2", json!({ "app": "demo" }), Some(1));
    let mut store = Store::with([version("a", "a-2", 2, 2), version("a", "a-3", 3, 3), older]);
    let late = pass(&task, &mut store, 2, &[]);
    assert_eq!(late.results()[0], ("skip", "StaleEvent", "skipped", "13"), "{:?}", late.outcomes);
}

#[test]
fn a_list_that_has_an_object_twice_is_read_to_an_end() {
    let task = deleting_by_content();
    let mut scope = scope(&store([]), 3, &[]);
    let mut planner = Planner::new(&task, stamp(3));
    let Next::Read(_) = planner.next(&mut scope) else { unreachable!("it has to look") };
    let [_, b, _] = history();
    let mut twice = vec![Version::new(b.clone()), Version::new(b.clone())];
    condense(&mut twice, 0);
    planner.observe(&mut scope, 0, Observation::Found(twice));
    let Next::Read(wanted) = planner.next(&mut scope) else { unreachable!("it has to look again") };
    planner.observe(&mut scope, wanted[0].resource, Observation::Found(vec![Version::new(b)]));
    let Next::Write(step) = planner.next(&mut scope) else { unreachable!("its content says so") };
    assert_eq!(deleted(Some(*step)), ["b"]);
}
