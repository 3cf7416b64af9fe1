#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use lifecycle_config::decode::property;
use lifecycle_service::configuration::Loaded;

use super::settings::PASSWORD_VARIABLE;
use super::*;

fn load_text(text: &str) -> Loaded<Config> {
    CONFIGURATION.parse("exporter.yaml", text, &Environment::new(), &Flags::new())
}

#[test]
fn empty_file_loads_with_defaults_and_one_warning() {
    let (config, diagnostics) = load_text("{}").unwrap();
    assert_eq!(config.health_listen.to_string(), "[::]:8080");
    assert_eq!(config.metrics_listen.to_string(), "[::]:9090");
    assert_eq!(config.stuck_access, Access::Off);
    assert_eq!(config.kinds.default_stuck_after(), Duration::from_secs(600));
    assert!(diagnostics.to_string().contains("no kinds are known"), "{diagnostics}");
}

#[test]
fn threshold_defaults_to_that_of_the_kind_then_to_the_global_one() {
    let text = "metrics: {reconciliation_stuck_threshold: 7m}\n\
                kinds:\n- {kind: Cluster, required_adapters: [dns], stuck_after: 20m, stuck_after_deleting: 1h}\n\
                - {kind: NodePool, stuck_after: 5m}\n- {kind: Channel}\n";
    let (config, _) = load_text(text).unwrap();
    let cases = [
        ("Cluster", false, 20),
        ("Cluster", true, 60),
        ("NodePool", true, 5),
        ("Channel", true, 7),
        ("Unknown", false, 7),
    ];
    for (kind, deleting, minutes) in cases {
        assert_eq!(config.kinds.stuck_after(kind, deleting), Duration::from_secs(minutes * 60), "{kind} {deleting}");
    }
}

#[test]
fn flag_wins_over_variable_and_variable_over_file() {
    let text = "metrics: {listen: '127.0.0.1:1'}\nkinds: [{kind: Cluster}]\n";
    let mut environment = Environment::from([("HYPERFLEET_METRICS_LISTEN".to_owned(), "127.0.0.1:2".to_owned())]);
    let listen = |environment: &Environment, flags: &Flags| {
        CONFIGURATION.parse("exporter.yaml", text, environment, flags).unwrap().0.metrics_listen.port()
    };
    assert_eq!(listen(&Environment::new(), &Flags::new()), 1);
    assert_eq!(listen(&environment, &Flags::new()), 2);
    assert_eq!(listen(&environment, &Flags::from([("metrics-listen", "127.0.0.1:3".to_owned())])), 3);
    environment.insert("HYPERFLEET_METRICS_LISTEN".to_owned(), String::new());
    assert_eq!(listen(&environment, &Flags::new()), 1, "an empty variable counts as unset");
}

#[test]
fn parse_reports_all_mistakes_at_once() {
    let text = "database: {url: 'mysql://x:hunter2@y/z', host: h}\n\
                metrics: {listen: nowhere, reconciliation_stuck_threshold: 0s}\n\
                log: {level: loud}\nstuck: {anonymous: true, token_file: t}\nkindz: []\n\
                kinds:\n- {kind: Cluster, required_adapters: [dns, dns]}\n- {kind: cluster}\n";
    let environment = Environment::from([
        ("HYPERFLEET_HEALTH_LISTEN".to_owned(), "what".to_owned()),
        ("HYPERFLEET_DATABASE_PORT".to_owned(), "many".to_owned()),
    ]);
    let diagnostics = CONFIGURATION.parse("exporter.yaml", text, &environment, &Flags::new()).unwrap_err();
    assert!(!diagnostics.to_string().contains("hunter2"), "a diagnostic must not show a password: {diagnostics}");
    insta::assert_snapshot!("every_mistake", diagnostics);
}

#[test]
fn values_beyond_the_limits_are_errors() {
    for (text, expected) in [
        ("details: {interval: 999ms}", "write at least 1s"),
        ("metrics: {scrape_timeout: 61m}", "is longer than an hour"),
        ("details: {max_resources: 10001}", "write a number from 1 to 10000"),
    ] {
        let diagnostics = load_text(text).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{diagnostics}");
    }
    assert!(load_text("details: {interval: 1s}").is_ok());
}

