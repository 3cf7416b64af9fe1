//! The stories. Each is told on the terminal, and fails if something else happens.
//!
//! In: a [`Scene`]. Out: lines. Fails: if a request fails, or if what the story tells does not happen in time.

mod bundle;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::observation::{Kind, Observation};
use super::scene::Scene;
use crate::api::Cluster;
use crate::layout::{FOUNDATION, PROVISIONER};
use crate::look;

pub(super) use bundle::bundle;

const WAITING_ON: &str = "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on";

/// How long a cluster stays stuck, so that somebody can read its page, which is brought up to date every 2 s.
const READING: Duration = Duration::from_secs(10);

pub(super) async fn create(scene: &Scene) -> Result<()> {
    scene.title("A cluster is created: the foundation first, then the Jobs of the provisioner");
    let cluster = scene.create(&name("demo"), &json!({ "region": "north" })).await?;
    scene.watch_reconciled(&cluster).await?;
    scene.tell("The cluster is Reconciled. It stays.");
    Ok(())
}

pub(super) async fn delete(scene: &Scene) -> Result<()> {
    let cluster = reconciled(scene, "delete").await?;
    let last = match scene.running.maestro {
        None => "the settings, the namespace last",
        Some(_) => "the work, whose agent deletes the settings and the namespace",
    };
    scene.title(&format!("It is deleted: Jobs first, then {last}; the record stays, disowned"));
    remove(scene, &cluster).await
}

pub(super) async fn force_delete(scene: &Scene) -> Result<()> {
    let cluster = reconciled(scene, "force").await?;
    scene.title("It is removed by force, before an adapter hears of it");
    scene.api.delete(&cluster).await?;
    scene.api.force_delete(&cluster, "a demonstration").await?;
    scene.tell("you          delete the cluster, and force the deletion");
    scene.watch(&cluster, "the end of the cluster", async |seen| Ok(seen.cluster.is_none())).await?;
    let orphans = match scene.running.maestro {
        None => "its objects are orphans, and go; the namespace last",
        Some(_) => "its objects and its work are orphans, and go; the agent deletes what the work made",
    };
    scene.title(&format!("Two passes of the sweeper find the cluster gone: {orphans}"));
    scene.watch(&cluster, "the sweep", async |seen| Ok(seen.objects.is_empty())).await?;
    scene.tell("Nothing is left. What the sweeper has deleted since its start:");
    for series in scene.series("sweeper", "hyperfleet_sweeper_deletions_total").await? {
        scene.tell(&format!("sweeper      {} {}", series.labels, series.value));
    }
    look_at(scene, &format!("{} has each deleted object, for `sweeper restore`", scene.running.audit));
    Ok(())
}

pub(super) async fn stuck(scene: &Scene) -> Result<()> {
    scene.title("A cluster whose Job fails never becomes Reconciled");
    let cluster = scene.create(&name("stuck"), &json!({ "region": "north", "fail": true })).await?;
    let has_failed = async |seen: &Observation| Ok(seen.objects.values().any(|object| object.state == "has failed"));
    scene.watch(&cluster, "a failed Job", has_failed).await?;
    scene.title("After 20 s (10 min by default) the exporter calls it stuck, and names the adapter that it waits on");
    let mut blamed = Vec::new();
    let find_blamed = async |_: &Observation| {
        blamed = scene.series("reconcile-metrics", WAITING_ON).await?;
        blamed.retain(|series| series.value > 0.0);
        Ok(blamed.iter().any(|series| series.labels.contains(PROVISIONER)))
    };
    scene.watch(&cluster, "a stuck cluster", find_blamed).await?;
    for series in blamed {
        scene.tell(&format!("exporter     {WAITING_ON}{} {}", series.labels, series.value));
    }
    scene.tell("It stays so for 10 s, in which the console's page says whose part that is, and what would change it.");
    let begin = Instant::now();
    scene.watch(&cluster, "the end of these seconds", async |_| Ok(begin.elapsed() >= READING)).await?;
    scene.title("A new generation heals it");
    scene.api.change(&cluster, &json!({ "region": "north", "fail": false })).await?;
    scene.tell("you          change the spec");
    scene.watch_reconciled(&cluster).await?;
    let prometheus = &scene.running.prometheus;
    let query = "/api/v1/query?query=hyperfleet:stuck:max";
    let graph = look::prometheus(prometheus, "/graph?g0.expr=hyperfleet:stuck:max", query).await;
    let alerts = look::prometheus(prometheus, "/alerts", "/api/v1/alerts").await;
    look_at(scene, &format!("{graph}, {alerts} and {}", scene.running.stuck));
    Ok(())
}

