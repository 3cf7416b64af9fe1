//! Polls while the API or the broker fails, and afterwards.

use lapin::options::ExchangeDeleteOptions;
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::rabbitmq::{Broker, PrivateBroker};
use lifecycle_e2e::{PATIENCE, await_condition};
use local_sentinel::sentinel::Polled;
use tokio_util::sync::CancellationToken;

use crate::world::{Polling, World};

const ROUTED: Polled = Polled { resources: 1, chosen: 1, routed: 1, unroutable: 0, failed: 0 };

#[tokio::test]
async fn poll_after_an_outage_of_the_api_succeeds() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.topic.subscribe("adapter").await?;
    world.api.put_cluster("c1", 1).await?;
    let mut sentinel = world.sentinel("clusters", "").await?;
    let page = |body: &str| Fault::Answer { status: 200, headers: Vec::new(), body: body.to_owned() };
    let cases = [
        ("unavailable", Fault::Status(503), "fetch_error", "page 1: HTTP status 503"),
        ("reset", Fault::ResetBefore, "fetch_error", "failed to read page 1"),
        ("half an answer", Fault::Truncate, "fetch_error", "page 1 is no list of resources"),
        ("a gateway's page", page("<html>"), "fetch_error", "page 1 is no list of resources"),
        ("another document", page("{}"), "fetch_error", "page 1 is no list of resources"),
        ("no permission", Fault::Status(403), "auth_error", "page 1: HTTP status 403"),
        ("no valid token", Fault::Status(401), "auth_error", "page 1: HTTP status 401"),
    ];
    let count = |sentinel: &Polling, error_type: &str| -> u64 {
        sentinel.metric("hyperfleet_sentinel_api_errors_total", &[error_type]).parse().unwrap()
    };
    for (name, fault, error_type, expected) in cases {
        let before = count(&sentinel, error_type);
        world.api.inject(When::any(), fault);
        let error = sentinel.poll().await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{name}: {error}");
        assert_eq!(count(&sentinel, error_type), before + 1, "{name}");
        world.api.heal();
        assert_eq!(sentinel.poll().await?, ROUTED, "{name}");
    }
    assert_eq!(sentinel.metric("hyperfleet_sentinel_poll_duration_seconds_count", &[]), "7", "successful polls only");
    Ok(())
}

#[tokio::test]
async fn list_with_a_missing_page_counts_as_unread() -> anyhow::Result<()> {
    let world = World::start().await?;
    let queue = world.topic.subscribe("adapter").await?;
    for id in ["c1", "c2", "c3"] {
        world.api.put_cluster(id, 1).await?;
    }
    let mut sentinel = world.sentinel("clusters", "").await?;
    world.api.inject(When::any().query_contains("page=2"), Fault::Status(500));
    assert!(sentinel.poll().await.is_err());
    assert_eq!(world.broker.depth(&queue).await?.ready, 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_published_again_after_a_restart_of_the_broker() -> anyhow::Result<()> {
    let mut private = PrivateBroker::start().await?;
    let world = World::around(private.broker().clone()).await?;
    let queue = world.topic.subscribe("adapter").await?;
    world.api.put_cluster("c1", 1).await?;
    let mut sentinel = world.sentinel("clusters", "").await?;
    assert_eq!(sentinel.poll().await?, ROUTED);

    private.stop()?;
    assert_eq!(sentinel.poll().await?, Polled { routed: 0, failed: 1, ..ROUTED }, "the API is polled nevertheless");
    assert_eq!(sentinel.metric("hyperfleet_sentinel_broker_errors_total", &["publish_error"]), "1");
    assert_eq!(sentinel.metric("hyperfleet_sentinel_pending_resources", &[]), "1");
    private.resume().await?;

    sentinel.connected().await?;
    await_condition("a published event", PATIENCE, async || {
        let polled = sentinel.poll().await?;
        anyhow::ensure!(polled == ROUTED, "{polled:?}");
        Ok(())
    })
    .await?;
    assert_eq!(world.broker.depth(&queue).await?.ready, 2, "the queue and its first message survived");
    sentinel.sentinel.close().await;
    Ok(())
}

#[tokio::test]
async fn poll_waits_only_once_for_a_silent_broker() -> anyhow::Result<()> {
    let broker = Broker::shared().await?;
    let proxy = broker.proxy().await?;
    let world = World::around(broker.through(&proxy)?).await?;
    world.topic.subscribe("adapter").await?;
    for id in ["c1", "c2"] {
        world.api.put_cluster(id, 1).await?;
    }
    let mut sentinel = world.sentinel("clusters", "").await?;
    proxy.mute();
    assert_eq!(sentinel.poll().await?, Polled { resources: 2, chosen: 2, failed: 1, ..Polled::default() });
    Ok(())
}

#[tokio::test]
async fn exchange_that_was_deleted_is_declared_again() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.api.put_cluster("c1", 1).await?;
    let mut sentinel = world.sentinel("clusters", "").await?;
    let connection = world.broker.connect().await?;
    let channel = connection.create_channel().await?;
    channel.exchange_delete(world.topic.name().into(), ExchangeDeleteOptions::default()).await?;
    assert_eq!(sentinel.poll().await?.failed, 1);
    await_condition("the exchange", PATIENCE, async || {
        let polled = sentinel.poll().await?;
        anyhow::ensure!(polled.unroutable == 1, "{polled:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn event_that_reaches_no_queue_is_counted() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.api.put_cluster("c1", 1).await?;
    let mut sentinel = world.sentinel("clusters", "").await?;
    assert_eq!(sentinel.poll().await?, Polled { routed: 0, unroutable: 1, ..ROUTED });
    assert_eq!(sentinel.metric("hyperfleet_sentinel_broker_errors_total", &["unroutable"]), "1");
    // The real Sentinel cannot tell such an event from others, so it is counted as published here too.
    assert_eq!(sentinel.metric("hyperfleet_sentinel_events_published_total", &["is_new_resource"]), "1");
    world.topic.subscribe("adapter").await?;
    assert_eq!(sentinel.poll().await?, ROUTED);
    Ok(())
}

#[tokio::test]
async fn stop_ends_a_poll_that_waits_for_the_api() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.api.put_cluster("c1", 1).await?;
    let mut sentinel = world.sentinel("clusters", "").await?;
    let gate = world.api.hold(When::any());
    let stop = CancellationToken::new();
    let (polled, ()) = tokio::join!(sentinel.sentinel.poll(&stop), async {
        gate.reached().await;
        stop.cancel();
    });
    assert_eq!(polled?, Polled::default());
    Ok(())
}
