//! Tests of the loader: defaults, precedence, files of the real Sentinel, and every diagnostic of its own.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;

use lifecycle_api_client::AuthScheme;
use tempfile::TempDir;

use super::*;

const LEAST: &str = "\
resource_type: clusters
clients: {hyperfleet_api: {base_url: 'http://api:8000'}, broker: {topic: t}}
broker: {rabbitmq: {url: 'amqp://user:hunter2@rabbitmq'}}
";

/// A file of the real Sentinel, with every key that it knows.
const REAL: &str = r#"
sentinel: {name: fleet-clusters}
log: {level: debug, format: text, output: stdout}
debug_config: false
tracing_enabled: true
clients:
  hyperfleet_api:
    base_url: http://api:8000
    version: v1
    timeout: 5s
    page_size: 100
    auth: {token_path: /var/run/token, token_cache_ttl: 1m}
  broker: {topic: fleet-clusters}
resource_type: clusters
poll_interval: 2s
resource_selector:
  - {label: zone, value: b}
  - {label: shard, value: 1}
message_decision:
  params:
    - {name: ref_time, expr: 'condition("Reconciled").last_updated_time'}
    - {name: is_reconciled, expr: 'condition("Reconciled").status == "True"'}
    - {name: has_ref_time, expr: 'ref_time != ""'}
    - {name: is_new_resource, expr: '!has_ref_time && resource.generation == 1'}
    - {name: generation_mismatch, expr: 'resource.generation > condition("Reconciled").observed_generation'}
    - {name: reconciled_and_stale, expr: 'is_reconciled && has_ref_time && now - timestamp(ref_time) > duration("30m")'}
    - {name: not_reconciled_and_debounced, expr: '!is_reconciled && has_ref_time && now - timestamp(ref_time) > duration("10s")'}
  result: is_new_resource || generation_mismatch || reconciled_and_stale || not_reconciled_and_debounced
message_data: {id: resource.id, kind: resource.kind, href: resource.href, Generation: resource.generation}
broker: {type: rabbitmq, rabbitmq: {url: 'amqp://rabbitmq/fleet', exchange_type: topic}}
"#;

fn parsed(text: &str, variables: &[(&str, &str)], flags: &Flags) -> Result<(Config, Diagnostics), Diagnostics> {
    let variables = variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    CONFIGURATION.parse("s.yaml", text, &variables, flags)
}

fn loaded(text: &str) -> Config {
    parsed(text, &[], &Flags::new()).unwrap().0
}

#[test]
fn defaults_are_those_of_the_real_sentinel() {
    let config = loaded(LEAST);
    assert_eq!((config.name.as_str(), config.resource_type.as_str()), ("local-sentinel", "clusters"));
    assert_eq!((config.poll_interval, config.ages), (Duration::from_secs(5), MaxAges::default()));
    assert_eq!((config.api.timeout, config.api.page_size), (Duration::from_secs(10), 20));
    assert_eq!((config.api.token, config.selector.len()), (None, 0));
    assert_eq!((config.topic.as_str(), config.broker.exchange_type), ("t", ExchangeType::Fanout));
    assert_eq!((config.health_listen.port(), config.metrics_listen.port()), (8080, 9090));
    assert_eq!(config.broker.url.to_string(), "amqp://rabbitmq:5672 (virtual host /)");
}

#[test]
fn file_of_the_real_sentinel_loads() {
    let (config, warnings) = parsed(REAL, &[], &Flags::new()).unwrap();
    let selector: Vec<_> = config.selector.iter().map(|(label, value)| (label.as_str(), value.as_str())).collect();
    assert_eq!(selector, [("shard", "1"), ("zone", "b")]);
    let token =
        TokenSettings { path: "/var/run/token".into(), cache_ttl: Duration::from_secs(60), scheme: AuthScheme::Bearer };
    assert_eq!((config.api.page_size, config.api.token), (100, Some(token)));
    assert_eq!((config.poll_interval, config.broker.exchange_type), (Duration::from_secs(2), ExchangeType::Topic));
    assert_eq!(config.broker.url.to_string(), "amqp://rabbitmq:5672 (virtual host fleet)");
    let warned: Vec<_> = warnings.all().iter().map(|warning| warning.path.as_str()).collect();
    assert_eq!(warned, ["tracing_enabled"], "{warnings}");
}

#[test]
fn ages_of_the_rule_count_unless_a_key_sets_them() {
    let shorter = REAL.replace("30m", "2m").replace("10s", "5s");
    let seconds = |text: &str| {
        let ages = loaded(text).ages;
        (ages.reconciled.as_secs(), ages.unreconciled.as_secs())
    };
    assert_eq!(seconds(REAL), (1800, 10));
    assert_eq!(seconds(&shorter), (120, 5));
    assert_eq!(seconds(&format!("{shorter}\nmax_age_unreconciled: 1s\n")), (120, 1));
    let broken = shorter.replace("5s", "soon");
    let diagnostics = parsed(&broken, &[], &Flags::new()).unwrap_err().to_string();
    assert!(diagnostics.contains("message_decision: has \"soon\" as an age"), "{diagnostics}");
}

