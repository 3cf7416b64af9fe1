//! The command line.
//!
//! In: the process's arguments. Out: an [`Invocation`]. Fails with clap's own help and error texts. The flags
//! that set a configuration key come from [`DEPLOYMENT`], the table that the configuration loader reads too, so
//! that no flag exists in only one of the two.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use lifecycle_config::settings::{Flags, arguments};
use lifecycle_kube::rights::Account;

use crate::config::adapter_schema;
use crate::config::settings::{ADAPTER_FILE, DEPLOYMENT, TASK_FILE};

/// The command that the user called, with its arguments.
#[derive(Debug)]
pub enum Invocation {
    /// Receive events and reconcile; play a single event instead if [`LegacyDryRun::is_requested`].
    Serve {
        /// The flags that name files and set keys.
        flags: Flags,
        /// The Go adapter's dry-run flags.
        dry_run: LegacyDryRun,
    },
    /// Print the merged configuration, with secrets redacted.
    ConfigDump(Flags),
    /// List every diagnostic of both configuration files.
    Check(CheckArgs),
    /// Print the JSON Schema of a configuration file.
    Schema(SchemaOf),
    /// Print the roles that the adapter needs for its task.
    Rbac(RbacArgs),
    /// Play a scenario folder: an event, its files, and the expected traces.
    DryRun(DryRunArgs),
    /// Print the version.
    Version,
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
    /// `--dry-run-output`; every value other than `json` means text, as in the Go adapter.
    pub output: OutputFormat,
}

impl LegacyDryRun {
    /// Whether the arguments contain one of the flags that select a dry run.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.event.is_some() || self.api_responses.is_some()
    }
}

/// The arguments of `check`.
#[derive(Debug)]
pub struct CheckArgs {
    /// The flags that name files and set keys.
    pub flags: Flags,
    /// Treat warnings as errors.
    pub strict: bool,
    /// Print the rows of the decision table that each resource can reach.
    pub explain: bool,
    /// What to draw.
    pub graph: Graph,
    /// The format of the output.
    pub output: OutputFormat,
}

/// The arguments of `rbac`.
#[derive(Debug)]
pub struct RbacArgs {
    /// The flags that name files and set keys.
    pub flags: Flags,
    /// The service account of the adapter.
    pub account: Account,
    /// Print values of the Helm chart instead of manifests.
    pub values: bool,
}

/// The drawing that `check` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Graph {
    /// No drawing.
    None,
    /// The order between the resources.
    Order,
    /// The decision tree of the resource of this name.
    Resource(String),
}

/// The arguments of `dry-run`.
#[derive(Debug)]
pub struct DryRunArgs {
    /// The scenario folder.
    pub scenario: PathBuf,
    /// The format of the trace.
    pub output: OutputFormat,
    /// Print rendered manifests and request bodies too.
    pub verbose: bool,
    /// Rewrite the folder's expected traces.
    pub update: bool,
    /// Compare the trace with the folder's expected traces.
    pub check: bool,
    /// Play each event again, and fail if a repeat makes a write once more.
    pub repeat: bool,
}

/// The format in which a command prints its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// Text for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

/// A kind of configuration file for which `schema` prints a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaOf {
    /// The deployment file.
    Adapter,
    /// The task file.
    Task,
    /// The broker file.
    Broker,
}

/// Parses the arguments, of which the first is the program's name.
///
/// # Errors
/// Clap's error: a wrong argument, or the help text that the user requested.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() == 1 {
        // The Go adapter without a command lists its commands and exits with 0: do the same.
        arguments.push("help".into());
    }
    let matches = command().try_get_matches_from(arguments)?;
    Ok(match matches.subcommand() {
        Some(("serve", matches)) => Invocation::Serve { flags: given(matches)?, dry_run: legacy_dry_run(matches) },
        Some(("config-dump", matches)) => Invocation::ConfigDump(given(matches)?),
        Some(("check", matches)) => Invocation::Check(CheckArgs {
            flags: given(matches)?,
            strict: matches.get_flag("strict"),
            explain: matches.get_flag("explain"),
            graph: match text(matches, "graph") {
                None => Graph::None,
                Some(name) if name.is_empty() => Graph::Order,
                Some(name) => Graph::Resource(name),
            },
            output: output_format(matches),
        }),
        Some(("rbac", matches)) => Invocation::Rbac(RbacArgs {
            flags: given(matches)?,
            account: matches.get_one::<Account>("service-account").cloned().unwrap_or_else(default_account),
            values: text(matches, "output").as_deref() == Some("values"),
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
            repeat: matches.get_flag("repeat"),
        }),
        _ => Invocation::Version,
    })
}

