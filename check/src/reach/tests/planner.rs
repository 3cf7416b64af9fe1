//! Property test: the rows that `check` prints for a resource include every outcome of the real planner, for
//! random tasks and objects.
#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_core::plan::harness::passes::{config_map, live, pass_of, stamp, task, when, with};
use lifecycle_objects::keys;
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::store::Store;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::reach::{Reached, reach};

/// Generates the expression of a gate.
fn expression() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "true",
        "false",
        "deleting",
        "disowning",
        "stage == 'a' && stage == 'b'",
        "stage == 'a'",
        "1 / 0 == 1",
        "has(resources.child)",
        "!has(resources.child)",
        "resources.child.status.ready == true",
        "resources.?child.?status.?ready.orValue(false)",
        "resources.child.metadata.name == stage",
        "has(resources.owner) || true",
        "deleting && false",
        "disowning || !resources.?child.hasValue()",
    ])
}

/// The entries of a task: an owner and a child.
#[derive(Debug, Clone)]
struct Shape {
    owner: Value,
    child: Value,
}

/// Generates the metadata of the child's manifest, which may or may not match its discovery, depending on the
/// event.
fn metadata() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec!["a", "{{ .stage }}", "a-{{ .generation }}"]);
    let namespace = prop::sample::select(vec!["team", "{{ .unset }}"]);
    let app = prop::sample::select(vec!["demo", "{{ .stage }}"]);
    let own = prop::sample::select(vec![Value::Null, json!("child"), json!("{{ .stage }}")]);
    let generation =
        prop::sample::select(vec![Value::Null, Value::Null, json!("{{ .stage }}"), json!("{{ .generation }}")]);
    (name, namespace, app, own, generation).prop_map(|(name, namespace, app, own, generation)| {
        let mut metadata = json!({ "name": name, "namespace": namespace, "labels": { "app": app } });
        if !own.is_null() {
            metadata["labels"][keys::RESOURCE] = own;
        }
        if !generation.is_null() {
            metadata["annotations"] = json!({ keys::GENERATION: generation });
        }
        metadata
    })
}

fn discovery() -> impl Strategy<Value = Value> {
    let selector = json!({ "by_selectors": { "label_selector": { "app": "demo" } } });
    prop::sample::select(vec![
        json!({ "namespace": "team", "by_name": "a" }),
        json!({ "namespace": "team", "by_name": "{{ .stage }}" }),
        json!({ "namespace": "team", "by_name": "b" }),
        selector.clone(),
        with(selector, json!({ "namespace": "team" })),
        json!({ "by_selectors": { "label_selector": { "app": "{{ .stage }}" } } }),
    ])
}

fn shape() -> impl Strategy<Value = Shape> {
    let gates = prop::collection::vec(prop::option::weighted(0.4, expression()), 6);
    let patches = prop::collection::vec(expression(), 0..3);
    let owner_gates = prop::collection::vec(prop::option::weighted(0.3, expression()), 2);
    let owner_namespace = prop::sample::select(vec!["team", "{{ .stage }}"]);
    (metadata(), discovery(), any::<[bool; 3]>(), gates, patches, (owner_gates, owner_namespace)).prop_map(
        |(metadata, discovery, [has_owner, is_retained, on_change], gates, patches, (owner_gates, namespace))| {
            let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
            let by_labels = discovery.get("by_selectors").is_some();
            let mut child = json!({ "name": "child", "manifest": manifest, "discovery": discovery, "lifecycle": {} });
            for (key, gate) in ["create", "apply", "orphan", "delete", "recreate"].iter().zip(&gates) {
                if let Some(gate) = gate {
                    child["lifecycle"][*key] = when(gate);
                }
            }
            let patch = |gate: &&str| {
                with(when(gate), json!({ "document": { "metadata": { "labels": { "a": "{{ .stage }}" } } } }))
            };
            child["lifecycle"]["patch"] = patches.iter().map(patch).collect();
            if let Some(gate) = gates[5] {
                child["when"] = json!({ "expression": gate });
            }
            if has_owner {
                child["owner"] = json!({ "resource": "owner" });
            }
            if is_retained && by_labels {
                child["retention"] = json!({ "historyLimit": 1 });
            }
            if on_change && gates[4].is_none() {
                child["recreate_on_change"] = json!(true);
            }
            let mut owner = config_map("owner");
            owner["manifest"]["kind"] = json!("Secret");
            owner["manifest"]["metadata"]["namespace"] = json!(namespace);
            owner["discovery"]["namespace"] = json!(namespace);
            for (key, gate) in ["create", "delete"].iter().zip(owner_gates) {
                if let Some(gate) = gate {
                    owner = with(owner, json!({ "lifecycle": { *key: when(gate) } }));
                }
            }
            Shape { owner, child }
        },
    )
}

/// The event's variables and the live objects.
#[derive(Debug, Clone)]
struct World {
    versions: Vec<Value>,
    owner: Option<bool>,
    unreadable: Option<&'static str>,
    stage: Option<&'static str>,
    flags: [bool; 2],
    stamp: Stamp,
}

