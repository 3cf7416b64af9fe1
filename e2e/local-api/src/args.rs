//! The command line.

use clap::{Command, Subcommand};
use lifecycle_service::version::THIS;

use crate::config::CONFIGURATION;

/// The API's own commands. The comments are the help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Invocation {
    /// Creates the tables if the database has none, and serves the API.
    Serve,
    /// Creates the tables, and ends.
    Migrate,
    /// Lists every mistake of the configuration, with its line.
    Check,
}

/// Describes the command line.
#[must_use]
pub fn command() -> Command {
    let program = Command::new("local-api")
        .about("Serves the HyperFleet lifecycle API for development and tests")
        .version(THIS.number);
    CONFIGURATION.command::<Invocation>(program, &["serve", "migrate", "check"])
}
