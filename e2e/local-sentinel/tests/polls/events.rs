//! Which events reach an adapter's queue, and in which form.

use std::time::Duration;

use lifecycle_e2e::fault::When;
use local_sentinel::sentinel::Polled;
use serde_json::json;

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn event_has_the_bytes_and_properties_of_the_real_sentinel() -> anyhow::Result<()> {
    let world = World::start().await?;
    let queue = world.topic.subscribe("adapter").await?;
    world.api.put_cluster("c1", 1).await?;
    world.api.put_node_pool("c1", "n1", 3).await?;
    let mut clusters = world.sentinel("clusters", "").await?;
    let mut node_pools = world.sentinel("nodepools", "").await?;

    for (sentinel, kind, data) in [
        (
            &mut clusters,
            "cluster",
            r#"{"generation":1,"href":"/api/hyperfleet/v1/clusters/c1","id":"c1","kind":"Cluster"}"#,
        ),
        (
            &mut node_pools,
            "nodepool",
            r#"{"generation":3,"href":"/api/hyperfleet/v1/clusters/c1/nodepools/n1","id":"n1","kind":"NodePool","owner_references":{"href":"/api/hyperfleet/v1/clusters/c1","id":"c1","kind":"Cluster"}}"#,
        ),
    ] {
        assert_eq!(sentinel.poll().await?, Polled { resources: 1, chosen: 1, routed: 1, ..Polled::default() });
        let (message, event) = world.take(&queue).await?;
        let id = &event.id;
        let body = format!(
            r#"{{"specversion":"1.0","id":"{id}","source":"hyperfleet-sentinel","type":"com.redhat.hyperfleet.{kind}.reconcile","datacontenttype":"application/json","data":{data}}}"#
        );
        assert_eq!(String::from_utf8_lossy(&message.body), body);
        assert_eq!(message.properties, event.properties(), "only the delivery mode and the header are set");
    }
    Ok(())
}

#[tokio::test]
async fn resource_is_announced_after_its_age_and_then_in_every_poll() -> anyhow::Result<()> {
    for (status, age, cause) in
        [("False", 10 * SECOND, "not_reconciled_and_debounced"), ("True", 30 * 60 * SECOND, "reconciled_and_stale")]
    {
        let world = World::start().await?;
        let queue = world.topic.subscribe("adapter").await?;
        world.put_cluster("c1", status).await?;
        let mut sentinel = world.sentinel("clusters", "").await?;

        for wait in [Duration::ZERO, age] {
            world.advance(wait);
            assert_eq!(sentinel.poll().await?, Polled { resources: 1, ..Polled::default() }, "{status}");
        }
        assert_eq!(world.broker.depth(&queue).await?.ready, 0, "{status}");
        for polls in 1..=2 {
            world.advance(SECOND);
            assert_eq!(sentinel.poll().await?.routed, 1, "{status}");
            assert_eq!(world.broker.depth(&queue).await?.ready, polls, "{status}");
        }
        assert_eq!(sentinel.metric("hyperfleet_sentinel_events_published_total", &[cause]), "2");
        assert_eq!(sentinel.metric("hyperfleet_sentinel_pending_resources", &["resource_type=\"clusters\""]), "1");

        // The adapters report again, so the API renews the condition.
        world.put_cluster("c1", status).await?;
        assert_eq!(sentinel.poll().await?.chosen, 0, "{status}");
    }
    Ok(())
}

#[tokio::test]
async fn kind_without_the_condition_is_announced_in_every_poll() -> anyhow::Result<()> {
    let world = World::start().await?;
    let queue = world.topic.subscribe("adapter").await?;
    world.api.put_cluster("c1", 2).await?;
    let mut sentinel = world.sentinel("clusters", "").await?;
    for polls in 1..=3 {
        assert_eq!(sentinel.poll().await?.routed, 1);
        assert_eq!(world.broker.depth(&queue).await?.ready, polls);
    }
    assert_eq!(sentinel.metric("hyperfleet_sentinel_events_published_total", &["generation_mismatch"]), "3");
    Ok(())
}

#[tokio::test]
async fn deleted_resource_is_announced_with_its_new_generation() -> anyhow::Result<()> {
    let world = World::start().await?;
    let queue = world.topic.subscribe("adapter").await?;
    world.put_cluster("c1", "True").await?;
    let mut sentinel = world.sentinel("clusters", "").await?;
    assert_eq!(sentinel.poll().await?.chosen, 0);
    world.api.delete("c1").await?;
    world.advance(60 * SECOND);
    assert_eq!(sentinel.poll().await?.routed, 1);
    assert_eq!(world.take(&queue).await?.1.data.get("generation"), Some(&json!(2)));
    Ok(())
}

#[tokio::test]
async fn resources_of_all_pages_are_announced() -> anyhow::Result<()> {
    let world = World::start().await?;
    let queue = world.topic.subscribe("adapter").await?;
    let ids = ["c1", "c2", "c3", "c4", "c5"];
    for id in ids {
        world.api.put_cluster(id, 1).await?;
    }
    let mut sentinel = world.sentinel("clusters", "").await?;
    assert_eq!(sentinel.poll().await?, Polled { resources: 5, chosen: 5, routed: 5, ..Polled::default() });
    for id in ids {
        assert_eq!(world.take(&queue).await?.1.data.get("id"), Some(&json!(id)));
    }
    let pages: Vec<_> = world.api.requests().into_iter().map(|request| request.query).collect();
    assert_eq!(pages, ["size=2&page=1", "size=2&page=2", "size=2&page=3"]);
    assert_eq!(world.api.count(&When::method("GET").path("/api/hyperfleet/v1/clusters")), 3);
    Ok(())
}

#[tokio::test]
async fn selector_is_sent_as_a_search_and_labels_the_metrics() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.api.put_cluster("c1", 1).await?;
    let mut sentinel =
        world.sentinel("clusters", "resource_selector: [{label: zone, value: b}, {label: a, value: 1}]").await?;
    assert_eq!(sentinel.poll().await?, Polled::default());
    let queries: Vec<_> = world.api.requests().into_iter().map(|request| request.query).collect();
    assert_eq!(queries, ["size=2&search=labels%2Ea%3D%271%27%20and%20labels%2Ezone%3D%27b%27&page=1"]);
    assert_eq!(sentinel.metric("hyperfleet_sentinel_pending_resources", &["resource_selector=\"a:1,zone:b\""]), "0");
    Ok(())
}
