//! The API server fails one call of an event: each call in turn, with each kind of failure.
//!
//! After each failure the pass ends, its report names the failure, and the next event reaches the same state
//! as a run without failures.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use kube::api::{DeleteParams, ListParams};
use lifecycle_e2e::fault::{Fault, When};
use serde_json::{Value, json};

use crate::adapter::Adapter;
use crate::task::{ACCOUNT, CREDENTIALS, SETTINGS, task};
use crate::world::{Report, World};

/// The kinds of failure, each with the text that the report must contain.
fn faults() -> Vec<(&'static str, Fault, &'static str)> {
    vec![
        ("conflict", Fault::Status(409), "409"),
        ("gone", Fault::Status(410), "410"),
        ("invalid", Fault::Status(422), "422"),
        ("throttled", Fault::TooManyRequests { retry_after: 1 }, "429"),
        ("internal", Fault::Status(500), "500"),
        ("unavailable", Fault::Status(503), "503"),
        ("reset-before", Fault::ResetBefore, ""),
        ("reset-after", Fault::ResetAfter, ""),
    ]
}

const KINDS: [&str; 3] = ["ConfigMap", "Secret", "ServiceAccount"];

/// Three resources of different kinds, which are deleted when their cluster is deleted.
fn resources() -> String {
    let gate = "    lifecycle: {delete: {when: {expression: 'cluster.?deleted_time.orValue(null) != null'}}}\n";
    [SETTINGS, CREDENTIALS, ACCOUNT].iter().flat_map(|resource| [*resource, gate]).collect()
}

/// The objects of a cluster, without the fields that differ between two runs.
async fn state(world: &World, cluster: &str) -> Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    let selector = ListParams::default().labels(&format!("hyperfleet.io/resource-id={cluster}"));
    for kind in KINDS {
        for object in world.objects("v1", kind).await?.list(&selector).await? {
            let object = serde_json::to_value(object)?;
            let metadata = &object["metadata"];
            let seen = json!({
                "name": metadata["name"],
                "labels": metadata["labels"],
                "annotations": metadata["annotations"],
                "data": object["data"],
            });
            let anonymous = seen.to_string().replace(cluster, "CLUSTER");
            let key = format!("{kind} {}", metadata["name"].as_str().context("no name")?.replace(cluster, "CLUSTER"));
            ensure!(found.insert(key.clone(), serde_json::from_str(&anonymous)?).is_none(), "two of {key}");
        }
    }
    Ok(found)
}

/// The change of objects that an event causes, and whose calls fail in turn.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Creation,
    Update,
    Deletion,
}

impl Change {
    /// Brings a cluster into the state before the change.
    async fn prepare(self, world: &World, cluster: &str) -> Result<()> {
        if self != Self::Creation {
            world.reconcile(cluster, 1).await?;
        }
        Ok(())
    }

    /// Sends the event of the change, and returns its report.
    async fn publish(self, world: &World, cluster: &str) -> Result<Report> {
        match self {
            Self::Creation => world.reconcile(cluster, 1).await,
            Self::Update => world.reconcile(cluster, 2).await,
            Self::Deletion => {
                world.api.delete(cluster).await?;
                world.reconcile_again(cluster).await
            }
        }
    }

    fn done(self) -> [&'static str; 4] {
        match self {
            Self::Creation | Self::Update => ["True", "True", "True", "False"],
            Self::Deletion => ["False", "False", "True", "True"],
        }
    }
}

async fn start(world: &World) -> Result<Adapter> {
    let adapter = world.adapter(task(&resources()))?.start().await?;
    // The first event of a process also discovers the kinds, so it makes other calls than later events.
    world.reconcile("first", 1).await?;
    Ok(adapter)
}

async fn check_recovery_at_every_call(change: Change, expected_calls: usize) -> Result<()> {
    let world = World::new().await?;
    let adapter = start(&world).await?;
    change.prepare(&world, "undisturbed").await?;
    let mark = world.mark();
    change.publish(&world, "undisturbed").await?;
    let calls = world.calls_since(mark);
    assert_eq!(calls.len(), expected_calls, "{calls:?}");
    let undisturbed = state(&world, "undisturbed").await?;

    for (name, fault, words) in faults() {
        for number in 1..=calls.len() {
            let cluster = format!("{name}-{number}");
            let case = async {
                change.prepare(&world, &cluster).await?;
                // The adapter may probe `/version` after a failure; that request is not one of the event's calls.
                let calls = When::any().and(|request| request.path != "/version");
                world.kubernetes.inject(calls.nth(number), fault.clone());
                let failed = change.publish(&world, &cluster).await?;
                world.kubernetes.heal();
                check_failure(&failed, words)?;

                let healed = world.reconcile_again(&cluster).await?;
                ensure!(healed.statuses() == change.done(), "not healed: {healed:?}");
                let state = state(&world, &cluster).await?;
                ensure!(state == undisturbed, "{state:#?} instead of {undisturbed:#?}");
                let mark = world.mark();
                world.reconcile_again(&cluster).await?;
                let calls = world.calls_since(mark);
                ensure!(calls.iter().all(|call| call.starts_with("GET")), "not at rest: {calls:?}");
                Ok(())
            };
            case.await.with_context(|| format!("{name} at call {number} of {calls:?}"))?;
        }
    }
    assert!(adapter.lines().iter().all(|line| !line.contains("panicked")));
    Ok(())
}