#[test]
fn broker_file_wins_over_the_broker_section() {
    let directory = TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let sentinel = file("s.yaml", LEAST);
    let loaded = |broker: &str, mut flags: Flags| {
        flags.insert(FILE.flag, sentinel.clone());
        let variables = Environment::from([("BROKER_CONFIG_FILE".to_owned(), file("broker.yaml", broker))]);
        load(&variables, &flags)
    };
    let broker =
        "subscriber: {parallelism: 2}\nbroker: {type: rabbitmq, rabbitmq: {url: 'amqp://other', exchange_type: topic}}";
    let (config, warnings) = loaded(broker, Flags::new()).unwrap();
    assert_eq!(config.broker.url.to_string(), "amqp://other:5672 (virtual host /)");
    assert_eq!(config.broker.exchange_type, ExchangeType::Topic);
    let warned: Vec<_> = warnings.all().iter().map(|warning| warning.path.as_str()).collect();
    assert_eq!(warned, ["broker"], "{warnings}");
    let (config, _) = loaded(broker, Flags::from([("exchange-type", "direct".to_owned())])).unwrap();
    assert_eq!(config.broker.exchange_type, ExchangeType::Direct);
    let diagnostics = loaded("broker: {rabbitmq: {url: here}}", Flags::new()).unwrap_err().to_string();
    assert!(diagnostics.contains("broker.yaml") && diagnostics.contains("is not an AMQP URL"), "{diagnostics}");
}

#[test]
fn flag_wins_over_variable_and_variable_over_file() {
    let text = format!("{LEAST}poll_interval: 1s\n");
    let seconds =
        |variables: &[(&str, &str)], flags: &Flags| parsed(&text, variables, flags).unwrap().0.poll_interval.as_secs();
    let variable = [("HYPERFLEET_POLL_INTERVAL", "2s")];
    let flags = Flags::from([("poll-interval", "3s".to_owned())]);
    assert_eq!((seconds(&[], &Flags::new()), seconds(&variable, &Flags::new()), seconds(&variable, &flags)), (1, 2, 3));
}

#[test]
fn variables_alone_are_enough() {
    let variables = [
        ("HYPERFLEET_RESOURCE_TYPE", "nodepools"),
        ("HYPERFLEET_API_BASE_URL", "http://api"),
        ("HYPERFLEET_BROKER_TOPIC", "t"),
        ("BROKER_RABBITMQ_URL", "amqps://rabbitmq"),
        ("BROKER_RABBITMQ_EXCHANGE_TYPE", "topic"),
        ("HYPERFLEET_MAX_AGE_UNRECONCILED", "1s"),
    ];
    let config = parsed("{}", &variables, &Flags::new()).unwrap().0;
    assert_eq!((config.resource_type.as_str(), config.broker.exchange_type), ("nodepools", ExchangeType::Topic));
    assert_eq!(config.broker.url.to_string(), "amqps://rabbitmq:5671 (virtual host /)");
    assert_eq!(config.ages, MaxAges { unreconciled: Duration::from_secs(1), ..MaxAges::default() });
}

#[test]
fn each_mistake_has_its_diagnostic() {
    let cases = [
        ("resource_type: ''", "resource_type: is required"),
        ("resource_type: ..", "resource_type: cannot be part of a path"),
        ("clients: {hyperfleet_api: {page_size: 101}}", "page_size: must be between 1 and 100, but is 101"),
        ("clients: {hyperfleet_api: {base_url: ''}}", "base_url: is required"),
        ("clients: {broker: {topic: ''}}", "clients.broker.topic: is required"),
        ("poll_interval: 0s", "poll_interval: must be above zero"),
        ("max_age_reconciled: -1s", "max_age_reconciled: must be above zero"),
        ("poll_intervall: 1s", "poll_intervall: unknown key"),
        ("broker: {type: googlepubsub}", "broker.type: must be rabbitmq"),
        ("broker: {rabbitmq: {url: ''}}", "broker.rabbitmq.url: is required"),
        ("broker: {rabbitmq: {url: 'rabbitmq:hunter2'}}", "broker.rabbitmq.url: is not an AMQP URL"),
        ("broker: {rabbitmq: {url: 'amqp://u:hunter2@[::1]'}}", "broker.rabbitmq.url: has an IPv6 address"),
        ("broker: {rabbitmq: {exchange_type: ring}}", "exchange_type: \"ring\" is invalid"),
        ("resource_selector: [{label: a, value: \"it's\"}]", "resource_selector: cannot be searched by"),
        ("resource_selector: [{label: a b, value: c}]", "resource_selector: cannot be searched by"),
        ("resource_selector: [{label: a, value: b}, {label: a, value: c}]", "has the label \"a\" twice"),
        ("message_decision: {result: 'true'}", "message_decision: is not the default rule"),
        ("message_data: {id: resource.name}", "message_data: is not the usual content"),
    ];
    for (text, expected) in cases {
        let diagnostics = parsed(text, &[], &Flags::new()).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{text}: {diagnostics}");
        assert!(!diagnostics.contains("hunter2"), "{text}: {diagnostics}");
    }
}

#[test]
fn unknown_key_of_the_broker_is_a_warning() {
    let text = LEAST.replace("{rabbitmq: {", "{log_config: true, rabbitmq: {exchange: x, ");
    let (config, warnings) = parsed(&text, &[], &Flags::new()).unwrap();
    let warned: Vec<_> = warnings.all().iter().map(|warning| warning.path.as_str()).collect();
    assert_eq!(warned, ["broker.log_config", "broker.rabbitmq.exchange"], "{warnings}");
    assert!(!format!("{config:?}{warnings}").contains("hunter2"));
}
