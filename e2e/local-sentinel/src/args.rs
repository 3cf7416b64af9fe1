//! The command line.

use clap::{Command, Subcommand};
use lifecycle_service::version::THIS;

use crate::PROGRAM;
use crate::config::CONFIGURATION;

/// The Sentinel's own commands. The comments are the help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Invocation {
    /// Polls the API and publishes events, until a signal.
    Serve,
    /// Lists every mistake of the configuration, with its line.
    Check,
}

/// Describes the command line.
#[must_use]
pub fn command() -> Command {
    let program = Command::new(PROGRAM)
        .about("A Sentinel for development and tests: publishes events about the resources of the HyperFleet API")
        .version(THIS.number);
    CONFIGURATION.command::<Invocation>(program, &["serve", "check"])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::ffi::OsString;

    use lifecycle_service::command_line::Invocation::Own;
    use lifecycle_service::configuration::Flags;

    use super::*;

    #[test]
    fn command_passes_claps_own_checks() {
        command().debug_assert();
    }

    #[test]
    fn flags_of_keys_are_collected() {
        let arguments = ["local-sentinel", "serve", "-c", "s.yaml", "--resource-type", "clusters"];
        let (invocation, flags) = CONFIGURATION.invocation(command(), arguments.map(OsString::from)).unwrap();
        assert_eq!(invocation, Own(Invocation::Serve));
        assert_eq!(flags, Flags::from([("config", "s.yaml".to_owned()), ("resource-type", "clusters".to_owned())]));
        let refused = ["local-sentinel", "schema", "-c", "s.yaml"].map(OsString::from);
        assert!(CONFIGURATION.invocation::<Invocation>(command(), refused).is_err());
    }
}