/// A configuration file of the API, in the form that the API's Helm chart writes.
const API_CONFIG: &str = "database: {password: hunter2}\nentities:\n\
    - {kind: Cluster, plural: clusters, required_adapters: [validation, dns], name_min_len: 3}\n\
    - {kind: NodePool, plural: nodepools, parent_kind: Cluster, on_parent_delete: cascade, required_adapters: [hypershift]}\n\
    - {kind: Channel, plural: channels}\n";

fn with_api_config(api: &str, ours: &str) -> Result<Config, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, api.as_bytes()).unwrap();
    let text = format!("api_config_file: {}\n{ours}", file.path().display());
    load_text(&text).map(|(config, _)| config).map_err(|diagnostics| diagnostics.to_string())
}

#[test]
fn kinds_come_from_the_apis_configuration_file() {
    let config = with_api_config(API_CONFIG, "kinds: [{kind: NodePool, stuck_after: 15m}]").unwrap();
    let kinds: Vec<_> =
        config.kinds.all().iter().map(|kind| (kind.name.as_str(), kind.required_adapters.join(","))).collect();
    let expected = [("Cluster", "validation,dns"), ("NodePool", "hypershift"), ("Channel", "")];
    assert_eq!(kinds, expected.map(|(kind, adapters)| (kind, adapters.to_owned())));
    let minutes = |kind: &str| config.kinds.stuck_after(kind, false).as_secs() / 60;
    assert_eq!((minutes("Cluster"), minutes("NodePool")), (10, 15), "`kinds` sets thresholds");
}

#[test]
fn kinds_that_contradict_the_apis_configuration_are_errors() {
    let cases = [
        (API_CONFIG, "kinds: [{kind: Cluster, required_adapters: [dns]}]", "contradicts api_config_file"),
        (API_CONFIG, "kinds: [{kind: Clutser}]", "write Cluster"),
        ("entities: []", "", "has no entities"),
        ("entities: {kind: Cluster}", "{}", "is not a configuration file of the API"),
        ("entities: [{kind: Cluster, required_adapters: [dns, dns]}]", "{}", "has empty or repeated names"),
    ];
    for (api, ours, expected) in cases {
        let diagnostics = with_api_config(api, &ours.replace("{}", "")).unwrap_err();
        assert!(diagnostics.contains(expected) && !diagnostics.contains("hunter2"), "{diagnostics}");
    }
    let diagnostics = load_text("api_config_file: /nonexistent").unwrap_err().to_string();
    assert!(diagnostics.contains("`/nonexistent` cannot be read"), "{diagnostics}");
}

fn named(file: &str) -> Flags {
    Flags::from([(FILE.flag, file.to_owned())])
}

#[test]
fn endless_file_is_refused() {
    let diagnostics = CONFIGURATION.load(&Environment::new(), &named("/dev/zero")).unwrap_err().to_string();
    assert!(diagnostics.contains("failed to read the file: it has more than 2097152 bytes"), "{diagnostics}");
}

#[test]
fn error_for_a_missing_file_names_flag_and_variable() {
    let diagnostics = CONFIGURATION.load(&Environment::new(), &named("/nonexistent.yaml")).unwrap_err();
    let text = diagnostics.to_string();
    assert!(text.contains("/nonexistent.yaml") && text.contains("--config or HYPERFLEET_CONFIG"), "{text}");
}

