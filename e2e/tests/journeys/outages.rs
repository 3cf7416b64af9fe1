//! Each part on which the others depend ends in the middle of a cluster's life, and comes back. The cluster was created
//! before, changes meanwhile and is deleted afterwards; nothing is lost, and nobody writes what did not change.

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::fault::TcpProxy;
use lifecycle_e2e::postgres::PrivateServer;
use lifecycle_e2e::process::Process;
use lifecycle_e2e::rabbitmq::PrivateBroker;
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::system::{Adapter, BOTH, Servers, System};

/// A system with both adapters, a cluster that a journey changes, and one that nobody touches.
struct Life {
    system: System,
    adapters: [Process; 2],
    cluster: String,
    bystander: String,
    /// The resource versions of the bystander's objects.
    versions: [Option<String>; 2],
}

impl Life {
    /// Two clusters are created and reconciled.
    async fn begin(servers: Servers) -> Result<Self> {
        let system = System::on(servers).await?;
        let adapters = [system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?];
        let cluster = system.create_cluster("changing", &json!({ "region": "north" })).await?;
        let bystander = system.create_cluster("bystander", &json!({ "region": "east" })).await?;
        for path in [&cluster, &bystander] {
            system.await_reconciled(path, 1).await?;
        }
        let versions = versions(&system, &bystander).await?;
        Ok(Self { system, adapters, cluster, bystander, versions })
    }

    /// The user moves the cluster.
    async fn change(&self) -> Result<()> {
        let body = json!({ "spec": { "region": "south" } });
        self.system.send("PATCH", &self.cluster, &body, 200).await.map(drop)
    }

    /// The change arrives in both objects, the cluster is deleted, and the bystander is as before.
    async fn end(mut self) -> Result<()> {
        self.system.await_reconciled(&self.cluster, 2).await?;
        for adapter in BOTH {
            let region = self.region(adapter).await?;
            ensure!(region.as_deref() == Some("south"), "{adapter:?}: {region:?}");
        }
        self.system.send("DELETE", &self.cluster, &Value::Null, 202).await?;
        self.system.await_removed(&self.cluster).await?;
        for adapter in BOTH {
            let object = self.system.object(adapter, &self.cluster).await?;
            ensure!(object.is_none(), "{adapter:?} left its object behind");
        }
        self.system.await_reconciled(&self.bystander, 1).await?;
        let versions = versions(&self.system, &self.bystander).await?;
        ensure!(versions == self.versions, "somebody wrote: {:?}, then {versions:?}", self.versions);
        self.system.check_invariants().await?;
        // None of them ended on the way.
        for adapter in &mut self.adapters {
            adapter.stop().await?;
        }
        self.system.sentinel.as_mut().context("no Sentinel")?.stop().await
    }

    /// Waits until an adapter has reported about generation 2.
    async fn await_report_of_the_change(&self) -> Result<()> {
        await_condition("a report of the change", PATIENCE, async || {
            let cluster = self.system.send("GET", &self.cluster, &Value::Null, 200).await?;
            let conditions = cluster["status"]["conditions"].as_array().context("no conditions")?;
            let is_report = |condition: &Value| condition["type"].as_str().is_some_and(|of| of.ends_with("Successful"));
            let mut reports = conditions.iter().filter(|condition| is_report(condition));
            ensure!(reports.any(|report| report["observed_generation"] == 2), "{cluster}");
            Ok(())
        })
        .await
    }

    /// The region in an adapter's object.
    async fn region(&self, adapter: Adapter) -> Result<Option<String>> {
        self.system.region(adapter, &self.cluster).await
    }
}

/// Waits until an adapter notices that it cannot work.
async fn await_unready(adapter: &Process) -> Result<()> {
    let url = format!("{}/readyz", adapter.url("health").await?);
    await_condition("an adapter that is not ready", PATIENCE, async || {
        let status = reqwest::get(&url).await?.status();
        ensure!(status == 503, "{status}");
        Ok(())
    })
    .await
}

