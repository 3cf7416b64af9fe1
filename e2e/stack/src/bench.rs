//! Measures a fleet: each part's share from POST to Reconciled, and what an event costs afterwards.
//!
//! In: the number of clusters. Out: tables on the terminal, and what a larger fleet needs. Fails: if the system does not
//! start, a part is started again meanwhile, or no cluster becomes Reconciled for a while.
//!
//! The tasks keep config maps only: with Jobs and namespaces, Kubernetes' controllers would be measured, and the fake kubelet.

mod extrapolation;
mod fleet;
mod processes;
mod report;
mod sample;

use std::time::Duration;

use anyhow::{Result, ensure};
use lifecycle_e2e::await_condition;
use lifecycle_e2e::rabbitmq::Topic;
use lifecycle_e2e::sentinel::Event;
use tokio::time::{interval, sleep};

use crate::args::Bench;
use crate::layout::{self, Design};
use crate::place::Place;
use crate::swap::Swap;
use crate::system::{System, with_system};
use crate::terminal::{bad, say, step};
use fleet::Fleet;
use sample::{Counts, Sample, Span};

/// How long adapters may take for the events that are left when the last cluster is Reconciled.
const REST: Duration = Duration::from_secs(120);

/// What was measured.
struct Measured {
    clusters: f64,
    adapters: f64,
    /// The system without clusters.
    empty: Span,
    /// From the first POST until the last cluster is Reconciled.
    rise: Span,
    /// Of each cluster from its creation until it is Reconciled, in order.
    latencies: Vec<Duration>,
    /// The reconciled fleet without events.
    idle: Span,
    /// The reconciled fleet with one event for each cluster.
    steady: Span,
}

/// Starts a system, measures a fleet in it, and stops it.
pub(crate) async fn bench(place: &Place, options: &Bench) -> Result<()> {
    if cfg!(debug_assertions) {
        say(&bad("This is a debug build, which is many times slower: use `cargo run --release --bin stack -- bench`."));
    }
    let cadence = options.cadence.cadence();
    let swap = Swap::default();
    let design = Design { cadence, tasks: &layout::FLEET, has_remote: false, has_node: false, is_watched: false, swap };
    with_system(place, &design, async |system: &System| {
        let measured = measure(system, options).await?;
        report::tell(&measured);
        Ok(())
    })
    .await
}

async fn measure(system: &System, options: &Bench) -> Result<Measured> {
    let steady = Duration::from_secs(options.steady);
    step(&format!("The system without clusters for {} s", options.steady));
    let empty_begin = Sample::take(system).await?;
    sleep(steady).await;

    step(&format!("{} clusters from POST to Reconciled", options.clusters));
    let fleet = Fleet::new(system, options.clusters);
    let begin = Sample::take(system).await?;
    let ids = fleet.create_and_watch().await?;
    let reconciled = Sample::take(system).await?;
    let latencies = fleet.latencies().await?;
    quiet(system, 0.0).await?;

    step(&format!("The reconciled fleet for {} s without events but those that are due", options.steady));
    let idle_begin = Sample::take(system).await?;
    sleep(steady).await;
    let idle_end = Sample::take(system).await?;

    step(&format!("The reconciled fleet with one event for each cluster in {} s", options.steady));
    let topic = Topic::declare(&system.broker, system.topic.clone()).await?;
    let steady_begin = Sample::take(system).await?;
    let mut ticks = interval(steady / options.clusters);
    for id in &ids {
        ticks.tick().await;
        topic.publish(&Event::cluster(id, 1)).await?;
    }
    quiet(system, f64::from(options.clusters)).await?;
    let steady_end = Sample::take(system).await?;
    Ok(Measured {
        clusters: f64::from(options.clusters),
        adapters: adapters(),
        empty: empty_begin.until(&begin),
        rise: begin.until(&reconciled),
        latencies,
        idle: idle_begin.until(&idle_end),
        steady: steady_begin.until(&steady_end),
    })
}

/// Waits until the adapters have handled every event of the Sentinel and these others.
async fn quiet(system: &System, others: f64) -> Result<()> {
    await_condition("the adapters to handle all events", REST, async || {
        let counts = Counts::of_parts(system).await?;
        let (due, done) = ((counts.events + others) * adapters(), counts.passes + counts.coalesced);
        ensure!(done >= due, "{done} of {due} are done");
        Ok(())
    })
    .await
}

fn adapters() -> f64 {
    f64::from(u32::try_from(layout::FLEET.len()).unwrap_or(u32::MAX))
}