#[test]
fn password_source_follows_the_precedence_of_all_values() {
    let password = |text: &str, variables: &[(&str, &str)], flags: &[(&'static str, &str)]| {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let flags = flags.iter().map(|(flag, value)| (*flag, (*value).to_owned())).collect();
        CONFIGURATION
            .parse("exporter.yaml", text, &variables.iter().map(owned).collect(), &flags)
            .unwrap()
            .0
            .database
            .password
    };
    let file = |name: &str| PasswordSource::File(name.into());
    let given = PasswordSource::Given("v".to_owned());
    let (in_file, in_address) = ("database: {password_file: f}", "database: {url: 'postgres://u:p@h/d'}");
    let variable = (PASSWORD_VARIABLE, "v");
    let names_file = ("HYPERFLEET_DATABASE_PASSWORD_FILE", "e");
    let address = ("HYPERFLEET_DATABASE_URL", "postgres://h/d?password=p");
    let cases = [
        ("none is set", password("{}", &[], &[]), PasswordSource::Address),
        ("a password file in the file", password(in_file, &[], &[]), file("f")),
        ("a variable wins over the configuration file", password(in_file, &[variable], &[]), given.clone()),
        (
            "a variable wins over an address in the configuration file",
            password(in_address, &[variable], &[]),
            given.clone(),
        ),
        (
            "an address in a variable wins over the configuration file",
            password(in_file, &[address], &[]),
            PasswordSource::Address,
        ),
        (
            "an address without a password does not win",
            password(in_file, &[("HYPERFLEET_DATABASE_URL", "postgres://u@h/d:x")], &[]),
            file("f"),
        ),
        (
            "the variable with a file name wins over the one with a password",
            password("{}", &[variable, names_file], &[]),
            file("e"),
        ),
        (
            "a flag wins over everything",
            password(in_file, &[variable, address], &[("db-password-file", "g")]),
            file("g"),
        ),
    ];
    for (name, found, expected) in cases {
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn diagnostic_names_the_flag_or_variable_of_the_value() {
    let environment = Environment::from([("HYPERFLEET_METRICS_LISTEN".to_owned(), "nowhere".to_owned())]);
    let diagnostics =
        CONFIGURATION.parse("exporter.yaml", "metrics: {listen: ':1'}", &environment, &Flags::new()).unwrap_err();
    assert!(
        diagnostics.to_string().contains("environment: error: HYPERFLEET_METRICS_LISTEN: metrics.listen \"nowhere\""),
        "{diagnostics}"
    );
    let flag = Flags::from([("metrics-listen", "elsewhere".to_owned())]);
    let diagnostics = CONFIGURATION.parse("exporter.yaml", "{}", &environment, &flag).unwrap_err();
    assert!(
        diagnostics.to_string().contains("command line: error: --metrics-listen: metrics.listen \"elsewhere\""),
        "{diagnostics}"
    );
}

#[test]
fn more_than_fifty_adapters_of_all_kinds_are_an_error() {
    let load = |kinds: usize, adapters: usize| {
        let kind = |kind: usize| {
            let names: Vec<_> = (0..adapters).map(|adapter| format!("a{kind}-{adapter}")).collect();
            format!("- {{kind: K{kind}, required_adapters: [{}]}}\n", names.join(", "))
        };
        load_text(&format!("kinds:\n{}", (0..kinds).map(kind).collect::<String>()))
    };
    assert!(load(1, 50).is_ok() && load(5, 10).is_ok());
    let diagnostics = load(3, 17).unwrap_err().to_string();
    assert!(diagnostics.contains("kinds: require 51 different adapters"), "{diagnostics}");
}

#[test]
fn empty_token_file_key_counts_as_unset() {
    let access = |stuck: &str| load_text(&format!("stuck: {{{stuck}}}")).unwrap().0.stuck_access;
    assert_eq!(access("token_file: t"), Access::Token("t".into()));
    assert_eq!(access("token_file: ''"), Access::Off);
    assert_eq!(access("token_file: '', anonymous: true"), Access::Anonymous);
}

#[test]
fn debug_output_contains_no_password() {
    let environment = Environment::from([(PASSWORD_VARIABLE.to_owned(), "hunter2".to_owned())]);
    let (config, _) = CONFIGURATION.parse("exporter.yaml", "{}", &environment, &Flags::new()).unwrap();
    assert_eq!(config.database.password, PasswordSource::Given("hunter2".to_owned()));
    assert!(!format!("{config:?}").contains("hunter2"), "{config:?}");
}

#[test]
fn every_setting_names_a_documented_key() {
    let schema = CONFIGURATION.schema();
    for setting in EXPORTER.settings {
        let property = property(&schema, &setting.key.into());
        assert!(property.is_some_and(|key| key["description"].is_string()), "{}", setting.key);
    }
}