/// Builds the clap command with all subcommands. A test of the documentation reads it, too.
#[must_use]
pub fn command() -> Command {
    let output = || {
        Arg::new("output")
            .long("output")
            .short('o')
            .value_name("FORMAT")
            .value_parser(["text", "json"])
            .default_value("text")
            .help("Print for people (text) or for programs (json)")
    };
    // Made once for four commands: their help texts come from a JSON Schema, which has to be generated first.
    let config_flags = config_flags();
    let with_config = |command: Command| command.args(config_flags.clone());
    Command::new("hyperfleet-adapter")
        .version(lifecycle_service::version::LINE)
        .about("Reconciles Kubernetes objects with HyperFleet API resources, event by event")
        .subcommand_required(true)
        // The last occurrence of a repeated flag wins, as in the Go adapter.
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
                .arg(flag("explain", "Also print which rows of the decision table each resource can reach, and its decisions there"))
                .arg(
                    Arg::new("graph")
                        .long("graph")
                        .value_name("RESOURCE")
                        .num_args(0..=1)
                        .require_equals(true)
                        .default_missing_value("")
                        .conflicts_with("explain")
                        .help("Print what the resources wait for or, with a name, one resource's decision tree, as Markdown with Mermaid, and diagnostics on standard error"),
                )
                .arg(output()),
        )
        .subcommand(
            with_config(Command::new("rbac").about("Print the roles that the adapter needs for its task, for `kubectl apply -f -`"))
                .arg(
                    Arg::new("service-account")
                        .long("service-account")
                        .value_name("NAMESPACE/NAME")
                        .value_parser(Account::parse)
                        .help(format!("The service account of the adapter [default: {}]", default_account())),
                )
                .arg(
                    Arg::new("output")
                        .long("output")
                        .short('o')
                        .value_name("FORMAT")
                        .value_parser(["manifests", "values"])
                        .default_value("manifests")
                        .help("Print manifests, or values of the Helm chart"),
                ),
        )
        .subcommand(
            Command::new("schema").about("Print the JSON Schema of a configuration file, for editors").arg(
                Arg::new("file").value_parser(["adapter", "task", "broker"]).default_value("task").help("Which file"),
            ),
        )
        .subcommand(
            Command::new("dry-run")
                .about("Play a scenario folder against an in-memory cluster, and print each decision with its reason")
                .after_help(FILES_OF_SCENARIO)
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
                .arg(flag("repeat", "Also play each event again; exit 1 if a repeat makes a write once more"))
                .arg(flag("update", "Rewrite the folder's expected traces").conflicts_with("check")),
        )
        .subcommand(Command::new("version").about("Print version, commit and build date"))
}

