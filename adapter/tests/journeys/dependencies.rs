//! A dependency goes down under load: the adapter pauses, and messages wait in the queue instead of failing.

use anyhow::{Result, ensure};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::json;

use crate::adapter::Adapter;
use crate::task::{SETTINGS, task};
use crate::world::{SUBSCRIPTION, World};

/// The number of events published at once; no Sentinel sends so many in a second.
const EVENTS: usize = 60;
const PARALLELISM: usize = 16;
const PAUSED: &str = "a dependency does not answer: no events are taken until it does";
const RESUMED: &str = "every dependency answers: events are taken";

fn clusters() -> Vec<String> {
    (0..EVENTS).map(|number| format!("c{number}")).collect()
}

async fn await_queue(world: &World, ready: usize, consumers: u32) -> Result<()> {
    let queue = world.topic.queue_name(SUBSCRIPTION);
    await_condition(&format!("{ready} messages and {consumers} consumers"), PATIENCE, async || {
        let depth = world.stack.broker.depth(&queue).await?;
        ensure!(depth.ready as usize == ready && depth.consumers == consumers, "{depth:?}");
        Ok(())
    })
    .await
}

/// The number of events processed so far.
async fn handled(adapter: &Adapter) -> Result<usize> {
    Ok(adapter.metric("hyperfleet_adapter_events_processed_total", &[]).await? as usize)
}

/// Waits until the adapter has paused and requeued the messages that it did not start. Returns the number of
/// processed events.
async fn await_pause(world: &World, adapter: &Adapter, reason: &str) -> Result<usize> {
    adapter.await_message(PAUSED).await?;
    let (status, body) = adapter.get("health", "/readyz").await?;
    ensure!(status == 503 && body.contains(reason), "{status} {body}");
    assert_eq!(adapter.get("health", "/healthz").await?.0, 200, "the adapter stays alive");
    adapter.await_metric("hyperfleet_adapter_events_in_flight", &[], 0.0).await?;
    let met = handled(adapter).await?;
    await_queue(world, EVENTS - met, 0).await?;
    Ok(met)
}

/// Waits until every cluster is reconciled. Publishes failed events again, as the Sentinel does.
async fn await_all_reconciled(world: &World, adapter: &Adapter) -> Result<()> {
    adapter.await_message(RESUMED).await?;
    adapter.await_metric("hyperfleet_adapter_events_processed_total", &[], EVENTS as f64).await?;
    let is_done =
        |cluster: &String| world.reports(cluster).last().is_some_and(|last| last.status("Available") == "True");
    let undone: Vec<String> = clusters().into_iter().filter(|cluster| !is_done(cluster)).collect();
    ensure!(undone.len() <= PARALLELISM, "{undone:?}");
    for cluster in &undone {
        world.topic.publish(&Event::cluster(cluster, 1)).await?;
    }
    await_condition("every cluster to be reconciled", PATIENCE, async || {
        let undone: Vec<String> = clusters().into_iter().filter(|cluster| !is_done(cluster)).collect();
        ensure!(undone.is_empty(), "{undone:?}");
        Ok(())
    })
    .await?;
    adapter.await_readiness(200).await?;
    let count = |message: &str| adapter.lines().iter().filter(|line| line.contains(message)).count();
    assert_eq!((count(PAUSED), count(RESUMED)), (1, 1), "one line each");
    Ok(())
}

