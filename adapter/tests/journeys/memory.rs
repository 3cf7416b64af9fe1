//! The adapter's memory after reconnections and large messages.

use anyhow::Result;
use lapin::BasicProperties;

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
