//! Parses the command line.
//!
//! In: the process's arguments. Out: an [`Invocation`]. Fails: with clap's help and error texts. Flags that set a
//! configuration key are generated from [`SWEEPER`], so that the parser and the loader know the same flags.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use lifecycle_config::duration::{Units, parse_nanoseconds};
use lifecycle_config::settings::{Flags, arguments};
use lifecycle_service::version::THIS;
use serde_json::Value;

use crate::config::schema;
use crate::config::settings::{FILE, SWEEPER};
use crate::restore::Selection;

const CODES_OF_PLAN: &str = "\
Exit codes:
  0  a sweep would delete nothing
  1  an error
  2  a sweep would delete something, perhaps only after a person's approval
  3  the look proves nothing, because the API or a list of objects cannot be trusted";

const CODES_OF_SWEEP: &str = "\
Exit codes:
  0  all that was due is deleted, or nothing was due
  1  an error, or something that was due could not be deleted
  3  something holds the sweep, so it deleted nothing";

/// The command to run, with its arguments.
#[derive(Debug)]
pub enum Invocation {
    /// Sweep in passes for as long as this replica is the leader.
    Run(Flags),
    /// Sweep once.
    Sweep {
        /// The file of the configuration, and the flags that change it.
        flags: Flags,
        /// A plan that counts as the first of the two looks.
        first_strike: Option<PathBuf>,
    },
    /// Print what a sweep would delete.
    Plan {
        /// The file of the configuration, and the flags that change it.
        flags: Flags,
        /// Whether to print JSON.
        json: bool,
    },
    /// Approve a plan that the leader holds.
    Approve {
        /// The file of the configuration, and the flags that change it.
        flags: Flags,
        /// The plan's hash.
        plan: String,
        /// How long the approval counts.
        lasts: Duration,
    },
    /// Create deleted objects again.
    Restore {
        /// The file of the configuration, and the flags that change it.
        flags: Flags,
        /// What to restore.
        options: RestoreOptions,
    },
    /// Print the rights that the sweeper needs.
    Rbac {
        /// The file of the configuration, and the flags that change it.
        flags: Flags,
        /// The service account, as `namespace/name`.
        account: String,
    },
    /// Print the policy by which only adapters set the ownership labels.
    AdmissionPolicy {
        /// The service accounts, as `namespace/name`.
        accounts: Vec<String>,
    },
    /// Play a sweep in memory.
    Demo {
        /// The scenario's file; the built-in one without.
        scenario: Option<PathBuf>,
    },
    /// List every diagnostic of the configuration.
    Check(Flags),
    /// Print the JSON Schema of the configuration.
    Schema,
    /// Print the version.
    Version,
}

/// The arguments of `restore`.
#[derive(Debug)]
pub struct RestoreOptions {
    /// The audit file.
    pub file: PathBuf,
    /// Which objects to restore.
    pub selection: Selection,
    /// Whether the objects keep the labels and annotations of their adapter.
    pub keep_stamps: bool,
    /// Whether to print the manifests only.
    pub print: bool,
}

/// Parses the arguments.
///
/// # Errors
/// Returns clap's error, which also carries the text of `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    let path = |matches: &ArgMatches, name: &str| matches.get_one::<PathBuf>(name).cloned();
    let one = |matches: &ArgMatches, name: &str| matches.get_one::<String>(name).cloned();
    Ok(match matches.subcommand() {
        Some(("run", matches)) => Invocation::Run(flags(matches)),
        Some(("sweep", matches)) => {
            Invocation::Sweep { flags: flags(matches), first_strike: path(matches, "first-strike") }
        }
        Some(("plan", matches)) => Invocation::Plan {
            flags: flags(matches),
            json: one(matches, "output").is_some_and(|output| output == "json"),
        },
        Some(("approve", matches)) => Invocation::Approve {
            flags: flags(matches),
            plan: one(matches, "plan").unwrap_or_default(),
            lasts: matches.get_one::<Duration>("for").copied().unwrap_or_default(),
        },
        Some(("restore", matches)) => Invocation::Restore {
            flags: flags(matches),
            options: RestoreOptions {
                file: path(matches, "file").unwrap_or_default(),
                selection: Selection {
                    plan: one(matches, "plan"),
                    resource_id: one(matches, "resource-id"),
                    object: one(matches, "object"),
                },
                keep_stamps: matches.get_flag("keep-stamps"),
                print: matches.get_flag("print"),
            },
        },
        Some(("rbac", matches)) => {
            Invocation::Rbac { flags: flags(matches), account: one(matches, "service-account").unwrap_or_default() }
        }
        Some(("admission-policy", matches)) => Invocation::AdmissionPolicy {
            accounts: matches.get_many::<String>("service-account").unwrap_or_default().cloned().collect(),
        },
        Some(("demo", matches)) => Invocation::Demo { scenario: path(matches, "scenario") },
        Some(("check", matches)) => Invocation::Check(flags(matches)),
        Some(("schema", _)) => Invocation::Schema,
        _ => Invocation::Version,
    })
}

