//! Two replicas of everything that may have two.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt as _};
use lifecycle_e2e::parts::Ports;
use lifecycle_e2e::process::Process;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::metrics;
use crate::system::{Adapter, BOTH, System};

const CLUSTERS: usize = 10;

/// What Kubernetes stored under one name, one version after the other: UID, generation, region.
type Versions = Vec<(String, String, String)>;

/// The versions of all objects in a namespace.
struct History {
    versions: watch::Sender<BTreeMap<String, Versions>>,
    _watching: AbortOnDropHandle<Result<()>>,
}

impl History {
    async fn watch(objects: Api<ConfigMap>) -> Result<Self> {
        let start = objects.list(&ListParams::default()).await?.metadata.resource_version.context("no version")?;
        let versions = watch::Sender::<BTreeMap<String, Versions>>::default();
        let seen = versions.clone();
        let watching = tokio::spawn(async move {
            let mut events = Box::pin(objects.watch(&WatchParams::default(), &start).await?);
            while let Some(event) = events.next().await {
                let (WatchEvent::Added(object) | WatchEvent::Modified(object)) = event? else { continue };
                let generation = object.annotations().get("hyperfleet.io/generation").cloned().unwrap_or_default();
                let region = object.data.as_ref().and_then(|data| data.get("region")).cloned().unwrap_or_default();
                let version = (object.uid().unwrap_or_default(), generation, region);
                seen.send_modify(|seen| seen.entry(object.name_any()).or_default().push(version));
            }
            anyhow::bail!("the watch has ended")
        });
        Ok(Self { versions, _watching: AbortOnDropHandle::new(watching) })
    }

