//! The command line.

use clap::{Args, Command, Subcommand, value_parser};
use lifecycle_service::version::LINE;

use crate::config::CONFIGURATION;
use crate::config::settings::FILE;
use crate::listing::Filter;
use crate::store::Trouble;

/// The commands that read the configuration.
const CONFIGURED: [&str; 5] = ["serve", "migrate", "prepare", "stuck", "check"];

/// The exporter's own commands. The comments are the help texts.
#[derive(Debug, Subcommand)]
pub enum Invocation {
    /// Serves metrics, probes and the page /stuck.
    Serve,
    /// Applies pending migrations to the local API's database.
    Migrate {
        /// Only lists applied and pending migrations.
        #[arg(long)]
        list: bool,
    },
    /// Builds the two indexes that make scrapes cheap, as the tables' owner, while the API keeps writing.
    Prepare {
        /// Removes the indexes instead.
        #[arg(long)]
        remove: bool,
        /// Only prints the statements.
        #[arg(long)]
        dry_run: bool,
    },
    /// Lists stuck resources and the adapters they wait on.
    Stuck(StuckArgs),
    /// Lists every mistake of the configuration, with its line.
    Check {
        /// Also compares the configuration with all resources in the database: unknown kinds, adapters that never reported, missing conditions.
        #[arg(long)]
        database: bool,
    },
}

/// The arguments of `stuck`. The comments are the help texts.
#[derive(Debug, Args)]
pub struct StuckArgs {
    /// Only this kind, in any case; `other` means all kinds that are not configured.
    #[arg(long)]
    kind: Option<String>,
    /// Only resources that wait on this adapter.
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Only resources that are being deleted; with `false` only the others.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    deleting: Option<bool>,
    /// Lists stalled deletions instead: requested longer ago than the threshold, and not pending.
    #[arg(long)]
    stalled: bool,
    /// The most resources to list, the oldest first.
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32).range(1..=10_000), default_value = "100")]
    pub limit: u32,
    /// A table for people (text), or JSON for programs (json).
    #[arg(long, short, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    output: String,
}

impl StuckArgs {
    /// Which resources to print.
    #[must_use]
    pub fn filter(&self) -> Filter {
        Filter {
            kind: self.kind.clone(),
            adapter: self.adapter.clone(),
            deleting: self.deleting,
            trouble: if self.stalled { Trouble::Stalled } else { Trouble::Stuck },
        }
    }

    /// Whether to print JSON.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.output == "json"
    }
}

/// Describes the command line.
#[must_use]
pub fn command() -> Command {
    let program = Command::new("reconcile-metrics")
        .about("Counts unreconciled resources in the HyperFleet API's database for Prometheus, and lists those that are stuck")
        .version(LINE);
    CONFIGURATION.command::<Invocation>(program, &CONFIGURED).mut_subcommands(|command| {
        if !CONFIGURED.contains(&command.get_name()) {
            return command;
        }
        // The help texts begin with the file.
        command.mut_arg(FILE.flag, |file| file.display_order(0))
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::ffi::OsString;

    use lifecycle_service::command_line;
    use lifecycle_service::configuration::Flags;

    use super::*;

    #[test]
    fn command_passes_claps_own_checks() {
        command().debug_assert();
    }

    #[test]
    fn stuck_parses_its_filters_and_key_flags() {
        let arguments = "reconcile-metrics stuck --db-host db --kind Cluster --deleting --limit 5 --output json";
        let parsed = CONFIGURATION.invocation(command(), arguments.split(' ').map(OsString::from)).unwrap();
        let (command_line::Invocation::Own(Invocation::Stuck(stuck)), flags) = parsed else { panic!("{parsed:?}") };
        assert_eq!(flags, Flags::from([("db-host", "db".to_owned())]));
        let filter = stuck.filter();
        assert_eq!((filter.kind.as_deref(), filter.deleting), (Some("Cluster"), Some(true)));
        assert_eq!((stuck.limit, stuck.is_json()), (5, true));
    }
}
