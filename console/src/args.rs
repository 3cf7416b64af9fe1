//! Parses the command line.
//!
//! In: the process's arguments. Out: an [`Invocation`]. Fails: with clap's help and error texts. Flags that set a configuration key are
//! generated from [`CONSOLE`], so that the parser and the loader know the same flags.

use std::ffi::OsString;

use clap::Command;
use lifecycle_config::settings::{Flags, arguments};
use lifecycle_service::version::LINE;

use crate::config::schema;
use crate::config::settings::{CONSOLE, FILE};

/// What the command line asks for.
#[derive(Debug)]
pub enum Invocation {
    /// Serve the pages with the configuration that these flags name and change.
    Serve(Flags),
    /// List every diagnostic of that configuration.
    Check(Flags),
    /// Print the JSON Schema of the configuration.
    Schema,
    /// Print the version.
    Version,
}

/// Parses the arguments.
///
/// # Errors
/// Returns clap's error, which also carries the text of `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    Ok(match matches.subcommand() {
        Some(("serve", matches)) => Invocation::Serve(arguments::given(&[FILE], &CONSOLE, matches)),
        Some(("check", matches)) => Invocation::Check(arguments::given(&[FILE], &CONSOLE, matches)),
        Some(("schema", _)) => Invocation::Schema,
        Some(_) | None => Invocation::Version,
    })
}

/// Describes the command line, for [`parse`] and for the test that compares it with `docs/`.
#[must_use]
pub fn command() -> Command {
    let schema = schema();
    let configured = |name: &'static str, about: &'static str| {
        let command = Command::new(name).about(about);
        command.arg(arguments::of_file(&FILE, "The configuration file")).args(arguments::of_table(&CONSOLE, &schema))
    };
    Command::new("hyperfleet-console")
        .about("Shows a fleet in a browser: what is not reconciled, why, and what would change it")
        .version(LINE)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([
            configured("serve", "Serves the pages, probes and metrics"),
            configured("check", "Lists every mistake of the configuration, with its line"),
            Command::new("schema").about("Prints the JSON Schema of the configuration"),
            Command::new("version").about("Prints the version"),
        ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_passes_claps_own_checks() {
        command().debug_assert();
    }
}