async fn burst(world: &World) -> Result<()> {
    for cluster in clusters() {
        world.announce(&cluster, 1).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_keeps_messages_while_the_apiserver_is_down() -> Result<()> {
    for fault in [Fault::ResetBefore, Fault::Status(503)] {
        let world = World::new().await?;
        let mut adapter = world.adapter(task(SETTINGS))?.start().await?;
        world.kubernetes.inject(When::any(), fault);
        burst(&world).await?;
        let failed = await_pause(&world, &adapter, "waiting for the Kubernetes API").await?;
        ensure!((1..=PARALLELISM).contains(&failed), "{failed} events met the outage");
        adapter.await_metric("hyperfleet_adapter_dependency_up", &[("dependency", "kubernetes")], 0.0).await?;
        let reported: usize = clusters().iter().map(|cluster| world.reports(cluster).len()).sum();
        assert_eq!(reported, failed, "events that had started are reported and acknowledged");
        world.kubernetes.heal();
        await_all_reconciled(&world, &adapter).await?;
        adapter.await_metric("hyperfleet_adapter_dependency_up", &[("dependency", "kubernetes")], 1.0).await?;
        adapter.stop().await?;
        await_queue(&world, 0, 0).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_keeps_messages_while_the_hyperfleet_api_is_down() -> Result<()> {
    for fault in [Fault::ResetBefore, Fault::Status(503)] {
        let world = World::new().await?;
        let mut adapter = world.adapter(task(SETTINGS))?.start().await?;
        world.api.inject(When::any(), fault);
        burst(&world).await?;
        let unreported = await_pause(&world, &adapter, "waiting for the HyperFleet API").await?;
        ensure!((1..=PARALLELISM).contains(&unreported), "{unreported} events met the outage");
        adapter.await_metric("hyperfleet_adapter_dependency_up", &[("dependency", "hyperfleet")], 0.0).await?;
        world.api.heal();
        await_all_reconciled(&world, &adapter).await?;
        adapter.stop().await?;
        await_queue(&world, 0, 0).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_probe_fails_no_waiting_event() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.kubernetes.inject(When::any().path("/version"), Fault::Silence);
    world.kubernetes.inject(When::any(), Fault::ResetBefore);
    burst(&world).await?;
    let failed = await_pause(&world, &adapter, "no answer within 5 s").await?;
    ensure!((1..=PARALLELISM).contains(&failed), "{failed} events met the outage");
    world.kubernetes.heal();
    await_all_reconciled(&world, &adapter).await
}

#[tokio::test(flavor = "multi_thread")]
async fn apiserver_outage_fails_only_events_that_have_started() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    let gate = world.kubernetes.hold(When::method("POST"));
    burst(&world).await?;
    gate.reached_by(PARALLELISM).await;
    world.kubernetes.heal();
    world.kubernetes.inject(When::any(), Fault::ResetBefore);
    // The events at the gate succeed. The next ones notice the outage at their first call.
    gate.release();
    let met = await_pause(&world, &adapter, "waiting for the Kubernetes API").await? - PARALLELISM;
    ensure!(met <= PARALLELISM, "{met} events met the outage");
    world.kubernetes.heal();
    await_all_reconciled(&world, &adapter).await
}

#[tokio::test(flavor = "multi_thread")]
async fn http_input_answers_503_with_retry_after_during_a_pause() -> Result<()> {
    let world = World::new().await?;
    world.api.inject(When::any(), Fault::Status(502));
    let setup = world.adapter(task(SETTINGS))?.without_broker();
    let adapter = setup.with("inputs", json!({"http": {"listen": "127.0.0.1:0"}})).spawn()?;
    adapter.await_message(PAUSED).await?;
    let send = async || -> Result<reqwest::Response> {
        let request = reqwest::Client::new().post(adapter.url("events").await?);
        let request = request.header("content-type", "application/cloudevents+json");
        Ok(request.body(Event::cluster("c1", 1).to_bytes()?).send().await?)
    };
    let answer = send().await?;
    assert_eq!((answer.status().as_u16(), answer.headers().contains_key("retry-after")), (503, true));
    world.api.put_cluster("c1", 1).await?;
    world.api.heal();
    adapter.await_readiness(200).await?;
    assert_eq!(send().await?.status(), 204);
    assert_eq!(world.report("c1", 1).await?.status("Available"), "True");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn signal_stops_the_adapter_during_a_pause() -> Result<()> {
    // A pause before the first subscription.
    let world = World::new().await?;
    world.kubernetes.inject(When::any(), Fault::ResetBefore);
    let mut adapter = world.adapter(task(SETTINGS))?.spawn()?;
    adapter.await_message(PAUSED).await?;
    adapter.stop().await?;

    // A pause after it.
    world.kubernetes.heal();
    let mut adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.kubernetes.inject(When::any(), Fault::ResetBefore);
    world.announce("c1", 1).await?;
    adapter.await_message(PAUSED).await?;
    await_queue(&world, 0, 0).await?;
    adapter.stop().await?;

    // A pause while an event is still running: the shutdown's grace period begins with the signal.
    world.kubernetes.heal();
    let mut adapter = world.adapter(task(SETTINGS))?.with("shutdown_grace", "300ms").start().await?;
    let held = world.api.hold(When::method("PUT"));
    world.kubernetes.inject(When::any(), Fault::ResetBefore);
    world.announce("c2", 1).await?;
    held.reached().await;
    adapter.await_message(PAUSED).await?;
    adapter.stop().await?;
    await_queue(&world, 1, 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn task_without_resources_ignores_the_apiserver() -> Result<()> {
    let world = World::new().await?;
    world.kubernetes.inject(When::any(), Fault::ResetBefore);
    let text = task(SETTINGS);
    let (before, rest) = text.split_once("resources:").unwrap_or_default();
    let (_, after) = rest.split_once("post:").unwrap_or_default();
    let after = after.replace("resources.?settings.hasValue()", "true");
    let _adapter = world.adapter(format!("{before}post:{after}"))?.start().await?;
    world.reconcile("c1", 1).await?;
    assert_eq!(world.kubernetes.lines(), Vec::<String>::new());
    Ok(())
}
