//! Problem documents of paths, methods and queries that make no sense.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn unknown_path_is_told_from_an_unknown_resource() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    for path in ["/", "/api/hyperfleet/v2/clusters", "nothing", "nothing/x", "clusters/x/versions", "a/b/c/d/e"] {
        let answer = world.get(path).await?;
        answer.problem(404, "NTF-000")?;
        let instance = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", crate::world::BASE) };
        ensure!(answer.body["instance"] == instance, "{answer:?}");
    }
    for path in ["clusters/none", "resources/none", "clusters/none/nodepools", &format!("{cluster}/nodepools/none")] {
        let answer = world.get(path).await?;
        answer.problem(404, "NTF-001")?;
        ensure!(answer.body["type"] == "https://api.hyperfleet.io/errors/not-found", "{answer:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_of_another_kind_is_not_found() -> Result<()> {
    let world = World::new().await?;
    let (_, channel) = world.create("channels", "Channel", "stable").await?;
    let id = channel["id"].as_str().unwrap_or_default();
    world.get(&format!("clusters/{id}")).await?.problem(404, "NTF-001")?;
    world.send("DELETE", &format!("clusters/{id}"), &Value::Null).await?.problem(404, "NTF-001")?;
    world.get(&format!("resources/{id}")).await?.expect(200)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn known_path_with_another_method_is_405() -> Result<()> {
    let world = World::new().await?;
    let answer = world.send("PUT", "clusters", &Value::Null).await?;
    ensure!(answer.status == 405 && answer.headers.contains_key("allow"), "{answer:?}");
    Ok(())
}
