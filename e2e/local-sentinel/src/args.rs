//! Parses the command line.
//!
//! In: the process's arguments. Out: an [`Invocation`], and the [`Flags`] of configuration keys. Fails: with clap's
//! help and error texts. Flags that set a configuration key are generated from [`SENTINEL`], so that the parser and the
//! loader know the same flags.

use std::ffi::OsString;

use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use lifecycle_config::settings::{Flags, arguments};
use lifecycle_service::version::THIS;

use crate::config::schema;
use crate::config::settings::{FILE, SENTINEL};

/// The commands that read the configuration.
const CONFIGURED: [&str; 2] = ["serve", "check"];

/// A Sentinel for development and tests: publishes events about the resources of the HyperFleet API.
#[derive(Parser)]
#[command(name = "local-sentinel", version = THIS.number, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    invocation: Invocation,
}

/// The command to run. The comments are the help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Invocation {
    /// Polls the API and publishes events, until a signal.
    Serve,
    /// Lists every mistake of the configuration, with its line.
    Check,
    /// Prints the JSON Schema of the configuration.
    Schema,
    /// Prints the version.
    Version,
}

/// Parses the arguments. Returns the command, and the flags that set keys of its configuration.
///
/// # Errors
/// Returns clap's error, which also carries the text of `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(Invocation, Flags), clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    let flags = arguments::of_subcommand(FILE, &SENTINEL, &matches);
    Ok((Arguments::from_arg_matches(&matches)?.invocation, flags))
}

fn command() -> Command {
    arguments::of_subcommands(Arguments::command(), &CONFIGURED, &FILE, &SENTINEL, &schema())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn command_passes_claps_own_checks() {
        command().debug_assert();
    }

    #[test]
    fn flags_of_keys_are_collected() {
        let arguments = ["local-sentinel", "serve", "-c", "s.yaml", "--resource-type", "clusters"];
        let (invocation, flags) = parse(arguments.map(OsString::from)).unwrap();
        assert_eq!(invocation, Invocation::Serve);
        assert_eq!(flags, Flags::from([("config", "s.yaml".to_owned()), ("resource-type", "clusters".to_owned())]));
        assert!(parse(["local-sentinel", "schema", "-c", "s.yaml"].map(OsString::from)).is_err());
    }
}
