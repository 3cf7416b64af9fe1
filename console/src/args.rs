//! The command line.

use clap::{Command, Subcommand};
use lifecycle_service::version::LINE;

use crate::PROGRAM;
use crate::config::CONFIGURATION;

/// The console's own commands. The comments are the help texts.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Invocation {
    /// Serves the pages, probes and metrics.
    Serve,
    /// Lists every mistake of the configuration, with its line.
    Check,
}

/// Describes the command line.
#[must_use]
pub fn command() -> Command {
    let program = Command::new(PROGRAM)
        .about("Shows a fleet in a browser: what is not reconciled, why, and what would change it")
        .version(LINE);
    CONFIGURATION.command::<Invocation>(program, &["serve", "check"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_passes_claps_own_checks() {
        command().debug_assert();
    }
}
