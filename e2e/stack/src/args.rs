//! Parses the command line.
//!
//! In: the process's arguments. Out: an [`Invocation`]. Fails: with clap's help and error texts.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use lifecycle_e2e::parts::Cadence;
use lifecycle_service::version::THIS;

use crate::swap::Swapped;

/// Starts the whole system on this machine, and shows a cluster's way to Reconciled. Control-C stops it.
#[derive(Parser)]
#[command(name = "stack", version = THIS.number, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Where the stack keeps its files; `target/stack` by default.
    #[arg(long, global = true, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    up: Up,
}

#[derive(Subcommand)]
enum Command {
    /// Plays a story against the running stack, and says what to look at.
    Demo {
        /// The story.
        story: Story,
    },
    /// Ends the Pods of Jobs in the place of a kubelet, until a signal: for a stack whose parts another program runs.
    Kubelet {
        /// The address of the health probe `/readyz`, which answers once Kubernetes is up.
        #[arg(long, default_value = "0.0.0.0:8080")]
        listen: SocketAddr,
    },
    /// Measures a fleet in a system of its own: each part's share from POST to Reconciled, and the cost of an event.
    Bench(Bench),
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// Start the system.
    Up(Up),
    /// Play a story.
    Demo(Story),
    /// Play the kubelet, with a health probe at this address.
    Kubelet(SocketAddr),
    /// Measure a fleet.
    Bench(Bench),
}

/// How to start the system.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Up {
    /// How often the Sentinel looks, and how soon it announces a resource again.
    #[arg(long, value_enum, default_value_t)]
    pub cadence: Pace,
    /// Starts a Maestro, through which the adapter `foundation` writes to a remote cluster.
    #[arg(long)]
    pub maestro: bool,
    /// Installs and builds nothing first: every program is there already.
    #[arg(long)]
    pub no_build: bool,
    /// Runs the Pods of Jobs on a node with a kubelet, instead of a fake one. Needs root, and builds the node first.
    #[arg(long)]
    pub node: bool,
    /// Creates no cluster.
    #[arg(long)]
    pub no_demo: bool,
    /// Programs in the place of this workspace's.
    #[command(flatten)]
    pub swapped: Swapped,
}

/// How to measure a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Bench {
    /// How many clusters there are.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub clusters: u32,
    /// How often the Sentinel looks, and how soon it announces a resource again.
    #[arg(long, value_enum, default_value_t = Pace::Production)]
    pub cadence: Pace,
    /// How many seconds to measure the reconciled fleet: first without events, then again with one for each cluster.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub steady: u64,
    /// Installs and builds nothing first: every program is there already.
    #[arg(long)]
    pub no_build: bool,
}

/// How often the Sentinel looks at resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Pace {
    /// Each second; announces a resource again after 2 s, or after 5 s once it is reconciled.
    #[default]
    Fast,
    /// As in production: every 5 s; announces a resource again after 10 s, or after 30 min.
    Production,
}

impl Pace {
    /// The Sentinel's durations.
    #[must_use]
    pub fn cadence(self) -> Cadence {
        match self {
            Self::Fast => Cadence { poll_interval: "1s", unreconciled: "2s", reconciled: "5s" },
            Self::Production => Cadence::PRODUCTION,
        }
    }
}

/// A story about a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Story {
    /// A cluster is created and becomes Reconciled.
    Create,
    /// A cluster is deleted: its Jobs first, its namespace last.
    Delete,
    /// A cluster is removed by force: the sweeper deletes what it leaves behind.
    ForceDelete,
    /// A cluster's Job fails: the exporter shows who is to blame, until a new generation heals it.
    Stuck,
    /// A cluster is deleted, and its record stays for good.
    Disown,
    /// A cluster changes often, and two former Jobs are kept.
    History,
    /// Events arrive every few seconds, and a check runs at most every 20 seconds.
    Debounce,
    /// A cluster has an add-on of many objects: they rise in waves, are repaired after an edit, and go in order.
    Bundle,
}

/// Parses the arguments. Returns the stack's directory, and what to do.
///
/// # Errors
/// Returns clap's error, which also carries the text of `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(Option<PathBuf>, Invocation), clap::Error> {
    let matches = Arguments::command().try_get_matches_from(arguments)?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    let invocation = match arguments.command {
        None => Invocation::Up(arguments.up),
        Some(Command::Demo { story }) => Invocation::Demo(story),
        Some(Command::Kubelet { listen }) => Invocation::Kubelet(listen),
        Some(Command::Bench(bench)) => Invocation::Bench(bench),
    };
    Ok((arguments.directory, invocation))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn command_passes_claps_own_checks() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn no_command_starts_the_system() {
        let plain = Up {
            cadence: Pace::Fast,
            maestro: false,
            no_build: false,
            node: false,
            no_demo: false,
            swapped: Swapped::default(),
        };
        let up = Up { cadence: Pace::Production, no_build: true, node: true, ..plain.clone() };
        let swapped = Swapped { adapter_program: Some("a".into()), ..Swapped::default() };
        let with_swapped = Up { swapped, ..plain.clone() };
        let remote = Up { maestro: true, node: true, ..plain.clone() };
        let remote_and_swapped = Up { maestro: true, ..with_swapped.clone() };
        let bench = Bench { clusters: 5, cadence: Pace::Production, steady: 60, no_build: false };
        let cases: [(&[&str], Option<Invocation>); 14] = [
            (&["stack", "kubelet"], Some(Invocation::Kubelet(SocketAddr::from(([0, 0, 0, 0], 8080))))),
            (&["stack", "bench", "--clusters", "5"], Some(Invocation::Bench(bench))),
            (&["stack", "bench", "--clusters", "0"], None),
            (&["stack", "--cadence", "production", "--no-build", "--node"], Some(Invocation::Up(up))),
            (&["stack", "--adapter-program", "a"], Some(Invocation::Up(with_swapped))),
            (&["stack"], Some(Invocation::Up(plain))),
            (&["stack", "--maestro", "--node"], Some(Invocation::Up(remote))),
            (&["stack", "--maestro", "--adapter-program", "a"], Some(Invocation::Up(remote_and_swapped))),
            (&["stack", "--maestro", "demo", "stuck"], None),
            (&["stack", "bench", "--maestro"], None),
            (&["stack", "--adapter-ports", "1,2"], None),
            (&["stack", "demo", "force-delete"], Some(Invocation::Demo(Story::ForceDelete))),
            (&["stack", "--no-build", "demo", "stuck"], None),
            (&["stack", "demo"], None),
        ];
        for (arguments, expected) in cases {
            let parsed = parse(arguments.iter().map(OsString::from)).ok();
            assert_eq!(parsed.map(|(_, invocation)| invocation), expected, "{arguments:?}");
        }
        assert!(parse(["stack", "demo", "storm"].map(OsString::from)).unwrap_err().to_string().contains("debounce"));
    }
}
