//! Property tests of random tasks, live objects and variables: a repeated event writes nothing, and unread or
//! newer objects stay unchanged.

use lifecycle_objects::keys;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::passes::{config_map, gated, live, pass, selecting, task, version, with};
use super::retention::keeping;
use super::store::Store;
use crate::outcome::{Outcome, OutcomeResult};
use crate::task::Resource;

/// Adds a random lifecycle key to an entry; its gate reads the live object.
fn part(entry: Value, name: &str, part: usize) -> Value {
    let patch = |key: &str| {
        let differs = format!("resources.?{name}.?data[?\"{key}\"].orValue(\"\") != stage");
        json!({ "when": { "expression": differs }, "document": { "data": { key: "{{ .stage }}" } } })
    };
    match part {
        0 => gated(entry, "delete", "deleting"),
        1 => gated(entry, "orphan", "disowning"),
        2 => gated(entry, "create", "creating"),
        3 => gated(entry, "apply", "writing"),
        4 => with(entry, json!({ "when": { "expression": "writing" } })),
        5 => gated(entry, "apply", &format!("!resources.?{name}.hasValue()")),
        6 => with(entry, json!({ "lifecycle": { "patch": [patch("a"), patch("b")] } })),
        7 => {
            // The recreated object has the value that ends the gate.
            let recreate = format!("dig(resources.{name}, \"data.made\") != stage");
            with(gated(entry, "recreate", &recreate), json!({ "manifest": { "data": { "made": "{{ .stage }}" } } }))
        }
        8 => with(entry, json!({ "recreate_on_change": true })),
        9 => with(entry, json!({ "owner": { "resource": "space" } })),
        _ => entry,
    }
}

/// Generates an entry, and its live objects.
fn entries(index: usize) -> impl Strategy<Value = (Value, Vec<Value>)> {
    let name = format!("r{index}");
    let shape = 0..3_usize;
    let parts = prop::collection::btree_set(0..11_usize, 0..4);
    let before = prop::collection::vec((0..4_i64, 1..9_u32, 0..4_usize), 0..3);
    (shape, parts, before).prop_map(move |(shape, mut parts, before)| {
        // The compiler rejects two recreate keys, and two apply gates would overwrite each other.
        if parts.contains(&7) {
            parts.remove(&8);
        }
        let entry = match shape {
            0 => config_map(&name),
            1 => selecting(&name),
            _ => with(keeping(json!({ "historyLimit": 1, "ttl": "600h" })), json!({
                "name": name,
                "manifest": { "metadata": { "name": format!("{name}-{{{{ .generation }}}}-{{{{ .stage }}}}") } },
            })),
        };
        let entry = parts.iter().fold(entry, |entry, &number| part(entry, &name, number));
        let objects = before.into_iter().enumerate().map(|(place, (generation, day, what))| {
            let object_name = match (shape, place) {
                (0, 0) => name.clone(),
                (1, 0) => format!("{name}-3"),
                _ => format!("{name}-v{place}"),
            };
            match what {
                0 => live("ConfigMap", &object_name, json!({ "app": "demo" }), Some(generation)),
                1 => with(
                    version(&name, &object_name, generation, day),
                    json!({ "metadata": { "annotations": { keys::DISOWNED_BY: format!("tester/{name}") }, "labels": { keys::DISOWNED: "c1" } } }),
                ),
                _ => version(&name, &object_name, generation, day),
            }
        });
        (entry, objects.collect())
    })
}

fn space() -> Value {
    json!({
        "name": "space", "manifest": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } },
        "discovery": { "by_name": "space" },
    })
}

