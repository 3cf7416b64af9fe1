#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{
    BrokerConfig, BrokerKind, Environment, ExchangeType, PubSubConfig, RabbitMqConfig, SecretUrl, find, load, parse,
};

fn environment(variables: &[(&str, &str)]) -> Environment {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn valid(text: &str, variables: &[(&str, &str)]) -> BrokerConfig {
    parse("broker.yaml", text, &environment(variables)).unwrap_or_else(|diagnostics| panic!("{diagnostics}")).0
}

const RABBIT: &str = "broker: {type: rabbitmq, rabbitmq: {url: \"amqp://guest:hunter2@mq:5672/v\"}}\n";

#[test]
fn rabbitmq_settings_have_defaults() {
    let expected = RabbitMqConfig {
        url: SecretUrl("amqp://guest:hunter2@mq:5672/v".to_owned()),
        exchange: None,
        exchange_type: ExchangeType::Fanout,
        queue: None,
        prefetch_count: 32,
        consumer_tag: None,
    };
    let config = valid(RABBIT, &[]);
    assert_eq!(config, BrokerConfig { log_config: false, parallelism: 16, kind: BrokerKind::RabbitMq(expected) });
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn prefetch_defaults_to_twice_the_parallelism() {
    let with = |keys: &str| {
        format!("subscriber: {{parallelism: {keys}}}\nbroker: {{type: rabbitmq, rabbitmq: {{url: amqp://h{keys}}}}}\n")
    };
    let read = |text: &str| {
        let config = valid(text, &[]);
        let BrokerKind::RabbitMq(rabbit) = config.kind else { panic!("rabbitmq") };
        (config.parallelism, rabbit.prefetch_count)
    };
    assert_eq!(read(&with("4")), (4, 8));
    assert_eq!(read(&with("0")), (1, 2), "zero counts as one, as in the Go adapter");
    assert_eq!(read("broker: {type: rabbitmq, rabbitmq: {url: amqp://h, prefetch_count: 5}}"), (16, 5));
}

#[test]
fn variables_set_keys_that_the_broker_file_lacks() {
    let variables = [
        ("BROKER_TYPE", "rabbitmq"),
        ("BROKER_RABBITMQ_URL", "amqps://h"),
        ("BROKER_RABBITMQ_EXCHANGE_TYPE", "topic"),
        ("SUBSCRIBER_PARALLELISM", "2"),
        ("LOG_CONFIG", "true"),
    ];
    let config = valid("{}", &variables);
    assert!(config.log_config);
    assert_eq!(config.parallelism, 2);
    let BrokerKind::RabbitMq(rabbit) = config.kind else { panic!("rabbitmq") };
    assert_eq!((rabbit.url.expose(), rabbit.exchange_type), ("amqps://h", ExchangeType::Topic));
}

#[test]
fn broker_file_keys_ignore_case() {
    let text =
        "BROKER: {Type: rabbitmq, RabbitMQ: {URL: \"amqp://h\", Exchange_Type: topic}}\nSubscriber: {Parallelism: 3}\n";
    let config = valid(text, &[]);
    assert_eq!(config.parallelism, 3);
    let BrokerKind::RabbitMq(rabbit) = config.kind else { panic!("rabbitmq") };
    assert_eq!((rabbit.url.expose(), rabbit.exchange_type), ("amqp://h", ExchangeType::Topic));
    let twice = "subscriber: {parallelism: 1}\nSUBSCRIBER: {parallelism: 2}\nbroker: {type: rabbitmq, rabbitmq: {url: amqp://h}}\n";
    assert_eq!(valid(twice, &[]).parallelism, 2, "of two keys the last one counts");
}

#[test]
fn pubsub_durations_are_read_with_their_units() {
    let text = "unknown: 1\nbroker:\n  type: googlepubsub\n  googlepubsub:\n    project_id: p\n    topic: ignored\n    ack_deadline_seconds: 60\n    message_retention_duration: 7d\n    expiration_ttl: 0s\n    retry_min_backoff: 10s\n    retry_max_backoff: 10m\n    max_outstanding_messages: 100\n";
    let expected = PubSubConfig {
        project_id: "p".to_owned(),
        ack_deadline: Some(Duration::from_secs(60)),
        message_retention: Some(Duration::from_secs(7 * 24 * 3600)),
        expiration_ttl: Some(Duration::ZERO),
        retry_min_backoff: Some(Duration::from_secs(10)),
        retry_max_backoff: Some(Duration::from_secs(600)),
        dead_letter_max_attempts: 5,
        max_outstanding_messages: Some(100),
        ..PubSubConfig::default()
    };
    assert_eq!(valid(text, &[]).kind, BrokerKind::GooglePubSub(expected));
}

#[test]
fn invalid_broker_files_are_diagnosed() {
    let cases = [
        ("nothing", "{}"),
        ("an unknown type", "broker: {type: kafka}"),
        ("no url", "broker: {type: rabbitmq}"),
        ("another scheme", "broker: {type: rabbitmq, rabbitmq: {url: \"http://u:hunter2@h\"}}"),
        (
            "wrong settings of rabbitmq",
            "broker: {type: rabbitmq, rabbitmq: {url: amqp://h, exchange_type: ring, prefetch_count: -1, prefetch_size: 1}}\nsubscriber: {parallelism: 70000}",
        ),
        (
            "wrong settings of pubsub",
            "broker:\n  type: googlepubsub\n  googlepubsub:\n    ack_deadline_seconds: 5\n    message_retention_duration: 1m\n    expiration_ttl: 1h\n    retry_min_backoff: 60s\n    retry_max_backoff: 30s\n    dead_letter_max_attempts: 200\n    num_goroutines: -1\n    topic_retention_duration: soon\n",
        ),
        ("a password beside a mistake", "broker: {type: rabbitmq, rabbitmq: {url: [\"amqp://u:hunter2@h\"]}}"),
    ];
    let render = |(name, text): &(&str, &str)| {
        let diagnostics = parse("broker.yaml", text, &Environment::new()).unwrap_err().to_string();
        assert!(!diagnostics.contains("hunter2"), "{name}: {diagnostics}");
        format!("##### {name}\n{diagnostics}\n")
    };
    insta::assert_snapshot!(cases.iter().map(render).collect::<Vec<_>>().join("\n"));
}

#[test]
fn broker_url_prints_without_its_password() {
    let cases = [
        ("amqp://user:pass@host:5672/v", "amqp://user:***@host:5672/v"),
        ("amqp://user:p@ss/word@host/v", "amqp://user:***@host/v"),
        ("amqp://host", "amqp://host"),
        ("amqp://user@host", "amqp://user@host"),
        ("nonsense", "***"),
    ];
    for (url, expected) in cases {
        assert_eq!(SecretUrl(url.to_owned()).to_string(), expected);
    }
}

#[test]
fn broker_file_is_found_by_variable_or_default_path() {
    let beside = Path::new("/app");
    let named = environment(&[("BROKER_CONFIG_FILE", "/etc/broker.yaml")]);
    let none = Environment::new();
    assert_eq!(find(&named, Some(beside), &|_| true), Some(PathBuf::from("/etc/broker.yaml")));
    assert_eq!(find(&none, Some(beside), &|_| true), Some(PathBuf::from("/app/broker.yaml")));
    assert_eq!(find(&none, Some(beside), &|path| !path.starts_with("/app")), Some(PathBuf::from("./broker.yaml")));
    assert_eq!(find(&none, Some(beside), &|_| false), None);
}

#[test]
fn missing_broker_file_is_no_error_if_variables_suffice() {
    let variables = environment(&[("BROKER_TYPE", "rabbitmq"), ("BROKER_RABBITMQ_URL", "amqp://h")]);
    assert!(load(Some(Path::new("/nowhere/broker.yaml")), &variables).is_ok());
    assert!(load(None, &variables).is_ok());
}
