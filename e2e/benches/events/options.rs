//! The command line options of the benchmark.

use std::path::PathBuf;

use anyhow::Context as _;

/// Measures the cost of an event for the adapter, with real servers.
#[derive(Debug, clap::Parser)]
pub(crate) struct Options {
    /// Number of resources; each phase sends one event about each. Memory is measured half-way through the
    /// first phase and after the second.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(100..))]
    events: u32,
    /// Number of further events before the last measurement of memory.
    #[arg(long, default_value_t = 6000)]
    soak: u32,
    /// The task that the adapter runs.
    #[arg(long, value_enum, default_value_t = Shape::Captures)]
    pub(crate) shape: Shape,
    /// Number of concurrent passes.
    #[arg(long, default_value_t = 10)]
    pub(crate) parallelism: u16,
    /// The log level with which the measured adapter runs.
    #[arg(long, default_value = "info")]
    pub(crate) log_level: String,
    /// Measure this binary instead of one that the benchmark builds.
    #[arg(long)]
    pub(crate) binary: Option<PathBuf>,
    /// Another adapter, measured in turn with the first one: an earlier build, or the Go adapter.
    #[arg(long, value_name = "PATH")]
    pub(crate) beside: Option<PathBuf>,
    /// Where `--beside` listens. The Go adapter listens at 8080 and 9090, and nowhere else; a program of this workspace
    /// obeys `HYPERFLEET_HEALTH_LISTEN` and `HYPERFLEET_METRICS_LISTEN`.
    #[arg(long, value_name = "HEALTH,METRICS", value_parser = ports, requires = "beside")]
    pub(crate) beside_ports: Option<(u16, u16)>,
    /// How often each adapter is measured; the table shows the median and the extremes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) runs: u8,
    /// Cargo passes this flag to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// The number of resources, which is the number of events per phase.
    pub(crate) fn events(&self) -> usize {
        self.events as usize
    }

    /// The number of events after both phases.
    pub(crate) fn soak(&self) -> usize {
        self.soak as usize
    }
}

/// The shape of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shape {
    /// An API call in a precondition, with three captures; the ConfigMap is discovered by name.
    Captures,
    /// An API call in a param, and five params in CEL; the ConfigMap is discovered by label.
    Expressions,
    /// As captures, with the ConfigMap inside of a ManifestWork that goes to a stand-in of Maestro.
    Remote,
}

fn ports(text: &str) -> anyhow::Result<(u16, u16)> {
    let (health, metrics) = text.split_once(',').context("expected two ports, such as 8080,9090")?;
    Ok((health.trim().parse()?, metrics.trim().parse()?))
}
