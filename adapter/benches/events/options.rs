//! What is measured.

/// Measures what an event costs the adapter, against real servers.
#[derive(Debug, clap::Parser)]
pub(crate) struct Options {
    /// How many resources; each phase sends one event for each. Memory is looked at half-way through the first phase
    /// and after the second.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(100..))]
    events: u32,
    /// How many more events are sent before memory is looked at again.
    #[arg(long, default_value_t = 6000)]
    soak: u32,
    /// The task.
    #[arg(long, value_enum, default_value_t = Shape::Captures)]
    pub(crate) shape: Shape,
    /// Passes at once; the Go adapter was measured with 10.
    #[arg(long, default_value_t = 10)]
    pub(crate) parallelism: u16,
    /// The adapter's log level.
    #[arg(long, default_value = "info")]
    pub(crate) log_level: String,
    /// Another binary than the one just built.
    #[arg(long)]
    pub(crate) binary: Option<std::path::PathBuf>,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// How many resources there are.
    pub(crate) fn events(&self) -> usize {
        self.events as usize
    }

    /// How many events come after both phases.
    pub(crate) fn soak(&self) -> usize {
        self.soak as usize
    }
}

/// The task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shape {
    /// A precondition's call with three captures; the ConfigMap is found by name.
    Captures,
    /// A param's call and five params in CEL; the ConfigMap is found by a label.
    Expressions,
}
