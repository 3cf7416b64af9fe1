//! Measures the cost of an event for the adapter, from outside of its process and with real servers.
//!
//! Run it with `cargo bench --bench events [-- --help]`. RabbitMQ, the control plane
//! and a minimal fake API run on the same machine; the adapter is the release binary. CPU time and memory
//! come from the kernel, and the numbers of calls from the adapter's metrics. The report is a table of medians and
//! extremes of several runs, with the target. `--beside` measures another adapter in turn with the first one, on the
//! same servers: only figures of one run are compared.
//! The README beside this file explains the figures.
//!
//! The benchmark fails if a pass failed or calls are missing; it never fails because of slowness.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Parser as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lifecycle_e2e::Stack;
use lifecycle_e2e::rabbitmq::Topic;
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::usage::{Usage, busy};
use tokio::time::{Instant, sleep, timeout};

mod adapter;
mod fake_api;
mod options;
mod report;
mod task;

use adapter::{Adapter, Calls, Deployment, Program};
use fake_api::FakeApi;
use local_maestro::LocalMaestro;
use options::{Options, Shape};
use report::{Column, Idle, Measured, Memory, Phase};

const SUBSCRIPTION: &str = "bench";
/// How many events are published concurrently.
const PUBLISHING: usize = 64;
/// How long a phase may make no progress before the benchmark fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time for the adapter's work after its last report: an acknowledgement and a log line.
const SETTLE: Duration = Duration::from_millis(300);
/// How long the CPU use of the idle adapter is measured.
const IDLE: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let stack = Stack::join().await?;
    let mut columns: Vec<Column> =
        Program::of(&options)?.into_iter().map(|program| Column { program, runs: Vec::new() }).collect();
    for _ in 0..options.runs {
        for Column { program, runs } in &mut columns {
            runs.push(measure(program, &stack, &options).await?);
        }
        // In the next round the other program goes first, so that neither always meets the fuller servers.
        columns.reverse();
    }
    columns.sort_by_key(|column| column.program.name);
    report::print(&options, &columns);
    Ok(())
}

/// Measures a program once, with a namespace, a topic and an API of its own.
async fn measure(program: &Program, stack: &Stack, options: &Options) -> anyhow::Result<Measured> {
    let namespace = stack.control_plane.namespace().await?;
    let topic = stack.broker.topic().await?;
    topic.subscribe(SUBSCRIPTION).await?;
    let api = FakeApi::start().await?;
    let maestro = match options.shape {
        Shape::Captures | Shape::Expressions => None,
        Shape::Remote => {
            let consumers = vec!["bench".to_owned()];
            Some(LocalMaestro::start(local_maestro::Options { consumers, ..Default::default() }).await?)
        }
    };
    let deployment = Deployment {
        broker_url: stack.broker.url(),
        topic: topic.name(),
        subscription: SUBSCRIPTION,
        api_url: api.url(),
        kubeconfig: stack.control_plane.kubeconfig_path(),
        namespace: namespace.name(),
        maestro: maestro.as_ref(),
        options,
    };
    let adapter = Adapter::start(program, &deployment).await?;
    let bench = Bench { adapter, api, topic, options };
    bench.run().await.with_context(|| format!("{}'s last words:\n{}", program.name, bench.adapter.tail()))
}

struct Bench<'a> {
    adapter: Adapter,
    api: FakeApi,
    topic: Topic,
    options: &'a Options,
}

impl Bench<'_> {
    async fn run(&self) -> anyhow::Result<Measured> {
        let (events, soak) = (self.options.events(), self.options.soak());
        let idle = self.idle().await?.resident;
        let (create, early) = tokio::try_join!(self.phase(events), self.resident_after(events / 2))?;
        let steady = self.phase(events).await?;
        let mut loaded = vec![early, self.resident_after(2 * events).await?];
        if soak > 0 {
            self.phase(soak).await?;
            loaded.push(self.resident_after(2 * events + soak).await?);
        }
        let at_rest = self.idle().await?;
        ensure!(self.api.not_true() == 0, "{} reports were not all True", self.api.not_true());
        self.adapter.check(2 * events + soak).await?;
        Ok(Measured { create, steady, memory: Memory { idle, loaded }, idle_cpu: at_rest.cpu })
    }

    /// Waits until this number of events is reported in all, and returns the resident memory at that moment.
    async fn resident_after(&self, events: usize) -> anyhow::Result<(usize, u64)> {
        self.api.await_reports(events as u64, PATIENCE).await?;
        Ok((events, self.adapter.usage()?.resident))
    }

    /// Publishes this number of events, about the same resources in each phase, and waits for their reports.
    async fn phase(&self, events: usize) -> anyhow::Result<Phase> {
        let (calls, usage, busy_before) = self.snapshot().await?;
        let (reads, reports) = (self.api.reads(), self.api.reports());
        let start = Instant::now();
        let published = self.publish(events);
        let reported = self.api.await_reports(reports + events as u64, PATIENCE);
        let took = tokio::try_join!(published, async { reported.await.map(|()| start.elapsed()) })?.1;
        sleep(SETTLE).await;
        // Read the CPU time before the metrics: the adapter's answer to that request is not part of an event.
        let (usage_after, busy_after) = (self.adapter.usage()?, busy()?);
        let calls = self.adapter.calls().await? - calls;
        let cpu = usage_after.cpu - usage.cpu;
        Ok(Phase {
            events,
            took,
            cpu,
            share_of_busy: cpu.as_secs_f64() / (busy_after - busy_before).as_secs_f64(),
            calls,
            p99: p99(self.api.take_passes()),
            api_calls: self.api.reads() - reads + self.api.reports() - reports,
        })
    }

    async fn snapshot(&self) -> anyhow::Result<(Calls, Usage, Duration)> {
        let calls = self.adapter.calls().await?;
        Ok((calls, self.adapter.usage()?, busy()?))
    }

    async fn publish(&self, events: usize) -> anyhow::Result<()> {
        stream::iter(0..events)
            .map(|number| {
                let event = Event::cluster(&task::resource_id(number % self.options.events()), 1);
                async move { self.topic.publish(&event).await }
            })
            .buffered(PUBLISHING)
            .try_collect()
            .await
    }

    async fn idle(&self) -> anyhow::Result<Idle> {
        sleep(SETTLE).await;
        let before = self.adapter.usage()?;
        sleep(IDLE).await;
        let after = self.adapter.usage()?;
        Ok(Idle { resident: after.resident, cpu: (after.cpu - before.cpu).as_secs_f64() / IDLE.as_secs_f64() })
    }
}

/// The 99th percentile of the durations of passes.
fn p99(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took.get(took.len() * 99 / 100).copied().unwrap_or_default()
}

/// Waits for a future, at most for [`PATIENCE`].
async fn within_patience<T>(what: &str, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let ended = timeout(PATIENCE, work).await;
    ensure!(ended.is_ok(), "gave up waiting for {what}");
    ended?
}
