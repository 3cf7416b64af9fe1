//! Deployments to an API server in memory: what is there afterwards, what the state has, and what a plan says then.

mod lives;
mod world;

use promptkit_deploy::error::Category;
use promptkit_deploy::protocol::{EventKind, Health, ResourceStatus};
use serde_json::json;

use self::world::{Fault, World, pack};
use super::*;

#[test]
fn pack_is_deployed_in_order_and_leaves_nothing_to_do() {
    let mut world = World::new();
    world.pack = pack(&["a", "b"], &["search"], "1.0.0");
    let account = world.apply();
    assert_eq!(account.errors(), []);
    let expected = ["ConfigMap p-packdata", "PromptPack p", "ToolRegistry p-tools", "AgentRuntime a", "AgentRuntime b"];
    assert_eq!(world.written(), expected);
    assert_eq!(
        world.plan(),
        [
            "NO_CHANGE configmap.p-packdata",
            "NO_CHANGE prompt_pack.p",
            "NO_CHANGE tool_registry.p-tools",
            "NO_CHANGE agent_runtime.a",
            "NO_CHANGE agent_runtime.b"
        ]
    );
    world.written();
    world.apply();
    assert_eq!(world.written(), [""; 0], "nothing changed");
    let progress: Vec<_> = account
        .events()
        .into_iter()
        .filter(|event| event.kind == EventKind::Progress)
        .map(|event| event.message)
        .collect();
    let expected = [
        "Creating configmap: p-packdata (0%)",
        "Creating prompt_pack: p (20%)",
        "Creating tool_registry: p-tools (40%)",
        "Creating agent_runtime: a (80%)",
        "Creating agent_runtime: b (86%)",
    ];
    assert_eq!(progress, expected);
}

#[test]
fn what_left_the_pack_goes_after_all_else_was_written() {
    let mut world = World::new();
    world.pack = pack(&["a", "b"], &["search"], "1.0.0");
    world.apply();
    world.pack = pack(&["a", "c"], &[], "1.0.1");
    let plan = world.plan();
    assert!(
        plan.ends_with(&["DELETE agent_runtime.b".to_owned(), "DELETE tool_registry.p-tools".to_owned()]),
        "{plan:?}"
    );
    world.written();
    world.fault = Some(Fault::refuse("AgentRuntime c"));
    let account = world.apply();
    assert_eq!(account.errors().len(), 1, "{:?}", account.errors());
    assert_eq!(account.errors()[0].category, Category::Permission);
    assert!(!world.written().iter().any(|write| write.starts_with("delete")), "a failed write keeps what is to go");
    world.fault = None;
    let account = world.apply();
    assert_eq!(account.errors(), []);
    assert_eq!(world.ours(), ["AgentRuntime a", "AgentRuntime c", "ConfigMap p-packdata", "PromptPack p"]);
    assert!(account.state().find("agent_runtime", "b").is_none());
}

#[test]
fn object_of_others_is_neither_changed_nor_deleted() {
    let mut world = World::new();
    world.put(json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "AgentRuntime",
        "metadata": { "name": "a", "namespace": "team", "labels": { "app.kubernetes.io/managed-by": "helm" } },
    }));
    world.pack = pack(&["a", "b"], &[], "1.0.0");
    let account = world.apply();
    let errors = account.errors();
    assert!(errors.len() == 1 && errors[0].category == Category::Conflict, "{errors:?}");
    assert!(errors[0].message.contains("belongs to `helm`"), "{errors:?}");
    assert!(errors[0].message.ends_with("another name, or delete that object"), "{errors:?}");
    assert!(world.ours().contains(&"AgentRuntime b".to_owned()), "the others are written");
    let account = world.destroy();
    assert!(
        account.events().iter().any(|event| event.message.contains("it belongs to `helm`")),
        "{:?}",
        account.events()
    );
    assert_eq!((world.ours(), account.state().resources), (Vec::new(), Vec::new()));
    assert!(world.exists("AgentRuntime a"));
}

