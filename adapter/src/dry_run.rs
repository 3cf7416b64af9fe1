//! The command `dry-run`: the engine of `serve` over an object store in memory and an API with prepared answers.
//!
//! In: a scenario folder ([`scenario`]) or the Go adapter's dry-run flags ([`legacy`]). Out: the [`Trace`](trace::Trace) of the pass,
//! printed or compared with an expected one, and an [`Ending`] that says whether all went well. It fails with a
//! [`DryRunError`] if the inputs cannot be used; a pass that fails is an ending.
//!
//! It opens no connection, and writes no file but the expected traces that its user asks for. The store runs no
//! controllers: nothing gets a status, and no dependent goes with its owner.

pub mod canned_api;
pub mod diff;
pub mod expected;
pub mod input;
pub mod legacy;
pub mod scenario;
pub mod text;
pub mod trace;
pub mod world;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use jiff::Timestamp;
use lifecycle_config::diagnostics::Diagnostics;

use crate::args::{DryRunArgs, OutputFormat};
use input::InputError;
use text::Text;
use world::World;

/// Where a dry run prints.
#[derive(Debug)]
pub struct Streams<O, E> {
    /// Traces and differences.
    pub out: O,
    /// What is worth a warning, and what failed.
    pub err: E,
    /// Whether traces for people have colours.
    pub colour: bool,
}

/// How a dry run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The pass succeeded, or the trace is the expected one.
    Good,
    /// The pass failed.
    Failed,
    /// The trace is not the expected one.
    Unexpected,
}

impl Ending {
    /// The exit code of the process.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Failed | Self::Unexpected => 1,
        }
    }
}

/// A dry run that could not take place.
#[derive(Debug, thiserror::Error)]
pub enum DryRunError {
    /// A file of it cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The configuration is refused.
    #[error("the configuration is refused")]
    Configuration(#[source] Diagnostics),
    /// The folder holds no scenario.
    #[error("{} is no scenario: it has no {missing}; see examples/README.md for what a scenario holds", folder.display())]
    NoScenario {
        /// The folder.
        folder: PathBuf,
        /// The file that is missing.
        missing: &'static str,
    },
    /// Answers are given, but no event.
    #[error("--dry-run-event is required in dry-run mode; it names a file that holds one CloudEvent as JSON")]
    NoEvent,
    /// A trace could not be printed.
    #[error("failed to print the trace")]
    Print(#[source] io::Error),
    /// An expected trace could not be written.
    #[error("failed to write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Plays a scenario folder; `now` is the clock for an event that has no time.
///
/// # Errors
/// The scenario cannot be loaded, or a stream or file cannot be written.
pub async fn run_scenario<O: Write, E: Write>(
    arguments: &DryRunArgs,
    now: Timestamp,
    streams: &mut Streams<O, E>,
) -> Result<Ending, DryRunError> {
    let folder = &arguments.scenario;
    let world = scenario::load(folder, now)?;
    if arguments.update {
        expected::Traces::of(&world.play(false).await).write(folder)?;
        return Ok(Ending::Good);
    }
    if arguments.check {
        let difference = expected::Traces::of(&world.play(false).await).compare(folder)?;
        streams.out.write_all(streams.coloured(difference.clone()).as_bytes()).map_err(DryRunError::Print)?;
        return Ok(if difference.is_empty() { Ending::Good } else { Ending::Unexpected });
    }
    streams.show(&world, arguments.output, arguments.verbose).await
}

/// Plays what the Go adapter's dry-run flags describe.
///
/// # Errors
/// The inputs cannot be used, or a stream cannot be written.
pub async fn run_legacy<O: Write, E: Write>(
    request: &legacy::Request<'_>,
    streams: &mut Streams<O, E>,
) -> Result<Ending, DryRunError> {
    let world = legacy::load(request)?;
    streams.show(&world, request.flags.output, request.flags.verbose).await
}

impl<O: Write, E: Write> Streams<O, E> {
    async fn show(&mut self, world: &World, output: OutputFormat, verbose: bool) -> Result<Ending, DryRunError> {
        let trace = world.play(verbose).await;
        let text = match output {
            OutputFormat::Text => self.coloured(Text { trace: &trace, verbose }.to_string()),
            OutputFormat::Json => trace.to_json(),
        };
        self.print(world, &text, &trace.errors).map_err(DryRunError::Print)?;
        Ok(if trace.failed() { Ending::Failed } else { Ending::Good })
    }

    fn print(&mut self, world: &World, text: &str, errors: &BTreeMap<&str, String>) -> io::Result<()> {
        for warning in world.warnings().all() {
            writeln!(self.err, "{warning}")?;
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        errors.iter().try_for_each(|(phase, error)| writeln!(self.err, "Error in {phase}: {error}"))
    }

    fn coloured(&self, text: String) -> String {
        if self.colour { text } else { text::without_colours(&text) }
    }
}
