//! The command line.
//!
//! In: the process's arguments. Out: an [`Invocation`], or clap's own help and error texts. Flags that set a
//! configuration key come from the loader's table ([`DEPLOYMENT`]), so that neither can have one that the other lacks.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use lifecycle_config::settings::{Flags, arguments};

use crate::config::adapter_schema;
use crate::config::settings::{ADAPTER_FILE, DEPLOYMENT, TASK_FILE};

/// What the process was asked to do.
#[derive(Debug)]
pub enum Invocation {
    /// Take events and reconcile, or play one event if [`LegacyDryRun::is_asked_for`].
    Serve {
        /// The configuration.
        source: ConfigSource,
        /// The Go adapter's dry-run flags.
        dry_run: LegacyDryRun,
    },
    /// Print the merged configuration, secrets redacted.
    ConfigDump(ConfigSource),
    /// List every diagnostic of both files.
    Check(CheckArgs),
    /// Print the JSON Schema of a configuration file.
    Schema(SchemaOf),
    /// Play a scenario folder.
    DryRun(DryRunArgs),
    /// Print the version.
    Version,
}

/// Where the configuration comes from.
#[derive(Debug, Default)]
pub struct ConfigSource {
    /// `--config`.
    pub adapter: Option<String>,
    /// `--task-config`.
    pub task: Option<String>,
    /// Keys set by flags.
    pub flags: Flags,
}

/// The Go adapter's dry-run flags.
#[derive(Debug, Default)]
pub struct LegacyDryRun {
    /// `--dry-run-event`.
    pub event: Option<PathBuf>,
    /// `--dry-run-api-responses`.
    pub api_responses: Option<PathBuf>,
    /// `--dry-run-discovery`.
    pub discovery: Option<PathBuf>,
    /// `--dry-run-verbose`.
    pub verbose: bool,
    /// `--dry-run-output`; anything but `json` is text, as in the Go adapter.
    pub output: OutputFormat,
}

impl LegacyDryRun {
    /// Whether one of the flags that select a dry run is there.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        self.event.is_some() || self.api_responses.is_some()
    }
}

/// The arguments of `check`.
#[derive(Debug)]
pub struct CheckArgs {
    /// The configuration.
    pub source: ConfigSource,
    /// Whether warnings count as errors.
    pub strict: bool,
    /// Whether the rows that each resource can reach are printed.
    pub explain: bool,
    /// Whether the decision tree of each resource is printed.
    pub graph: bool,
    /// How everything is printed.
    pub output: OutputFormat,
}

/// The arguments of `dry-run`.
#[derive(Debug)]
pub struct DryRunArgs {
    /// The scenario folder.
    pub scenario: PathBuf,
    /// How the trace is printed.
    pub output: OutputFormat,
    /// Whether manifests and bodies are printed.
    pub verbose: bool,
    /// Whether the folder's expected traces are rewritten.
    pub update: bool,
    /// Whether the trace is compared with the folder's expected ones.
    pub check: bool,
}

/// For people or for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// Text.
    #[default]
    Text,
    /// JSON.
    Json,
}

/// A configuration file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaOf {
    /// The deployment file.
    Adapter,
    /// The task file.
    Task,
    /// The broker file.
    Broker,
}

/// Parses the arguments.
///
/// # Errors
/// Clap's: what is wrong, or the help that was asked for.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() == 1 {
        // As with the Go adapter: the program without a command lists the commands, and succeeds.
        arguments.push("help".into());
    }
    let matches = command().try_get_matches_from(arguments)?;
    Ok(match matches.subcommand() {
        Some(("serve", matches)) => {
            Invocation::Serve { source: config_source(matches), dry_run: legacy_dry_run(matches) }
        }
        Some(("config-dump", matches)) => Invocation::ConfigDump(config_source(matches)),
        Some(("check", matches)) => Invocation::Check(CheckArgs {
            source: config_source(matches),
            strict: matches.get_flag("strict"),
            explain: matches.get_flag("explain"),
            graph: matches.get_flag("graph"),
            output: output_format(matches),
        }),
        Some(("schema", matches)) => Invocation::Schema(match text(matches, "file").as_deref() {
            Some("adapter") => SchemaOf::Adapter,
            Some("broker") => SchemaOf::Broker,
            _ => SchemaOf::Task,
        }),
        Some(("dry-run", matches)) => Invocation::DryRun(DryRunArgs {
            scenario: path(matches, "scenario").unwrap_or_default(),
            output: output_format(matches),
            verbose: matches.get_flag("verbose"),
            update: matches.get_flag("update"),
            check: matches.get_flag("check"),
        }),
        _ => Invocation::Version,
    })
}