#[test]
fn deletion_that_is_refused_stays_in_the_state_and_the_next_one_ends_it() {
    let mut world = World::new();
    world.pack = pack(&["a", "b"], &[], "1.0.0");
    world.apply();
    world.written();
    world.fault = Some(Fault::refuse("AgentRuntime b"));
    let account = world.destroy();
    assert_eq!(world.written(), ["delete AgentRuntime a", "delete PromptPack p", "delete ConfigMap p-packdata"]);
    let left: Vec<_> = account.state().resources.into_iter().map(|entry| entry.name).collect();
    assert_eq!(left, ["b"]);
    world.fault = None;
    let account = world.destroy();
    assert_eq!((account.errors(), account.state().resources), (Vec::new(), Vec::new()));
    assert_eq!(world.ours(), [""; 0]);
    let told: Vec<_> =
        account.events().into_iter().map(|event| event.message).filter(|text| !text.is_empty()).collect();
    assert_eq!(told, ["Destroying 1 resources", "Step 1: deleting agent_runtime resources (1)", "Destroy complete"]);
}

#[test]
fn drift_is_planned_and_mended() {
    let mut world = World::new();
    world.pack = pack(&["a"], &[], "1.0.0");
    world.apply();
    world.patch("PromptPack", "p", &json!({ "spec": { "version": "9" } }));
    let plan = world.plan();
    assert!(plan.contains(&"DRIFT prompt_pack.p (Update prompt_pack p: spec.version)".to_owned()), "{plan:?}");
    world.apply();
    assert!(!world.plan().iter().any(|change| change.starts_with("DRIFT")));
}

#[test]
fn agent_that_fails_or_is_late_keeps_its_id_and_is_waited_for_again() {
    for (name, status, category) in [
        ("failed", json!({ "phase": "Failed" }), Category::Resource),
        ("never ready", json!({ "phase": "Pending" }), Category::Timeout),
    ] {
        let mut world = World::new();
        world.pack = pack(&["a"], &[], "1.0.0");
        world.status = status;
        let account = world.apply();
        let errors = account.errors();
        assert!(errors.len() == 1 && errors[0].category == category, "{name}: {errors:?}");
        assert!(!account.state().find("agent_runtime", "a").unwrap().uid.is_empty(), "{name}");
        world.status = json!({ "phase": "Running" });
        assert_eq!(world.apply().errors(), [], "{name}: the next apply looks again");
    }
}

#[test]
fn health_is_that_of_each_object() {
    let mut world = World::new();
    world.pack = pack(&["a"], &[], "1.0.0");
    world.apply();
    let health = |world: &mut World| world.health().into_iter().map(|it| (it.name, it.status)).collect::<Vec<_>>();
    let expected =
        |pack, agent| vec![("p-packdata".to_owned(), Health::Healthy), ("p".to_owned(), pack), ("a".to_owned(), agent)];
    assert_eq!(health(&mut world), expected(Health::Healthy, Health::Healthy));
    world.remove("PromptPack", "p");
    world.patch("AgentRuntime", "a", &json!({ "status": { "phase": "Error" } }));
    assert_eq!(health(&mut world), expected(Health::Missing, Health::Unhealthy));
}

#[test]
fn list_that_fails_makes_a_deletion_fail_and_the_next_one_finds_what_was_left() {
    for name in [None, Some("a")] {
        let mut world = World::new();
        world.is_forgetful = true;
        world.pack = pack(&["a"], &[], "1.0.0");
        world.apply();
        // The client does not keep the state of a failed apply: only the labels tell of the agent `b`.
        world.pack = pack(&["a", "b"], &[], "1.0.0");
        world.fault = Some(Fault::refuse("PromptPack p"));
        world.pack["version"] = json!("1.0.1");
        assert!(!world.apply().errors().is_empty());
        world.fault = Some(Fault::Unlisted("AgentRuntime", name));
        let account = world.destroy();
        assert!(
            account.errors().iter().any(|error| error.message.contains("could not be listed")),
            "{:?}",
            account.errors()
        );
        assert_eq!(world.exists("AgentRuntime a"), name.is_some(), "nothing is deleted that could not be read");
        assert!(world.exists("AgentRuntime b"));
        world.fault = None;
        assert_eq!(world.destroy().errors(), []);
        assert_eq!(world.ours(), [""; 0]);
    }
}

#[test]
fn object_that_took_the_place_of_ours_is_left_alone_although_the_list_fails() {
    let mut world = World::new();
    world.pack = pack(&["a"], &[], "1.0.0");
    world.apply();
    world.remove("AgentRuntime", "a");
    world.put(json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "AgentRuntime",
        "metadata": { "name": "a", "namespace": "team", "labels": { "app.kubernetes.io/managed-by": "helm" } },
    }));
    world.fault = Some(Fault::Unlisted("AgentRuntime", None));
    world.destroy();
    assert!(world.exists("AgentRuntime a"));
}