pub(super) async fn disown(scene: &Scene) -> Result<()> {
    let cluster = reconciled(scene, "disown").await?;
    scene.title("It is deleted: the record is disowned, so that nobody deletes it");
    remove(scene, &cluster).await?;
    scene.title("The sweeper leaves it alone, pass after pass");
    let passes = async || scene.figure("sweeper", "hyperfleet_sweeper_passes_total").await;
    let before = passes().await?;
    let left = scene.watch(&cluster, "three passes", async |_| Ok(passes().await? >= before + 3.0)).await?;
    ensure!(left.objects.values().any(|object| object.state == "is disowned"), "the record is gone");
    scene.tell("Three passes later the record is there.");
    let (records, id) = (&scene.running.records_namespace, &cluster.id);
    let arguments = format!("-n {records} get configmap {id} -o yaml");
    let path = format!("/api/v1/namespaces/{records}/configmaps/{id}");
    look_at(scene, &look::objects(&scene.running.kubeconfig, &arguments, &path));
    Ok(())
}

pub(super) async fn history(scene: &Scene) -> Result<()> {
    let cluster = reconciled(scene, "history").await?;
    for region in ["south", "east", "west"] {
        scene.title(&format!("Its region becomes {region}: a new generation, and a new Job"));
        scene.api.change(&cluster, &json!({ "region": region })).await?;
        scene.watch_reconciled(&cluster).await?;
    }
    let three = async |seen: &Observation| Ok(provisionings(seen).len() == 3);
    let kept = scene.watch(&cluster, "the end of the oldest Job", three).await?;
    scene.tell(&format!("Kept: {}. The task's `retention` keeps two former Jobs.", provisionings(&kept).join(", ")));
    look_at(scene, "e2e/stack/src/tasks/provisioner.yaml: `retention`");
    Ok(())
}

pub(super) async fn debounce(scene: &Scene) -> Result<()> {
    let cluster = reconciled(scene, "debounce").await?;
    scene.title("Events go on arriving, but the Job `check` is made again every 20 s at most");
    let events = async || scene.figure(PROVISIONER, "hyperfleet_adapter_events_processed_total").await;
    let before = events().await?;
    let mut checks = BTreeSet::new();
    let count = async |seen: &Observation| {
        let check = seen.objects.get(&(Kind::Job, "check".to_owned()));
        checks.extend(check.map(|check| check.uid.clone()));
        Ok(checks.len() == 3)
    };
    scene.watch(&cluster, "two more checks", count).await?;
    let events = events().await? - before;
    scene.tell(&format!("{events} events (about all clusters of this stack), and two more checks of this one."));
    look_at(scene, "e2e/stack/src/tasks/provisioner.yaml: `when`");
    Ok(())
}

/// A cluster that is reconciled.
async fn reconciled(scene: &Scene, prefix: &str) -> Result<Cluster> {
    scene.title("A cluster");
    let cluster = scene.create(&name(prefix), &json!({ "region": "north" })).await?;
    scene.watch_reconciled(&cluster).await?;
    Ok(cluster)
}

/// Deletes a cluster, and watches until nothing but its disowned record is left.
async fn remove(scene: &Scene, cluster: &Cluster) -> Result<()> {
    scene.api.delete(cluster).await?;
    scene.tell("you          delete the cluster");
    watch_removed(scene, cluster).await
}

/// Watches until nothing but the disowned record of a cluster is left.
async fn watch_removed(scene: &Scene, cluster: &Cluster) -> Result<()> {
    let is_over = async |seen: &Observation| {
        Ok(seen.cluster.is_none() && seen.objects.values().all(|object| object.state == "is disowned"))
    };
    let left = scene.watch(cluster, "the end of the cluster", is_over).await?;
    ensure!(left.objects.len() == 1, "the record is gone");
    scene.tell(&format!("Both adapters, {FOUNDATION} and {PROVISIONER}, are done; only the record is left."));
    Ok(())
}

fn provisionings(seen: &Observation) -> Vec<String> {
    let jobs = seen.objects.keys().filter(|(kind, name)| *kind == Kind::Job && name.starts_with("provision-"));
    jobs.map(|(_, name)| name.clone()).collect()
}

fn look_at(scene: &Scene, what: &str) {
    scene.title("Look at");
    scene.tell(what);
}

/// A name that no other cluster of the stack has.
fn name(prefix: &str) -> String {
    lifecycle_e2e::unique(prefix)
}
