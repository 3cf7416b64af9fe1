//! References: resources that need each other without owning each other.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::World;

fn gateway(name: &str, networks: &[&Value]) -> Value {
    let targets: Vec<_> = networks.iter().map(|network| json!({ "id": network["id"] })).collect();
    json!({ "kind": "Gateway", "name": name, "spec": {}, "references": { "network": targets } })
}

#[tokio::test(flavor = "multi_thread")]
async fn reference_is_shown_with_its_target() -> Result<()> {
    let world = World::new().await?;
    let (_, network) = world.create("networks", "Network", "n").await?;
    let created = world.send("POST", "gateways", &gateway("g", &[&network])).await?.expect(201)?;
    let shown = json!({ "network": [{ "id": network["id"], "kind": "Network", "href": network["href"] }] });
    ensure!(created["references"] == shown, "{created}");
    let id = network["id"].as_str().unwrap_or_default();
    let found = world.get(&format!("gateways?ref_type=network&ref_target_id={id}")).await?.expect(200)?;
    ensure!(found["items"] == json!([created]), "{found}");
    let none = world.get("gateways?ref_type=other&ref_target_id=x").await?.expect(200)?;
    ensure!(none["total"] == 0, "{none}");
    world.get("gateways?ref_type=network").await?.problem(400, "VAL-005")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reference_to_nothing_of_the_right_kind_is_refused() -> Result<()> {
    let world = World::new().await?;
    let (_, network) = world.create("networks", "Network", "n").await?;
    let (_, channel) = world.create("channels", "Channel", "c").await?;
    let absent = json!({ "id": "none" });
    for (targets, field) in [
        (vec![], "references.network"),
        (vec![&network, &network], "references.network"),
        (vec![&channel], "references.network[0].id"),
        (vec![&absent], "references.network[0].id"),
    ] {
        let answer = world.send("POST", "gateways", &gateway("g", &targets)).await?;
        answer.problem(400, "VAL-000")?;
        ensure!(answer.body["errors"][0]["field"] == field, "{answer:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn target_cannot_be_deleted_while_a_live_resource_refers_to_it() -> Result<()> {
    let world = World::new().await?;
    let (network, document) = world.create("networks", "Network", "n").await?;
    let source = world.send("POST", "gateways", &gateway("g", &[&document])).await?.expect(201)?;
    let detail = world.send("DELETE", &network, &Value::Null).await?.problem(409, "CNF-003")?;
    let id = source["id"].as_str().unwrap_or_default();
    ensure!(detail.contains(&format!("Gateway {id}")), "the detail names who refers to it: {detail}");
    world.send("DELETE", &format!("gateways/{id}"), &Value::Null).await?.expect(202)?;
    world.send("DELETE", &network, &Value::Null).await?.expect(202)?;
    world.get(&network).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_resource_refers_to_nothing() -> Result<()> {
    let world = World::new().await?;
    let (wif, document) = world.create("wifconfigs", "WifConfig", "w").await?;
    let references = json!({ "wif_config": [{ "id": document["id"] }] });
    let body = json!({ "kind": "Cluster", "name": "one", "spec": {}, "references": references });
    let cluster = world.send("POST", "clusters", &body).await?.expect(201)?;
    let path = format!("clusters/{}", cluster["id"].as_str().unwrap_or_default());
    let deleted = world.send("DELETE", &path, &Value::Null).await?.expect(202)?;
    ensure!(deleted.get("references").is_none(), "{deleted}");
    world.send("DELETE", &wif, &Value::Null).await?.expect(202)?;
    world.get(&wif).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn target_is_not_deleted_while_a_reference_to_it_is_being_made() -> Result<()> {
    let world = World::new().await?;
    for attempt in 0..10 {
        let (network, document) = world.create("networks", "Network", &format!("n{attempt}")).await?;
        let body = gateway(&format!("g{attempt}"), &[&document]);
        let (made, gone) =
            tokio::try_join!(world.send("POST", "gateways", &body), world.send("DELETE", &network, &Value::Null))?;
        let left = world.get(&network).await?.status;
        let is_consistent = matches!((made.status, gone.status, left), (201, 409, 200) | (400, 202, 404));
        ensure!(is_consistent, "one of the two wins: {made:?} {gone:?} {left}");
    }
    Ok(())
}
