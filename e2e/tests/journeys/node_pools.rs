//! Node pools below a cluster: their own life, and what becomes of them when their cluster is deleted.

use anyhow::{Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::system::{Adapter, BOTH, System, UNRECONCILED};

#[tokio::test(flavor = "multi_thread")]
async fn cluster_is_kept_until_its_node_pool_is_deleted() -> Result<()> {
    let system = System::with_node_pools("restrict").await?;
    let _adapters = system.adapters()?;
    let cluster = system.create_cluster("parent", &json!({ "region": "north" })).await?;
    let pool = system.create_node_pool(&cluster, "workers", &json!({ "region": "north" })).await?;
    system.await_reconciled(&pool, 1).await?;
    system.send("PATCH", &pool, &json!({ "spec": { "region": "south" } }), 200).await?;
    system.await_reconciled(&pool, 2).await?;
    ensure!(system.region(Adapter::Pool, &pool).await?.as_deref() == Some("south"), "the change did not arrive");
    system.await_reconciled(&cluster, 1).await?;
    ensure!(system.region(Adapter::First, &cluster).await?.as_deref() == Some("north"), "the cluster changed, too");

    let refusal = system.send("DELETE", &cluster, &Value::Null, 409).await?;
    ensure!(refusal.to_string().contains("children that must be deleted first: 1 NodePool"), "{refusal}");
    system.check_invariants().await?;
    for path in [&cluster, &pool] {
        let resource = system.send("GET", path, &Value::Null, 200).await?;
        ensure!(resource["deleted_time"].is_null(), "the refused deletion began: {resource}");
    }

    system.send("DELETE", &pool, &Value::Null, 202).await?;
    system.await_removed(&pool).await?;
    ensure!(system.object(Adapter::Pool, &pool).await?.is_none(), "the pool left its object behind");
    system.send("DELETE", &cluster, &Value::Null, 202).await?;
    system.await_removed(&cluster).await?;
    system.check_invariants().await
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_cluster_takes_its_node_pools_along_and_goes_last() -> Result<()> {
    let system = System::with_node_pools("cascade").await?;
    let [_first, _second, mut of_pools] = system.adapters()?;
    let spec = json!({ "region": "north" });
    let (cluster, other) = (system.create_cluster("goes", &spec).await?, system.create_cluster("stays", &spec).await?);
    let pool = system.create_node_pool(&cluster, "workers", &spec).await?;
    let pool_of_other = system.create_node_pool(&other, "workers", &spec).await?;
    for path in [&cluster, &pool, &other, &pool_of_other] {
        system.await_reconciled(path, 1).await?;
    }

    // The cluster's own adapters are done, but that of its pool is away.
    of_pools.stop().await?;
    system.send("DELETE", &cluster, &Value::Null, 202).await?;
    await_condition("the cluster to wait for its pool", PATIENCE, async || {
        let resource = system.send("GET", &cluster, &Value::Null, 200).await?;
        ensure!(resource["status"]["conditions"][0]["reason"] == "ReconciledWaitingForChildren", "{resource}");
        Ok(())
    })
    .await?;
    for adapter in BOTH {
        ensure!(system.object(adapter, &cluster).await?.is_none(), "{adapter:?} left its object behind");
    }
    let resource = system.send("GET", &pool, &Value::Null, 200).await?;
    ensure!(resource["deleted_time"].is_string(), "the pool is to live on: {resource}");
    ensure!(system.object(Adapter::Pool, &pool).await?.is_some(), "the pool's adapter is away");
    for kind in ["cluster", "nodepool"] {
        let count = system.figure(UNRECONCILED, &[("is_delete", "true"), ("resource_type", kind)]).await?;
        ensure!((count - 1.0).abs() < 0.5, "{kind}: {count}");
    }
    // Both are reported as stuck.
    system.check_invariants().await?;

    let _of_pools = system.adapter(Adapter::Pool)?;
    system.await_removed(&pool).await?;
    system.await_removed(&cluster).await?;
    for path in [&other, &pool_of_other] {
        system.await_reconciled(path, 1).await?;
    }
    system.check_invariants().await
}

#[tokio::test(flavor = "multi_thread")]
async fn node_pool_outlives_its_cluster() -> Result<()> {
    let system = System::with_node_pools("orphan").await?;
    let _adapters = system.adapters()?;
    let cluster = system.create_cluster("parent", &json!({ "region": "north" })).await?;
    let pool = system.create_node_pool(&cluster, "workers", &json!({ "region": "north" })).await?;
    for path in [&cluster, &pool] {
        system.await_reconciled(path, 1).await?;
    }
    let before = system.object(Adapter::Pool, &pool).await?;
    system.send("DELETE", &cluster, &Value::Null, 202).await?;
    system.await_removed(&cluster).await?;
    let resource = system.send("GET", &pool, &Value::Null, 200).await?;
    ensure!(resource["owner_references"].is_null() && resource["deleted_time"].is_null(), "{resource}");
    ensure!(system.object(Adapter::Pool, &pool).await? == before, "the object of the pool changed");

    // The pool can be changed and deleted as before.
    system.send("PATCH", &pool, &json!({ "spec": { "region": "south" } }), 200).await?;
    system.await_reconciled(&pool, 2).await?;
    ensure!(system.region(Adapter::Pool, &pool).await?.as_deref() == Some("south"), "the change did not arrive");
    system.check_invariants().await?;
    system.send("DELETE", &pool, &Value::Null, 202).await?;
    system.await_removed(&pool).await?;
    system.check_invariants().await
}
