//! Converts the flags of a [`Table`] to clap's command line arguments.

use clap::error::ErrorKind;
use clap::parser::MatchesError;
use clap::{Arg, ArgMatches, Command, Error};
use serde_json::Value;

use super::{FileName, Flags, Table, Takes};
use crate::decode::property;
use crate::document::Path;

/// Returns an argument for each key with a flag; its help is the key's description in the schema.
pub fn of_table(table: &Table, schema: &Value) -> impl Iterator<Item = Arg> {
    table.settings.iter().filter_map(|setting| {
        let flag = setting.flag?;
        let described = property(schema, &Path::of_keys(setting.key)).and_then(|key| key.get("description"));
        let description = described.and_then(Value::as_str).unwrap_or_default().trim_end_matches('.');
        let variables = setting.variables.join(", ");
        let argument = Arg::new(flag)
            .long(flag)
            .help_heading("Configuration keys")
            .help(format!("Sets {}: {description} [env: {variables}]", setting.key));
        Some(match setting.takes {
            Takes::Text => argument.value_name("VALUE").allow_hyphen_values(true),
            Takes::Switch => switch(argument),
        })
    })
}

/// Returns the argument that names a configuration file.
#[must_use]
pub fn of_file(file: &FileName, what: &str) -> Arg {
    let FileName { flag, short, variable } = *file;
    Arg::new(flag).long(flag).short(short).value_name("FILE").help(format!("{what} [env: {variable}]"))
}

/// Gives a flag the syntax of Go's boolean flags: `--name` or `--name=false`, but not `--name false`.
#[must_use]
pub fn switch(argument: Arg) -> Arg {
    argument.value_name("BOOL").num_args(0..=1).require_equals(true).default_missing_value("true")
}

/// Returns the flags of the files and of the table that are given on the command line.
///
/// # Errors
/// The program parses the value of such a flag to something else than a text, so that the configuration would not see it.
pub fn given(files: &[FileName], table: &Table, matches: &ArgMatches) -> Result<Flags, Error> {
    let of_keys = table.settings.iter().filter_map(|setting| setting.flag);
    let flags = files.iter().map(|file| file.flag).chain(of_keys);
    let value = |flag| match matches.try_get_one::<String>(flag) {
        Ok(value) => value.map(|value| Ok((flag, value.clone()))),
        // The command reads no configuration.
        Err(MatchesError::UnknownArgument { .. }) => None,
        Err(mismatch) => {
            let message =
                format!("--{flag}: {mismatch}; let the program read it as a text, which the configuration parses\n");
            Some(Err(Error::raw(ErrorKind::ValueValidation, message)))
        }
    };
    flags.filter_map(value).collect()
}

/// Adds the flags of the configuration file and of the table to the subcommands with these names.
#[must_use]
pub fn of_subcommands(command: Command, names: &[&str], file: &FileName, table: &Table, schema: &Value) -> Command {
    command.mut_subcommands(|command| {
        if !names.contains(&command.get_name()) {
            return command;
        }
        command.arg(of_file(file, "The configuration file")).args(of_table(table, schema))
    })
}

/// Returns the flags of the file and of the table that are given to a subcommand; none if it has no such flags.
///
/// # Errors
/// As of [`given`].
pub fn of_subcommand(file: FileName, table: &Table, matches: &ArgMatches) -> Result<Flags, Error> {
    matches.subcommand().map_or_else(|| Ok(Flags::new()), |(_, matches)| given(&[file], table, matches))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use clap::value_parser;

    use super::*;
    use crate::decode::Typing;
    use crate::settings::{Derived, Setting};

    #[test]
    fn flag_that_is_read_as_something_else_than_a_text_is_an_error_and_not_left_out() {
        const SETTINGS: &[Setting] = &[Setting::text("server.port", "port", &["PORT"])];
        let table = Table { settings: SETTINGS, derived: Derived::None, typing: Typing::Strict };
        let port = || Arg::new("port").long("port");
        let given = |command: Command| {
            let matches = command.try_get_matches_from(["a", "--port=8080"]).unwrap();
            given(&[], &table, &matches).map_err(|error| error.to_string())
        };
        assert_eq!(given(Command::new("a").arg(port())), Ok(Flags::from([("port", "8080".to_owned())])));
        let error = given(Command::new("a").arg(port().value_parser(value_parser!(u16)))).unwrap_err();
        assert!(error.starts_with("error: --port: Could not downcast"), "{error}");
    }
}