fn version() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec!["a", "b", "a-2"]);
    let labels = prop::sample::select(vec![Some("child"), Some("child"), None, Some("other")]);
    let flags = (prop::bool::weighted(0.25), prop::bool::weighted(0.1), prop::option::of(any::<bool>()));
    (names, prop::option::of(1..4_i64), labels, flags).prop_map(
        |(name, generation, resource, (is_terminating, is_disowned, ready))| {
            let mut labels = json!({ "app": "demo", keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1" });
            if let Some(resource) = resource {
                labels[keys::RESOURCE] = json!(resource);
            }
            if is_disowned {
                labels[keys::DISOWNED] = json!("c1");
            }
            let mut object = live("ConfigMap", name, labels, generation);
            if is_terminating {
                object["metadata"]["deletionTimestamp"] = json!("2025-12-31T00:00:00Z");
                object["metadata"]["finalizers"] = json!(["example.io/hold"]);
            }
            if let Some(ready) = ready {
                object["status"] = json!({ "ready": ready });
            }
            object
        },
    )
}

fn world() -> impl Strategy<Value = World> {
    let unreadable = prop::option::weighted(0.15, prop::sample::select(vec!["ConfigMap", "Secret"]));
    let stage = prop::option::weighted(0.9, prop::sample::select(vec!["a", "demo", "child", "2", "-"]));
    let id = prop::sample::select(vec!["c1", "c1", "c1", "not a label"]);
    let owner = prop::option::of(any::<bool>());
    (prop::collection::vec(version(), 0..4), owner, unreadable, stage, any::<[bool; 2]>(), (id, 1..4_i64)).prop_map(
        |(versions, owner, unreadable, stage, flags, (id, generation))| World {
            versions,
            owner,
            unreadable,
            stage,
            flags,
            stamp: Stamp { resource_id: id.to_owned(), ..stamp(generation) },
        },
    )
}

impl World {
    fn store(&self, shape: &Shape) -> Store {
        let mut store = Store::with(self.versions.iter().cloned());
        if let Some(is_terminating) = self.owner {
            let mut owner = live("Secret", "owner", json!({}), Some(1));
            if shape.owner["discovery"]["namespace"] != json!("team") {
                owner["metadata"]["namespace"] = json!(self.stage.unwrap_or_default());
            }
            if is_terminating {
                owner["metadata"]["deletionTimestamp"] = json!("2025-12-31T00:00:00Z");
                owner["metadata"]["finalizers"] = json!(["example.io/hold"]);
            }
            store.put(owner);
        }
        store.unreadable.extend(self.unreadable.map(str::to_owned));
        store
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn check_lists_every_outcome_of_the_planner(shape in shape(), world in world()) {
        let task = task(&[shape.owner.clone(), shape.child.clone()]);
        let mut variables = vec![("deleting", json!(world.flags[0])), ("disowning", json!(world.flags[1]))];
        variables.push(("stage", world.stage.map_or(Value::Null, Value::from)));
        let pass = pass_of(&task, &mut world.store(&shape), world.stamp.clone(), &variables);
        for (outcome, reach) in pass.outcomes.iter().zip(reach(&task)) {
            let decision = (outcome.decision.kind().as_str(), outcome.decision.reason());
            let is_listed = |reached: &&Reached| reached.row == outcome.row && reached.decisions.contains(&decision);
            prop_assert!(
                reach.rows.iter().any(|reached| is_listed(&reached)),
                "{}: {}: {:?} is not among {:?}",
                outcome.resource,
                outcome.row,
                decision,
                reach.rows
            );
        }
    }
}

#[test]
fn check_lists_write_failures_with_the_row_that_writes() {
    let owned = with(config_map("child"), json!({ "owner": { "resource": "parent" } }));
    let discovery = json!({ "namespace": "team", "by_selectors": { "label_selector": { "app": "{{ .stage }}" } } });
    let labels = json!({ "metadata": { "labels": { "app": "demo" } } });
    let selected = json!({
        "name": "child", "manifest": with(config_map("child")["manifest"].clone(), labels), "discovery": discovery,
    });
    let cases = [
        ("an owner", owned, "12", "OwnerUnavailable"),
        ("a selector of the event", selected, "12", "SelectorMismatch"),
    ];
    for (name, child, row, reason) in cases {
        let task = task(&[config_map("parent"), child]);
        let reached = reach(&task).pop().unwrap().rows.into_iter().find(|reached| reached.row.number() == row).unwrap();
        assert!(reached.decisions.contains(&("fail", reason)), "{name}: {reached:?}");
    }
}

#[test]
fn check_lists_a_failed_disowning_by_its_decision() {
    let child = with(config_map("child"), json!({ "lifecycle": { "orphan": when("disowning") } }));
    let task = task(&[child]);
    let reached = reach(&task).pop().unwrap().rows.into_iter().find(|reached| reached.row.number() == "3").unwrap();
    assert!(!reached.decisions.contains(&("fail", "InvalidLabel")), "{reached:?}");

    let stamp = Stamp { resource_id: "not a label".to_owned(), ..stamp(3) };
    let mut store = Store::with([live("ConfigMap", "child", json!({}), Some(3))]);
    let failed = pass_of(&task, &mut store, stamp, &[("disowning", json!(true))]);
    let decision = &failed.outcomes[0].decision;
    assert_eq!(failed.result().2, "failed");
    assert!(reached.decisions.contains(&(decision.kind().as_str(), decision.reason())), "{reached:?}");
}
