//! Parses the command line.
//!
//! In: the process's arguments. Out: an [`Invocation`]. Fails: with clap's help and error texts. Flags that set a
//! configuration key are generated from [`EXPORTER`], so that the parser and the loader know the same flags.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, value_parser};
use lifecycle_config::settings::{Flags, arguments};
use lifecycle_service::version::LINE;
use serde_json::Value;

use crate::config::schema;
use crate::config::settings::{EXPORTER, FILE};
use crate::listing::Filter;
use crate::store::Trouble;

/// What the command line asks for.
#[derive(Debug)]
pub enum Invocation {
    /// Run a command with the configuration that these flags name and change.
    Run(Flags, Action),
    /// Print the JSON Schema of the configuration.
    Schema,
    /// Print the version.
    Version,
}

/// A command that needs the configuration, with its arguments.
#[derive(Debug)]
pub enum Action {
    /// Serve metrics.
    Serve,
    /// Apply the migrations.
    Migrate {
        /// Whether to list the migrations instead.
        list: bool,
    },
    /// Build, show or remove the two indexes that make scrapes cheap.
    Prepare {
        /// Whether to remove them.
        remove: bool,
        /// Whether to print the statements only.
        dry_run: bool,
    },
    /// Print stuck resources.
    Stuck {
        /// The filter.
        filter: Filter,
        /// The most resources to print.
        limit: u32,
        /// Whether to print JSON.
        json: bool,
    },
    /// List every diagnostic of the configuration.
    Check {
        /// Whether to compare the configuration with the database.
        database: bool,
    },
}

/// Parses the arguments.
///
/// # Errors
/// Returns clap's error, which also carries the text of `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    let Some((name, matches)) = matches.subcommand() else { return Ok(Invocation::Version) };
    let action = match name {
        "serve" => Action::Serve,
        "migrate" => Action::Migrate { list: matches.get_flag("list") },
        "prepare" => Action::Prepare { remove: matches.get_flag("remove"), dry_run: matches.get_flag("dry-run") },
        "stuck" => Action::Stuck {
            filter: Filter {
                kind: matches.get_one::<String>("kind").cloned(),
                adapter: matches.get_one::<String>("adapter").cloned(),
                deleting: matches.get_one::<bool>("deleting").copied(),
                trouble: if matches.get_flag("stalled") { Trouble::Stalled } else { Trouble::Stuck },
            },
            limit: matches.get_one::<u32>("limit").copied().unwrap_or_default(),
            json: matches.get_one::<String>("output").is_some_and(|output| output == "json"),
        },
        "check" => Action::Check { database: matches.get_flag("database") },
        "schema" => return Ok(Invocation::Schema),
        _ => return Ok(Invocation::Version),
    };
    Ok(Invocation::Run(arguments::given(&[FILE], &EXPORTER, matches), action))
}

/// Describes the command line, for [`parse`] and for the test that compares it with `docs/`.
#[must_use]
pub fn command() -> Command {
    let schema = schema();
    let configured = |command: Command| configured(command, &schema);
    let serve = configured(Command::new("serve").about("Serves metrics, probes and the page /stuck"));
    let migrate = configured(Command::new("migrate").about("Applies pending migrations to the local API's database"))
        .arg(switch("list", "Only lists applied and pending migrations"));
    let prepare = configured(
        Command::new("prepare")
            .about("Builds the two indexes that make scrapes cheap, as the tables' owner, while the API keeps writing"),
    )
    .arg(switch("remove", "Removes the indexes instead"))
    .arg(switch("dry-run", "Only prints the statements"));
    let stuck = configured(Command::new("stuck").about("Lists stuck resources and the adapters they wait on"))
        .arg(text("kind", "KIND", "Only this kind, in any case; `other` means all kinds that are not configured"))
        .arg(text("adapter", "NAME", "Only resources that wait on this adapter"))
        .arg(
            Arg::new("deleting")
                .long("deleting")
                .num_args(0..=1)
                .default_missing_value("true")
                .value_name("BOOL")
                .value_parser(value_parser!(bool))
                .help("Only resources that are being deleted; with `false` only the others"),
        )
        .arg(switch(
            "stalled",
            "Lists stalled deletions instead: requested longer ago than the threshold, and not pending",
        ))
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("COUNT")
                .value_parser(value_parser!(u32).range(1..=10_000))
                .default_value("100")
                .help("The most resources to list, the oldest first"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("A table for people (text), or JSON for programs (json)"),
        );
    let check = configured(Command::new("check").about("Lists every mistake of the configuration, with its line")).arg(switch(
        "database",
        "Also compares the configuration with all resources in the database: unknown kinds, adapters that never reported, missing conditions",
    ));
    Command::new("reconcile-metrics")
        .about("Counts unreconciled resources in the HyperFleet API's database for Prometheus, and lists those that are stuck")
        .version(LINE)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([
            serve,
            migrate,
            prepare,
            stuck,
            check,
            Command::new("schema").about("Prints the JSON Schema of the configuration"),
            Command::new("version").about("Prints the version"),
        ])
}

fn configured(command: Command, schema: &Value) -> Command {
    command.arg(arguments::of_file(&FILE, "The configuration file")).args(arguments::of_table(&EXPORTER, schema))
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn text(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn parsed(arguments: &str) -> Invocation {
        parse(std::iter::once("reconcile-metrics").chain(arguments.split(' ')).map(OsString::from)).unwrap()
    }

    #[test]
    fn command_passes_claps_own_checks() {
        command().debug_assert();
    }

    #[test]
    fn stuck_parses_its_filters_and_key_flags() {
        let invocation = parsed("stuck --db-host db --kind Cluster --deleting --limit 5 --output json");
        let Invocation::Run(flags, Action::Stuck { filter, limit, json }) = invocation else {
            panic!("{invocation:?}")
        };
        assert_eq!(flags, Flags::from([("db-host", "db".to_owned())]));
        assert_eq!((filter.kind.as_deref(), filter.deleting, limit, json), (Some("Cluster"), Some(true), 5, true));
    }
}