/// Checks that the report names the failed resource, the call and the status.
fn check_failure(report: &Report, words: &str) -> Result<()> {
    ensure!(report.status("Available") == "False", "a failure is not reported: {report:?}");
    ensure!(report.status("Health") == "False", "{report:?}");
    let available = report.condition("Available");
    let message = available["message"].as_str().unwrap_or_default();
    let failed: Vec<&str> = ["settings", "credentials", "account"]
        .into_iter()
        .filter(|resource| {
            report.outcome(resource).starts_with("fail") || message.contains(&format!("resource {resource}:"))
        })
        .collect();
    ensure!(!failed.is_empty(), "no resource is named: {message}");
    for resource in failed {
        ensure!(message.contains(&format!("resource {resource}:")), "{resource} is not named: {message}");
    }
    let verbs = ["get", "list", "create", "apply", "migrate", "delete", "existed"];
    ensure!(verbs.iter().any(|verb| message.contains(verb)), "the call is not named: {message}");
    // Two failures have other texts: a taken name leads to a read, whose result is reported, and a 422
    // without a named field is a failed `test` of a JSON patch.
    let in_other_words = ["existed when it was to be created", "changed meanwhile"];
    let named = message.contains(words) || in_other_words.iter().any(|words| message.contains(words));
    ensure!(named, "`{words}` is not in: {message}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn creation_recovers_from_every_fault_at_every_call() -> Result<()> {
    check_recovery_at_every_call(Change::Creation, 6).await
}

#[tokio::test(flavor = "multi_thread")]
async fn update_recovers_from_every_fault_at_every_call() -> Result<()> {
    check_recovery_at_every_call(Change::Update, 9).await
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_recovers_from_every_fault_at_every_call() -> Result<()> {
    check_recovery_at_every_call(Change::Deletion, 6).await
}

#[tokio::test(flavor = "multi_thread")]
async fn adapter_waits_for_an_apiserver_that_is_down_at_startup() -> Result<()> {
    for fault in [Fault::Status(503), Fault::ResetBefore] {
        let world = World::new().await?;
        world.kubernetes.inject(When::any(), fault);
        world.announce("c1", 1).await?;
        let adapter = world.adapter(task(SETTINGS))?.spawn()?;
        adapter.await_message("a dependency does not answer: no events are taken until it does").await?;
        let (status, body) = adapter.get("health", "/readyz").await?;
        assert_eq!((status, body.contains("waiting for the Kubernetes API")), (503, true), "{body}");
        assert_eq!(world.reports("c1"), [], "the message waits in the queue");
        world.kubernetes.heal();
        let report = world.report("c1", 1).await?;
        assert_eq!(report.statuses(), ["True", "True", "True", "False"]);
        adapter.await_readiness(200).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_discovery_of_kinds_fails_no_event() -> Result<()> {
    let world = World::new().await?;
    let lookups = || When::method("GET").path("/api/v1");
    world.kubernetes.inject(lookups().nth(1), Fault::Silence);
    // Shorter than the time limit of the lost request, so an event that waited for it would fail.
    let _adapter = world.adapter(task(SETTINGS))?.with("event_deadline", "25s").start().await?;
    let (first, second) = tokio::try_join!(world.reconcile("c1", 1), world.reconcile("c2", 1))?;
    assert_eq!([first.status("Available"), second.status("Available")], ["True"; 2]);
    assert_eq!(world.kubernetes.count(&lookups()), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_apiserver_is_reported_within_the_event_deadline() -> Result<()> {
    let world = World::new().await?;
    // A sixth of the time is left for the report.
    let adapter = world.adapter(task(SETTINGS))?.with("event_deadline", "12s").start().await?;
    world.reconcile("first", 1).await?;
    for (cluster, when) in [("reading", When::method("GET")), ("writing", When::method("POST"))] {
        world.kubernetes.inject(when, Fault::Silence);
        let report = world.reconcile(cluster, 1).await?;
        assert_eq!(report.status("Available"), "False", "{cluster}");
        let message = report.condition("Available")["message"].to_string();
        assert!(message.contains("deadline"), "{cluster}: {message}");
        world.kubernetes.heal();
        assert_eq!(world.reconcile_again(cluster).await?.status("Available"), "True", "{cluster}");
    }
    adapter.await_handled(5.0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_namespace_is_reported() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.reconcile("c1", 1).await?;
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(world.stack.control_plane.client().await?);
    namespaces.delete(world.namespace.name(), &DeleteParams::background()).await?;
    let report = world.reconcile("c2", 1).await?;
    assert_eq!(report.status("Available"), "False");
    let available = report.condition("Available");
    let message = available["message"].as_str().unwrap_or_default();
    assert!(message.contains(world.namespace.name()), "{available}");
    Ok(())
}
