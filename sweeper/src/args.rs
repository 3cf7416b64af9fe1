//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Command, Subcommand, ValueEnum};
use lifecycle_config::duration::{Units, parse_nanoseconds};
use lifecycle_kube::rights::Account;
use lifecycle_service::version::LINE;

use crate::config::CONFIGURATION;
use crate::restore::Selection;

const FIRST_STEPS: &str = "\
Begin with `sweeper demo`, then `sweeper plan --config sweeper.yaml`: neither changes anything.";

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

/// The commands that read the configuration.
const CONFIGURED: [&str; 7] = ["run", "sweep", "plan", "approve", "restore", "rbac", "check"];

/// The sweeper's own commands, with their arguments. The comments are the help texts.
#[derive(Debug, Subcommand)]
pub enum Invocation {
    /// Sweeps in passes, as one of several replicas that elect a leader.
    Run,
    /// Sweeps once: looks, waits for `grace`, looks again, and deletes.
    #[command(after_help = CODES_OF_SWEEP)]
    Sweep {
        /// Says explicitly that it sweeps once, which it always does.
        #[arg(long)]
        once: bool,
        /// The JSON of an earlier `plan`: counts as the first look, so only what is left of `grace` is waited for.
        #[arg(long, value_name = "FILE")]
        first_strike: Option<PathBuf>,
    },
    /// Prints what a sweep would delete, what it would keep, and why.
    #[command(after_help = CODES_OF_PLAN)]
    Plan {
        /// A table for people (text), or JSON for programs and for `sweep --first-strike` (json).
        #[arg(long, short, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
        output: Output,
    },
    /// Lets the leader delete a plan that it holds: exactly the objects of this plan.
    Approve {
        /// The plan's hash, as the leader logs it.
        plan: String,
        /// How long the approval counts.
        #[arg(long = "for", value_name = "DURATION", value_parser = duration, default_value = "1h")]
        lasts: Duration,
    },
    /// Creates objects again from the record of their deletion.
    Restore {
        /// The audit file.
        file: PathBuf,
        /// Which objects to restore.
        #[command(flatten)]
        selection: Selection,
        /// Keeps the labels of the old owner: the sweeper then deletes the objects again.
        #[arg(long)]
        keep_stamps: bool,
        /// Only prints the manifests.
        #[arg(long)]
        print: bool,
    },
    /// Prints the roles that the sweeper needs, for `kubectl apply -f -`.
    Rbac {
        /// The service account of the sweeper.
        #[arg(long = "service-account", value_name = "NAMESPACE/NAME", value_parser = Account::parse,
              default_value = "hyperfleet/hyperfleet-sweeper")]
        account: Account,
        /// Manifests, or values of the Helm chart (values).
        #[arg(long, short, value_name = "FORMAT", default_value = "manifests", hide_possible_values = true)]
        output: Grant,
    },
    /// Prints a policy by which only these accounts set the ownership labels, for `kubectl apply -f -`.
    AdmissionPolicy {
        /// The service account of an adapter, or of the sweeper; once for each account.
        #[arg(long = "service-account", value_name = "NAMESPACE/NAME", value_parser = Account::parse, required = true)]
        accounts: Vec<Account>,
    },
    /// Plays a sweep in memory, and prints what goes, what stays and why.
    Demo {
        /// A scenario; a built-in one by default.
        #[arg(value_name = "FILE")]
        scenario: Option<PathBuf>,
    },
    /// Lists every mistake of the configuration, with its line.
    Check,
}

/// The form of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    Text,
    /// JSON for programs.
    Json,
}

/// The form of roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Grant {
    /// Manifests for `kubectl apply`.
    Manifests,
    /// Values of the Helm chart.
    Values,
}

/// Describes the command line.
#[must_use]
pub fn command() -> Command {
    let program = Command::new("sweeper")
        .about("Deletes the Kubernetes objects whose API resource was force-deleted")
        .version(LINE)
        .after_help(FIRST_STEPS);
    CONFIGURATION.command::<Invocation>(program, &CONFIGURED)
}

/// Parses a duration above zero in Go's notation.
///
/// # Errors
/// Says how to write one.
pub fn duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = parse_nanoseconds(text, Units::Go).ok().and_then(|nanoseconds| u64::try_from(nanoseconds).ok());
    nanoseconds
        .filter(|nanoseconds| *nanoseconds > 0)
        .map(Duration::from_nanos)
        .ok_or_else(|| "write a duration such as 30m".to_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::ffi::OsString;

    use lifecycle_service::command_line;
    use lifecycle_service::configuration::Flags;

    use super::*;

    fn parsed(arguments: &str) -> (command_line::Invocation<Invocation>, Flags) {
        let arguments = std::iter::once("sweeper").chain(arguments.split(' ')).map(OsString::from);
        CONFIGURATION.invocation(command(), arguments).unwrap()
    }

    fn own(arguments: &str) -> (Invocation, Flags) {
        let (command_line::Invocation::Own(invocation), flags) = parsed(arguments) else { panic!("{arguments}") };
        (invocation, flags)
    }

    #[test]
    fn command_passes_claps_own_checks() {
        command().debug_assert();
    }

    #[test]
    fn approval_lasts_an_hour_by_default() {
        let (Invocation::Approve { plan, lasts }, flags) = own("approve 2f0c --lease-name other") else {
            panic!("another command")
        };
        assert_eq!((plan.as_str(), lasts), ("2f0c", Duration::from_secs(3600)));
        assert_eq!(flags, Flags::from([("lease-name", "other".to_owned())]));
        let (Invocation::Approve { lasts, .. }, _) = own("approve 2f0c --for 90s") else { panic!("another command") };
        assert_eq!(lasts, Duration::from_secs(90));
    }

    #[test]
    fn commands_without_a_configuration_have_no_flags_of_it() {
        for arguments in ["demo", "schema", "version", "admission-policy --service-account a/b"] {
            assert_eq!(parsed(arguments).1, Flags::new(), "{arguments}");
        }
    }
}
