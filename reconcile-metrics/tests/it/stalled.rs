//! Stalled deletions: requested long ago and not pending, so that neither the API's metrics nor `stuck` show them.

use crate::world::{API_SCHEMA, Exporter, KINDS, Samples, World};

fn stalled(samples: &Samples, resource_type: &str) -> f64 {
    samples.get(&format!("hyperfleet_api_resource_deletion_stalled{{resource_type=\"{resource_type}\"}}"))
}

async fn delete(world: &mut World, ids: &str, age: &str) {
    world.sql(&format!("UPDATE resources SET deleted_time = now() - interval '{age}' WHERE id IN ({ids})")).await;
}

async fn details(world: &World) -> (Exporter, Samples) {
    let exporter = world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    (exporter, samples)
}

fn items(body: &str) -> Vec<serde_json::Value> {
    serde_json::from_str::<serde_json::Value>(body).unwrap()["items"].as_array().unwrap().clone()
}

fn ids(body: &str) -> Vec<String> {
    items(body).iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Covers a parent with and without children, a fresh deletion, a pending one, and kinds without a condition.
#[tokio::test]
async fn stalled_deletions_are_counted_and_listed() {
    for mut world in [World::migrated().await, World::with_schema(API_SCHEMA).await] {
        world.resource("alone", "Cluster", Some("True"), "1 day").await;
        world.resource("parent", "Cluster", Some("True"), "1 day").await;
        world.resource("child", "NodePool", Some("True"), "1 day").await;
        world.resource("fresh", "Cluster", Some("True"), "1 day").await;
        world.resource("pending", "Cluster", Some("False"), "1 day").await;
        world.resource("channel", "Channel", None, "").await;
        world.resource("unknown", "Nobody", None, "").await;
        world.resource("live", "Cluster", Some("True"), "1 day").await;
        world.sql("UPDATE resources SET owner_id = 'parent' WHERE id = 'child'").await;
        delete(&mut world, "'alone', 'parent', 'pending', 'channel', 'unknown'", "1 hour").await;
        delete(&mut world, "'fresh'", "1 minute").await;
        delete(&mut world, "'child'", "6 minutes").await;
        let (exporter, samples) = details(&world).await;
        assert_eq!(stalled(&samples, "cluster"), 2.0, "alone, and parent");
        assert_eq!(stalled(&samples, "nodepool"), 1.0, "its threshold is 5m");
        assert_eq!(stalled(&samples, "channel"), 1.0, "a kind without required adapters has no condition");
        assert_eq!(stalled(&samples, "nobody"), 1.0);
        let (_, body) = exporter.get("/stuck?stalled=true", &[]).await;
        let mut found = ids(&body);
        found.sort_unstable();
        assert_eq!(found, ["alone", "channel", "child", "parent", "unknown"]);
        let with_children: Vec<_> =
            items(&body).into_iter().filter(|item| item["children"] != serde_json::json!([])).collect();
        assert_eq!(with_children.len(), 1);
        assert_eq!((&with_children[0]["id"], &with_children[0]["children"][0]), (&"parent".into(), &"child".into()));
        let (_, page) = exporter.get("/stuck?stalled=true&kind=Cluster", &[("accept", "text/html")]).await;
        assert!(page.contains("has children that still exist: child"), "{page}");
        assert_eq!(ids(&exporter.get("/stuck?stalled=true&kind=nodepool", &[]).await.1), ["child"]);
        assert_eq!(ids(&exporter.get("/stuck?stalled=true&deleting=false", &[]).await.1), [""; 0]);
        assert_eq!(ids(&exporter.get("/stuck", &[]).await.1), ["pending"]);
        world.sql("DELETE FROM resource_conditions; DELETE FROM resources").await;
        exporter.scraper.renew_details().await;
        assert_eq!(stalled(&exporter.scrape().await, "cluster"), 0.0);
    }
}

#[tokio::test]
async fn child_without_a_condition_is_stalled_and_blocks_its_parent() {
    let mut world = World::with_schema(API_SCHEMA).await;
    world.resource("p", "Cluster", Some("True"), "1 day").await;
    world.resource("n", "NodePool", None, "").await;
    world.sql("UPDATE resources SET owner_id = 'p' WHERE id = 'n'").await;
    delete(&mut world, "'p', 'n'", "1 hour").await;
    let (exporter, samples) = details(&world).await;
    assert_eq!((stalled(&samples, "cluster"), stalled(&samples, "nodepool")), (1.0, 1.0));
    let waiting = samples.0.iter().filter(|(series, _)| series.contains("stuck_waiting_on"));
    assert!(waiting.clone().count() > 0 && waiting.clone().all(|(_, value)| *value == 0.0), "it is not pending");
    let (_, body) = exporter.get("/stuck?stalled=true&kind=nodepool", &[]).await;
    assert!(body.contains(r#""blocks":["p"]"#) && body.contains(r#""no_condition":true"#), "{body}");
}

/// The API's tables allow a cycle of owners.
#[tokio::test]
async fn resource_in_a_cycle_of_owners_does_not_block_itself() {
    let mut world = World::with_schema(API_SCHEMA).await;
    world.resource("a", "Cluster", Some("True"), "1 day").await;
    world.resource("b", "NodePool", Some("False"), "1 day").await;
    world.sql("UPDATE resources SET owner_id = CASE id WHEN 'a' THEN 'b' ELSE 'a' END").await;
    delete(&mut world, "'a', 'b'", "1 hour").await;
    let (exporter, samples) = details(&world).await;
    assert_eq!((stalled(&samples, "cluster"), stalled(&samples, "nodepool")), (1.0, 0.0));
    let (_, body) = exporter.get("/stuck", &[]).await;
    assert!(body.contains(r#""blocks":["a"]"#), "{body}");
}
