//! The policy `orphan`: children outlive their parent.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{BASE, World};

#[tokio::test(flavor = "multi_thread")]
async fn orphaned_child_lives_on_without_a_parent() -> Result<()> {
    let world = World::new().await?;
    let (network, _) = world.create("networks", "Network", "n").await?;
    let (subnet, before) = world.create(&format!("{network}/subnets"), "Subnet", "s").await?;
    let id = before["id"].as_str().unwrap_or_default();
    let (_, address) = world.create(&format!("subnets/{id}/addresses"), "Address", "a").await?;
    world.send("DELETE", &network, &Value::Null).await?.expect(202)?;
    world.get(&network).await?.problem(404, "NTF-001")?;
    world.get(&subnet).await?.problem(404, "NTF-001")?;

    let after = world.get(&format!("subnets/{id}")).await?.expect(200)?;
    let mut expected = before.clone();
    expected["href"] = json!(format!("{BASE}/subnets/{id}"));
    if let Value::Object(expected) = &mut expected {
        expected.remove("owner_references");
    }
    ensure!(after == expected, "only its path and its owner changed, so no adapter has anything to do: {after}");
    let path = format!("subnets/{id}/addresses/{}", address["id"].as_str().unwrap_or_default());
    let address = world.get(&path).await?.expect(200)?;
    ensure!(address["href"] == format!("{BASE}/{path}"), "{address}");
    ensure!(address["owner_references"]["href"] == after["href"], "{address}");
    world.send("DELETE", &format!("subnets/{id}"), &Value::Null).await?.expect(202)?;
    world.get(&path).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn child_that_would_lose_its_name_keeps_its_parent() -> Result<()> {
    let world = World::new().await?;
    let (first, _) = world.create("networks", "Network", "first").await?;
    let (second, _) = world.create("networks", "Network", "second").await?;
    for network in [&first, &second] {
        world.create(&format!("{network}/subnets"), "Subnet", "same").await?;
    }
    world.send("DELETE", &first, &Value::Null).await?.expect(202)?;
    let detail = world.send("DELETE", &second, &Value::Null).await?.problem(409, "CNF-001")?;
    ensure!(detail.contains("another Subnet has the name 'same'"), "{detail}");
    ensure!(world.get(&second).await?.body.get("deleted_time").is_none(), "nothing changed");
    Ok(())
}
