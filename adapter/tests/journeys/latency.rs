//! The adapter's connections have `TCP_NODELAY` set.

use anyhow::{Context, Result, ensure};
use lifecycle_e2e::fault::When;
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::sockets::connections;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::json;

use crate::task::{SETTINGS, task};
use crate::world::World;

/// Nagle's algorithm would delay a part of the first request of each new connection by about 40 ms.
#[tokio::test(flavor = "multi_thread")]
async fn every_connection_has_nagles_algorithm_off() -> Result<()> {
    let world = World::new().await?;
    let line = world.stack.broker.proxy().await?;
    let broker = world.stack.broker.through(&line)?;
    let setup = world
        .adapter_at(&broker, &world.topic, task(SETTINGS))?
        .with("inputs", json!({"http": {"listen": "127.0.0.1:0"}}));
    let adapter = setup.start().await?;
    world.api.put_cluster("c1", 1).await?;
    let gate = world.kubernetes.hold(When::method("POST"));
    let client = reqwest::Client::new();
    let (events, metrics) = (adapter.url("events").await?, adapter.url("metrics").await?);
    let body = Event::cluster("c1", 1).to_bytes()?;
    let event = client.post(&events).header("content-type", "application/cloudevents+json").body(body);
    let sending = tokio::spawn(event.send());
    // Now connections of every kind are open: the event's, one to each API, and the broker's.
    gate.reached().await;
    let scrape = client.get(format!("{metrics}/metrics")).send().await?.bytes().await?;
    ensure!(!scrape.is_empty(), "nothing to scrape");

    let port = |url: &str| url.rsplit(':').next().and_then(|port| port.trim_matches('/').parse::<u16>().ok());
    let ends = [
        ("events", port(&events)),
        ("metrics", port(&metrics)),
        ("the API", port(&world.api.url())),
        ("the API server", port(world.kubernetes.url())),
        ("the broker", Some(line.address().port())),
    ];
    await_condition("a connection of every sort", PATIENCE, async || {
        let open = connections(adapter.id()?)?;
        for (name, port) in ends {
            let port = port.with_context(|| format!("no port of {name}"))?;
            let mut these = open.iter().filter(|open| open.local.port() == port || open.peer.port() == port).peekable();
            ensure!(these.peek().is_some(), "no connection of {name} among {open:?}");
        }
        Ok(())
    })
    .await?;
    let open = connections(adapter.id()?)?;
    let delayed: Vec<_> = open.iter().filter(|connection| !connection.nodelay).collect();
    assert!(delayed.is_empty(), "{delayed:?} of {ends:?}");
    gate.release();
    assert_eq!(sending.await??.status(), 204);
    Ok(())
}