/// The whole command line, for parsing and for the documentation's test.
#[must_use]
pub fn command() -> Command {
    let output = || {
        Arg::new("output")
            .long("output")
            .short('o')
            .value_name("FORMAT")
            .value_parser(["text", "json"])
            .default_value("text")
            .help("Print for people (text) or for machines (json)")
    };
    Command::new("hyperfleet-adapter")
        .about("Reconciles Kubernetes objects with HyperFleet API resources, event by event")
        .subcommand_required(true)
        // As in the Go adapter: of a flag that is repeated, the last one counts.
        .args_override_self(true)
        .disable_help_subcommand(false)
        .subcommand(
            with_config(
                Command::new("serve").about("Take events from the broker or by HTTP, and reconcile until stopped"),
            )
            .args(legacy_flags()),
        )
        .subcommand(with_config(Command::new("config-dump").about("Print the merged configuration, secrets redacted")))
        .subcommand(
            with_config(Command::new("check").about("List every diagnostic of both configuration files, with its place"))
                .arg(flag("strict", "Count warnings as errors"))
                .arg(flag("explain", "Also print which rows of the decision table each resource can reach, and what it comes to there"))
                .arg(
                    flag("graph", "Print the decision tree of each resource as Markdown with Mermaid, and diagnostics on standard error")
                        .conflicts_with("explain"),
                )
                .arg(output()),
        )
        .subcommand(
            Command::new("schema").about("Print the JSON Schema of a configuration file, for editors").arg(
                Arg::new("file").value_parser(["adapter", "task", "broker"]).default_value("task").help("Which file"),
            ),
        )
        .subcommand(
            Command::new("dry-run")
                .about("Play a scenario folder on an embedded world, and print what would happen and why")
                .arg(
                    Arg::new("scenario")
                        .required(true)
                        .value_name("FOLDER")
                        .value_parser(value_parser!(PathBuf))
                        .help("The scenario, such as examples/01-create-cluster"),
                )
                .arg(output())
                .arg(flag("verbose", "Print rendered manifests and bodies too").short('v'))
                .arg(flag("check", "Compare with the folder's expected traces; exit 1 if they differ"))
                .arg(flag("update", "Rewrite the folder's expected traces").conflicts_with("check")),
        )
        .subcommand(Command::new("version").about("Print version, commit and build date"))
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// Reads what Go reads as a boolean.
fn go_boolean(text: &str) -> Result<bool, String> {
    lifecycle_config::go::parse_boolean(text).ok_or_else(|| "write true or false".to_owned())
}

fn with_config(command: Command) -> Command {
    let adapter = arguments::of_file(&ADAPTER_FILE, "The deployment file");
    let usual = "[default: /etc/hyperfleet/config.yaml, then ./configs/config.yaml]";
    let help = adapter.get_help().map(|help| format!("{help} {usual}")).unwrap_or_default();
    command
        .args([adapter.help(help), arguments::of_file(&TASK_FILE, "The task file")])
        .args(arguments::of_table(&DEPLOYMENT, &adapter_schema()))
}

fn legacy_flags() -> Vec<Arg> {
    let file = |name: &'static str, help: &'static str| Arg::new(name).long(name).value_name("FILE").help(help);
    let legacy = [
        file("dry-run-event", "Play this CloudEvent instead of serving"),
        file("dry-run-api-responses", "Answer API calls from this file"),
        file("dry-run-discovery", "Objects that are taken to be live, by name"),
        arguments::switch(Arg::new("dry-run-verbose").long("dry-run-verbose"))
            .value_parser(go_boolean)
            .default_value("false")
            .hide_default_value(true)
            .help("Print rendered manifests and bodies too"),
        Arg::new("dry-run-output").long("dry-run-output").value_name("FORMAT").help("text or json [default: text]"),
    ];
    legacy.into_iter().map(|arg| arg.help_heading("Dry run, as in the Go adapter (see also `dry-run`)")).collect()
}

fn text(matches: &ArgMatches, name: &str) -> Option<String> {
    matches.get_one::<String>(name).cloned()
}

fn path(matches: &ArgMatches, name: &str) -> Option<PathBuf> {
    matches.get_one::<PathBuf>(name).filter(|path| !path.as_os_str().is_empty()).cloned()
}

fn output_format(matches: &ArgMatches) -> OutputFormat {
    match text(matches, "output").as_deref() {
        Some("json") => OutputFormat::Json,
        _ => OutputFormat::Text,
    }
}

fn config_source(matches: &ArgMatches) -> ConfigSource {
    ConfigSource {
        adapter: text(matches, ADAPTER_FILE.flag),
        task: text(matches, TASK_FILE.flag),
        flags: arguments::given(&DEPLOYMENT, matches),
    }
}

fn legacy_dry_run(matches: &ArgMatches) -> LegacyDryRun {
    // An empty path is no path, as in the Go adapter.
    let file = |name| text(matches, name).filter(|path| !path.is_empty()).map(PathBuf::from);
    LegacyDryRun {
        event: file("dry-run-event"),
        api_responses: file("dry-run-api-responses"),
        discovery: file("dry-run-discovery"),
        verbose: matches.get_one("dry-run-verbose").copied().unwrap_or_default(),
        output: match text(matches, "dry-run-output").as_deref() {
            Some("json") => OutputFormat::Json,
            _ => OutputFormat::Text,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Invocation, clap::Error> {
        parse(std::iter::once("hyperfleet-adapter").chain(line.split_whitespace()).map(OsString::from))
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_setting_with_a_flag_is_taken_by_serve() {
        for setting in DEPLOYMENT.settings {
            let Some(flag) = setting.flag else { continue };
            let line = format!("serve --{flag}=true");
            assert!(matches!(parsed(&line), Ok(Invocation::Serve { .. })), "{line}");
        }
    }

    #[test]
    fn discovery_alone_does_not_select_a_dry_run() {
        let asked = |line: &str| match parsed(line) {
            Ok(Invocation::Serve { dry_run, .. }) => dry_run.is_asked_for(),
            other => panic!("{line}: {other:?}"),
        };
        assert!(!asked("serve --dry-run-discovery live.json"));
        assert!(asked("serve --dry-run-event event.json"));
        assert!(asked("serve --dry-run-api-responses answers.json"));
        assert!(!asked("serve --dry-run-event="));
    }

    #[test]
    fn any_legacy_output_but_json_is_text() {
        for (line, expected) in [
            ("serve --dry-run-output json", OutputFormat::Json),
            ("serve --dry-run-output yaml", OutputFormat::Text),
            ("serve", OutputFormat::Text),
        ] {
            match parsed(line) {
                Ok(Invocation::Serve { dry_run, .. }) => assert_eq!(dry_run.output, expected, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn booleans_are_written_as_in_go() {
        let verbose = |line: &str| match parsed(line) {
            Ok(Invocation::Serve { dry_run, .. }) => Some(dry_run.verbose),
            _ => None,
        };
        for (line, expected) in [
            ("serve", Some(false)),
            ("serve --dry-run-verbose", Some(true)),
            ("serve --dry-run-verbose --log-level debug", Some(true)),
            ("serve --dry-run-verbose=true", Some(true)),
            ("serve --dry-run-verbose=T", Some(true)),
            ("serve --dry-run-verbose=1", Some(true)),
            ("serve --dry-run-verbose=false", Some(false)),
            ("serve --dry-run-verbose=F", Some(false)),
            ("serve --dry-run-verbose=0", Some(false)),
            ("serve --dry-run-verbose=yes", None),
            ("serve --dry-run-verbose=", None),
        ] {
            assert_eq!(verbose(line), expected, "{line}");
        }
    }

    #[test]
    fn the_last_of_a_repeated_flag_counts() {
        let flags = DEPLOYMENT.settings.iter().filter_map(|setting| setting.flag).chain(["config", "task-config"]);
        for flag in flags {
            for command in ["serve", "config-dump", "check"] {
                let line = format!("{command} --{flag}=false --{flag}=true");
                let source = match parsed(&line) {
                    Ok(Invocation::Serve { source, .. } | Invocation::ConfigDump(source)) => source,
                    Ok(Invocation::Check(check)) => check.source,
                    other => panic!("{line}: {other:?}"),
                };
                let told = format!("{source:?}");
                assert!(told.contains("\"true\"") && !told.contains("\"false\""), "{line}: {told}");
            }
        }
        let line = "serve --dry-run-event a --dry-run-event b --dry-run-verbose --dry-run-verbose=false -t x -t y";
        match parsed(line) {
            Ok(Invocation::Serve { source, dry_run }) => {
                assert_eq!(dry_run.event, Some(PathBuf::from("b")));
                assert_eq!((dry_run.verbose, source.task.as_deref()), (false, Some("y")));
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(parsed("check --strict --strict"), Ok(Invocation::Check(CheckArgs { strict: true, .. }))));
    }

    #[test]
    fn an_unknown_flag_is_refused() {
        assert!(parsed("serve --no-such-flag").is_err());
    }
}
