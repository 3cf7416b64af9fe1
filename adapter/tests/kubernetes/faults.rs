//! Faults of the network and of the API server.

use std::time::Duration;

use anyhow::{Result, ensure};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::{PATIENCE, unique};
use lifecycle_kube::Settings;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::write::PropagationPolicy::Background;
use lifecycle_objects::write::{Command, Executed, WriteErrorKind};
use lifecycle_transport::Transport;
use lifecycle_transport::executor::execute;
use serde_json::json;
use tokio::time::Instant;

use crate::world::{World, refusal, target, transport};

#[tokio::test]
async fn lost_write_is_sent_once_and_the_next_finds_its_result() -> Result<()> {
    let world = World::new().await?;
    for (fault, exists) in [(Fault::ResetBefore, false), (Fault::ResetAfter, true)] {
        let proxy = world.control_plane.proxy().await?;
        let transport = transport(&proxy.access()?.kubeconfig, Settings::default()).await?;
        let name = unique("lost");
        // This read leaves an idle connection, which the write then reuses.
        transport.find(&world.named(&name)).await?;
        proxy.inject(When::method("POST").first(1), fault.clone());

        let create = || Command::Create { destination: Destination::ThisCluster, desired: world.map(&name, json!({})) };
        let executed = execute(&transport, create(), Instant::now() + PATIENCE).await;
        let Executed::Failed(error) = executed else { anyhow::bail!("{fault:?}: {executed:?}") };
        assert_eq!(error.kind, WriteErrorKind::Unreachable, "{fault:?}: {error}");
        assert_eq!(proxy.count(&When::method("POST")), 1, "{fault:?}");

        let next = execute(&transport, create(), Instant::now() + PATIENCE).await;
        ensure!(matches!(&next, Executed::NameTaken(Some(_))) == exists, "{fault:?}: {next:?}");
        ensure!(matches!(&next, Executed::Created(_)) != exists, "{fault:?}: {next:?}");
    }
    Ok(())
}

#[tokio::test]
async fn refusals_of_a_busy_server_are_not_retried() -> Result<()> {
    let world = World::new().await?;
    let live = world.create(&world.map("busy", json!({}))).await?;
    let cases = [
        (Fault::TooManyRequests { retry_after: 1 }, WriteErrorKind::TooManyRequests, 429),
        (Fault::Status(409), WriteErrorKind::Conflict, 409),
        (Fault::Status(500), WriteErrorKind::Unavailable, 500),
        (Fault::Status(503), WriteErrorKind::Unavailable, 503),
        (Fault::Status(504), WriteErrorKind::Unavailable, 504),
    ];
    for (fault, kind, status) in cases {
        let proxy = world.control_plane.proxy().await?;
        let transport = transport(&proxy.access()?.kubeconfig, Settings::default()).await?;
        proxy.inject(When::method("DELETE"), fault.clone());
        let refused = transport.delete(&target(&live), Background).await;
        assert_eq!(refusal(refused)?, (kind, Some(status)), "{fault:?}");
        assert_eq!(proxy.count(&When::method("DELETE")), 1, "{fault:?}");
    }
    Ok(())
}

#[tokio::test]
async fn deadline_ends_an_unanswered_call() -> Result<()> {
    let world = World::new().await?;
    let proxy = world.control_plane.proxy().await?;
    let transport = transport(&proxy.access()?.kubeconfig, Settings::default()).await?;
    transport.find(&world.named("any")).await?;
    proxy.inject(When::method("POST"), Fault::Silence);
    let command = Command::Create { destination: Destination::ThisCluster, desired: world.map("silent", json!({})) };
    let executed = execute(&transport, command, Instant::now() + Duration::from_millis(200)).await;
    let Executed::Failed(error) = executed else { anyhow::bail!("{executed:?}") };
    assert_eq!(error.kind, WriteErrorKind::DeadlineExceeded);
    Ok(())
}
