//! The command line of a program with a [`Configuration`]: its own commands, and the commands that every program has.
//!
//! In: the program's commands, of which some read the configuration. Out: an exit code. Flags that set a key are generated
//! from the configuration's table and schema, so that the parser and the loader know the same flags.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Command, FromArgMatches as _, Subcommand};
use lifecycle_config::settings::{Flags, arguments};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::configuration::{Configuration, Environment};
use crate::program::{self, print};
use crate::version;

/// The command that a person calls. The comments are the help texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Invocation<I: Subcommand> {
    /// A command of this program.
    #[command(flatten)]
    Own(I),
    /// Prints the JSON Schema of the configuration.
    Schema,
    /// Prints the version.
    Version,
}

impl<S: DeserializeOwned + JsonSchema, C> Configuration<S, C> {
    /// Adds the commands to a program, and to those that are `configured` the flags of the configuration.
    #[must_use]
    pub fn command<I: Subcommand>(&self, program: Command, configured: &[&str]) -> Command {
        // Added to the program itself, they would bring the first comment of their enum as its help text.
        let commands = Invocation::<I>::augment_subcommands(Command::default());
        let program = program.subcommand_required(true).arg_required_else_help(true);
        let program = program.subcommands(commands.get_subcommands());
        arguments::of_subcommands(program, configured, &self.file, &self.table, &self.schema())
    }

    /// Parses the arguments: the command, and the flags that set keys of its configuration.
    ///
    /// # Errors
    /// Returns clap's error, which also carries the text of `--help` and `--version`.
    pub fn invocation<I: Subcommand>(
        &self,
        command: Command,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(Invocation<I>, Flags), clap::Error> {
        let matches = command.try_get_matches_from(arguments)?;
        let flags = arguments::of_subcommand(self.file, &self.table, &matches)?;
        Ok((Invocation::from_arg_matches(&matches)?, flags))
    }

    /// Runs the program with the arguments and the environment of the process.
    pub fn run<I: Subcommand>(
        &self,
        command: Command,
        own: impl FnOnce(I, &Flags, &Environment) -> anyhow::Result<ExitCode>,
    ) -> ExitCode {
        program::run(
            |arguments| self.invocation(command, arguments),
            |(invocation, flags), environment| match invocation {
                Invocation::Own(command) => own(command, &flags, &environment),
                Invocation::Schema => print(&format!("{:#}\n", self.schema())),
                Invocation::Version => print(&format!("{}\n", version::THIS)),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use lifecycle_config::decode::Typing;
    use lifecycle_config::document::Document;
    use lifecycle_config::settings::{Derived, FileName, Setting, Table};
    use serde::Deserialize;

    use super::*;
    use crate::logging::{LogSettings, Output};
    use crate::settings::{LogSpec, log};

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Spec {
        #[serde(default)]
        log: LogSpec,
    }

    const CONFIGURATION: Configuration<Spec, LogSettings> = Configuration {
        file: FileName { flag: "config", short: 'c', variable: "CONFIG" },
        absent: "nothing",
        table: Table {
            settings: &[Setting::text("log.level", "log-level", &["LEVEL"])],
            derived: Derived::None,
            typing: Typing::Strict,
        },
        document: Document::parse,
        resolve: |spec, mut resolver, _| Some(log(&mut resolver, &spec.log, Output::Stderr)),
        log: |settings| (*settings, "tester"),
    };

    /// The comment of an enum.
    #[derive(Debug, PartialEq, Eq, Subcommand)]
    enum Own {
        Serve,
        Demo,
    }

    fn command() -> Command {
        CONFIGURATION.command::<Own>(Command::new("tester").about("Tests"), &["serve"])
    }

    #[test]
    fn program_keeps_its_help_text_and_gets_every_command() {
        let command = command();
        assert_eq!(command.get_about().unwrap().to_string(), "Tests");
        let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(names, ["serve", "demo", "schema", "version"]);
    }

    #[test]
    fn only_configured_commands_take_the_flags_of_keys() {
        let flags = Flags::from([("config", "a.yaml".to_owned()), ("log-level", "debug".to_owned())]);
        let cases = [
            ("serve -c a.yaml --log-level debug", Some((Invocation::Own(Own::Serve), flags))),
            ("serve", Some((Invocation::Own(Own::Serve), Flags::new()))),
            ("demo", Some((Invocation::Own(Own::Demo), Flags::new()))),
            ("demo -c a.yaml", None),
            ("schema", Some((Invocation::Schema, Flags::new()))),
            ("version --log-level debug", None),
        ];
        for (line, expected) in cases {
            let arguments = ["tester"].into_iter().chain(line.split(' ')).map(OsString::from);
            assert_eq!(CONFIGURATION.invocation(command(), arguments).ok(), expected, "{line}");
        }
    }
}
