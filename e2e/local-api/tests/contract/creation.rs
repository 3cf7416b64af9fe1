//! POST: who may be created where, under which names.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{BASE, World};

#[tokio::test(flavor = "multi_thread")]
async fn new_resource_has_generation_1_and_is_not_reconciled() -> Result<()> {
    let world = World::new().await?;
    let (path, created) = world.create("clusters", "Cluster", "one").await?;
    ensure!(created["generation"] == 1 && created["created_by"] == "system@hyperfleet.local", "{created}");
    ensure!(created["href"] == format!("{BASE}/{path}") && path.starts_with("clusters/"), "{created}");
    ensure!(created.get("labels").is_none() && created.get("owner_references").is_none(), "{created}");
    let conditions = created["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let types: Vec<_> = conditions.iter().map(|condition| &condition["type"]).collect();
    ensure!(types == ["Reconciled", "LastKnownReconciled"], "{types:?}");
    for condition in &conditions {
        ensure!(condition["status"] == "False" && condition["observed_generation"] == 1, "{condition}");
        ensure!(condition["last_transition_time"] == created["updated_time"], "{condition}");
    }
    ensure!(world.get(&path).await?.expect(200)? == created, "what was answered is what is stored");
    let (_, channel) = world.create("channels", "Channel", "stable").await?;
    ensure!(channel["status"]["conditions"] == json!([]), "a kind without adapters has no conditions: {channel}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn child_is_created_at_the_path_of_its_parent() -> Result<()> {
    let world = World::new().await?;
    let (cluster, parent) = world.create("clusters", "Cluster", "one").await?;
    let (path, child) = world.create(&format!("{cluster}/nodepools"), "NodePool", "pool").await?;
    ensure!(path.starts_with(&format!("{cluster}/nodepools/")), "{path}");
    let owner = json!({ "id": parent["id"], "kind": "Cluster", "href": parent["href"] });
    ensure!(child["owner_references"] == owner, "one object, despite the plural: {child}");
    let id = child["id"].as_str().unwrap_or_default();
    for other in [path.clone(), format!("nodepools/{id}"), format!("resources/{id}")] {
        ensure!(world.get(&other).await?.expect(200)? == child, "{other}");
    }
    let body = json!({ "kind": "NodePool", "name": "flat", "spec": {} });
    for path in ["nodepools", "resources"] {
        let detail = world.send("POST", path, &body).await?.problem(422, "VAL-000")?;
        ensure!(detail.contains(&format!("{BASE}/clusters/{{id}}/nodepools")), "{detail}");
    }
    let (other, _) = world.create("clusters", "Cluster", "two").await?;
    world.get(&format!("{other}/nodepools/{id}")).await?.problem(404, "NTF-001")?;
    world.send("POST", "clusters/none/nodepools", &body).await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_parent_gets_no_children() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    world.send("DELETE", &cluster, &Value::Null).await?.expect(202)?;
    let body = json!({ "kind": "NodePool", "name": "pool", "spec": {} });
    world.send("POST", &format!("{cluster}/nodepools"), &body).await?.problem(409, "CNF-003")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn name_is_unique_among_live_resources_of_a_kind_and_parent() -> Result<()> {
    let world = World::new().await?;
    let (one, _) = world.create("clusters", "Cluster", "one").await?;
    let (two, _) = world.create("clusters", "Cluster", "two").await?;
    let again = |kind: &str, name: &str| json!({ "kind": kind, "name": name, "spec": {} });
    world.send("POST", "clusters", &again("Cluster", "one")).await?.problem(409, "CNF-001")?;
    world.create(&format!("{one}/nodepools"), "NodePool", "pool").await?;
    world.create(&format!("{two}/nodepools"), "NodePool", "pool").await?;
    let taken = world.send("POST", &format!("{one}/nodepools"), &again("NodePool", "pool")).await?;
    taken.problem(409, "CNF-001")?;
    world.send("DELETE", &one, &Value::Null).await?.expect(202)?;
    world.create("clusters", "Cluster", "one").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_of_any_kind_is_created_at_the_path_of_all_kinds() -> Result<()> {
    let world = World::new().await?;
    let body = json!({ "kind": "Channel", "name": "stable", "spec": {}, "unknown": "is ignored" });
    let created = world.send("POST", "resources", &body).await?.expect(201)?;
    ensure!(created["href"].as_str().unwrap_or_default().contains("/channels/"), "{created}");
    let unknown = json!({ "kind": "Nothing", "name": "stable", "spec": {} });
    world.send("POST", "resources", &unknown).await?.problem(400, "VAL-000")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_field_is_named() -> Result<()> {
    let world = World::new().await?;
    let with = |key: &str, value: Value| {
        let mut body = json!({ "kind": "Cluster", "name": "one", "spec": {} });
        body[key] = value;
        body
    };
    for (body, field) in [
        (with("kind", json!("NodePool")), "kind"),
        (with("name", json!("ab")), "name"),
        (with("name", json!("x".repeat(54))), "name"),
        (with("name", json!("Upper")), "name"),
        (with("name", json!("ends-")), "name"),
        (with("spec", Value::Null), "spec"),
        (with("labels", json!({ "a b": "x" })), "labels.a b"),
        (with("labels", json!({ "a": "x y" })), "labels.a"),
        (with("labels", json!({ "a": "x".repeat(64) })), "labels.a"),
        (with("references", json!({ "other": [] })), "references.other"),
    ] {
        let answer = world.send("POST", "clusters", &body).await?;
        answer.problem(400, "VAL-000")?;
        ensure!(answer.body["errors"][0]["field"] == field, "{answer:?}");
    }
    for body in [json!("text"), json!({ "kind": 1 }), with("labels", json!({ "a": 1 })), with("spec", json!([]))] {
        world.send("POST", "clusters", &body).await?.problem(400, "VAL-006")?;
    }
    let labels = json!({ "app.kubernetes.io/name": "x", "empty": "" });
    let created = world.send("POST", "clusters", &with("labels", labels.clone())).await?.expect(201)?;
    ensure!(created["labels"] == labels, "{created}");
    Ok(())
}
