//! Lists over REST: pages, order, fields and error documents.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{World, create, update};

fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().into_iter().flatten().filter_map(|item| item["id"].as_str()).collect()
}

async fn with_bundles(count: usize) -> Result<World> {
    let world = World::new().await?;
    for index in 0..count {
        world.publish(create(&format!("b{index:03}"))).await?;
    }
    Ok(world)
}

#[tokio::test]
async fn pages_have_the_size_that_was_asked_for_and_the_total() -> Result<()> {
    let world = with_bundles(102).await?;
    let cases = [
        ("", 1, 100),
        ("?page=2", 2, 2),
        ("?page=3", 3, 0),
        ("?size=5&page=2", 2, 5),
        ("?size=0", 1, 0),
        ("?size=-1", 1, 102),
        ("?size=70000", 1, 102),
        ("?size=x&page=x", 1, 100),
    ];
    for (query, page, size) in cases {
        let list = world.get(&format!("resource-bundles{query}")).await?.expect(200)?;
        assert_eq!((&list["kind"], &list["total"]), (&"ResourceBundleList".into(), &102.into()), "{query}");
        assert_eq!((&list["page"], &list["size"], ids(&list).len()), (&page.into(), &size.into(), size), "{query}");
    }
    Ok(())
}

#[tokio::test]
async fn list_without_order_moves_what_was_written_last_to_its_end() -> Result<()> {
    let world = with_bundles(3).await?;
    world.publish(update("b000", 1)).await?;
    let list = world.get("resource-bundles").await?.expect(200)?;
    assert_eq!(ids(&list), ["b001", "b002", "b000"]);
    let cases: [(&str, [&str; 3]); 4] = [
        ("id%20asc", ["b000", "b001", "b002"]),
        ("id+desc", ["b002", "b001", "b000"]),
        ("version%20desc,id", ["b000", "b001", "b002"]),
        ("updated_at", ["b001", "b002", "b000"]),
    ];
    for (order, expected) in cases {
        let list = world.get(&format!("resource-bundles?orderBy={order}")).await?.expect(200)?;
        assert_eq!(ids(&list), expected, "{order}");
    }
    for order in ["nothing", "id%20sideways", "id%20asc%20asc"] {
        world.get(&format!("resource-bundles?orderBy={order}")).await?.error(400, 21)?;
    }
    Ok(())
}

#[tokio::test]
async fn fields_limit_the_members() -> Result<()> {
    let world = with_bundles(1).await?;
    let list = world.get("resource-bundles?fields=version,name").await?.expect(200)?;
    assert_eq!(list["items"], json!([{ "id": "b000", "version": 1, "name": "b000" }]));
    Ok(())
}

#[tokio::test]
async fn bundles_are_written_over_grpc_alone() -> Result<()> {
    let world = with_bundles(1).await?;
    world.send("POST", "resource-bundles", &json!({})).await?.error(405, 10)?;
    world.send("PATCH", "resource-bundles/b000", &json!({})).await?.error(405, 10)?;
    world.get("nothing").await?.error(404, 7)?;
    Ok(())
}

#[tokio::test]
async fn missing_bundle_is_a_documented_error_with_the_operations_id() -> Result<()> {
    let world = with_bundles(0).await?;
    let url = format!("{}/api/maestro/v1/resource-bundles/none", world.maestro.rest_url());
    let response = reqwest::Client::new().get(url).header("X-Operation-ID", "op-1").send().await?;
    ensure!(response.status() == 404 && response.headers()["x-operation-id"] == "op-1", "{response:?}");
    let body: Value = serde_json::from_str(&response.text().await?)?;
    let expected = json!({
        "kind": "Error", "id": "7", "href": "/api/maestro/v1/errors/7", "code": "maestro-7",
        "reason": "ResourceBundle with id='none' not found", "operation_id": "op-1",
    });
    assert_eq!(body, expected);
    Ok(())
}
