//! Measures what the page `/passes` costs an event: the time to record what gates read, and to keep the pass as text.
//!
//! Run by `cargo bench -p hyperfleet-adapter --bench passes`. The tasks are those of examples, whose last event changes nothing.
//! Store and API are in memory, so that a pass has no I/O. Other load on the machine can only make a run longer, so the shortest of
//! many batches counts. Never fails for slowness.
#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hyperfleet_adapter::config::{Environment, Flags, Loaded, Paths, load};
use hyperfleet_adapter::dispatch::Handler as _;
use hyperfleet_adapter::dry_run::canned_api::{CannedApi, Unmatched};
use hyperfleet_adapter::dry_run::input;
use hyperfleet_adapter::handler::PassHandler;
use hyperfleet_adapter::metrics::{MetricIdentity, Metrics};
use hyperfleet_adapter::passes::Passes;
use hyperfleet_adapter::pipeline::Pipeline;
use hyperfleet_adapter::serve::host;
use jiff::Timestamp;
use lifecycle_core::event::LifecycleEvent;
use lifecycle_transport::memory::MemoryTransport;

/// What a steady event about one object costs in all, in calls and messages too: the least of docs/performance.md.
const STEADY: Duration = Duration::from_micros(390);
/// The examples, and whether they have one object: an event about more of them costs more.
const EXAMPLES: [(&str, bool); 5] = [
    ("03-update-on-new-generation", true),
    ("36-node-pool", true),
    ("29-owner", false),
    ("01-create-cluster", false),
    ("39-operator-bundle", false),
];
/// The batches of each kind, in turn.
const ROUNDS: usize = 200;
/// The passes of a batch.
const BATCH: u32 = 20;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    println!("{:<28} {:>10} {:>10} {:>10} {:>8} {:>10}", "example", "not kept", "kept", "cost", "bytes", "of 390 µs");
    for (example, has_one) in EXAMPLES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(example);
        runtime.block_on(measure(example, &folder, has_one)).with_context(|| example.to_owned())?;
    }
    Ok(())
}

async fn measure(name: &str, folder: &Path, has_one: bool) -> anyhow::Result<()> {
    let event = input::read_event(&folder.join("event.json"))?;
    let passes = Arc::new(Passes::new(1000, 8 << 20));
    let plain = handler(folder)?;
    let keeping = handler(folder)?.keeping(Arc::clone(&passes));
    let (mut least, mut least_kept) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        least = least.min(batch(&plain, &event).await);
        least_kept = least_kept.min(batch(&keeping, &event).await);
    }
    let found = passes.find(None, 1);
    ensure!(found.totals.failed == 0, "{name}: a pass failed: {:?}", found.texts);
    let bytes = found.texts.first().context("nothing is kept")?.len();
    let cost = least_kept.saturating_sub(least);
    let micros = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
    let share = || format!("{:.1} %", cost.as_secs_f64() / STEADY.as_secs_f64() * 100.0);
    let share = if has_one { share() } else { "–".to_owned() };
    println!("{name:<28} {:>10} {:>10} {:>10} {bytes:>8} {share:>10}", micros(least), micros(least_kept), micros(cost));
    Ok(())
}

type Memory = PassHandler<MemoryTransport, CannedApi>;

/// The time of one pass, on average over a batch.
async fn batch(handler: &Memory, event: &LifecycleEvent) -> Duration {
    let begun = Instant::now();
    for _ in 0..BATCH {
        handler.handle(event.clone(), tokio::time::Instant::now() + Duration::from_secs(60)).await;
    }
    begun.elapsed() / BATCH
}

fn handler(folder: &Path) -> anyhow::Result<Memory> {
    let paths = Paths { adapter: folder.join("adapter-config.yaml"), task: folder.join("task-config.yaml") };
    let environment = Environment::default();
    let loaded: Loaded = load(&paths, &environment, &Flags::default(), "0.0.0")
        .map_err(|diagnostics| anyhow::anyhow!("{diagnostics}"))?;
    let pipeline = Pipeline {
        host: host(&loaded, &environment),
        resource_id: None,
        signer: None,
        task: Arc::new(loaded.task),
        transport: MemoryTransport::new(Timestamp::now()),
        api: CannedApi::new(None, input::read_answers(&folder.join("api-responses.json"))?, Unmatched::AsTheApi),
        keep_account: false,
        keep_readings: false,
    };
    let identity = MetricIdentity { adapter: "bench".to_owned(), version: String::new(), commit: String::new() };
    Ok(PassHandler::new(pipeline, Arc::new(Metrics::new(&identity)), "bench".to_owned(), Timestamp::now))
}
