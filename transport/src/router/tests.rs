//! Runs one task on two in-memory stores: this cluster and a Maestro consumer.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::Mutex;
use std::time::Duration;

use lifecycle_core::plan::{Next, Planner};
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_core::task::{Task, TransportKind};
use lifecycle_language::scope::Scope;
use lifecycle_language::template::Template;
use lifecycle_objects::id::Generation;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::write::Command;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::executor::execute;
use crate::memory::MemoryTransport;
use crate::observe::find_all;

const NOW: &str = "2026-01-01T00:00:00Z";

fn unobserved() -> DeletionObserver {
    Arc::new(|_| Box::new(|_| {}))
}

fn world() -> MemoryTransport {
    MemoryTransport::new(NOW.parse().unwrap())
}

/// A task that wants the same object twice: in this cluster, and at the consumer `spoke`. The test builds it in
/// code, because task files cannot name a consumer yet.
fn task() -> Task {
    let entry = |name: &str| {
        json!({
            "name": name,
            "manifest": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings", "namespace": "spoke" } },
            "discovery": { "namespace": "spoke", "by_name": "settings" },
            "lifecycle": { "delete": { "when": { "expression": "deleting" } } },
        })
    };
    let text = json!({
        "params": [{ "name": "deleting", "source": "event.deleting" }],
        "resources": [entry("here"), entry("there")],
    });
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &|_| None };
    let compiled = compile("task.yaml", &text.to_string(), &surroundings);
    let mut task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
    task.resources[1].transport = TransportKind::Maestro { target_cluster: Template::parse("spoke").unwrap() };
    task
}

/// Runs one pass, and returns the result of each resource.
async fn pass(task: &Task, transport: &impl Transport, deleting: bool) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut scope = Scope::new(NOW.parse().unwrap());
    scope.set("deleting", json!(deleting));
    scope.set("resources", json!({}));
    let stamp = Stamp {
        adapter: "tester".to_owned(),
        resource_id: "c-1".to_owned(),
        resource_id_fault: None,
        generation: Generation(1),
        signer: None,
    };
    let mut planner = Planner::new(task, stamp);
    loop {
        match planner.next(&mut scope) {
            Next::Read(reads) => {
                let queries = reads.iter().map(|read| read.query.clone()).collect();
                let observations = find_all(transport, queries, deadline).await;
                for (read, observation) in reads.into_iter().zip(observations) {
                    planner.observe(&mut scope, read.resource, observation);
                }
            }
            Next::Write(step) => {
                let executed = execute(transport, step.command, deadline).await;
                planner.record(&mut scope, executed);
            }
            Next::Bundle(step) => panic!("the task has no bundle: {step:?}"),
            Next::Done => {
                let outcomes = planner.into_outcomes().into_iter();
                let told = |failure: &_| format!("{failure}");
                return outcomes.map(|it| it.failure().map_or_else(|| it.result.as_str().to_owned(), told)).collect();
            }
        }
    }
}

#[tokio::test]
async fn one_task_runs_on_two_destinations() {
    let router = Router::new(Some(world()), Some(world()), unobserved());
    let task = task();
    let operations =
        || [router.cluster.as_ref().unwrap().operations(), router.consumers.as_ref().unwrap().operations()];

    assert_eq!(pass(&task, &router, false).await, ["created", "created"]);
    let [here, there] = operations();
    assert_eq!(here.len(), 2, "a read and a write: {here:?}");
    assert_eq!(there, here, "equal queries to two destinations are two reads");

    assert_eq!(pass(&task, &router, false).await, ["skipped", "skipped"]);
    assert_eq!(pass(&task, &router, true).await, ["deleted", "deleting"]);
    assert_eq!(pass(&task, &router, true).await, ["skipped", "waiting"], "the consumer's agent has not confirmed");
    router.consumers.as_ref().unwrap().confirm_remote_deletions();
    assert_eq!(pass(&task, &router, true).await, ["skipped", "skipped"]);
    assert_eq!(router.cluster.as_ref().unwrap().objects(), Vec::<Value>::new());
    assert_eq!(router.consumers.as_ref().unwrap().objects(), Vec::<Value>::new());
}

#[tokio::test]
async fn calls_to_a_destination_without_transport_are_invalid() {
    let router = Router::new(Some(world()), None::<MemoryTransport>, unobserved());
    let [created, unread] = &*pass(&task(), &router, false).await else { panic!("two entries") };
    assert_eq!(created, "created");
    assert!(unread.starts_with("DiscoveryFailed: failed to find at Maestro consumer spoke: no transport leads there"));

    let destination = Destination::Consumer("spoke".to_owned());
    let desired = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team" } });
    let command = Command::Create { destination, desired };
    let executed = execute(&router, command, Instant::now() + Duration::from_secs(60)).await;
    let lifecycle_objects::write::Executed::Failed(error) = executed else { panic!("{executed:?}") };
    assert_eq!(error.kind, WriteErrorKind::Invalid);
}

#[tokio::test]
async fn inspections_are_about_this_cluster() {
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team" } });
    let namespace = Inspection::Namespace("team".to_owned());
    let router = Router::new(Some(world().with_objects([map.clone()]).unwrap()), Some(world()), unobserved());
    let found = router.inspect(&namespace, &Members::default()).await.unwrap();
    assert_eq!(found.map(|it| it.to_string()).as_deref(), Some("ConfigMap team/a"));
    let router = Router::new(None::<MemoryTransport>, Some(world().with_objects([map]).unwrap()), unobserved());
    let error = router.inspect(&namespace, &Members::default()).await.unwrap_err();
    assert_eq!(error.kind, WriteErrorKind::Invalid, "{error}");
}

#[tokio::test]
async fn observer_learns_of_each_deletion_and_whether_it_was_accepted() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let observer: DeletionObserver = Arc::new(move |kind| {
        let (log, kind) = (Arc::clone(&log), kind.to_owned());
        log.lock().unwrap().push(format!("{kind} begins"));
        Box::new(move |is_accepted| log.lock().unwrap().push(format!("{kind} is accepted: {is_accepted}")))
    });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team" } });
    let router = Router::new(Some(world().with_objects([map]).unwrap()), None::<MemoryTransport>, observer);
    let live = Version::new(router.cluster.as_ref().unwrap().objects().remove(0));
    let here = Target::of(&live, &ObjectRef::of(live.object()).kind, &Destination::ThisCluster);
    let nowhere = Target { destination: Destination::Consumer("spoke".to_owned()), ..here.clone() };
    assert_eq!(router.delete(&here, PropagationPolicy::Background).await, Ok(Deletion::Gone));
    assert!(router.delete(&nowhere, PropagationPolicy::Background).await.is_err());
    let expected = ["begins", "is accepted: true", "begins", "is accepted: false"];
    assert_eq!(*seen.lock().unwrap(), expected.map(|what| format!("ConfigMap {what}")));
}
