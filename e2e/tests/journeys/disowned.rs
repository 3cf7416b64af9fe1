//! Objects that the task file disowns: nothing deletes them, however their cluster ends.

use anyhow::{Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::system::{Adapter, BOTH, System};

#[tokio::test(flavor = "multi_thread")]
async fn disowned_objects_survive_deletion_force_delete_and_sweep() -> Result<()> {
    let system = System::start().await?;
    let (mut first, _second) = (system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?);
    // `keep` makes the task file disown the objects of a deleted cluster.
    let spec = json!({ "region": "north", "keep": true });
    let (deleted, forced) =
        (system.create_cluster("deleted", &spec).await?, system.create_cluster("forced", &spec).await?);
    // The sweeper distrusts an API without any resource.
    let lives = system.create_cluster("lives", &spec).await?;
    for cluster in [&deleted, &forced, &lives] {
        system.await_reconciled(cluster, 1).await?;
    }

    system.send("DELETE", &deleted, &Value::Null, 202).await?;
    system.await_removed(&deleted).await?;

    // Only the second adapter disowns its object of the other cluster before somebody loses patience.
    first.stop().await?;
    system.send("DELETE", &forced, &Value::Null, 202).await?;
    await_condition("the second adapter to disown its object", PATIENCE, async || {
        ensure!(is_disowned(&system, Adapter::Second, &forced).await?, "it did not");
        Ok(())
    })
    .await?;
    system.send("POST", &format!("{forced}/force-delete"), &json!({ "reason": "its adapter is lost" }), 204).await?;

    let sweeper = system.sweeper()?;
    await_condition("the sweeper to delete the orphan", PATIENCE, async || {
        ensure!(system.object(Adapter::First, &forced).await?.is_none(), "it is there");
        Ok(())
    })
    .await?;
    let is_idle = |entry: &Value| entry["message"] == "Pass ended" && entry["orphans"] == 0;
    sweeper.await_log("a pass without orphans", is_idle).await?;
    for (adapter, cluster) in BOTH.map(|adapter| (adapter, &deleted)).into_iter().chain([(Adapter::Second, &forced)]) {
        ensure!(is_disowned(&system, adapter, cluster).await?, "{adapter:?} has lost its object of {cluster}");
    }
    system.check_invariants().await
}

/// Whether the object of an adapter is there, and belongs to nobody.
async fn is_disowned(system: &System, adapter: Adapter, cluster: &str) -> Result<bool> {
    let Some(object) = system.object(adapter, cluster).await? else { return Ok(false) };
    let labels = object.metadata.labels.unwrap_or_default();
    Ok(labels.contains_key("hyperfleet.io/disowned") && !labels.contains_key("hyperfleet.io/adapter"))
}
