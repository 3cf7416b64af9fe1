//! Parses the command line.
//!
//! In: the process's arguments. Out: an [`Invocation`], and the [`Flags`] of configuration keys. Fails: with clap's help
//! and error texts.

use std::ffi::OsString;

use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use lifecycle_config::settings::{Flags, arguments};
use lifecycle_service::version::THIS;

use crate::config::{API, FILE, schema};

/// Serves the HyperFleet lifecycle API for development and tests.
#[derive(Parser)]
#[command(name = "local-api", version = THIS.number, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    invocation: Invocation,
}

/// The command to run. The comments are the help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Invocation {
    /// Creates the tables if the database has none, and serves the API.
    Serve,
    /// Creates the tables, and ends.
    Migrate,
    /// Lists every mistake of the configuration, with its line.
    Check,
    /// Prints the JSON Schema of the configuration.
    Schema,
    /// Prints the version.
    Version,
}

/// The commands that read the configuration.
const CONFIGURED: [&str; 3] = ["serve", "migrate", "check"];

/// Parses the arguments. Returns the command, and the flags that set keys of its configuration.
///
/// # Errors
/// Returns clap's error, which also carries the text of `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(Invocation, Flags), clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    let flags = arguments::of_subcommand(FILE, &API, &matches);
    Ok((Arguments::from_arg_matches(&matches)?.invocation, flags))
}

fn command() -> Command {
    arguments::of_subcommands(Arguments::command(), &CONFIGURED, &FILE, &API, &schema())
}
