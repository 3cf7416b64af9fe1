//! The command line.
//!
//! In: the process's arguments. Out: an [`Invocation`], or clap's own help and error texts. Flags that set a
//! configuration key come from the loader's table, so that neither can have one that the other lacks.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use lifecycle_config::settings::{Flags, arguments};
use lifecycle_service::version::THIS;
use serde_json::Value;

use crate::config::schema;
use crate::config::settings::{EXPORTER, FILE};
use crate::listing::Filter;
use crate::store::Trouble;

/// What the process was asked to do.
#[derive(Debug)]
pub enum Invocation {
    /// Serve metrics.
    Serve(Source),
    /// Change the schema.
    Migrate {
        /// The configuration.
        source: Source,
        /// What of the schema.
        action: MigrateAction,
    },
    /// Build, show or remove the two indexes that make scrapes cheap.
    Prepare {
        /// The configuration.
        source: Source,
        /// Whether they are removed.
        remove: bool,
        /// Whether the statements are only shown.
        dry_run: bool,
    },
    /// Print stuck resources.
    Stuck {
        /// The configuration.
        source: Source,
        /// Which ones.
        filter: Filter,
        /// The most that are printed.
        limit: u32,
        /// Whether they are printed as JSON.
        json: bool,
    },
    /// List every diagnostic of the configuration.
    Check {
        /// The configuration.
        source: Source,
        /// Whether it is compared with what the database holds.
        database: bool,
    },
    /// Print the JSON Schema of the configuration.
    Schema,
    /// Print the version.
    Version,
}

impl Invocation {
    /// Where its configuration comes from, if it takes one.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        match self {
            Self::Serve(source)
            | Self::Migrate { source, .. }
            | Self::Prepare { source, .. }
            | Self::Stuck { source, .. }
            | Self::Check { source, .. } => Some(source),
            Self::Schema | Self::Version => None,
        }
    }
}

/// What of the schema is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrateAction {
    /// Apply what is not applied.
    Apply,
    /// Show what is and what is not.
    List,
    /// Revert what came after a version.
    RevertTo {
        /// The version.
        version: i64,
        /// Whether nobody is to be asked.
        confirmed: bool,
    },
}

/// Where the configuration comes from.
#[derive(Debug, Default)]
pub struct Source {
    /// `--config`.
    pub file: Option<String>,
    /// Keys set by flags.
    pub flags: Flags,
}

/// Parses the arguments.
///
/// # Errors
/// Clap's: what is wrong, or the help that was asked for.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    Ok(match matches.subcommand() {
        Some(("serve", matches)) => Invocation::Serve(source(matches)),
        Some(("migrate", matches)) => {
            let action = match matches.get_one::<i64>("revert-to") {
                Some(&version) => MigrateAction::RevertTo { version, confirmed: matches.get_flag("yes") },
                None if matches.get_flag("list") => MigrateAction::List,
                None => MigrateAction::Apply,
            };
            Invocation::Migrate { source: source(matches), action }
        }
        Some(("prepare", matches)) => Invocation::Prepare {
            source: source(matches),
            remove: matches.get_flag("remove"),
            dry_run: matches.get_flag("dry-run"),
        },
        Some(("stuck", matches)) => Invocation::Stuck {
            source: source(matches),
            filter: Filter {
                kind: matches.get_one::<String>("kind").cloned(),
                adapter: matches.get_one::<String>("adapter").cloned(),
                deleting: matches.get_one::<bool>("deleting").copied(),
                trouble: if matches.get_flag("stalled") { Trouble::Stalled } else { Trouble::Stuck },
            },
            limit: matches.get_one::<u32>("limit").copied().unwrap_or_default(),
            json: matches.get_one::<String>("output").is_some_and(|output| output == "json"),
        },
        Some(("check", matches)) => {
            Invocation::Check { source: source(matches), database: matches.get_flag("database") }
        }
        Some(("schema", _)) => Invocation::Schema,
        _ => Invocation::Version,
    })
}

/// The whole command line, for parsing and for the documentation's test.
#[must_use]
pub fn command() -> Command {
    let schema = schema();
    let configured = |command: Command| configured(command, &schema);
    let serve = configured(Command::new("serve").about("Serves metrics, probes and the page of stuck resources"));
    let migrate = configured(Command::new("migrate").about("Brings the schema of a database of our own up to date"))
        .arg(switch("list", "Only shows what is applied"))
        .arg(
            Arg::new("revert-to")
                .long("revert-to")
                .value_name("VERSION")
                .value_parser(value_parser!(i64))
                .conflicts_with("list")
                .help("Reverts every migration after this version, and drops its tables with what is in them; 0 reverts all"),
        )
        .arg(switch("yes", "Reverts without asking").requires("revert-to"));
    let prepare = configured(
        Command::new("prepare")
            .about("Builds the two indexes that make scrapes cheap, beside running writers, as the tables' owner"),
    )
    .arg(switch("remove", "Removes the indexes instead"))
    .arg(switch("dry-run", "Only shows the statements"));
    let stuck = configured(Command::new("stuck").about("Prints the stuck resources and what they wait on"))
        .arg(text("kind", "KIND", "Only this kind, in any case; other: kinds that are not configured"))
        .arg(text("adapter", "NAME", "Only those that wait on this adapter"))
        .arg(
            Arg::new("deleting")
                .long("deleting")
                .num_args(0..=1)
                .default_missing_value("true")
                .value_name("BOOL")
                .value_parser(value_parser!(bool))
                .help("Only those that are being deleted; with false only the others"),
        )
        .arg(switch(
            "stalled",
            "Instead, deletions that are stalled: past their threshold, still there, and not pending",
        ))
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("COUNT")
                .value_parser(value_parser!(u32).range(1..=10_000))
                .default_value("100")
                .help("The most that are printed, the oldest first"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("For people (text) or for machines (json)"),
        );
    let check = configured(Command::new("check").about("Lists every diagnostic of the configuration, with its place")).arg(switch(
        "database",
        "Also compares it with the database, by a pass over all resources: kinds, adapters that never reported, missing conditions",
    ));
    Command::new("reconcile-metrics")
        .about("Says which resources are not reconciled, since when, and what they wait on, from PostgreSQL")
        .version(THIS.number)
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

fn source(matches: &ArgMatches) -> Source {
    Source { file: matches.get_one::<String>(FILE.flag).cloned(), flags: arguments::given(&EXPORTER, matches) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn parsed(arguments: &str) -> Invocation {
        parse(std::iter::once("reconcile-metrics").chain(arguments.split(' ')).map(OsString::from)).unwrap()
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn flags_become_keys_and_filters() {
        let invocation = parsed("stuck --db-host db --kind Cluster --deleting --limit 5 --output json");
        let Invocation::Stuck { source, filter, limit, json } = invocation else { panic!("{invocation:?}") };
        assert_eq!(source.flags, Flags::from([("db-host", "db".to_owned())]));
        assert_eq!((filter.kind.as_deref(), filter.deleting, limit, json), (Some("Cluster"), Some(true), 5, true));
        for (arguments, confirmed) in
            [("--revert-to 20260901000000", false), ("--revert-to 20260901000000 --yes", true)]
        {
            let invocation = parsed(&format!("migrate {arguments}"));
            let Invocation::Migrate { action, .. } = invocation else { panic!("{invocation:?}") };
            assert_eq!(action, MigrateAction::RevertTo { version: 20_260_901_000_000, confirmed });
        }
    }
}
