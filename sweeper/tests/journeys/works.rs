//! Main job, remotely: what a force-delete orphaned in Maestro goes, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use lifecycle_maestro::{Maestro, Settings};
use local_maestro::{LocalMaestro, Options};
use serde_json::{Value, json};

use crate::program::Setup;
use crate::world::World;

const CONSUMER: &str = "cluster-a";

/// A world with a Maestro, and the adapter's client of it.
struct Remote {
    world: World,
    maestro: LocalMaestro,
    adapter: Maestro,
}

impl Remote {
    async fn new() -> Result<Self> {
        let world = World::new().await?;
        let maestro =
            LocalMaestro::start(Options { consumers: vec![CONSUMER.to_owned()], ..Options::default() }).await?;
        let adapter = client(&maestro, "provisioner")?;
        Ok(Self { world, maestro, adapter })
    }

    /// A sweeper of `ConfigMaps` and of works, which writes to Maestro as this source.
    fn sweeper(&self, source: &str) -> Result<Setup> {
        let maestro = json!({
            "grpc_server_address": grpc_address(&self.maestro),
            "http_server_address": self.maestro.rest_url(),
            "source_id": source,
            "insecure": true,
        });
        Ok(self
            .world
            .sweeper()?
            .with("kinds.include", json!(["core/ConfigMap", "ManifestWork"]))
            .with("maestro", maestro))
    }

    /// Creates a work that the world's adapter made for generation 1 of a cluster.
    async fn create(&self, name: &str, id: &str) -> Result<()> {
        self.create_as(&self.world.adapter, name, id).await
    }

    async fn create_as(&self, adapter: &str, name: &str, id: &str) -> Result<()> {
        let mut work = self.world.config_map(name, id);
        work["apiVersion"] = json!("work.open-cluster-management.io/v1");
        work["kind"] = json!("ManifestWork");
        work["metadata"]["labels"]["hyperfleet.io/adapter"] = json!(adapter);
        let manifest =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
        work["spec"] = json!({"workload": {"manifests": [manifest]}});
        self.adapter.create(&work, CONSUMER).await?;
        self.maestro.apply(&self.adapter.id(CONSUMER, name))?;
        Ok(())
    }

    async fn work(&self, name: &str) -> Result<Option<Value>> {
        Ok(self.adapter.get(CONSUMER, name).await?)
    }

    async fn await_deletion(&self, name: &str) -> Result<()> {
        await_condition("the work to be deleted", PATIENCE, async || {
            let work = self.work(name).await?.context("the work")?;
            ensure!(work["metadata"]["deletionTimestamp"].is_string(), "{work}");
            Ok(())
        })
        .await
    }
}

fn grpc_address(maestro: &LocalMaestro) -> &str {
    maestro.grpc_url().trim_start_matches("http://")
}

fn client(maestro: &LocalMaestro, source: &str) -> Result<Maestro> {
    let settings = Settings {
        grpc_address: grpc_address(maestro).to_owned(),
        http_address: maestro.rest_url().to_owned(),
        source: source.to_owned(),
        timeout: Duration::from_secs(10),
        grpc_files: None,
        http_files: None,
        token: None,
    };
    Ok(Maestro::new(settings, Arc::new(|| Box::new(|_| ())))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn works_of_a_force_deleted_cluster_go_and_can_be_restored() -> Result<()> {
    let remote = Remote::new().await?;
    let Remote { world, maestro, .. } = &remote;
    let (lives, goes) = (world.living("living").await?, world.living("orphan").await?);
    remote.create("living-work", &lives).await?;
    remote.create("orphaned-work", &goes).await?;
    remote.create_as("another", "other-work", &goes).await?;
    // The sweeper's own source is another one: an orphan goes whoever wrote it.
    let setup = remote.sweeper("sweeper")?;
    let mut sweeper = setup.run()?;
    let pass = sweeper.await_passes(2).await?;
    assert_eq!((&pass["inventory"], &pass["orphans"]), (&json!(4), &json!(0)), "{pass}");

    world.force_delete(&goes).await?;
    remote.await_deletion("orphaned-work").await?;
    world.await_names(&["living"]).await?;
    sweeper
        .await_metric(
            "deletions_total{kind=\"work.open-cluster-management.io/ManifestWork\",outcome=\"terminating\"} 1",
        )
        .await?;
    for kept in ["living-work", "other-work"] {
        let work = remote.work(kept).await?.context(kept)?;
        ensure!(work["metadata"]["deletionTimestamp"].is_null(), "{kept} is kept: {work}");
    }
    assert_eq!(world.events("orphaned-work").await?, [], "nobody would look for an event about it here");
    let records = world.records("orphaned-work")?;
    let [before, after] = records.as_slice() else { anyhow::bail!("{records:?}") };
    assert_eq!(before["object"]["consumer"], CONSUMER);
    assert_eq!(after["action"]["result"]["outcome"], "terminating");
    sweeper.stop().await?;

    let audit = world.audit();
    let arguments = ["restore", audit.to_str().context("a path")?, "--object", "ManifestWork cluster-a/orphaned-work"];
    let said = async |setup: &Setup| -> Result<String> {
        let output = setup.output(&arguments).await?;
        Ok(String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?)
    };
    let owner = remote.sweeper("provisioner")?;
    let early = said(&owner).await?;
    ensure!(early.contains("it is still being deleted"), "{early}");
    maestro.finish_delete(&remote.adapter.id(CONSUMER, "orphaned-work"))?;
    let foreign = said(&setup).await?;
    ensure!(foreign.contains("another source wrote the work"), "{foreign}");
    let nowhere = said(&world.sweeper()?).await?;
    ensure!(nowhere.contains("set `maestro`"), "{nowhere}");
    assert_eq!(remote.work("orphaned-work").await?, None);
    let restored = said(&owner).await?;
    ensure!(restored.contains("created ManifestWork cluster-a/orphaned-work"), "{restored}");
    let work = remote.work("orphaned-work").await?.context("the restored work")?;
    assert_eq!(work["spec"]["workload"]["manifests"][0]["metadata"]["name"], "orphaned-work");
    assert_eq!(work["metadata"]["labels"]["hyperfleet.io/adapter"], Value::Null, "{work}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn maestro_that_does_not_answer_holds_the_pass() -> Result<()> {
    let remote = Remote::new().await?;
    let id = remote.world.orphan("orphan").await?;
    remote.create("work", &id).await?;
    remote.maestro.pause();
    let sweeper = remote.sweeper("sweeper")?.run()?;
    let hold = sweeper.await_hold("incomplete_inventory").await?;
    ensure!(hold["message"].as_str().is_some_and(|text| text.contains("ManifestWork")), "{hold}");
    sweeper.await_passes(2).await?;
    remote.world.assert_names(&["orphan"]).await?;
    remote.maestro.resume();
    remote.world.await_names(&[]).await?;
    remote.await_deletion("work").await
}
