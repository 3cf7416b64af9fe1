//! The broker restarts, loses connections, and delivers invalid messages.

use anyhow::{Context, Result, ensure};
use lapin::options::{BasicPublishOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, ExchangeKind};
use lifecycle_e2e::rabbitmq::{Broker, PrivateBroker};
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, await_condition};

use crate::task::{SETTINGS, task};
use crate::world::{SUBSCRIPTION, World};

/// Waits until a queue has this number of messages and no consumer. Without the second condition, messages
/// that are delivered but not yet acknowledged would be missed.
async fn await_messages(broker: &Broker, queue: &str, wanted: u32) -> Result<()> {
    await_condition(&format!("{wanted} messages in {queue}"), PATIENCE, async || {
        let depth = broker.depth(queue).await?;
        ensure!(depth.ready == wanted && depth.consumers == 0, "{depth:?}");
        Ok(())
    })
    .await
}

/// Publishes on a new connection, because a restart of the broker ends the topic's own.
async fn publish(broker: &Broker, topic: &str, event: &Event) -> Result<()> {
    let connection = broker.connect().await?;
    let channel = connection.create_channel().await?;
    let persistent = BasicProperties::default().with_delivery_mode(2);
    let body = event.to_bytes()?;
    let options = BasicPublishOptions::default();
    channel.basic_publish(topic.into(), "".into(), options, &body, persistent).await?.await?;
    connection.close(200, "done".into()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn adapter_reconnects_after_a_restart_of_the_broker() -> Result<()> {
    let world = World::new().await?;
    let mut private = PrivateBroker::start().await?;
    let topic = private.broker().topic().await?;
    let adapter = world.adapter_at(private.broker(), &topic, task(SETTINGS))?.start().await?;
    world.api.put_cluster("before", 1).await?;
    topic.publish(&Event::cluster("before", 1)).await?;
    world.report("before", 1).await?;

    private.stop()?;
    adapter.await_readiness(503).await?;
    let (status, body) = adapter.get("health", "/readyz").await?;
    assert_eq!(status, 503);
    assert!(body.contains(r#""broker":"error""#), "{body}");
    assert_eq!(adapter.get("health", "/healthz").await?.0, 200, "the adapter stays alive");
    private.resume().await?;
    adapter.await_readiness(200).await?;

    world.api.put_cluster("after", 1).await?;
    publish(private.broker(), topic.name(), &Event::cluster("after", 1)).await?;
    assert_eq!(world.report("after", 1).await?.status("Available"), "True");
    // No log line may contain the broker's password.
    let password = private.broker().url().split(['/', ':', '@']).nth(4).context("no password")?.to_owned();
    let leaks: Vec<String> =
        adapter.lines().into_iter().filter(|line| line.contains(&format!(":{password}@"))).collect();
    assert_eq!(leaks, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn message_of_a_lost_connection_is_redelivered_without_effect() -> Result<()> {
    use lifecycle_e2e::fault::When;
    let world = World::new().await?;
    let line = world.stack.broker.proxy().await?;
    let through = world.stack.broker.through(&line)?;
    let mut adapter = world.adapter_at(&through, &world.topic, task(SETTINGS))?.start().await?;
    let gate = world.kubernetes.hold(When::method("POST").nth(1));
    world.announce("c1", 1).await?;
    gate.reached().await;
    let before = adapter.lines().len();
    line.cut();
    adapter.await_message("consuming again").await?;
    let complaints: Vec<String> = adapter
        .lines()
        .iter()
        .skip(before)
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|entry| entry["level"] == "warn" || entry["level"] == "error")
        .filter_map(|entry| entry["message"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(complaints, ["lost the broker, reconnecting"], "one line for one loss");
    gate.release();

    world.report("c1", 1).await?;
    let again = world.report("c1", 2).await?;
    assert_eq!(again.outcome("settings"), "skip SameGeneration", "the message was redelivered");
    assert_eq!(world.kubernetes.count(&When::method("POST")), 1);
    adapter.stop().await?;
    await_messages(&world.stack.broker, &world.topic.queue_name(SUBSCRIPTION), 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_messages_are_counted_and_discarded() -> Result<()> {
    let world = World::new().await?;
    let mut adapter = world.adapter(task(SETTINGS))?.start().await?;
    let event = Event::cluster("c1", 1);
    let text = String::from_utf8(event.to_bytes()?)?;
    let huge = event.clone().with("padding", serde_json::json!("x".repeat(2 << 20)));
    let unreadable = [
        b"poison".to_vec(),
        b"".to_vec(),
        b"[]".to_vec(),
        b"\xff\xfe".to_vec(),
        text.replace(r#""specversion":"1.0""#, r#""specversion":"7.0""#).into_bytes(),
        text.replace(r#""generation":1"#, r#""generation":"one""#).into_bytes(),
        huge.to_bytes()?,
    ];
    for body in &unreadable {
        world.topic.publish_raw(body, BasicProperties::default()).await?;
    }
    // A valid CloudEvent that this task cannot process, because its data has no id.
    let nameless = text.replace(r#""id":"c1","#, "");
    assert_ne!(nameless, text);
    world.topic.publish_raw(nameless.as_bytes(), BasicProperties::default()).await?;

    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.status("Available"), "True");
    let refused = unreadable.len() as f64;
    let errors = "hyperfleet_broker_errors_total";
    adapter.await_metric(errors, &[("error_type", "conversion")], refused).await?;
    adapter.await_metric(errors, &[("error_type", "handler")], 1.0).await?;
    adapter.await_metric("hyperfleet_adapter_events_invalid_total", &[], refused + 1.0).await?;
    adapter.await_metric("hyperfleet_broker_messages_consumed_total", &[], refused + 2.0).await?;
    adapter.stop().await?;
    await_messages(&world.stack.broker, &world.topic.queue_name(SUBSCRIPTION), 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_message_is_dead_lettered_by_the_brokers_policy() -> Result<()> {
    let world = World::new().await?;
    let private = PrivateBroker::start().await?;
    let broker = private.broker();
    let topic = broker.topic().await?;
    let connection = broker.connect().await?;
    let channel = connection.create_channel().await?;
    let (exchange, queue) = (ExchangeDeclareOptions::default(), QueueDeclareOptions::default());
    channel.exchange_declare("dead".into(), ExchangeKind::Fanout, exchange, FieldTable::default()).await?;
    channel.queue_declare("dead".into(), queue, FieldTable::default()).await?;
    channel
        .queue_bind("dead".into(), "dead".into(), "".into(), QueueBindOptions::default(), FieldTable::default())
        .await?;
    let definition = r#"{"dead-letter-exchange": "dead"}"#;
    private.control(&["set_policy", "dead-letters", "^topic-", definition, "--apply-to", "queues"]).await?;

    let mut adapter = world.adapter_at(broker, &topic, task(SETTINGS))?.start().await?;
    topic.publish_raw(b"poison", BasicProperties::default()).await?;
    assert_eq!(topic.take("dead", PATIENCE).await?.body, b"poison");
    // An event that fails for another reason than its message is acknowledged, not dead-lettered.
    world.kubernetes.inject(lifecycle_e2e::fault::When::any(), lifecycle_e2e::fault::Fault::Status(500));
    world.api.put_cluster("c1", 1).await?;
    topic.publish(&Event::cluster("c1", 1)).await?;
    assert_eq!(world.report("c1", 1).await?.status("Available"), "False");
    adapter.stop().await?;
    await_messages(broker, &topic.queue_name(SUBSCRIPTION), 0).await?;
    await_messages(broker, "dead", 0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn adapter_exits_if_the_broker_is_down_at_startup() -> Result<()> {
    let world = World::new().await?;
    let line = world.stack.broker.proxy().await?;
    line.refuse();
    let through = world.stack.broker.through(&line)?;
    let mut adapter = world.adapter_at(&through, &world.topic, task(SETTINGS))?.spawn()?;
    assert_eq!(adapter.exit().await?.code(), Some(1));
    assert!(adapter.lines().iter().any(|line| line.contains("failed to subscribe at RabbitMQ")));
    Ok(())
}
