//! The command line options of the benchmark.

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
    /// Number of concurrent passes; the Go adapter was measured with 10.
    #[arg(long, default_value_t = 10)]
    pub(crate) parallelism: u16,
    /// The log level with which the measured adapter runs.
    #[arg(long, default_value = "info")]
    pub(crate) log_level: String,
    /// Measure this binary instead of the one just built.
    #[arg(long)]
    pub(crate) binary: Option<std::path::PathBuf>,
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
}
