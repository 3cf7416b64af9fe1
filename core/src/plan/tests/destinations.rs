//! Tests of one task with two destinations, this cluster and a Maestro consumer: a resource at one destination
//! never finds, owns, disowns or conflicts with an object at the other.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use lifecycle_language::template::Template;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::keys;
use lifecycle_objects::observation::Query;
use lifecycle_objects::write::{Command, Executed, Target};
use serde_json::{Value, json};

use super::passes::{config_map, gated, live, scope, selecting, stamp, task, with, yes};
use super::store::Store;
use crate::outcome::Outcome;
use crate::plan::{Next, Planner};
use crate::task::{Task, TransportKind};

/// The stores of this cluster and of the Maestro consumer `team`.
struct Stores {
    here: Store,
    there: Store,
    /// All queries that the planner sent to either store, in order.
    asked: Vec<Query>,
}

impl Stores {
    fn new(here: impl IntoIterator<Item = Value>, there: impl IntoIterator<Item = Value>) -> Self {
        Self { here: Store::with(here), there: Store::with(there), asked: Vec::new() }
    }

    fn at(&mut self, destination: &Destination) -> &mut Store {
        match destination {
            Destination::ThisCluster => &mut self.here,
            Destination::Consumer(name) if name == "team" => &mut self.there,
            Destination::Consumer(name) => panic!("there is no consumer {name}"),
        }
    }

    fn execute(&mut self, command: Command) -> Executed {
        let destination = destination(&command).clone();
        self.at(&destination).execute(command)
    }

    fn pass(&mut self, task: &Task, variables: &[(&str, Value)]) -> Vec<Outcome> {
        let mut scope = scope(&self.here, 3, variables);
        let mut planner = Planner::new(task, stamp(3));
        loop {
            match planner.next(&mut scope) {
                Next::Read(reads) => {
                    for read in reads {
                        let observation = self.at(&read.query.destination).find(&read.query);
                        self.asked.push(read.query);
                        planner.observe(&mut scope, read.resource, observation);
                    }
                }
                Next::Write(step) => {
                    let executed = self.execute(step.command);
                    planner.record(&mut scope, executed);
                }
                Next::Bundle(step) => panic!("the task has no bundle: {step:?}"),
                Next::Done => return planner.into_outcomes(),
            }
        }
    }
}

/// Returns the destination of a command; all its writes have the same one.
fn destination(command: &Command) -> &Destination {
    let one = |targets: &'_ [Target]| {
        assert!(targets.iter().all(|target| target.destination == targets[0].destination), "{targets:?}");
    };
    match command {
        Command::Create { destination, .. } => destination,
        Command::Update { target, .. } | Command::Patch { target, .. } => &target.destination,
        Command::Recreate { destination, targets, .. } => {
            one(targets);
            assert_eq!(*destination, targets[0].destination);
            destination
        }
        Command::Delete { targets, .. } => {
            one(targets);
            &targets[0].destination
        }
        Command::Disown { last, .. } => &last.target.destination,
    }
}

/// A task with two entries, the second of which lives at a Maestro consumer. Made by hand, because task files can only send
/// `ManifestWorks` there, and the harness has entries of `ConfigMaps`. The consumer has the name of their namespace.
fn apart(here: Value, there: Value) -> Task {
    let mut task = task(&[here, there]);
    let target_cluster = Template::parse("{{ .consumer }}").unwrap();
    task.resources[1].transport = TransportKind::Maestro { target_cluster };
    task
}

fn spoke() -> (&'static str, Value) {
    ("consumer", json!("team"))
}

fn results(outcomes: &[Outcome]) -> Vec<(&str, &str)> {
    let results = outcomes.iter().map(|outcome| {
        let reason = outcome.failure().map_or_else(|| outcome.decision.reason(), |failure| failure.reason.as_str());
        (outcome.result.as_str(), reason)
    });
    results.collect()
}

#[test]
fn one_task_writes_to_two_destinations() {
    let entry = |name: &str| {
        let same_object = json!({
            "name": name,
            "lifecycle": { "recreate": { "when": { "expression": "replacing" } }, "delete": { "when": { "expression": "deleting" } } }
        });
        with(config_map("settings"), same_object)
    };
    let task = apart(entry("here"), entry("there"));
    let mut stores = Stores::new([], []);

    assert_eq!(results(&stores.pass(&task, &[spoke()])), [("created", "Absent"); 2]);
    assert_eq!((&stores.here.log, &stores.there.log), (&vec!["create settings".to_owned()], &stores.here.log.clone()));
    let [here, there] = &stores.asked[..] else { panic!("{:?}", stores.asked) };
    assert_eq!(here.destination, Destination::ThisCluster);
    assert_eq!(*there, Query { destination: Destination::Consumer("team".to_owned()), ..here.clone() });

    assert_eq!(results(&stores.pass(&task, &[spoke()])), [("skipped", "SameGeneration"); 2]);
    let replacing = [spoke(), ("replacing", json!(true))];
    assert_eq!(results(&stores.pass(&task, &replacing)), [("recreated", "RecreateGateHolds"); 2]);
    let deleting = [spoke(), ("deleting", json!(true))];
    assert_eq!(results(&stores.pass(&task, &deleting)), [("deleted", "DeleteGateHolds"); 2]);
    assert_eq!((stores.here.names().len(), stores.there.names().len()), (0, 0));
}