/// What `dry-run --help` says of a scenario's folder.
const FILES_OF_SCENARIO: &str = "\
Files of the folder:
  event.json           The CloudEvent; its `time` is the clock of the run
  adapter-config.yaml  The deployment file
  task-config.yaml     The task, with the files that it refers to
  api-responses.json   What the API answers (without it: 200 and {} to every request)
  live/*.yaml          The objects that exist before the event
  series.yaml          More events than one, each with what changes before it
  environment.json     The environment's variables
  expected/            The traces that --update writes and --check compares

Only the first three are required. Start from a copy of the most similar folder in examples/, whose README.md has the formats.";

/// The service account of an adapter that was installed under the names of the documentation.
fn default_account() -> Account {
    Account { namespace: "hyperfleet".to_owned(), name: "hyperfleet-adapter".to_owned() }
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// Parses a boolean by the rules of Go's `strconv.ParseBool`.
fn go_boolean(text: &str) -> Result<bool, String> {
    lifecycle_config::go::parse_boolean(text).ok_or_else(|| "write true or false".to_owned())
}

/// The flags of the commands that read the configuration.
fn config_flags() -> Vec<Arg> {
    let adapter = arguments::of_file(&ADAPTER_FILE, "The deployment file");
    let usual = "[default: /etc/hyperfleet/config.yaml, then ./configs/config.yaml]";
    let help = adapter.get_help().map(|help| format!("{help} {usual}")).unwrap_or_default();
    let files = [adapter.help(help), arguments::of_file(&TASK_FILE, "The task file")];
    files.into_iter().chain(arguments::of_table(&DEPLOYMENT, &adapter_schema())).collect()
}

fn legacy_flags() -> Vec<Arg> {
    let file = |name: &'static str, help: &'static str| Arg::new(name).long(name).value_name("FILE").help(help);
    let legacy = [
        file("dry-run-event", "Play this CloudEvent instead of serving"),
        file("dry-run-api-responses", "Answer API calls from this file"),
        file("dry-run-discovery", "Use these objects as the live ones, by name"),
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

fn given(matches: &ArgMatches) -> Result<Flags, clap::Error> {
    arguments::given(&[ADAPTER_FILE, TASK_FILE], &DEPLOYMENT, matches)
}

fn legacy_dry_run(matches: &ArgMatches) -> LegacyDryRun {
    // An empty path counts as absent, as in the Go adapter.
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
    fn command_line_definition_is_valid() {
        command().debug_assert();
    }

    #[test]
    fn serve_accepts_the_flag_of_every_setting() {
        for setting in DEPLOYMENT.settings {
            let Some(flag) = setting.flag else { continue };
            let line = format!("serve --{flag}=true");
            assert!(matches!(parsed(&line), Ok(Invocation::Serve { .. })), "{line}");
        }
    }

    #[test]
    fn discovery_flag_alone_does_not_select_a_dry_run() {
        let is_dry_run = |line: &str| match parsed(line) {
            Ok(Invocation::Serve { dry_run, .. }) => dry_run.is_requested(),
            other => panic!("{line}: {other:?}"),
        };
        assert!(!is_dry_run("serve --dry-run-discovery live.json"));
        assert!(is_dry_run("serve --dry-run-event event.json"));
        assert!(is_dry_run("serve --dry-run-api-responses answers.json"));
        assert!(!is_dry_run("serve --dry-run-event="));
    }

    #[test]
    fn unknown_legacy_output_format_means_text() {
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
    fn boolean_flags_parse_as_in_go() {
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
    fn last_value_of_a_repeated_flag_wins() {
        let flags = DEPLOYMENT.settings.iter().filter_map(|setting| setting.flag).chain(["config", "task-config"]);
        for flag in flags {
            for command in ["serve", "config-dump", "check"] {
                let line = format!("{command} --{flag}=false --{flag}=true");
                let given = match parsed(&line) {
                    Ok(Invocation::Serve { flags, .. } | Invocation::ConfigDump(flags)) => flags,
                    Ok(Invocation::Check(check)) => check.flags,
                    other => panic!("{line}: {other:?}"),
                };
                let text = format!("{given:?}");
                assert!(text.contains("\"true\"") && !text.contains("\"false\""), "{line}: {text}");
            }
        }
        let line = "serve --dry-run-event a --dry-run-event b --dry-run-verbose --dry-run-verbose=false -t x -t y";
        match parsed(line) {
            Ok(Invocation::Serve { flags, dry_run }) => {
                assert_eq!(dry_run.event, Some(PathBuf::from("b")));
                assert_eq!((dry_run.verbose, flags["task-config"].as_str()), (false, "y"));
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(parsed("check --strict --strict"), Ok(Invocation::Check(CheckArgs { strict: true, .. }))));
    }

    #[test]
    fn unknown_flag_is_an_error() {
        assert!(parsed("serve --no-such-flag").is_err());
    }
}
