//! A cluster that nobody can delete in order: the exporter counts it, a person removes it by force, the sweeper deletes
//! what it leaves behind.

use anyhow::{Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::system::{Adapter, BOTH, System, UNRECONCILED};

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_force_deleted_cluster_are_swept_and_those_of_others_stay() -> Result<()> {
    let system = System::start().await?;
    let (mut first, _second) = (system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?);
    let gone = system.create_cluster("gone", &json!({ "region": "north" })).await?;
    let stays = system.create_cluster("stays", &json!({ "region": "south" })).await?;
    for cluster in [&gone, &stays] {
        system.await_reconciled(cluster, 1).await?;
    }
    ensure!(system.figure(UNRECONCILED, &[]).await? < 0.5, "every cluster is reconciled");

    // Without its first adapter, the deleted cluster is never finalized.
    first.stop().await?;
    system.send("DELETE", &gone, &Value::Null, 202).await?;
    await_condition("the exporter to count the deletion", PATIENCE, async || {
        let count = system.figure(UNRECONCILED, &[("is_delete", "true")]).await?;
        ensure!((count - 1.0).abs() < 0.5, "{count}");
        Ok(())
    })
    .await?;
    system.send("POST", &format!("{gone}/force-delete"), &json!({ "reason": "its adapter is lost" }), 204).await?;
    system.await_removed(&gone).await?;
    ensure!(system.object(Adapter::First, &gone).await?.is_some(), "nobody deleted the object yet");

    let _sweeper = system.sweeper()?;
    await_condition("the sweeper to delete what is left", PATIENCE, async || {
        for adapter in BOTH {
            ensure!(system.object(adapter, &gone).await?.is_none(), "{adapter:?} left an object");
        }
        Ok(())
    })
    .await?;
    for adapter in BOTH {
        ensure!(system.object(adapter, &stays).await?.is_some(), "{adapter:?} has lost the object of a living cluster");
    }
    ensure!(system.figure(UNRECONCILED, &[]).await? < 0.5, "no cluster is left unreconciled");
    system.check_invariants().await
}
