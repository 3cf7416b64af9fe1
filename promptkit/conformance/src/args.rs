//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use lifecycle_service::program::print;
use lifecycle_service::version;

use crate::profile::Profile;
use crate::report::Report;
use crate::rows::{ROWS, Row};

/// Plays the protocol's scenarios on a deploy adapter of `PromptArena`, and prints what passed.
///
/// The exit code is 0 if no row failed. A row that the profile cannot play is listed as "not played", with the reason.
#[derive(Debug, Parser)]
#[command(name = "promptarena-deploy-conformance")]
pub struct Arguments {
    /// The profile: a YAML or JSON file that names the adapter, its inputs, and how to make faults.
    #[arg(required_unless_present = "list")]
    profile: Option<PathBuf>,
    /// Plays this row alone, such as P7; may be repeated.
    #[arg(long = "row", value_name = "NAME")]
    rows: Vec<String>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Lists the rows and plays none.
    #[arg(long)]
    list: bool,
}

/// Parses the arguments.
///
/// # Errors
/// An argument is unknown or missing, or asks for help or the version.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let command = Arguments::command().version(version::LINE);
    Arguments::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

/// Plays, and prints.
///
/// # Errors
/// The profile cannot be read, or a row has an unknown name.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.list {
        return print(&ROWS.iter().map(|row| format!("{:<4} {}\n", row.name, row.what)).collect::<String>());
    }
    let path = arguments.profile.as_deref().context("no profile is named")?;
    let profile = Profile::read(path)?;
    let report = Report::play(&profile, &chosen(&arguments.rows)?);
    print(&if arguments.json { report.json() } else { report.table() })?;
    Ok(if report.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Row>> {
    let unknown = names.iter().find(|name| !ROWS.iter().any(|row| row.name.eq_ignore_ascii_case(name)));
    if let Some(name) = unknown {
        bail!("there is no row `{name}`; --list prints the rows");
    }
    let is_chosen = |row: &&Row| names.is_empty() || names.iter().any(|name| row.name.eq_ignore_ascii_case(name));
    Ok(ROWS.iter().filter(is_chosen).collect())
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
    fn rows_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), ROWS.len());
        let names: Vec<_> = chosen(&["p7".to_owned(), "P2".to_owned()]).unwrap().iter().map(|row| row.name).collect();
        assert_eq!(names, ["P2", "P7"]);
        assert!(chosen(&["P99".to_owned()]).unwrap_err().to_string().contains("`P99`"));
    }
}