async fn versions(system: &System, path: &str) -> Result<[Option<String>; 2]> {
    let mut versions = [const { None }; 2];
    for (version, adapter) in versions.iter_mut().zip(BOTH) {
        *version = system.object(adapter, path).await?.context("no object")?.metadata.resource_version;
    }
    Ok(versions)
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_survives_a_killed_api() -> Result<()> {
    let mut life = Life::begin(Servers::shared().await?).await?;
    // The reports about the change are on their way, or already refused.
    life.change().await?;
    life.system.api.signal("KILL").await?;
    life.system.api.exit().await?;
    // An event that was on its way; the Sentinel knows of no others meanwhile.
    let (_, id) = life.cluster.rsplit_once('/').context("no id in the path")?;
    life.system.topic.publish(&Event::cluster(id, 2)).await?;
    for adapter in &life.adapters {
        await_unready(adapter).await?;
    }
    life.system.start_api().await?;
    life.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_survives_a_killed_database() -> Result<()> {
    let mut server = PrivateServer::start(&[]).await?;
    let database_url = server.server().database().await?.url();
    let life = Life::begin(Servers { database_url, ..Servers::shared().await? }).await?;
    life.change().await?;
    server.kill()?;
    let read = life.system.send("GET", &life.cluster, &Value::Null, 200).await;
    ensure!(read.is_err(), "the API answered without its database: {read:?}");
    let change = life.change().await;
    ensure!(change.is_err(), "the API promised a change without its database");
    server.resume().await?;
    await_condition("the API to answer again", PATIENCE, async || {
        life.system.send("GET", &life.cluster, &Value::Null, 200).await.map(drop)
    })
    .await?;
    // Generation 2, and not 3: what the API had promised is there, what it had refused is not.
    life.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_survives_a_restarted_broker() -> Result<()> {
    let mut broker = PrivateBroker::start().await?;
    let mut life = Life::begin(Servers { broker: broker.broker().clone(), ..Servers::shared().await? }).await?;
    // The events of an adapter that is away are in the queue when the broker stops.
    life.adapters[1].stop().await?;
    life.change().await?;
    // The report of the other one proves that the change was announced: to both queues, in one message.
    life.await_report_of_the_change().await?;
    let queue = life.system.topic.queue_name(life.system.name(Adapter::Second));
    await_condition("an event in the queue", PATIENCE, async || {
        ensure!(broker.broker().depth(&queue).await?.ready > 0, "it is empty");
        Ok(())
    })
    .await?;
    // While the Sentinel is frozen, nobody repeats what the broker forgets.
    let sentinel = life.system.sentinel.as_ref().context("no Sentinel")?;
    sentinel.signal("STOP").await?;
    let kept = broker.broker().depth(&queue).await?.ready;
    broker.restart().await?;
    let found = broker.broker().depth(&queue).await?.ready;
    ensure!(found >= kept, "{kept} events before the restart, {found} afterwards");
    life.adapters[1] = life.system.adapter(Adapter::Second)?;
    life.system.await_reconciled(&life.cluster, 2).await?;
    sentinel.signal("CONT").await?;
    life.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_survives_an_outage_of_kubernetes() -> Result<()> {
    // A proxy cuts and refuses all connections. The API server keeps nothing that etcd does not have, so a restarted one
    // looks the same to its clients, and a private control plane would cost each run ten seconds of both cores.
    let shared = Servers::shared().await?;
    let access = shared.control_plane.access();
    let proxy = TcpProxy::before(access.url.trim_start_matches("https://")).await?;
    let directory = TempDir::new()?;
    let kubeconfig = access.through(&proxy, directory.path())?.kubeconfig;
    let life = Life::begin(Servers { kubeconfig, ..shared }).await?;
    proxy.refuse();
    life.change().await?;
    // The second adapter does not ask Kubernetes before the first has reported the change.
    await_unready(&life.adapters[0]).await?;
    for adapter in BOTH {
        let region = life.region(adapter).await?;
        ensure!(region.as_deref() == Some("north"), "{adapter:?}: {region:?}");
    }
    proxy.restore();
    life.end().await
}
