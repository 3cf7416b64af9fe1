//! The adapter is stopped while events are running.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use lifecycle_e2e::fault::{Gate, When};
use lifecycle_e2e::{PATIENCE, await_condition};

use crate::adapter::Adapter;
use crate::task::{CREDENTIALS, SETTINGS, task};
use crate::world::{SUBSCRIPTION, World};

const EVENTS: usize = 20;
/// The number of events that run concurrently; the others wait in the adapter's work queue.
const PARALLELISM: usize = 16;

fn clusters() -> Vec<String> {
    (0..EVENTS).map(|number| format!("c{number}")).collect()
}

/// Publishes all events, and waits until the running ones are at the gate and the adapter has received all others.
async fn fill(world: &World, adapter: &Adapter, gate: &Gate) -> Result<()> {
    for cluster in clusters() {
        world.announce(&cluster, 1).await?;
    }
    gate.reached_by(PARALLELISM).await;
    adapter.await_metric("hyperfleet_broker_messages_consumed_total", &[], EVENTS as f64).await
}

async fn await_returned(world: &World, wanted: usize) -> Result<()> {
    let queue = world.topic.queue_name(SUBSCRIPTION);
    await_condition(&format!("{wanted} messages back in the queue"), PATIENCE, async || {
        let depth = world.stack.broker.depth(&queue).await?;
        ensure!(depth.ready as usize == wanted && depth.consumers == 0, "{depth:?}");
        Ok(())
    })
    .await
}

/// Returns the clusters with both objects, and the clusters with a report.
async fn done(world: &World) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
    let mut made = BTreeSet::new();
    for cluster in clusters() {
        let settings = world.object("ConfigMap", &cluster).await?;
        let credentials = world.object("Secret", &format!("{cluster}-credentials")).await?;
        ensure!(settings.is_null() == credentials.is_null(), "{cluster} has one of its two objects");
        if !settings.is_null() {
            made.insert(cluster);
        }
    }
    let reported = clusters().into_iter().filter(|cluster| !world.reports(cluster).is_empty()).collect();
    Ok((made, reported))
}

fn settings_and_credentials() -> String {
    task(&[SETTINGS, CREDENTIALS].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_finishes_running_events_and_requeues_waiting_ones() -> Result<()> {
    let world = World::new().await?;
    let mut adapter = world.adapter(settings_and_credentials())?.start().await?;
    let gate = world.kubernetes.hold(When::method("POST").path_ends("/configmaps"));
    fill(&world, &adapter, &gate).await?;

    adapter.signal("TERM").await?;
    adapter.await_message("shutting down, letting running events finish").await?;
    let (status, body) = adapter.get("health", "/readyz").await?;
    assert_eq!((status, body.contains("server is shutting down")), (503, true), "{body}");
    gate.release();
    assert_eq!(adapter.exit().await?.code(), Some(0));

    let (made, reported) = done(&world).await?;
    assert_eq!(made.len(), PARALLELISM);
    assert_eq!(made, reported);
    await_returned(&world, EVENTS - PARALLELISM).await?;

    // The next adapter handles the requeued events, and none twice.
    let mut next = world.adapter(settings_and_credentials())?.start().await?;
    next.await_handled((EVENTS - PARALLELISM) as f64).await?;
    let (made, reported) = done(&world).await?;
    assert_eq!((made.len(), reported.len()), (EVENTS, EVENTS));
    assert!(clusters().iter().all(|cluster| world.reports(cluster).len() == 1));
    next.stop().await?;
    await_returned(&world, 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn events_running_after_the_grace_period_are_requeued() -> Result<()> {
    let world = World::new().await?;
    let mut adapter = world.adapter(settings_and_credentials())?.with("shutdown_grace", "300ms").start().await?;
    let gate = world.kubernetes.hold(When::method("POST").path_ends("/configmaps"));
    fill(&world, &adapter, &gate).await?;
    adapter.stop().await?;
    await_returned(&world, EVENTS).await?;
    assert!(clusters().iter().all(|cluster| world.reports(cluster).is_empty()));

    world.kubernetes.heal();
    gate.release();
    let next = world.adapter(settings_and_credentials())?.start().await?;
    next.await_handled(EVENTS as f64).await?;
    let (made, reported) = done(&world).await?;
    assert_eq!((made.len(), reported.len()), (EVENTS, EVENTS));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn second_signal_exits_at_once_and_requeues_every_event() -> Result<()> {
    for second in ["TERM", "INT"] {
        let world = World::new().await?;
        let mut adapter = world.adapter(settings_and_credentials())?.start().await?;
        let gate = world.kubernetes.hold(When::method("POST").path_ends("/configmaps"));
        fill(&world, &adapter, &gate).await?;
        adapter.signal("TERM").await?;
        adapter.await_message("shutting down, letting running events finish").await?;
        adapter.signal(second).await?;
        assert_eq!(adapter.exit().await?.code(), Some(1), "SIG{second}");
        await_returned(&world, EVENTS).await?;
        assert!(clusters().iter().all(|cluster| world.reports(cluster).is_empty()), "SIG{second}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_adapter_exits_at_once_on_either_signal() -> Result<()> {
    for signal in ["TERM", "INT"] {
        let world = World::new().await?;
        let mut adapter = world.adapter(settings_and_credentials())?.start().await?;
        adapter.signal(signal).await?;
        assert_eq!(adapter.exit().await?.code(), Some(0), "SIG{signal}");
        adapter.await_message("Adapter shutdown complete").await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn running_event_is_finished_while_the_broker_is_down() -> Result<()> {
    let world = World::new().await?;
    let line = world.stack.broker.proxy().await?;
    let through = world.stack.broker.through(&line)?;
    let mut adapter = world.adapter_at(&through, &world.topic, settings_and_credentials())?.start().await?;
    let gate = world.kubernetes.hold(When::method("POST").path_ends("/configmaps"));
    world.announce("c0", 1).await?;
    gate.reached().await;
    line.refuse();
    adapter.await_readiness(503).await?;

    adapter.signal("TERM").await?;
    adapter.await_message("shutting down, letting running events finish").await?;
    gate.release();
    assert_eq!(adapter.exit().await?.code(), Some(0));
    assert_eq!(world.reports("c0").len(), 1, "the pass was cut off");
    await_returned(&world, 1).await
}