#[test]
fn invalid_consumer_name_leaves_the_resource_unread() {
    let task = apart(config_map("a"), config_map("b"));
    for consumer in [json!(""), json!("Not a name"), Value::Null] {
        let mut stores = Stores::new([], []);
        let outcomes = stores.pass(&task, &[("consumer", consumer)]);
        assert_eq!(results(&outcomes), [("created", "Absent"), ("failed", "DiscoveryFailed")]);
    }
}

#[test]
fn selectors_do_not_compete_for_objects_in_different_clusters() {
    let task = apart(gated(selecting("left"), "delete", "deleting"), gated(selecting("right"), "delete", "deleting"));
    let older = || live("ConfigMap", "older", json!({ "app": "demo" }), Some(1));
    let mut stores = Stores::new([older()], [older()]);
    let outcomes = stores.pass(&task, &[spoke(), ("deleting", json!(true))]);
    assert_eq!(results(&outcomes), [("deleted", "DeleteGateHolds"); 2], "beside a competing selector both would stay");
}

#[test]
fn name_is_taken_only_at_the_objects_own_destination() {
    let task = apart(selecting("twin"), with(selecting("twin"), json!({ "name": "other" })));
    let stranger = || live("ConfigMap", "twin-3", json!({ "app": "not the demo" }), Some(1));
    let mut stores = Stores::new([], [stranger()]);
    assert_eq!(results(&stores.pass(&task, &[spoke()])), [("created", "Absent"), ("failed", "NameTaken")]);
    let mut stores = Stores::new([stranger()], []);
    // Nothing is written after a failure.
    assert_eq!(results(&stores.pass(&task, &[spoke()])), [("failed", "NameTaken"), ("skipped", "EarlierFailure")]);
}

#[test]
fn owner_at_another_destination_cannot_be_referenced() {
    let owned = with(config_map("child"), json!({ "owner": { "resource": "parent" } }));
    let task = apart(config_map("parent"), owned);
    let outcomes = Stores::new([], []).pass(&task, &[spoke()]);
    assert_eq!(results(&outcomes), [("created", "Absent"), ("failed", "OwnerUnavailable")]);
}

#[test]
fn deletion_ignores_dependents_at_another_destination() {
    let task =
        apart(gated(config_map("parent"), "delete", "deleting"), gated(config_map("child"), "orphan", "disowning"));
    let with_owner = |uid: &str| {
        let owner = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid }]);
        with(live("ConfigMap", "child", json!({}), Some(3)), json!({ "metadata": { "ownerReferences": owner } }))
    };
    let parent = live("ConfigMap", "parent", json!({}), Some(3));
    // Both stores give their first object the same UID.
    let mut stores = Stores::new([parent], [with_owner("uid-1")]);
    assert_eq!(stores.here.object("parent")["metadata"]["uid"], "uid-1");
    let variables = [spoke(), yes("deleting")[0].clone(), yes("disowning")[0].clone()];
    assert_eq!(
        results(&stores.pass(&task, &variables)),
        [("deleted", "DeleteGateHolds"), ("disowned", "OrphanGateHolds")]
    );
    let child = stores.there.object("child");
    assert_eq!(child["metadata"]["labels"][keys::DISOWNED], "c1");
}

#[test]
fn object_of_a_consumer_gets_the_consumers_namespace_whatever_the_manifest_says() {
    let elsewhere = json!({
        "name": "settings",
        "manifest": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings", "namespace": "other" } },
        "discovery": { "by_name": "settings" },
    });
    let mut task = apart(config_map("here"), config_map("settings"));
    task.resources[1] = self::task(&[elsewhere]).resources.remove(0);
    task.resources[1].transport =
        TransportKind::Maestro { target_cluster: Template::parse("{{ .consumer }}").unwrap() };
    let mut stores = Stores::new([], []);
    assert_eq!(results(&stores.pass(&task, &[spoke()])), [("created", "Absent"); 2]);
    assert_eq!(stores.there.object("settings")["metadata"]["namespace"], "team");
    assert_eq!(stores.asked[1].namespace.as_deref(), Some("team"), "discovery has none");
    assert_eq!(results(&stores.pass(&task, &[spoke()])), [("skipped", "SameGeneration"); 2]);
}

#[test]
fn discovery_in_another_namespace_than_the_consumers_is_impossible() {
    let task = apart(config_map("a"), config_map("b"));
    let outcomes = Stores::new([], []).pass(&task, &[("consumer", json!("spoke"))]);
    assert_eq!(results(&outcomes), [("created", "Absent"), ("failed", "DiscoveryFailed")]);
    let message = &outcomes[1].failure().unwrap().message;
    assert!(message.contains("the objects of Maestro consumer spoke are in namespace spoke"), "{message}");
}

#[test]
fn disowned_work_keeps_its_objects_when_somebody_deletes_it() {
    let task =
        apart(gated(config_map("here"), "orphan", "disowning"), gated(config_map("there"), "orphan", "disowning"));
    let mut stores =
        Stores::new([live("ConfigMap", "here", json!({}), Some(3))], [live("ConfigMap", "there", json!({}), Some(3))]);
    stores.pass(&task, &[spoke(), yes("disowning")[0].clone()]);
    let option = |store: &Store, name: &str| store.object(name)["spec"]["deleteOption"]["propagationPolicy"].clone();
    assert_eq!(option(&stores.there, "there"), "Orphan");
    assert_eq!(option(&stores.here, "here"), Value::Null);
}
