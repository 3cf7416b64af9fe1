//! The Go adapter and this one take over each other's objects, in the middle of a cluster's life.

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::sentinel::Event;
use serde_json::{Value, json};

use crate::system::{Adapter, BOTH, System};

/// The field manager of the Go adapter: its program's name, as Kubernetes' Go client sends it.
const GO_ADAPTER: &str = "hyperfleet-adapter";

/// A fake of the Go adapter: it takes an event from the adapter's queue, creates the object or replaces it as a whole,
/// and reports.
struct GoAdapter<'a> {
    system: &'a System,
    adapter: Adapter,
}

impl GoAdapter<'_> {
    /// Handles events until one is about this generation of a cluster.
    async fn handle(&self, cluster: &str, generation: i64) -> Result<()> {
        let queue = self.system.topic.queue_name(self.system.name(self.adapter));
        loop {
            let message = self.system.topic.take(&queue, PATIENCE).await?;
            let event: Event = serde_json::from_slice(&message.body)?;
            if event.data.get("generation") == Some(&json!(generation)) {
                break;
            }
        }
        let resource = self.system.send("GET", cluster, &Value::Null, 200).await?;
        self.write(cluster, &resource).await?;
        self.report(cluster, generation).await
    }

    async fn write(&self, cluster: &str, resource: &Value) -> Result<()> {
        let (_, id) = cluster.rsplit_once('/').context("no id in the path")?;
        let name = format!("{}-{id}", self.system.name(self.adapter));
        let manifest = json!({
            "metadata": {
                "name": name,
                "annotations": { "hyperfleet.io/generation": resource["generation"].to_string() },
            },
            "data": { "region": resource["spec"]["region"], "of-the-go-adapter": "yes" },
        });
        let mut manifest: ConfigMap = serde_json::from_value(manifest)?;
        let objects: Api<ConfigMap> = self.system.namespace.api().await?;
        let params = PostParams { field_manager: Some(GO_ADAPTER.to_owned()), ..PostParams::default() };
        match self.system.object(self.adapter, cluster).await? {
            None => objects.create(&params, &manifest).await?,
            Some(live) => {
                manifest.metadata.resource_version = live.metadata.resource_version;
                objects.replace(&name, &params, &manifest).await?
            }
        };
        Ok(())
    }

    async fn report(&self, cluster: &str, generation: i64) -> Result<()> {
        let condition = |name: &str, status: &str| json!({ "type": name, "status": status, "reason": "Settings", "message": "from the Go adapter" });
        let report = json!({
            "adapter": self.system.name(self.adapter),
            "observed_generation": generation,
            "observed_time": Timestamp::now().to_string(),
            "conditions": [
                condition("Applied", "True"), condition("Available", "True"), condition("Health", "True"),
                condition("Finalized", "False"),
            ],
        });
        self.system.send("PUT", &format!("{cluster}/statuses"), &report, 201).await.map(drop)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_of_the_go_adapter_are_taken_over_and_given_back() -> Result<()> {
    let system = System::start().await?;
    let go_adapters = BOTH.map(|adapter| GoAdapter { system: &system, adapter });
    let cluster = system.create_cluster("moving", &json!({ "region": "r1" })).await?;
    for go_adapter in &go_adapters {
        go_adapter.handle(&cluster, 1).await?;
    }
    system.await_reconciled(&cluster, 1).await?;
    let written = objects(&system, &cluster).await?;

    // After the switch nothing happens to a cluster that does not change. (An event wakes the adapters: the Sentinel
    // sends none for half an hour.)
    let mut adapters = [system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?];
    let (_, id) = cluster.rsplit_once('/').context("no id in the path")?;
    system.topic.publish(&Event::cluster(id, 1)).await?;
    for adapter in &adapters {
        adapter.await_log("the handled event", |entry| entry["message"] == "event handled").await?;
    }
    let unchanged = objects(&system, &cluster).await?;
    for (before, after) in written.iter().zip(&unchanged) {
        ensure!(before.resource_version() == after.resource_version(), "somebody wrote: {after:?}");
    }

    // The first change makes the objects this adapter's, without what its task does not mention.
    move_to(&system, &cluster, "r2").await?;
    system.await_reconciled(&cluster, 2).await?;
    let adopted = objects(&system, &cluster).await?;
    for (before, after) in written.iter().zip(&adopted) {
        ensure!(before.uid() == after.uid(), "the object was replaced: {after:?}");
        ensure!(after.labels().contains_key("hyperfleet.io/resource-id"), "it is not labelled: {after:?}");
        ensure!(data(after) == json!({ "region": "r2" }), "{after:?}");
        ensure!(!managers(after).contains(&GO_ADAPTER), "fields are still the Go adapter's: {after:?}");
    }

    // The way back: the Go adapter replaces the objects, and this one accepts that when it returns.
    for adapter in &mut adapters {
        adapter.stop().await?;
    }
    move_to(&system, &cluster, "r3").await?;
    for go_adapter in &go_adapters {
        go_adapter.handle(&cluster, 3).await?;
    }
    system.await_reconciled(&cluster, 3).await?;
    for (before, after) in written.iter().zip(&objects(&system, &cluster).await?) {
        ensure!(before.uid() == after.uid(), "the object was replaced: {after:?}");
        ensure!(data(after) == json!({ "region": "r3", "of-the-go-adapter": "yes" }), "{after:?}");
    }
    let _adapters = [system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?];
    move_to(&system, &cluster, "r4").await?;
    system.await_reconciled(&cluster, 4).await?;
    for (before, after) in written.iter().zip(&objects(&system, &cluster).await?) {
        ensure!(before.uid() == after.uid(), "the object was replaced: {after:?}");
        ensure!(data(after) == json!({ "region": "r4" }), "{after:?}");
    }

    system.send("DELETE", &cluster, &Value::Null, 202).await?;
    system.await_removed(&cluster).await?;
    for adapter in BOTH {
        ensure!(system.object(adapter, &cluster).await?.is_none(), "{adapter:?} left its object behind");
    }
    system.check_invariants().await
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_of_the_go_adapter_is_deleted_though_it_never_changed() -> Result<()> {
    let system = System::start().await?;
    let cluster = system.create_cluster("leaving", &json!({ "region": "north" })).await?;
    for adapter in BOTH {
        GoAdapter { system: &system, adapter }.handle(&cluster, 1).await?;
    }
    system.await_reconciled(&cluster, 1).await?;
    let _adapters = [system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?];
    system.send("DELETE", &cluster, &Value::Null, 202).await?;
    system.await_removed(&cluster).await?;
    for adapter in BOTH {
        ensure!(system.object(adapter, &cluster).await?.is_none(), "{adapter:?} left its object behind");
    }
    system.check_invariants().await
}

async fn move_to(system: &System, cluster: &str, region: &str) -> Result<()> {
    system.send("PATCH", cluster, &json!({ "spec": { "region": region } }), 200).await.map(drop)
}

/// The objects of both adapters.
async fn objects(system: &System, cluster: &str) -> Result<Vec<ConfigMap>> {
    let mut objects = Vec::new();
    for adapter in BOTH {
        objects.push(system.object(adapter, cluster).await?.with_context(|| format!("no object of {adapter:?}"))?);
    }
    Ok(objects)
}

fn data(object: &ConfigMap) -> Value {
    json!(object.data)
}

/// The field managers of an object.
fn managers(object: &ConfigMap) -> Vec<&str> {
    object.managed_fields().iter().filter_map(|entry| entry.manager.as_deref()).collect()
}
