//! What the test switches on, as a client sees it.

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::{PATIENCE, await_condition};
use lifecycle_proto::CloudEvent;
use serde_json::Value;
use tonic::{Code, Streaming};

use crate::world::{SOURCE, World, create, delete, next, only_heartbeats, text, update};

/// Reads a stream until it fails.
async fn failure(stream: &mut Streaming<CloudEvent>) -> Result<tonic::Status> {
    let fails = async {
        loop {
            match stream.message().await {
                Ok(Some(_)) => {}
                Ok(None) => anyhow::bail!("the stream ended without a failure"),
                Err(status) => return Ok(status),
            }
        }
    };
    tokio::time::timeout(PATIENCE, fails).await.context("the stream goes on")?
}

#[tokio::test]
async fn refused_publishes_have_no_effect() -> Result<()> {
    let world = World::new().await?;
    world.maestro.faults().refuse_publish(2);
    for _ in 0..2 {
        let code = world.publish(create("b")).await.err().map(|status| status.code());
        assert_eq!((code, world.maestro.bundle("b")), (Some(Code::Unavailable), None));
    }
    world.publish(create("b")).await?;
    assert_eq!(world.maestro.published().len(), 3);
    Ok(())
}

#[tokio::test]
async fn hanging_publish_is_never_answered_and_has_no_effect() -> Result<()> {
    let world = World::new().await?;
    world.maestro.faults().hang_publish(1);
    let mut request = tonic::Request::new(lifecycle_proto::PublishRequest { event: Some(create("b")) });
    request.set_timeout(std::time::Duration::from_millis(200));
    let code = world.grpc.clone().publish(request).await.err().map(|status| status.code());
    ensure!(matches!(code, Some(Code::Cancelled | Code::DeadlineExceeded)), "{code:?}");
    assert_eq!(world.maestro.bundle("b"), None);
    Ok(())
}

#[tokio::test]
async fn locked_update_is_refused_and_succeeds_later() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.faults().lock_updates(1);
    let text = world.refused(update(&id, 1)).await?;
    ensure!(text.starts_with("failed to update resource: maestro-26: "), "{text}");
    world.publish(update(&id, 1)).await?;
    Ok(())
}

#[tokio::test]
async fn lost_answer_leaves_its_effect() -> Result<()> {
    let world = World::new().await?;
    world.maestro.faults().lose_answers(1);
    ensure!(world.publish(create("b")).await.is_err());
    ensure!(world.maestro.bundle("b").is_some());
    // The retry finds out what became of the first attempt.
    let text = world.refused(create("b")).await?;
    assert_eq!(text, "failed to create resource: maestro-6: This Resource already exists");
    Ok(())
}

#[tokio::test]
async fn failing_requests_over_rest_have_no_effect() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    let path = format!("resource-bundles/{id}");
    world.maestro.faults().fail_rest(2);
    world.get(&path).await?.error(500, 9)?;
    world.send("DELETE", &path, &Value::Null).await?.error(500, 9)?;
    assert_eq!(world.bundle(&id).await?.get("deleted_at"), None);
    let requests = world.maestro.rest_requests();
    let expected = ["GET", "DELETE", "GET"].map(|method| format!("{method} /api/maestro/v1/{path}"));
    assert_eq!(requests, expected);
    Ok(())
}

#[tokio::test]
async fn frozen_reads_lag_behind_until_they_thaw() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.freeze_reads();
    world.publish(update(&id, 1)).await?;
    world.publish(create("new")).await?;
    assert_eq!(world.bundle(&id).await?["version"], 1);
    world.get("resource-bundles/new").await?.error(404, 7)?;
    world.maestro.thaw_reads();
    assert_eq!(world.bundle(&id).await?["version"], 2);
    Ok(())
}

#[tokio::test]
async fn version_moves_behind_the_clients_back() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    assert_eq!(world.maestro.bump_version(&id), Some(2));
    let text = world.refused(update(&id, 1)).await?;
    ensure!(text.ends_with("the resource version is not the latest, the latest version: 2"), "{text}");
    assert_eq!(world.maestro.bump_version("missing"), None);
    Ok(())
}

#[tokio::test]
async fn dropped_stream_breaks_and_what_happens_meanwhile_is_only_in_rest() -> Result<()> {
    let world = World::new().await?;
    let (gone, kept) = (world.create().await?, world.create().await?);
    let mut stream = world.subscribe(SOURCE).await?;
    world.maestro.drop_streams();
    failure(&mut stream).await?;
    world.publish(delete(&gone)).await?;
    world.maestro.finish_delete(&gone)?;
    let mut stream = world.subscribe(SOURCE).await?;
    only_heartbeats(&mut stream, 3).await?;
    let list = world.get("resource-bundles").await?.expect(200)?;
    assert_eq!((&list["total"], &list["items"][0]["id"]), (&1.into(), &kept.into()));
    Ok(())
}

#[tokio::test]
async fn ended_stream_says_unavailable() -> Result<()> {
    let world = World::new().await?;
    let mut stream = world.subscribe(SOURCE).await?;
    world.maestro.faults().hold_streams(true);
    world.maestro.end_streams();
    assert_eq!(failure(&mut stream).await?.code(), Code::Unavailable);
    Ok(())
}

#[tokio::test]
async fn events_come_twice_and_in_reverse() -> Result<()> {
    let world = World::new().await?;
    let mut stream = world.subscribe(SOURCE).await?;
    for id in ["a", "b", "c"] {
        world.publish(create(id)).await?;
    }
    world.maestro.faults().duplicate_events(1);
    world.maestro.apply("a")?;
    let twice = [next(&mut stream).await?, next(&mut stream).await?];
    assert_eq!(twice[0], twice[1]);
    world.maestro.faults().reverse_events(3);
    let mut ids = Vec::new();
    for id in ["a", "b", "c"] {
        world.maestro.apply(id)?;
    }
    for _ in 0..3 {
        ids.push(text(&next(&mut stream).await?, "ce-resourceid").unwrap_or_default());
    }
    assert_eq!(ids, ["c", "b", "a"]);
    Ok(())
}

#[tokio::test]
async fn restart_with_older_tables_forgets_what_came_later() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.apply(&id)?;
    let snapshot = world.maestro.snapshot();
    world.publish(update(&id, 1)).await?;
    world.publish(create("later")).await?;
    world.maestro.apply("later")?;
    let mut stream = world.subscribe(SOURCE).await?;
    world.maestro.restart(Some(snapshot));
    failure(&mut stream).await?;
    assert_eq!((world.bundle(&id).await?["version"].clone(), world.maestro.bundle("later")), (1.into(), None));
    let text = world.refused(update(&id, 2)).await?;
    ensure!(text.ends_with("the latest version: 1"), "{text}");
    // The same id is free again.
    world.publish(create("later")).await?;
    Ok(())
}

#[tokio::test]
async fn paused_server_takes_no_connections() -> Result<()> {
    let world = World::new().await?;
    let id = world.create().await?;
    world.maestro.pause();
    let code = world.publish(update(&id, 1)).await.err().map(|status| status.code());
    ensure!(matches!(code, Some(Code::Unavailable | Code::Unknown)), "{code:?}");
    ensure!(world.get("consumers").await.is_err());
    world.maestro.resume();
    await_condition("the server to answer", PATIENCE, async || Ok(world.publish(update(&id, 0)).await?)).await?;
    world.get("consumers").await?.expect(200)?;
    Ok(())
}
