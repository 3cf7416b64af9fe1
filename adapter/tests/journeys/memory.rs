//! The adapter's memory after reconnections and large messages.

use anyhow::{Result, ensure};
use lapin::BasicProperties;
use lifecycle_e2e::cgroup::MemoryLimit;
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

use crate::task::{SETTINGS, task};
use crate::world::World;

/// The size of a message in bytes: far above the limit of an event, which is checked after the message was
/// received.
const LARGE: usize = 5_000_000;
const ROUNDS: usize = 5;
/// The tolerance: one more large message may be in memory at the time of measurement.
const FLAT_KIB: u64 = 5 * 1024;

/// Without this setting, glibc keeps 4 MiB of freed memory for each thread that held a large buffer, in most
/// rounds.
#[tokio::test(flavor = "multi_thread")]
async fn documented_allocator_setting_keeps_memory_flat() -> Result<()> {
    let world = World::new().await?;
    let line = world.stack.broker.proxy().await?;
    let through = world.stack.broker.through(&line)?;
    let mut setup = world.adapter_at(&through, &world.topic, task(SETTINGS))?;
    setup.environment.insert("MALLOC_MMAP_THRESHOLD_".to_owned(), "262144".to_owned());
    let adapter = setup.start().await?;
    world.reconcile("c1", 1).await?;
    let large = vec![b'x'; LARGE];
    let mut resident = Vec::new();
    for round in 1..=ROUNDS {
        line.cut();
        for _ in 0..4 {
            world.topic.publish_raw(&large, BasicProperties::default()).await?;
        }
        adapter.await_metric("hyperfleet_adapter_events_invalid_total", &[], (4 * round) as f64).await?;
        world.reconcile_again("c1").await?;
        resident.push(adapter.resident_memory()?);
    }
    let (first, last) = (resident[0], resident[ROUNDS - 1]);
    assert!(last <= first + FLAT_KIB, "KiB after each round: {resident:?}");
    Ok(())
}

/// The limit that docs/operations.md states, in bytes.
const LIMIT: u64 = 128 * 1024 * 1024;
/// The messages of each kind: more than the broker delivers at once.
const FLOOD: usize = 60;
/// The API resources with large answers: one for each parallel pass.
const LARGE_ANSWERS: usize = 16;

/// A list of numbers with about this many bytes, which takes the most memory for its size.
fn numbers(bytes: usize) -> Value {
    vec![1; bytes / 2].into()
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_large_events_and_answers_fits_the_documented_limit() -> Result<()> {
    let world = World::new().await?;
    let Some(limit) = MemoryLimit::new(LIMIT)? else {
        eprintln!("skipped: only root makes cgroups");
        return Ok(());
    };
    let kinds: [(&str, Value); 3] =
        [("text", "x".repeat(9_800_000).into()), ("numbers", numbers(9_800_000)), ("half", numbers(130_000))];
    let mut ids = Vec::new();
    for (number, (kind, member)) in (0..LARGE_ANSWERS).flat_map(|number| kinds.iter().map(move |kind| (number, kind))) {
        let id = format!("{kind}-{number}");
        let answer = json!({ "id": id, "kind": "Cluster", "name": "n", "generation": 1, "member": member });
        let path = format!("/clusters/{id}");
        let matching = When::method("GET").and(move |request| request.path.ends_with(&path));
        let headers = vec![("content-type", "application/json".to_owned())];
        world.api.inject(matching, Fault::Answer { status: 200, headers, body: answer.to_string() });
        ids.push(id);
    }
    for id in &ids {
        world.api.put_cluster(id, 1).await?;
        world.topic.publish(&Event::cluster(id, 1)).await?;
    }
    for number in 0..FLOOD {
        let id = format!("c{number}");
        world.api.put_cluster(&id, 1).await?;
        // Too many bytes, too many values, and an event of almost the largest size, which is handled.
        world.topic.publish(&Event::cluster(&id, 1).with("list", numbers(1_000_000))).await?;
        world.topic.publish(&Event::cluster(&id, 1).with("list", numbers(250_000))).await?;
        world.topic.publish(&Event::cluster(&id, 1).with("text", "x".repeat(250_000).into())).await?;
    }

    // A template that reads the answer makes another copy of it.
    let settings = SETTINGS.replace("{app: journey}", r#"{app: "{{ .cluster.name }}", event: "{{ .event.kind }}"}"#);
    let mut setup = world.adapter(task(&settings))?.with("log.level", "info");
    setup.environment.insert("MALLOC_MMAP_THRESHOLD_".to_owned(), "262144".to_owned());
    let adapter = setup.spawn_as(|command| limit.around(&command))?;
    adapter.await_readiness(200).await?;
    await_condition("all messages to be settled", 3 * PATIENCE, async || {
        ensure!(limit.kills()? == 0, "the kernel killed the adapter");
        let invalid = adapter.metric("hyperfleet_adapter_events_invalid_total", &[]).await?;
        let processed = adapter.metric("hyperfleet_adapter_events_processed_total", &[]).await?;
        let wanted = (2 * FLOOD, FLOOD + ids.len());
        ensure!((invalid as usize, processed as usize) == wanted, "{invalid} and {processed} of {wanted:?}");
        Ok(())
    })
    .await?;
    eprintln!("{} KiB resident at most", adapter.peak_memory()?);
    for number in 0..FLOOD {
        assert_eq!(world.report(&format!("c{number}"), 1).await?.status("Available"), "True");
    }
    for id in &ids {
        let wanted = if id.starts_with("numbers") { "False" } else { "True" };
        // A pass may end at its deadline while others keep large answers; then the next event goes on.
        let report = world.report(id, 1).await?;
        let report = if report.status("Available") == wanted { report } else { world.reconcile_again(id).await? };
        assert_eq!(report.status("Available"), wanted, "{id}: {report:?}");
    }
    for refusal in ["exceeds the limit of 262144 bytes", "exceeds the limit of 2000;"] {
        let entry = adapter.await_log(refusal, |entry| entry["reason"].to_string().contains(refusal)).await?;
        assert_eq!(entry["message"], "event refused, not to be tried again");
    }
    Ok(())
}
