#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use lifecycle_config::decode::property;

use super::*;

fn load_text(text: &str) -> Result<(Config, Diagnostics), Diagnostics> {
    parse("exporter.yaml", text, &Environment::new(), &Overrides::new())
}

#[test]
fn an_empty_file_has_every_default_and_one_warning() {
    let (config, remarks) = load_text("{}").unwrap();
    assert_eq!(config.health_listen.to_string(), "[::]:8080");
    assert_eq!(config.metrics_listen.to_string(), "[::]:9090");
    assert_eq!(config.database.max_connections, 2);
    assert_eq!(config.stuck_access, StuckAccess::Off);
    assert_eq!(config.kinds.default_stuck_after(), Duration::from_secs(600));
    assert!((config.exposure.started, config.exposure.requests) == (true, false));
    assert!(remarks.to_string().contains("no kinds are listed"), "{remarks}");
}

#[test]
fn thresholds_fall_back_step_by_step() {
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
fn a_flag_wins_over_a_variable_and_a_variable_over_the_file() {
    let text = "metrics: {listen: '127.0.0.1:1'}\nkinds: [{kind: Cluster}]\n";
    let mut environment = Environment::from([("HYPERFLEET_METRICS_LISTEN".to_owned(), "127.0.0.1:2".to_owned())]);
    let listen = |environment: &Environment, overrides: &Overrides| {
        parse("exporter.yaml", text, environment, overrides).unwrap().0.metrics_listen.port()
    };
    assert_eq!(listen(&Environment::new(), &Overrides::new()), 1);
    assert_eq!(listen(&environment, &Overrides::new()), 2);
    assert_eq!(listen(&environment, &Overrides::from([("metrics.listen", "127.0.0.1:3".to_owned())])), 3);
    environment.insert("HYPERFLEET_METRICS_LISTEN".to_owned(), String::new());
    assert_eq!(listen(&environment, &Overrides::new()), 1, "an empty variable is none");
}

#[test]
fn every_mistake_comes_at_once_with_its_place_and_cure() {
    let text = "database: {url: 'mysql://x:hunter2@y/z', host: h}\n\
                metrics: {listen: nowhere, age_buckets: [5m, 1m], transition_counters: [begun], \
                reconciliation_stuck_threshold: 0s}\n\
                log: {level: loud}\nstuck: {anonymous: true, token_file: t}\nkindz: []\n\
                kinds:\n- {kind: Cluster, required_adapters: [dns, dns]}\n- {kind: cluster}\n";
    let environment = Environment::from([
        ("HYPERFLEET_HEALTH_LISTEN".to_owned(), "what".to_owned()),
        ("HYPERFLEET_DATABASE_PORT".to_owned(), "many".to_owned()),
    ]);
    let mistakes = parse("exporter.yaml", text, &environment, &Overrides::new()).unwrap_err();
    assert!(!mistakes.to_string().contains("hunter2"), "a mistake must not show a password: {mistakes}");
    insta::assert_snapshot!("every_mistake", mistakes);
}

#[test]
fn scrapes_have_a_connection_of_their_own_and_no_more_than_a_few_are_opened() {
    for (given, allowed) in [(1, false), (2, true), (16, true), (17, false)] {
        let loaded = load_text(&format!("database: {{max_connections: {given}}}"));
        assert_eq!(loaded.is_ok(), allowed, "{given}");
        if let Err(mistakes) = loaded {
            assert!(mistakes.to_string().contains("write a number from 2 to 16"), "{mistakes}");
        }
    }
}

#[test]
fn what_works_against_itself_is_told() {
    let warnings = |text: &str| load_text(text).map(|(_, warnings)| warnings.to_string()).unwrap();
    assert!(warnings("metrics: {age_buckets: [1m, 1h]}").contains("add a bound above 1h"));
    assert!(!warnings("metrics: {age_buckets: [1m, 1h, 3h]}").contains("age_buckets"));
    let slow = "kinds: [{kind: Cluster, stuck_after_deleting: 90m}]";
    assert!(warnings(&format!("metrics: {{age_buckets: [1m, 3h]}}\n{slow}")).contains("twice the longest threshold"));
    assert!(!warnings(&format!("metrics: {{age_buckets: [1m, 4h]}}\n{slow}")).contains("age_buckets"));
    assert!(warnings("health: {database_answered_within: 20s}").contains("shorter than details.interval"));
    assert!(!warnings("health: {database_answered_within: 30s}").contains("details.interval"));
    for (text, cure) in [
        ("details: {interval: 999ms}", "write at least 1s"),
        ("details: {missing_interval: 10s}", "write at least 60s"),
    ] {
        let mistakes = load_text(text).unwrap_err().to_string();
        assert!(mistakes.contains("too short") && mistakes.contains(cure), "{mistakes}");
    }
    assert!(load_text("details: {interval: 1s, missing_interval: 1m}").is_ok());
    let mistakes = load_text("database: {statement_timeout: 61m}").unwrap_err().to_string();
    assert!(mistakes.contains("longer than an hour"), "{mistakes}");
}

#[test]
fn a_file_without_an_end_is_refused() {
    let told = load(Some(Path::new("/dev/zero")), &Environment::new(), &Overrides::default()).unwrap_err().to_string();
    assert!(told.contains("cannot be read: it has more than 2097152 bytes"), "{told}");
}

#[test]
fn a_file_that_is_not_there_says_how_to_name_one() {
    let mistakes = load(Some(Path::new("/nonexistent.yaml")), &Environment::new(), &Overrides::new()).unwrap_err();
    let text = mistakes.to_string();
    assert!(text.contains("/nonexistent.yaml") && text.contains("--config or HYPERFLEET_CONFIG"), "{text}");
}

#[test]
fn a_password_comes_from_where_every_value_comes_from() {
    let password = |text: &str, variables: &[(&str, &str)], flags: &[(&'static str, &str)]| {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let flags = flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        parse("exporter.yaml", text, &variables.iter().map(owned).collect(), &flags).unwrap().0.database.password
    };
    let file = |name: &str| PasswordSource::File(name.into());
    let given = PasswordSource::Given("v".to_owned());
    let (in_file, in_address) = ("database: {password_file: f}", "database: {url: 'postgres://u:p@h/d'}");
    let variable = (PASSWORD_VARIABLE, "v");
    let names_file = ("HYPERFLEET_DATABASE_PASSWORD_FILE", "e");
    let address = ("HYPERFLEET_DATABASE_URL", "postgres://h/d?password=p");
    let cases = [
        ("nowhere", password("{}", &[], &[]), PasswordSource::Address),
        ("the file names one", password(in_file, &[], &[]), file("f")),
        ("a variable wins over the file", password(in_file, &[variable], &[]), given.clone()),
        ("and over an address in it", password(in_address, &[variable], &[]), given.clone()),
        ("an address in a variable, too", password(in_file, &[address], &[]), PasswordSource::Address),
        (
            "an address without one does not",
            password(in_file, &[("HYPERFLEET_DATABASE_URL", "postgres://u@h/d:x")], &[]),
            file("f"),
        ),
        ("of two variables the file's", password("{}", &[variable, names_file], &[]), file("e")),
        (
            "a flag wins over all",
            password(in_file, &[variable, address], &[("database.password_file", "g")]),
            file("g"),
        ),
    ];
    for (name, found, expected) in cases {
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_mistake_is_where_the_value_comes_from() {
    let environment = Environment::from([("HYPERFLEET_METRICS_LISTEN".to_owned(), "nowhere".to_owned())]);
    let mistakes = parse("exporter.yaml", "metrics: {listen: ':1'}", &environment, &Overrides::new()).unwrap_err();
    assert!(
        mistakes.to_string().contains("HYPERFLEET_METRICS_LISTEN: error: metrics.listen: \"nowhere\""),
        "{mistakes}"
    );
    let flag = Overrides::from([("metrics.listen", "elsewhere".to_owned())]);
    let mistakes = parse("exporter.yaml", "{}", &environment, &flag).unwrap_err();
    assert!(mistakes.to_string().contains("--metrics-listen: error: metrics.listen: \"elsewhere\""), "{mistakes}");
}

#[test]
fn adapters_are_bounded_over_all_kinds() {
    let load = |kinds: usize, adapters: usize| {
        let kind = |kind: usize| {
            let names: Vec<_> = (0..adapters).map(|adapter| format!("a{kind}-{adapter}")).collect();
            format!("- {{kind: K{kind}, required_adapters: [{}]}}\n", names.join(", "))
        };
        load_text(&format!("kinds:\n{}", (0..kinds).map(kind).collect::<String>()))
    };
    assert!(load(1, 50).is_ok() && load(5, 10).is_ok());
    let mistakes = load(3, 17).unwrap_err().to_string();
    assert!(mistakes.contains("kinds: require 51 different adapters"), "{mistakes}");
}

#[test]
fn an_empty_name_of_the_tokens_file_is_none() {
    let access = |stuck: &str| load_text(&format!("stuck: {{{stuck}}}")).unwrap().0.stuck_access;
    assert_eq!(access("token_file: t"), StuckAccess::Token("t".into()));
    assert_eq!(access("token_file: ''"), StuckAccess::Off);
    assert_eq!(access("token_file: '', anonymous: true"), StuckAccess::Anonymous);
}

#[test]
fn no_password_is_shown() {
    let environment = Environment::from([(PASSWORD_VARIABLE.to_owned(), "hunter2".to_owned())]);
    let (config, _) = parse("exporter.yaml", "{}", &environment, &Overrides::new()).unwrap();
    assert_eq!(config.database.password, PasswordSource::Given("hunter2".to_owned()));
    assert!(!format!("{config:?}").contains("hunter2"), "{config:?}");
}

#[test]
fn every_setting_is_a_key() {
    let schema = schema();
    for setting in SETTINGS {
        assert!(property(&schema, &document::Path::of_keys(setting.key)).is_some(), "{}", setting.key);
    }
}