#[test]
fn registry_to_which_agents_are_bound_stays() {
    for (surface, name) in [(Surface::Current, None), (Surface::Cluster, Some("p-tools"))] {
        let mut world = World::new();
        world.surface = surface;
        world.pack = pack(&["a"], &["search"], "1.0.0");
        if surface == Surface::Current {
            world.bind("p-tools", &["search"]);
        } else {
            world.apply();
        }
        world.registry = name;
        world.apply();
        assert!(world.exists("ToolRegistry p-tools"), "{surface:?}");
    }
}

#[test]
fn agent_that_fails_keeps_what_left_the_pack() {
    let mut world = World::new();
    world.pack = pack(&["a"], &[], "1.0.0");
    world.apply();
    world.pack = pack(&["b"], &[], "1.0.0");
    world.status = json!({ "phase": "Failed" });
    assert_eq!(world.apply().errors().len(), 1);
    assert!(world.exists("AgentRuntime a"), "the agent that works stays until the new one does");
}

#[test]
fn change_that_the_state_does_not_know_is_taken_back() {
    let mut world = World::new();
    world.is_forgetful = true;
    world.pack = pack(&["a"], &[], "1.0.0");
    world.apply();
    world.pack = pack(&["a"], &["search"], "1.0.0");
    world.fault = Some(Fault::refuse("ToolRegistry p-tools"));
    assert!(!world.apply().errors().is_empty());
    let names_registry = |world: &World| {
        let agent = world.objects().into_iter().find(|object| object["kind"] == "AgentRuntime").unwrap();
        agent["spec"].get("toolRegistryRef").is_some()
    };
    assert!(names_registry(&world));
    world.fault = None;
    world.pack = pack(&["a"], &[], "1.0.0");
    world.apply();
    assert!(!names_registry(&world), "the live agent has a field that nothing wants");
}

#[test]
fn state_of_another_pack_is_no_state_of_this_one() {
    let mut world = World::new();
    world.pack = pack(&["a"], &[], "1.0.0");
    world.apply();
    world.pack["id"] = json!("q");
    let error = world.refused();
    assert_eq!(
        error.to_string(),
        "the state is that of the pack `p`, and this is `q` [hint: destroy `p` first, or deploy `q` from a project of its own]"
    );
}

#[test]
fn deletion_that_waits_for_a_finalizer_is_told_and_waited_for() {
    let mut world = World::new();
    world.pack = pack(&["a", "b"], &[], "1.0.0");
    world.apply();
    world.patch("AgentRuntime", "b", &json!({ "metadata": { "finalizers": ["omnia/hold"] } }));
    world.pack = pack(&["a"], &[], "1.0.0");
    let errors = world.apply().errors();
    assert!(errors.len() == 1 && errors[0].category == Category::Timeout, "{errors:?}");
    assert!(world.state.find("agent_runtime", "b").is_some());
    world.pack = pack(&["a", "b"], &[], "1.0.0");
    let errors = world.apply().errors();
    assert!(errors.len() == 1 && errors[0].category == Category::Conflict, "what goes cannot be wanted: {errors:?}");
}

#[test]
fn version_that_was_replaced_stays_until_all_goes() {
    let mut world = World::new();
    world.surface = Surface::Current;
    world.put(json!({
        "apiVersion": "omnia.altairalabs.ai/v1alpha1", "kind": "PromptPack",
        "metadata": {
            "name": "pp-old", "namespace": "team",
            "labels": { "app.kubernetes.io/managed-by": "promptarena", "promptkit.altairalabs.ai/pack-id": "p" },
        },
    }));
    world.state.record(Entry::new("prompt_pack", "pp-old", ResourceStatus::Created));
    world.pack = pack(&["a"], &[], "1.0.0");
    assert_eq!(world.apply().errors(), []);
    assert!(world.exists("PromptPack pp-old") && world.state.find("prompt_pack", "pp-old").is_some());
    assert!(world.plan().contains(&"NO_CHANGE prompt_pack.pp-old".to_owned()));
    assert_eq!(world.destroy().errors(), []);
    assert_eq!((world.ours(), world.state.resources), (Vec::new(), Vec::new()));
}