    /// The versions of an object.
    fn of(&self, name: &str) -> Versions {
        self.versions.borrow().get(name).cloned().unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_of_adapters_share_the_events_and_write_each_object_once() -> Result<()> {
    let system = System::start().await?;
    let history = History::watch(system.namespace.api().await?).await?;
    let mut replicas = Vec::new();
    for adapter in BOTH {
        replicas.push([system.adapter(adapter)?, system.adapter(adapter)?]);
    }
    let mut clusters = Vec::new();
    for number in 0..CLUSTERS {
        clusters.push(system.create_cluster(&format!("c{number}"), &json!({ "region": "r1" })).await?);
    }
    await_all(&system, &clusters, 1).await?;
    move_all(&system, &clusters, "r2").await?;
    await_all(&system, &clusters, 2).await?;

    await_all_handled(&system, &replicas).await?;
    for adapter in BOTH {
        for cluster in &clusters {
            let name = object_name(&system, adapter, cluster)?;
            let versions = history.of(&name);
            let uids: BTreeSet<&str> = versions.iter().map(|(uid, ..)| uid.as_str()).collect();
            let mut steps: Vec<(&str, &str)> = versions.iter().map(|(_, g, r)| (g.as_str(), r.as_str())).collect();
            // The first update writes twice, because it also migrates the managed fields of the creation.
            ensure!(uids.len() == 1 && steps.len() <= 3, "{name}: {versions:?}");
            steps.dedup();
            ensure!(steps == [("1", "r1"), ("2", "r2")], "{name}: {versions:?}");
        }
    }

    // A replica of each adapter is killed in the middle of the next change.
    move_all(&system, &clusters, "r3").await?;
    for [killed, _] in &mut replicas {
        killed.signal("KILL").await?;
        killed.exit().await?;
    }
    await_all(&system, &clusters, 3).await?;
    for cluster in &clusters {
        let statuses = system.send("GET", &format!("{cluster}/statuses"), &Value::Null, 200).await?;
        let statuses = statuses["items"].as_array().context("no statuses")?;
        ensure!(statuses.len() == 2, "one of each adapter: {statuses:?}");
        ensure!(statuses.iter().all(|status| status["observed_generation"] == 3), "{statuses:?}");
        for adapter in BOTH {
            let object = system.object(adapter, cluster).await?.and_then(|object| object.data).unwrap_or_default();
            ensure!(object.get("region").is_some_and(|region| region == "r3"), "{adapter:?} of {cluster}: {object:?}");
        }
    }
    system.check_invariants().await
}

#[tokio::test(flavor = "multi_thread")]
async fn second_sweeper_takes_over_from_a_killed_leader() -> Result<()> {
    let system = System::start().await?;
    let (mut first, mut second) = (system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?);
    let mut clusters = Vec::new();
    for name in ["early", "late", "stays"] {
        clusters.push(system.create_cluster(name, &json!({ "region": "north" })).await?);
    }
    let [early, late, stays] = clusters.as_slice() else { anyhow::bail!("three clusters") };
    await_all(&system, &clusters, 1).await?;
    first.stop().await?;
    second.stop().await?;

    // So long that no leader on a busy machine loses its Lease before it is killed.
    let sweeper = || system.sweeper_with_lease("12s", "8s");
    let mut leader = sweeper()?;
    let killed = leader.await_log("that it leads", leads).await?["term"].as_u64().context("no term")?;
    let follower = sweeper()?;
    forget(&system, early).await?;
    await_swept(&system, early).await?;
    ensure!(follower.entries(leads).is_empty(), "two replicas lead");
    leader.signal("KILL").await?;
    leader.exit().await?;
    forget(&system, late).await?;
    await_swept(&system, late).await?;
    let term = follower.await_log("that it leads", leads).await?["term"].as_u64().context("no term")?;
    ensure!(term > killed, "the term after {killed} is {term}");
    for adapter in BOTH {
        ensure!(system.object(adapter, stays).await?.is_some(), "{adapter:?} has lost the object of a living cluster");
    }
    system.check_invariants().await
}

#[tokio::test(flavor = "multi_thread")]
async fn exporters_agree() -> Result<()> {
    let system = System::start().await?;
    let hasty = json!({
        "metrics": { "reconciliation_stuck_threshold": "1s" }, "details": { "interval": "1s" },
    });
    let start = || system.parts.exporter(Ports::default(), &hasty).start();
    let exporters = [start()?, start()?];
    let _first = system.adapter(Adapter::First)?;
    for name in ["one", "other"] {
        system.create_cluster(name, &json!({ "region": "north" })).await?;
    }
    await_condition("both exporters to count the same stuck clusters", PATIENCE, async || {
        let mut figures = Vec::new();
        for exporter in &exporters {
            let text = metrics::text(exporter).await?;
            let is_count = |line: &&str| line.starts_with("hyperfleet_api_resource_") && !line.contains("_seconds");
            let lines: Vec<_> = text.lines().filter(is_count).map(str::to_owned).collect();
            let waiting_on = "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on";
            let stuck = metrics::sum(exporter, waiting_on, system.name(Adapter::Second)).await?;
            ensure!((stuck - 2.0).abs() < 0.5, "{stuck} clusters wait on the second adapter: {lines:#?}");
            figures.push(lines);
        }
        ensure!(figures[0] == figures[1], "{figures:#?}");
        Ok(())
    })
    .await?;
    system.check_invariants().await
}

fn leads(entry: &Value) -> bool {
    entry["message"] == "Term began: this replica leads"
}

/// A person removes a cluster whose adapters are away.
async fn forget(system: &System, cluster: &str) -> Result<()> {
    system.send("DELETE", cluster, &Value::Null, 202).await?;
    let reason = json!({ "reason": "its adapters are lost" });
    system.send("POST", &format!("{cluster}/force-delete"), &reason, 204).await.map(drop)
}

async fn await_swept(system: &System, cluster: &str) -> Result<()> {
    await_condition("a sweeper to delete what is left", PATIENCE, async || {
        for adapter in BOTH {
            ensure!(system.object(adapter, cluster).await?.is_none(), "the object of {adapter:?} is there");
        }
        Ok(())
    })
    .await
}

async fn await_all(system: &System, clusters: &[String], generation: i64) -> Result<()> {
    for cluster in clusters {
        system.await_reconciled(cluster, generation).await?;
    }
    Ok(())
}

async fn move_all(system: &System, clusters: &[String], region: &str) -> Result<()> {
    for cluster in clusters {
        system.send("PATCH", cluster, &json!({ "spec": { "region": region } }), 200).await?;
    }
    Ok(())
}

/// Waits until the replicas of each adapter have handled each of the Sentinel's events once.
async fn await_all_handled(system: &System, replicas: &[[Process; 2]]) -> Result<()> {
    let sentinel = system.sentinel.as_ref().context("no Sentinel")?;
    await_condition("each event to be handled once", PATIENCE, async || {
        let published = metrics::sum(sentinel, "hyperfleet_broker_messages_published_total", "").await?;
        for (adapter, replicas) in BOTH.into_iter().zip(replicas) {
            let mut handled = Vec::new();
            for replica in replicas {
                let passes = metrics::sum(replica, "hyperfleet_adapter_events_processed_total", "").await?;
                // A waiting event that a newer one replaced is done with, too.
                handled.push(passes + metrics::sum(replica, "hyperfleet_adapter_events_coalesced_total", "").await?);
            }
            ensure!((handled.iter().sum::<f64>() - published).abs() < 0.5, "{adapter:?}: {handled:?} of {published}");
            ensure!(handled.iter().all(|share| *share > 0.5), "one replica of {adapter:?} does nothing: {handled:?}");
        }
        Ok(())
    })
    .await
}

fn object_name(system: &System, adapter: Adapter, cluster: &str) -> Result<String> {
    let (_, id) = cluster.rsplit_once('/').context("no id in the path")?;
    Ok(format!("{}-{id}", system.name(adapter)))
}
