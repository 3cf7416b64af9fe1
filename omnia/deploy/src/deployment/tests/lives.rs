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
        1 => (select(vec!["AgentRuntime", "PromptPack"]), select(vec![None, Some("a"), Some("p")]))
            .prop_map(|(kind, name)| Some(Fault::Unlisted(kind, name))),
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

/// The objects of the pack that a deletion deletes. On today's API a registry is the operator's.
fn deletable(world: &World) -> Vec<String> {
    let is_kept = |object: &String| world.surface == Surface::Current && object.starts_with("ToolRegistry ");
    world.ours().into_iter().filter(|object| !is_kept(object)).collect()
}

fn live(surface: Surface, is_forgetful: bool, events: Vec<Event>) {
    let mut world = World::new();
    (world.surface, world.is_forgetful) = (surface, is_forgetful);
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
    // Nothing is removed beside an error, and a client that forgets has no digests after one.
    let may_be_left = |change: &String| change.starts_with("DELETE") || is_forgetful && change.starts_with("UPDATE");
    let is_settled = |change: &String| change.starts_with("NO_CHANGE") || is_taken && may_be_left(change);
    assert!(plan.iter().all(is_settled), "after an apply nothing is left to do: {plan:?}");
    if !is_taken {
        let resources = account.state().resources.into_iter();
        let resources = resources.filter(|entry| surface != Surface::Current || entry.kind != "tool_registry");
        let mut named: Vec<_> = resources.map(|entry| entry.name).collect();
        named.sort();
        let ours = deletable(&world);
        let mut ours: Vec<_> = ours.iter().filter_map(|it| Some(it.split_once(' ')?.1.to_owned())).collect();
        ours.sort();
        assert_eq!(named, ours, "the state has what is there");
    }
    // A client that has no state starts no adapter: the next apply finds everything.
    world.pack = pack(&["a"], &[], "1.0.9");
    assert_eq!(world.apply().errors(), []);
    assert_eq!(world.destroy().errors(), []);
    assert_eq!(deletable(&world), [""; 0], "a destroy leaves nothing");
    assert_eq!(world.state.resources, []);
    assert_eq!(theirs(&world), before);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_life_ends_as_wanted_and_leaves_nothing(
        surface in select(vec![Surface::Versioned, Surface::Current, Surface::Cluster]), is_forgetful: bool,
        events in proptest::collection::vec(events(), 1..8),
    ) {
        live(surface, is_forgetful, events);
    }
}