/// Generates a task, a store, and the values of the gates' variables.
fn worlds() -> impl Strategy<Value = (Vec<Value>, Store, Vec<(&'static str, Value)>)> {
    let names = ["deleting", "disowning", "replacing", "writing", "creating"];
    ((entries(0), entries(1), entries(2)), prop::collection::vec(any::<bool>(), names.len())).prop_map(
        move |((a, b, c), flags)| {
            let all = [a, b, c];
            let entries = std::iter::once(space()).chain(all.iter().map(|(entry, _)| entry.clone())).collect();
            let store = Store::with(all.into_iter().flat_map(|(_, objects)| objects));
            let variables = names.into_iter().zip(flags).map(|(name, flag)| (name, json!(flag))).collect();
            (entries, store, variables)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn repeated_event_writes_nothing_once_all_passes_are_done((entries, mut store, variables) in worlds()) {
        let task = task(&entries);
        // Several passes may be needed: a patch precedes the update, and a deletion or failed disowning
        // precedes what it makes possible.
        let mut last = pass(&task, &mut store, 3, &variables);
        for _ in 0..2 {
            last = pass(&task, &mut store, 3, &variables);
        }
        let (log, objects) = (store.log.clone(), store.objects());
        let again = pass(&task, &mut store, 3, &variables);
        prop_assert_eq!(&store.log, &log, "{:?} then {:?}", last.results(), again.results());
        prop_assert_eq!(store.objects(), objects);
    }

    #[test]
    fn second_event_writes_nothing_if_the_first_left_nothing_to_do((entries, mut store, variables) in worlds()) {
        let task = task(&entries);
        let first = pass(&task, &mut store, 3, &variables);
        // Skip cases in which a later event has something left to write: after a wait, a patch, a deletion, a
        // disowning with retention, or a creation whose patch gates may hold.
        let retains = task.resources.iter().any(|resource| resource.retention.is_some());
        let is_settled = |(outcome, resource): (&Outcome, &Resource)| match outcome.result {
            OutcomeResult::Waiting
            | OutcomeResult::Deleting
            | OutcomeResult::Deleted
            | OutcomeResult::Recreated
            | OutcomeResult::Patched
            | OutcomeResult::Failed(_) => false,
            OutcomeResult::Created | OutcomeResult::Updated => resource.gates.patches.is_empty(),
            OutcomeResult::Disowned => !retains,
            OutcomeResult::Skipped => true,
        };
        if first.outcomes.iter().zip(&task.resources).all(is_settled) {
            let (log, objects) = (store.log.clone(), store.objects());
            let again = pass(&task, &mut store, 3, &variables);
            prop_assert_eq!(&store.log, &log, "{:?} then {:?}", first.results(), again.results());
            prop_assert_eq!(store.objects(), objects);
        }
    }

    #[test]
    fn outcome_agrees_with_the_objects_in_the_store((entries, mut store, variables) in worlds()) {
        let done = pass(&task(&entries), &mut store, 3, &variables);
        for outcome in &done.outcomes {
            let is_there = store.names().contains(&outcome.name.as_str());
            match outcome.result {
                OutcomeResult::Created | OutcomeResult::Updated | OutcomeResult::Patched | OutcomeResult::Recreated | OutcomeResult::Disowned => {
                    prop_assert!(is_there, "{:?}", outcome);
                    prop_assert_eq!(done.visible(&outcome.resource), Some(store.object(&outcome.name)), "{:?}", outcome);
                }
                OutcomeResult::Deleted => prop_assert!(done.visible(&outcome.resource).is_none() && !is_there, "{:?}", outcome),
                OutcomeResult::Deleting | OutcomeResult::Skipped | OutcomeResult::Waiting | OutcomeResult::Failed(_) => {}
            }
        }
    }

    #[test]
    fn stale_event_leaves_newer_versions_unchanged((entries, mut store, variables) in worlds()) {
        let task = task(&entries);
        pass(&task, &mut store, 9, &[]);
        let settled = store.objects();
        let closed: Vec<_> = variables.into_iter().filter(|(name, _)| !matches!(*name, "deleting" | "disowning")).collect();
        let late = pass(&task, &mut store, 3, &closed);
        for object in settled.iter().filter(|object| object["metadata"]["annotations"][keys::GENERATION] == json!("9")) {
            prop_assert!(store.objects().contains(object), "{:?}: {:?}", late.results(), &store.log);
        }
    }

    #[test]
    fn unread_resources_are_never_written((entries, mut store, variables) in worlds()) {
        store.unreadable = vec!["ConfigMap".to_owned()];
        let unread = pass(&task(&entries), &mut store, 3, &variables);
        prop_assert!(store.log.iter().all(|call| call == "create space"), "{:?}", &store.log);
        prop_assert!(unread.outcomes.iter().skip(1).all(|outcome| outcome.decision.reason() == "DiscoveryFailed"));
    }
}
