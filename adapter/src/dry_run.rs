//! The command `dry-run`: runs the engine of `serve` on an in-memory object store and an API with canned
//! answers.
//!
//! In: a scenario folder ([`scenario`]), perhaps with a [`series`] of events, or the Go adapter's dry-run flags
//! ([`legacy`]). Out: the [`Trace`](trace::Trace) of each pass, printed or compared with the expected one, and an
//! [`Ending`]. Fails
//! with a [`DryRunError`] if the input cannot be used; a failed pass is not an error, but an ending.
//!
//! A dry run opens no connection, and writes no file but the expected traces with `--update`. The store runs no
//! controllers, so that objects get no status; between the events of a series it deletes dependents without owner, the
//! objects of deleted namespaces, and the works whose deletion an agent would have confirmed.

pub mod canned_api;
pub mod diff;
pub mod expected;
pub mod fakes;
pub mod input;
pub mod input_error;
pub mod legacy;
pub mod play;
pub mod scenario;
pub mod series;
pub mod text;
pub mod trace;

use std::io::{self, Write};
use std::path::PathBuf;

use jiff::Timestamp;
use lifecycle_config::diagnostics::Diagnostics;

use crate::args::{DryRunArgs, OutputFormat};
use fakes::World;
use input_error::{InputError, SeriesError};
use play::{Life, Repeat};
use text::Text;

/// The output streams of a dry run.
#[derive(Debug)]
pub struct Streams<O, E> {
    /// The stream for traces and differences from the expected trace, usually standard output.
    pub out: O,
    /// The stream for warnings and errors, usually standard error.
    pub err: E,
    /// Whether text traces have colours.
    pub colour: bool,
}

/// How a dry run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The pass succeeded or, with `--check`, the trace equals the expected one.
    Good,
    /// The pass failed, in a dry run without `--check`.
    Failed,
    /// The trace differs from the expected one.
    Unexpected,
    /// With `--repeat`: a repeat of an event makes a write once more.
    RepeatWrites,
}

impl Ending {
    /// Returns the exit code with which the program reports this ending.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Failed | Self::Unexpected | Self::RepeatWrites => 1,
        }
    }
}

/// Why a dry run could not start.
#[derive(Debug, thiserror::Error)]
pub enum DryRunError {
    /// An input file cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The configuration files that the dry run loads have errors.
    #[error("the configuration has errors")]
    Configuration(#[source] Diagnostics),
    /// The folder contains no scenario.
    #[error("{} is not a scenario: {missing} is missing; see examples/README.md for the files of a scenario", folder.display())]
    NoScenario {
        /// The folder that was given as the scenario.
        folder: PathBuf,
        /// The name of the first file that a scenario needs and the folder lacks.
        missing: &'static str,
    },
    /// The flags name API answers, but no event.
    #[error("--dry-run-event is required in dry-run mode; it names a file that holds one CloudEvent as JSON")]
    NoEvent,
    /// A step of the series cannot be played.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// A trace could not be printed.
    #[error("failed to print the trace")]
    Print(#[source] io::Error),
    /// An expected trace could not be written.
    #[error("failed to write {}", path.display())]
    Write {
        /// The path of the file with the expected trace.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

/// Plays a scenario folder. `now` is the clock for an event without a time.
///
/// # Errors
/// The scenario cannot be loaded, or a stream or file cannot be written.
pub async fn run_scenario<O: Write, E: Write>(
    arguments: &DryRunArgs,
    now: Timestamp,
    streams: &mut Streams<O, E>,
) -> Result<Ending, DryRunError> {
    let folder = &arguments.scenario;
    let mut world = scenario::load(folder, now)?;
    let steps = scenario::steps(folder, now)?;
    let show = !arguments.update && !arguments.check;
    let life = Life::play(&mut world, &steps, arguments.verbose && show, arguments.repeat).await;
    if let Some(refused) = life.refused {
        let life = Life { refused: None, ..life };
        if show {
            streams.show(&world, &life, arguments.output, arguments.verbose)?;
        }
        return Err(refused.into());
    }
    let ending = if arguments.update {
        expected::Traces::of(&life).write(folder)?;
        Ending::Good
    } else if arguments.check {
        let difference = expected::Traces::of(&life).compare(folder)?;
        streams.out.write_all(streams.coloured(difference.clone()).as_bytes()).map_err(DryRunError::Print)?;
        if difference.is_empty() { Ending::Good } else { Ending::Unexpected }
    } else {
        streams.show(&world, &life, arguments.output, arguments.verbose)?
    };
    for Repeat { fault, trace } in &life.repeats {
        // A second document would spoil the JSON.
        if arguments.output == OutputFormat::Text {
            let text = format!("\nRepeat, with a write too many:\n\n{}", Text { trace, verbose: arguments.verbose });
            streams.out.write_all(streams.coloured(text).as_bytes()).map_err(DryRunError::Print)?;
        }
        writeln!(streams.err, "Error: {fault}").map_err(DryRunError::Print)?;
    }
    Ok(if ending == Ending::Good && !life.repeats.is_empty() { Ending::RepeatWrites } else { ending })
}

/// Plays the event, answers and objects that the Go adapter's dry-run flags name.
///
/// # Errors
/// An input cannot be used, or a stream cannot be written.
pub async fn run_legacy<O: Write, E: Write>(
    request: &legacy::Request<'_>,
    streams: &mut Streams<O, E>,
) -> Result<Ending, DryRunError> {
    let mut world = legacy::load(request)?;
    let life = Life::play(&mut world, &[], request.flags.verbose, false).await;
    streams.show(&world, &life, request.flags.output, request.flags.verbose)
}

impl<O: Write, E: Write> Streams<O, E> {
    fn show(&mut self, world: &World, life: &Life, output: OutputFormat, verbose: bool) -> Result<Ending, DryRunError> {
        let text = match output {
            OutputFormat::Text => self.coloured(life.to_text(verbose)),
            OutputFormat::Json => life.to_json(),
        };
        self.print(world, &text, &life.errors()).map_err(DryRunError::Print)?;
        Ok(if life.failed() { Ending::Failed } else { Ending::Good })
    }

    fn print(&mut self, world: &World, text: &str, errors: &[String]) -> io::Result<()> {
        for warning in world.warnings().all() {
            writeln!(self.err, "{warning}")?;
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        errors.iter().try_for_each(|error| writeln!(self.err, "{error}"))
    }

    fn coloured(&self, text: String) -> String {
        if self.colour { text } else { text::without_colours(&text) }
    }
}

#[cfg(test)]
mod tests;
