//! The life of a cluster: created, updated, deleted in the order of its adapters' dependencies.

use anyhow::{Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::system::{Adapter, BOTH, System};

#[tokio::test(flavor = "multi_thread")]
async fn cluster_is_created_updated_and_deleted_in_order() -> Result<()> {
    let system = System::start().await?;
    let mut first = system.adapter(Adapter::First)?;
    let cluster = system.create_cluster("first", &json!({ "region": "north" })).await?;
    await_condition("the first adapter's report", PATIENCE, async || {
        let resource = system.send("GET", &cluster, &Value::Null, 200).await?;
        ensure!(resource["status"]["conditions"][2]["status"] == "True", "{resource}");
        Ok(())
    })
    .await?;
    let resource = system.send("GET", &cluster, &Value::Null, 200).await?;
    ensure!(resource["status"]["conditions"][0]["status"] == "False", "an adapter is missing: {resource}");

    let _second = system.adapter(Adapter::Second)?;
    system.await_reconciled(&cluster, 1).await?;
    system.send("PATCH", &cluster, &json!({ "spec": { "region": "south" } }), 200).await?;
    system.await_reconciled(&cluster, 2).await?;
    for adapter in BOTH {
        let region = system.region(adapter, &cluster).await?;
        ensure!(region.as_deref() == Some("south"), "{adapter:?}: {region:?}");
    }

    // While the first adapter is away, the second one deletes its object, and nothing else happens.
    first.stop().await?;
    system.send("DELETE", &cluster, &Value::Null, 202).await?;
    await_condition("the second adapter's object to go", PATIENCE, async || {
        ensure!(system.object(Adapter::Second, &cluster).await?.is_none(), "it is there");
        Ok(())
    })
    .await?;
    ensure!(system.object(Adapter::First, &cluster).await?.is_some(), "its adapter is away");
    ensure!(system.send("GET", &cluster, &Value::Null, 200).await?["deleted_time"].is_string(), "the cluster waits");

    let _first = system.adapter(Adapter::First)?;
    system.await_removed(&cluster).await?;
    for adapter in BOTH {
        ensure!(system.object(adapter, &cluster).await?.is_none(), "{adapter:?} left its object behind");
    }
    system.check_invariants().await
}
