//! Tests that the broker delivers the Sentinel's messages, and keeps them over a restart.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, LongString};
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::rabbitmq::{Broker, Depth, PrivateBroker};
use lifecycle_e2e::sentinel::Event;

#[tokio::test]
async fn event_is_delivered_as_the_sentinel_sends_it() -> anyhow::Result<()> {
    let broker = Broker::shared().await?;
    let topic = broker.topic().await?;
    let queue = topic.subscribe("adapter").await?;
    let event = Event::cluster("c1", 1);
    topic.publish(&event).await?;
    assert_eq!(broker.depth(&queue).await?, Depth { ready: 1, consumers: 0 });

    let message = topic.take(&queue, PATIENCE).await?;
    assert_eq!(serde_json::from_slice::<Event>(&message.body)?, event);
    let mut headers = FieldTable::default();
    headers.insert("_watermill_message_uuid".into(), AMQPValue::LongString(LongString::from(event.id.as_str())));
    let expected = BasicProperties::default().with_delivery_mode(2).with_headers(headers);
    assert_eq!(message.properties, expected, "only the header and the delivery mode are set");
    assert_eq!(broker.depth(&queue).await?, Depth { ready: 0, consumers: 0 });
    Ok(())
}

#[tokio::test]
async fn topics_of_two_tests_are_separate() -> anyhow::Result<()> {
    let broker = Broker::shared().await?;
    let (mine, other) = (broker.topic().await?, broker.topic().await?);
    let queue = mine.subscribe("adapter").await?;
    other.publish(&Event::cluster("c1", 1)).await?;
    assert_eq!(broker.depth(&queue).await?.ready, 0);
    Ok(())
}

#[tokio::test]
async fn depth_of_a_missing_queue_is_an_error() -> anyhow::Result<()> {
    let error = Broker::shared().await?.depth("no-such-queue").await.err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("failed to look at queue `no-such-queue`"));
    Ok(())
}

#[tokio::test]
async fn private_broker_keeps_its_queues_over_a_restart() -> anyhow::Result<()> {
    let mut private = PrivateBroker::start().await?;
    let topic = private.broker().topic().await?;
    let queue = topic.subscribe("adapter").await?;
    topic.publish(&Event::cluster("c1", 1)).await?;

    private.stop()?;
    assert!(private.broker().connect().await.is_err(), "a stopped broker refuses connections");
    private.resume().await?;
    assert_eq!(private.broker().depth(&queue).await?.ready, 1);
    Ok(())
}
