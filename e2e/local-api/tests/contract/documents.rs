//! The root document, request ids, projections and metrics.

use anyhow::{Result, ensure};
use lifecycle_service::metrics::Exposition;
use serde_json::Value;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn root_names_the_api() -> Result<()> {
    let world = World::new().await?;
    let root = world.get("/api/hyperfleet").await?;
    ensure!(root.headers.contains_key("x-request-id"), "{root:?}");
    let root = root.expect(200)?;
    ensure!(root["id"] == "hyperfleet" && root["kind"] == "API" && root["href"] == "/api/hyperfleet", "{root}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn single_resource_is_projected_to_fields() -> Result<()> {
    let world = World::new().await?;
    let (channel, created) = world.create("channels", "Channel", "stable").await?;
    let found = world.get(&format!("{channel}?fields=name")).await?.expect(200)?;
    ensure!(found == serde_json::json!({ "id": created["id"], "name": "stable" }), "{found}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_requests_by_route_and_reconciliations_by_kind() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    world.get(&cluster).await?.expect(200)?;
    world.get("chosen-by-a-client/x").await?.problem(404, "NTF-000")?;
    world.send("DELETE", &cluster, &Value::Null).await?.expect(202)?;
    let text = world.metrics.expose(Exposition::Classic);
    for series in [
        r#"hyperfleet_api_requests_total{component="api",version="0.0.0-dev",method="POST",path="/api/hyperfleet/v1/clusters",code="201"} 1"#,
        r#"hyperfleet_api_requests_total{component="api",version="0.0.0-dev",method="GET",path="/api/hyperfleet/v1/clusters/-",code="200"} 1"#,
        r#"hyperfleet_api_requests_total{component="api",version="0.0.0-dev",method="GET",path="/api/hyperfleet/v1/-/-",code="404"} 1"#,
        r#"hyperfleet_api_reconciliation_started_total{component="api",version="0.0.0-dev",resource_type="cluster",is_delete="false"} 1"#,
        r#"hyperfleet_api_reconciliation_started_total{component="api",version="0.0.0-dev",resource_type="cluster",is_delete="true"} 1"#,
    ] {
        ensure!(text.contains(series), "{series}: {text}");
    }
    ensure!(!text.contains("chosen-by-a-client"), "{text}");
    Ok(())
}