/// Describes the command line, for [`parse`] and for the test that compares it with `docs/`.
#[must_use]
pub fn command() -> Command {
    let schema = schema();
    let configured = |name: &'static str, about: &'static str| configured(Command::new(name).about(about), &schema);
    Command::new("sweeper")
        .about("Deletes the Kubernetes objects whose API resource was force-deleted")
        .version(THIS.number)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([
            configured("run", "Sweeps in passes, as one of several replicas that elect a leader"),
            configured("sweep", "Sweeps once: looks, waits for `grace`, looks again, and deletes")
                .after_help(CODES_OF_SWEEP)
                .arg(switch("once", "Says explicitly that it sweeps once, which it always does"))
                .arg(file("first-strike", "FILE", "The JSON of an earlier `plan`: counts as the first look, so only what is left of `grace` is waited for")),
            configured("plan", "Prints what a sweep would delete, what it would keep, and why")
                .after_help(CODES_OF_PLAN)
                .arg(
                    Arg::new("output")
                        .long("output")
                        .short('o')
                        .value_name("FORMAT")
                        .value_parser(["text", "json"])
                        .default_value("text")
                        .help("A table for people (text), or JSON for programs and for `sweep --first-strike` (json)"),
                ),
            configured("approve", "Lets the leader delete a plan that it holds: exactly the objects of this plan")
                .arg(Arg::new("plan").value_name("PLAN").required(true).help("The plan's hash, as the leader logs it"))
                .arg(
                    Arg::new("for")
                        .long("for")
                        .value_name("DURATION")
                        .value_parser(duration)
                        .default_value("1h")
                        .help("How long the approval counts"),
                ),
            configured("restore", "Creates objects again from the record of their deletion")
                .arg(Arg::new("file").value_name("FILE").required(true).value_parser(value_parser!(PathBuf)).help("The audit file"))
                .arg(text("plan", "PLAN", "Only objects that were deleted with this plan"))
                .arg(text("resource-id", "ID", "Only objects of this API resource"))
                .arg(text("object", "OBJECT", "Only this object, such as `ConfigMap team-a/settings`"))
                .arg(switch("keep-stamps", "Keeps the labels of the old owner: the sweeper then deletes the objects again"))
                .arg(switch("print", "Only prints the manifests")),
            configured("rbac", "Prints the roles that the sweeper needs, for `kubectl apply -f -`").arg(account()),
            Command::new("admission-policy")
                .about("Prints a policy by which only these accounts set the ownership labels, for `kubectl apply -f -`")
                .arg(account().action(ArgAction::Append).required(true)),
            Command::new("demo").about("Plays a sweep in memory, and prints what goes, what stays and why").arg(
                Arg::new("scenario").value_name("FILE").value_parser(value_parser!(PathBuf)).help("A scenario; a built-in one by default"),
            ),
            configured("check", "Lists every mistake of the configuration, with its line"),
            Command::new("schema").about("Prints the JSON Schema of the configuration"),
            Command::new("version").about("Prints the version"),
        ])
}

fn configured(command: Command, schema: &Value) -> Command {
    command.arg(arguments::of_file(&FILE, "The configuration file")).args(arguments::of_table(&SWEEPER, schema))
}

fn account() -> Arg {
    text("service-account", "NAMESPACE/NAME", "The service account").default_value("hyperfleet/hyperfleet-sweeper")
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn text(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn file(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    text(name, value, help).value_parser(value_parser!(PathBuf))
}

/// Parses a duration above zero in Go's notation.
fn duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = parse_nanoseconds(text, Units::Go).ok().and_then(|nanoseconds| u64::try_from(nanoseconds).ok());
    nanoseconds
        .filter(|nanoseconds| *nanoseconds > 0)
        .map(Duration::from_nanos)
        .ok_or_else(|| "write a duration such as 30m".to_owned())
}

fn flags(matches: &ArgMatches) -> Flags {
    arguments::given(&[FILE], &SWEEPER, matches)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn parsed(arguments: &str) -> Invocation {
        parse(std::iter::once("sweeper").chain(arguments.split(' ')).map(OsString::from)).unwrap()
    }

    #[test]
    fn command_passes_claps_own_checks() {
        command().debug_assert();
    }

    #[test]
    fn approval_lasts_an_hour_by_default() {
        let Invocation::Approve { plan, lasts, flags } = parsed("approve 2f0c --lease-name other") else {
            panic!("another command")
        };
        assert_eq!((plan.as_str(), lasts), ("2f0c", Duration::from_secs(3600)));
        assert_eq!(flags, Flags::from([("lease-name", "other".to_owned())]));
        let Invocation::Approve { lasts, .. } = parsed("approve 2f0c --for 90s") else { panic!("another command") };
        assert_eq!(lasts, Duration::from_secs(90));
    }
}
