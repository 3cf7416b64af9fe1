//! Deletions that hold each other up, or that nothing goes on with: what the API's own figures do not show.

use std::collections::BTreeMap;

use crate::world::{DOCUMENTS, Exporter, KINDS, ROWS, Samples, World};

fn blocked(samples: &Samples) -> f64 {
    samples.get(
        "hyperfleet_api_resource_deletion_waiting_on_child{child_resource_type=\"nodepool\",resource_type=\"cluster\"}",
    )
}

/// Those that nothing holds, a child, and a stuck one.
fn lingering(samples: &Samples, resource_type: &str) -> [f64; 3] {
    ["nothing", "child", "stuck_child"].map(|held_by| {
        let labels = format!("{{held_by=\"{held_by}\",resource_type=\"{resource_type}\"}}");
        samples.get(&format!("hyperfleet_api_resource_deletion_lingering{labels}"))
    })
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

fn ids(body: &str) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    body["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_child_without_the_condition_holds_its_parent_as_a_pending_one_does() {
    for mut world in [World::ours().await, World::theirs(ROWS).await] {
        world.resource("p", "Cluster", Some("True"), "1 day").await;
        world.resource("n", "NodePool", None, "").await;
        world.sql("UPDATE resources SET owner_id = 'p' WHERE id = 'n'").await;
        delete(&mut world, "'p', 'n'", "1 hour").await;
        let (exporter, samples) = details(&world).await;
        assert_eq!((blocked(&samples), lingering(&samples, "cluster")), (1.0, [0.0, 0.0, 1.0]));
        assert_eq!(lingering(&samples, "nodepool"), [0.0; 3], "what lacks the condition is counted as that");
        let waiting = samples.0.iter().filter(|(series, _)| series.contains("stuck_waiting_on"));
        assert!(waiting.clone().count() > 0 && waiting.clone().all(|(_, value)| *value == 0.0), "it is not pending");
        let (_, body) = exporter.get("/stuck?missing=true", &[]).await;
        assert!(body.contains(r#""blocks":["p"]"#), "{body}");
    }
}

/// A parent whose children are gone, and that the API has not looked at again; one that has just been deleted; one whose
/// kind never has the condition.
#[tokio::test]
async fn deletions_that_nothing_goes_on_with_are_counted_and_named() {
    for mut world in [World::ours().await, World::theirs(ROWS).await] {
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
        assert_eq!(lingering(&samples, "cluster"), [1.0, 1.0, 0.0], "alone, and parent");
        assert_eq!(lingering(&samples, "nodepool"), [1.0, 0.0, 0.0], "its threshold is 5m");
        assert_eq!(lingering(&samples, "channel"), [1.0, 0.0, 0.0], "nothing will ever be reported on it");
        assert_eq!(lingering(&samples, "nobody"), [1.0, 0.0, 0.0]);
        assert_eq!(blocked(&samples), 0.0, "nothing below is stuck");
        let (_, body) = exporter.get("/stuck?lingering=true", &[]).await;
        let mut found = ids(&body);
        found.sort_unstable();
        assert_eq!(found, ["alone", "channel", "child", "parent", "unknown"]);
        let children: Vec<_> = serde_json::from_str::<serde_json::Value>(&body).unwrap()["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["held_by"] == "child")
            .map(|item| item["id"].clone())
            .collect();
        assert_eq!(children, ["parent"]);
        let (_, page) = exporter.get("/stuck?lingering=true&kind=Cluster", &[("accept", "text/html")]).await;
        assert!(
            page.contains("has children left, none known to be stuck") && page.contains("has no children left"),
            "{page}"
        );
        assert_eq!(ids(&exporter.get("/stuck?lingering=true&kind=nodepool", &[]).await.1), ["child"]);
        assert_eq!(ids(&exporter.get("/stuck?lingering=true&deleting=false", &[]).await.1), [""; 0]);
        assert_eq!(ids(&exporter.get("/stuck", &[]).await.1), ["pending"]);
        assert_eq!(exporter.get("/stuck?lingering=true&missing=true", &[]).await.0, 400);
        world.sql("DELETE FROM resource_conditions; DELETE FROM resources").await;
        exporter.scraper.renew_details().await;
        assert_eq!(lingering(&exporter.scrape().await, "cluster"), [0.0; 3]);
    }
}

/// One that a stuck child holds and that does not linger itself yet, hides none that does.
#[tokio::test]
async fn a_deletion_is_told_apart_from_one_that_a_stuck_child_holds() {
    for mut world in [World::ours().await, World::theirs(ROWS).await] {
        for (cluster, pool, status) in
            [("held", "stuck", "False"), ("young", "too", "False"), ("slow", "at-it", "True")]
        {
            world.resource(cluster, "Cluster", Some("True"), "1 day").await;
            world.resource(pool, "NodePool", Some(status), "1 day").await;
            world.sql(&format!("UPDATE resources SET owner_id = '{cluster}' WHERE id = '{pool}'")).await;
        }
        delete(&mut world, "'held', 'stuck', 'too', 'slow'", "1 hour").await;
        delete(&mut world, "'young', 'at-it'", "1 minute").await;
        let (exporter, samples) = details(&world).await;
        assert_eq!(blocked(&samples), 2.0, "held, and young");
        assert_eq!(lingering(&samples, "cluster"), [0.0, 1.0, 1.0], "slow, and held");
        let (_, body) = exporter.get("/stuck?lingering=true", &[]).await;
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let listed =
            body["items"].as_array().unwrap().iter().map(|item| (item["id"].as_str(), item["held_by"].as_str()));
        let listed: BTreeMap<_, _> = listed.collect();
        assert_eq!(listed, [("held", "stuck_child"), ("slow", "child")].map(|(id, by)| (Some(id), Some(by))).into());
        let (_, page) = exporter.get("/stuck?lingering=true", &[("accept", "text/html")]).await;
        assert!(page.contains("is held by a stuck child"), "{page}");
        world.sql("UPDATE resource_conditions SET status = 'True' WHERE resource_id = 'stuck'").await;
        exporter.scraper.renew_details().await;
        assert_eq!(lingering(&exporter.scrape().await, "cluster"), [0.0, 2.0, 0.0], "nothing stuck holds it any more");
    }
}

/// Nothing forbids owners in a circle. What is stuck there is a root cause all the same.
#[tokio::test]
async fn what_owns_its_owner_holds_it_and_not_itself() {
    for mut world in [World::ours().await, World::theirs(ROWS).await] {
        world.resource("a", "Cluster", Some("True"), "1 day").await;
        world.resource("b", "NodePool", Some("False"), "1 day").await;
        world.sql("UPDATE resources SET owner_id = CASE id WHEN 'a' THEN 'b' ELSE 'a' END").await;
        delete(&mut world, "'a', 'b'", "1 hour").await;
        let (exporter, samples) = details(&world).await;
        assert_eq!((blocked(&samples), lingering(&samples, "cluster")), (1.0, [0.0, 0.0, 1.0]));
        let (_, body) = exporter.get("/stuck", &[]).await;
        assert!(body.contains(r#""blocks":["a"]"#), "{body}");
    }
}

#[tokio::test]
async fn the_older_schema_shows_them_too() {
    let mut world = World::theirs(DOCUMENTS).await;
    world
        .sql(
            r#"INSERT INTO clusters (id, name, deleted_time, status_conditions) VALUES
                   ('p', 'p', now() - interval '1 hour', '[{"type": "Reconciled", "status": "True"}]'),
                   ('q', 'q', now() - interval '1 hour', '[{"type": "Reconciled", "status": "True"}]');
               INSERT INTO node_pools (id, name, owner_id, deleted_at, status_conditions) VALUES
                   ('n', 'n', 'p', now() - interval '1 hour', NULL)"#,
        )
        .await;
    let (exporter, samples) = details(&world).await;
    assert_eq!((blocked(&samples), lingering(&samples, "cluster")), (1.0, [1.0, 0.0, 1.0]));
    assert_eq!(ids(&exporter.get("/stuck?lingering=true", &[]).await.1), ["p", "q"]);
}

/// Many that lack the condition, and are older, must not crowd out what the alerts count.
#[tokio::test]
async fn what_lacks_the_condition_takes_no_place_of_what_is_stuck() {
    for mut world in [World::ours().await, World::theirs(ROWS).await] {
        for n in 0..5 {
            world.resource(&format!("missing{n}"), "Cluster", None, "").await;
        }
        world.resource("c1", "Cluster", Some("False"), "2 hours").await;
        world.resource("c2", "Cluster", Some("False"), "1 hour").await;
        let exporter =
            world.exporter(&format!("details: {{max_resources: 3}}\nstuck: {{anonymous: true}}\n{KINDS}")).await;
        exporter.scraper.renew_details().await;
        let samples = exporter.scrape().await;
        let waiting = "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on";
        let labels = "{adapter=\"dns\",is_delete=\"false\",reason=\"never_reported\",resource_type=\"cluster\"}";
        assert_eq!((samples.get(&format!("{waiting}{labels}")), samples.flow("cluster", false).1), (2.0, 2.0));
        assert_eq!(samples.get("hyperfleet_reconcile_metrics_details_truncated{}"), 0.0);
        let (_, body) = exporter.get("/stuck?kind=cluster", &[]).await;
        assert_eq!(ids(&body), ["c1", "c2"]);
        assert!(body.contains(r#""truncated":false"#), "{body}");
        let missing = ids(&exporter.get("/stuck?missing=true", &[]).await.1);
        assert!(missing.len() == 3 && missing.iter().all(|id| id.starts_with("missing")), "{missing:?}");
    }
}
