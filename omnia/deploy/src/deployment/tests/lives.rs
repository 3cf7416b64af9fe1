//! Random lives of a deployment: packs, edits, refusals and crashes, through the code that deploys.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::world::{Fault, World, pack};
use super::*;
use crate::labels;

/// What happens next.
#[derive(Debug, Clone)]
enum Event {
    /// A pack with these agents and tools is applied.
    Apply { agents: Vec<&'static str>, tools: Vec<&'static str>, version: u8, fault: Option<Fault> },
    /// Everything is deleted.
    Destroy { fault: Option<Fault> },
    /// Somebody changes, or deletes, an object.
    Meddle { object: usize, deletes: bool },
}

fn faults() -> impl Strategy<Value = Option<Fault>> {
    let objects = ["AgentRuntime a", "AgentRuntime b", "PromptPack p", "ConfigMap p-packdata", "ToolRegistry p-tools"];
    prop_oneof![
        3 => Just(None),
        1 => select(objects.to_vec()).prop_map(|object| Some(Fault::refuse(object))),
        2 => (0..6_usize).prop_map(|after| Some(Fault::Crash(after))),
    ]
}

fn events() -> impl Strategy<Value = Event> {
    let apply = (subsequence(vec!["a", "b", "c"], 0..=3), subsequence(vec!["t", "u"], 0..=2), 0..3_u8, faults())
        .prop_map(|(agents, tools, version, fault)| Event::Apply { agents, tools, version, fault });
    prop_oneof![
        4 => apply,
        1 => faults().prop_map(|fault| Event::Destroy { fault }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(object, deletes)| Event::Meddle { object, deletes }),
    ]
}

/// Objects that are not the pack's: one has the name of an agent that packs may have.
fn foreign() -> [Value; 2] {
    let object = |kind: &str, name: &str, labels: Value| {
        json!({
            "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": kind,
            "metadata": { "name": name, "namespace": "team", "labels": labels }, "spec": { "theirs": true },
        })
    };
    let of_other = json!({ labels::MANAGED_BY: labels::MANAGER, labels::PACK_ID: "other" });
    [object("AgentRuntime", "c", json!({})), object("PromptPack", "other", of_other)]
}

fn theirs(world: &World) -> Vec<Value> {
    world.objects().into_iter().filter(|object| object["spec"]["theirs"] == true).collect()
}

fn happen(world: &mut World, event: Event) {
    match event {
        Event::Apply { agents, tools, version, fault } => {
            world.pack = pack(&agents, &tools, &format!("1.0.{version}"));
            world.fault = fault;
            world.try_apply();
        }
        Event::Destroy { fault } => {
            world.fault = fault;
            let account = world.try_destroy();
            let is_done = account.is_some_and(|account| account.errors().is_empty());
            assert!(!is_done || world.state.resources.is_empty(), "told as deleted: {:?}", world.state);
        }
        Event::Meddle { object, deletes } => {
            let ours = world.ours();
            let Some(object) = ours.get(object % ours.len().max(1)) else { return };
            let (kind, name) = object.split_once(' ').unwrap();
            if deletes {
                world.remove(kind, name);
            } else {
                world.patch(kind, name, &json!({ "spec": { "version": "meddled" } }));
            }
        }
    }
}

fn live(events: Vec<Event>) {
    let mut world = World::new();
    foreign().into_iter().for_each(|object| world.put(object));
    let before = theirs(&world);
    world.pack = pack(&["a"], &["t"], "1.0.0");
    for event in events {
        happen(&mut world, event);
        assert_eq!(theirs(&world), before, "what is somebody else's stays");
    }
    world.fault = None;
    let account = world.apply();
    let is_taken = world.pack["agents"]["members"].get("c").is_some();
    assert_eq!(account.errors().len(), usize::from(is_taken), "{:?}", account.errors());
    let plan = world.plan();
    // Nothing is removed beside an error.
    let is_settled = |change: &String| change.starts_with("NO_CHANGE") || is_taken && change.starts_with("DELETE");
    assert!(plan.iter().all(is_settled), "after an apply nothing is left to do: {plan:?}");
    if !is_taken {
        let mut named: Vec<_> = account.state().resources.into_iter().map(|entry| entry.name).collect();
        named.sort();
        let ours = world.ours();
        let mut ours: Vec<_> = ours.iter().filter_map(|it| Some(it.split_once(' ')?.1.to_owned())).collect();
        ours.sort();
        assert_eq!(named, ours, "the state has what is there");
    }
    assert_eq!(world.destroy().errors(), []);
    assert_eq!(world.ours(), [""; 0], "a destroy leaves nothing");
    assert_eq!(world.state.resources, []);
    assert_eq!(theirs(&world), before);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_life_ends_as_wanted_and_leaves_nothing(events in proptest::collection::vec(events(), 1..8)) {
        live(events);
    }
}
