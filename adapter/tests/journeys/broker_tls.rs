//! The broker listens for TLS, and the adapter verifies its certificate.

use std::path::Path;

use anyhow::Result;
use lifecycle_e2e::rabbitmq::{Broker, PrivateBroker, Tls, Topic};
use lifecycle_e2e::sentinel::Event;

use crate::adapter::Setup;
use crate::task::{SETTINGS, task};
use crate::world::{SUBSCRIPTION, World};

/// The only name in the broker's certificate.
const NAME: &str = "localhost";

/// An adapter that trusts only the certificate authorities in one file.
fn setup_with_authorities(world: &World, authorities: &Path, broker: &Broker, topic: &Topic) -> Result<Setup> {
    let mut setup = world.adapter_at(broker, topic, task(SETTINGS))?;
    setup.environment.insert("SSL_CERT_FILE".to_owned(), authorities.display().to_string());
    Ok(setup)
}

async fn start() -> Result<(World, PrivateBroker, Tls, Topic)> {
    let world = World::new().await?;
    let (private, tls) = PrivateBroker::start_with_tls(&[NAME]).await?;
    let topic = private.broker().topic().await?;
    topic.subscribe(SUBSCRIPTION).await?;
    Ok((world, private, tls, topic))
}

#[tokio::test(flavor = "multi_thread")]
async fn event_arrives_over_tls_from_a_trusted_broker() -> Result<()> {
    let (world, mut private, tls, topic) = start().await?;
    let adapter =
        setup_with_authorities(&world, tls.certificate_authority(), &tls.broker(NAME), &topic)?.start().await?;
    world.api.put_cluster("c1", 1).await?;
    topic.publish(&Event::cluster("c1", 1)).await?;
    assert_eq!(world.report("c1", 1).await?.statuses(), ["True", "True", "True", "False"]);
    assert_eq!(world.object("ConfigMap", "c1").await?["data"]["generation"], "1");

    private.restart().await?;
    adapter.await_message("consuming again").await?;
    adapter.await_readiness(200).await
}

#[tokio::test(flavor = "multi_thread")]
async fn adapter_refuses_a_broker_with_an_invalid_certificate() -> Result<()> {
    let (world, private, tls, topic) = start().await?;
    topic.publish(&Event::cluster("c1", 1)).await?;
    let other_authority = &world.kubernetes.access()?.certificate_authority;
    let cases = [
        ("signed by an authority that is not trusted", other_authority.as_path(), NAME, "UnknownIssuer"),
        ("certified for another name", tls.certificate_authority(), "127.0.0.1", "not valid for name"),
    ];
    for (name, authorities, host, reason) in cases {
        let broker = tls.broker(host);
        let mut adapter = setup_with_authorities(&world, authorities, &broker, &topic)?.spawn()?;
        assert_eq!(adapter.exit().await?.code(), Some(1), "{name}");
        let lines = adapter.lines();
        let error = lines.iter().find(|line| line.contains("failed to subscribe at RabbitMQ")).cloned();
        let error = error.unwrap_or_else(|| format!("none in {lines:?}"));
        let connecting = format!("failed to connect to the broker at amqps://{host}:");
        assert!(error.contains(&connecting) && error.contains(reason), "{name}: {error}");
        assert!(!lines.iter().any(|line| line.contains("ready to process events")), "{name}: {lines:?}");
        assert!(!lines.iter().any(|line| line.contains("guest")), "{name}: {lines:?}");
    }
    assert_eq!(private.broker().depth(&topic.queue_name(SUBSCRIPTION)).await?.ready, 1, "no adapter took the event");
    assert!(world.object("ConfigMap", "c1").await?.is_null());
    Ok(())
}
