//! Many events at once: those of one resource are handled in order, those of different resources in parallel.

use anyhow::{Result, ensure};
use lifecycle_e2e::fault::When;
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, await_condition};

use crate::task::{SETTINGS, task};
use crate::world::{World, writes};

fn reads_of(cluster: &str) -> When {
    When::method("GET").path_ends(format!("/configmaps/{cluster}"))
}

fn generations(world: &World, cluster: &str) -> Vec<i64> {
    let reports = world.reports(cluster);
    reports.iter().filter_map(|report| report.0["observed_generation"].as_i64()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_one_cluster_are_serial_and_block_no_other() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    let gate = world.kubernetes.hold(reads_of("a").nth(1));
    world.api.put_cluster("a", 3).await?;
    world.topic.publish(&Event::cluster("a", 1)).await?;
    gate.reached().await;
    for generation in [2, 3] {
        world.topic.publish(&Event::cluster("a", generation)).await?;
    }
    for cluster in ["b", "c", "d"] {
        assert_eq!(world.reconcile(cluster, 1).await?.status("Available"), "True", "{cluster} does not wait for a");
    }
    adapter.await_metric("hyperfleet_broker_messages_consumed_total", &[], 6.0).await?;
    assert_eq!(world.kubernetes.count(&reads_of("a")), 1, "the later events have not begun");
    assert_eq!(generations(&world, "a"), Vec::<i64>::new());

    gate.release();
    world.report("a", 2).await?;
    adapter.await_handled(5.0).await?;
    assert_eq!(generations(&world, "a"), [1, 3], "the waiting event of generation 2 was replaced by that of 3");
    adapter.await_metric("hyperfleet_adapter_events_coalesced_total", &[], 1.0).await?;
    assert_eq!(world.object("ConfigMap", "a").await?["data"]["generation"], "3");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn late_event_rolls_nothing_back() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.reconcile("a", 3).await?;
    let (before, written) = (world.object("ConfigMap", "a").await?, world.kubernetes.count(&writes()));
    world.topic.publish(&Event::cluster("a", 2)).await?;
    let report = world.report("a", 2).await?;
    assert_eq!(report.outcome("settings"), "skip StaleEvent");
    assert_eq!(world.object("ConfigMap", "a").await?, before);
    assert_eq!(world.kubernetes.count(&writes()), written);
    adapter.await_metric("hyperfleet_adapter_decisions_total", &[("reason", "StaleEvent")], 1.0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn interleaved_events_end_at_each_clusters_last_generation() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(SETTINGS))?.start().await?;
    let clusters: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
    for cluster in &clusters {
        world.api.put_cluster(cluster, 8).await?;
    }
    for generation in 1..=8 {
        for cluster in &clusters {
            world.topic.publish(&Event::cluster(cluster, generation)).await?;
        }
    }
    for cluster in &clusters {
        await_condition(&format!("the last generation of {cluster}"), PATIENCE, async || {
            let generations = generations(&world, cluster);
            ensure!(generations.last() == Some(&8), "{generations:?}");
            Ok(())
        })
        .await?;
        let generations = generations(&world, cluster);
        assert!(generations.is_sorted(), "{cluster} went back: {generations:?}");
        assert_eq!(world.object("ConfigMap", cluster).await?["data"]["generation"], "8", "{cluster}");
    }
    Ok(())
}
