//! The broker's own file: which broker, its address, and how many messages the adapter takes at once.
//!
//! The format is that of the Go adapter's broker library: it ignores unknown keys and the case of keys, and
//! variables such as `BROKER_RABBITMQ_URL` override the file. Unlike the library, a variable applies even if
//! the file lacks the key. The topic and the subscription are in the deployment file instead.

mod spec;

use std::fmt;
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use lifecycle_config::decode::schema_of;
use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};
use lifecycle_config::duration::{self, Units};
use lifecycle_config::settings::{self, Environment, Flags, Resolver};
use serde_json::Value;

use self::spec::{BrokerFileSpec, PubSubSpec, RabbitMqSpec};
use super::settings::BROKER;

/// The number of events handled at once if the broker's file names none, or if there is no such file.
pub const DEFAULT_PARALLELISM: u16 = 16;

/// The broker's file with every default applied: what the consumer starts with.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokerConfig {
    /// Whether the adapter logs this configuration at its start.
    pub log_config: bool,
    /// The largest number of events handled at once.
    pub parallelism: u16,
    /// The broker and its settings.
    pub kind: BrokerKind,
}

/// A broker and its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum BrokerKind {
    /// `RabbitMQ`, with the exchange and queue that the adapter declares.
    RabbitMq(RabbitMqConfig),
    /// Google Cloud Pub/Sub, with the project that holds topic and subscription.
    GooglePubSub(PubSubConfig),
}

/// How the adapter consumes from `RabbitMQ`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitMqConfig {
    /// The server's URL, with user and password.
    pub url: SecretUrl,
    /// The name of the exchange; the topic if `None`.
    pub exchange: Option<String>,
    /// The type with which the adapter declares the exchange.
    pub exchange_type: ExchangeType,
    /// The first part of the queue's name; the topic if `None`.
    pub queue: Option<String>,
    /// The number of unacknowledged messages that the server sends at most (AMQP's prefetch count).
    pub prefetch_count: u16,
    /// The consumer tag; the broker chooses one if `None`.
    pub consumer_tag: Option<String>,
}

/// The exchange's type, which decides the queues that get a message. Publisher and consumer must declare the
/// same type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeType {
    /// Routes to the queues whose binding key equals the routing key.
    Direct,
    /// Routes to every bound queue.
    Fanout,
    /// Routes to the queues whose binding pattern matches the routing key.
    Topic,
    /// Routes to the queues whose binding arguments match the message's headers.
    Headers,
}

impl ExchangeType {
    /// The type's name in AMQP.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Fanout => "fanout",
            Self::Topic => "topic",
            Self::Headers => "headers",
        }
    }
}

/// How the adapter consumes from Google Cloud Pub/Sub.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PubSubConfig {
    /// The Google Cloud project of the topic and the subscription.
    pub project_id: String,
    /// The time after which Pub/Sub redelivers a message that nobody acknowledged; the service's default if
    /// `None`.
    pub ack_deadline: Option<Duration>,
    /// How long Pub/Sub keeps an unacknowledged message.
    pub message_retention: Option<Duration>,
    /// Pub/Sub deletes the subscription after it was unused this long; zero means never.
    pub expiration_ttl: Option<Duration>,
    /// The shortest delay before a redelivery.
    pub retry_min_backoff: Option<Duration>,
    /// The longest delay before a redelivery.
    pub retry_max_backoff: Option<Duration>,
    /// After this many deliveries Pub/Sub moves a message to the dead-letter topic.
    pub dead_letter_max_attempts: u32,
    /// Whether Pub/Sub delivers messages of one ordering key in order.
    pub enable_message_ordering: bool,
    /// The largest number of messages that the client holds at once; the client library's default if `None`.
    pub max_outstanding_messages: Option<u32>,
    /// The largest total size of the messages that the client holds at once, in bytes; the client library's
    /// default if `None`.
    pub max_outstanding_bytes: Option<u64>,
    /// Whether the adapter creates a missing topic.
    pub create_topic_if_missing: bool,
    /// Whether the adapter creates a missing subscription.
    pub create_subscription_if_missing: bool,
}

/// A URL that `Display` and `Debug` print without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(String);

impl SecretUrl {
    /// The URL with its password, to connect with.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.0.split_once("://") else { return f.write_str("***") };
        // Everything before the last `@` counts as credentials, because a password may contain an unescaped `/`
        // or `@`.
        let Some((credentials, host)) = rest.rsplit_once('@') else { return write!(f, "{scheme}://{rest}") };
        match credentials.split_once(':') {
            Some((user, _)) => write!(f, "{scheme}://{user}:***@{host}"),
            None => write!(f, "{scheme}://{credentials}@{host}"),
        }
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Finds the broker's file: the path in `BROKER_CONFIG_FILE`, else `broker.yaml` in the program's directory or
/// in the working directory.
#[must_use]
pub fn find(
    environment: &Environment,
    program_directory: Option<&FilePath>,
    exists: &dyn Fn(&FilePath) -> bool,
) -> Option<PathBuf> {
    let named = environment.get("BROKER_CONFIG_FILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let default = program_directory.into_iter().chain([FilePath::new(".")]).map(|place| place.join("broker.yaml"));
    named.or_else(|| default.into_iter().find(|path| exists(path)))
}

/// Loads the broker's file, if `path` names an existing one, and applies the environment variables.
///
/// # Errors
/// Every diagnostic of the file and of the variables. No diagnostic quotes the broker's URL.
pub fn load(path: Option<&FilePath>, environment: &Environment) -> Result<(BrokerConfig, Diagnostics), Diagnostics> {
    let name = path.map_or_else(|| "broker.yaml".to_owned(), |path| path.display().to_string());
    let text = match path.map(|path| (path.exists(), super::files::read(path))) {
        None | Some((false, _)) => "{}".to_owned(),
        Some((true, Ok(text))) => text,
        Some((true, Err(diagnostic))) => {
            let mut diagnostics = Diagnostics::default();
            diagnostics.push(*diagnostic);
            return Err(diagnostics);
        }
    };
    parse(&name, &text, environment)
}

/// Parses the text of a broker's file, and applies the environment variables.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &str, text: &str, environment: &Environment) -> Result<(BrokerConfig, Diagnostics), Diagnostics> {
    // The Go adapter's broker library ignores the case of keys.
    let document = Document::parse_secret(file, text)?.with_lower_case_keys();
    settings::load(&BROKER, &schema(), document, environment, &Flags::new(), |spec, mut resolver| {
        resolve(&mut resolver, spec)
    })
}

/// The JSON Schema of the broker's file.
#[must_use]
pub fn schema() -> Value {
    schema_of::<BrokerFileSpec>()
}

fn resolve(r: &mut Resolver<'_>, spec: BrokerFileSpec) -> Option<BrokerConfig> {
    let parallelism = match spec.subscriber.unwrap_or_default().parallelism {
        None => DEFAULT_PARALLELISM,
        Some(..=0) => 1,
        Some(wanted) => u16::try_from(wanted).unwrap_or_else(|_| {
            let help = "write 65535 or less";
            r.error("subscriber.parallelism", format!("must be at most {}, but is {wanted}", u16::MAX), Some(help));
            DEFAULT_PARALLELISM
        }),
    };
    let broker = spec.broker.unwrap_or_default();
    let kind = match broker.kind.as_deref().unwrap_or_default() {
        "rabbitmq" => BrokerKind::RabbitMq(rabbitmq(r, broker.rabbitmq.unwrap_or_default(), parallelism)?),
        "googlepubsub" => BrokerKind::GooglePubSub(pubsub(r, &broker.googlepubsub.unwrap_or_default())),
        "" => {
            let help = "write rabbitmq or googlepubsub, or set BROKER_TYPE";
            r.error("broker.type", "is required", Some(help));
            return None;
        }
        other => {
            let message = format!("unsupported broker type \"{other}\" (allowed: rabbitmq, googlepubsub)");
            r.error("broker.type", message, None);
            return None;
        }
    };
    Some(BrokerConfig { log_config: spec.log_config, parallelism, kind })
}

fn rabbitmq(r: &mut Resolver<'_>, spec: RabbitMqSpec, parallelism: u16) -> Option<RabbitMqConfig> {
    let url = spec.url.unwrap_or_default();
    if url.is_empty() {
        r.error("broker.rabbitmq.url", "is required", Some("write it, or set BROKER_RABBITMQ_URL"));
    } else if !url.starts_with("amqp://") && !url.starts_with("amqps://") {
        r.error("broker.rabbitmq.url", "must begin with `amqp://` or `amqps://`", None);
    }
    let exchange_type = match spec.exchange_type.as_deref().unwrap_or_default() {
        "" | "fanout" => ExchangeType::Fanout,
        "direct" => ExchangeType::Direct,
        "topic" => ExchangeType::Topic,
        "headers" => ExchangeType::Headers,
        other => {
            let message = format!("\"{other}\" is invalid (allowed: direct, fanout, topic, headers)");
            r.error("broker.rabbitmq.exchange_type", message, None);
            ExchangeType::Fanout
        }
    };
    let prefetch = spec.prefetch_count.unwrap_or_default();
    let prefetch_count = match u16::try_from(prefetch) {
        Ok(0) => parallelism.saturating_mul(2),
        Ok(count) => count,
        Err(_) => {
            let message = format!("must be between 0 and {}, but is {prefetch}", u16::MAX);
            let help = "write 0 for twice the parallelism, or a number up to 65535";
            r.error("broker.rabbitmq.prefetch_count", message, Some(help));
            1
        }
    };
    match spec.prefetch_size.unwrap_or_default() {
        0 => {}
        ..0 => r.error("broker.rabbitmq.prefetch_size", "must not be negative", Some("remove it")),
        1.. => {
            let message = "is ignored: RabbitMQ does not implement it".to_owned();
            r.report(Severity::Warning, "broker.rabbitmq.prefetch_size", message, None);
        }
    }
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    Some(RabbitMqConfig {
        url: SecretUrl(url),
        exchange: some(spec.exchange),
        exchange_type,
        queue: some(spec.queue),
        prefetch_count,
        consumer_tag: some(spec.consumer_tag),
    })
}

fn pubsub(r: &mut Resolver<'_>, spec: &PubSubSpec) -> PubSubConfig {
    const MINUTE: u64 = 60;
    const DAY: u64 = 24 * 60 * MINUTE;
    let project_id = spec.project_id.clone().unwrap_or_default();
    if project_id.is_empty() {
        r.error("broker.googlepubsub.project_id", "is required", None);
    }
    let ack = spec.ack_deadline_seconds.unwrap_or_default();
    if ack != 0 && !(10..=600).contains(&ack) {
        let message = format!("must be between 10 and 600, but is {ack}");
        let help = "write 10 to 600, or remove the key";
        r.error("broker.googlepubsub.ack_deadline_seconds", message, Some(help));
    }
    let retention = 10 * MINUTE..=31 * DAY;
    let message_retention =
        duration(r, "message_retention_duration", spec.message_retention_duration.as_deref(), retention.clone());
    duration(r, "topic_retention_duration", spec.topic_retention_duration.as_deref(), retention);
    let expiration_ttl = match spec.expiration_ttl.as_deref() {
        Some("0" | "0s") => Some(Duration::ZERO),
        text => duration(r, "expiration_ttl", text, DAY..=u64::MAX),
    };
    let backoff = 0..=600;
    let retry_min_backoff = duration(r, "retry_min_backoff", spec.retry_min_backoff.as_deref(), backoff.clone());
    let retry_max_backoff = duration(r, "retry_max_backoff", spec.retry_max_backoff.as_deref(), backoff);
    if retry_min_backoff.zip(retry_max_backoff).is_some_and(|(min, max)| min > max) {
        r.error("broker.googlepubsub.retry_min_backoff", "must not be above `retry_max_backoff`", None);
    }
    let attempts = spec.dead_letter_max_attempts.unwrap_or_default();
    if attempts != 0 && !(5..=100).contains(&attempts) {
        let message = format!("must be between 5 and 100, but is {attempts}");
        let help = "write 5 to 100, or remove the key";
        r.error("broker.googlepubsub.dead_letter_max_attempts", message, Some(help));
    }
    let messages = not_negative(r, "max_outstanding_messages", spec.max_outstanding_messages);
    let bytes = not_negative(r, "max_outstanding_bytes", spec.max_outstanding_bytes);
    not_negative(r, "num_goroutines", spec.num_goroutines);
    PubSubConfig {
        project_id,
        ack_deadline: u64::try_from(ack).ok().filter(|ack| *ack > 0).map(Duration::from_secs),
        message_retention,
        expiration_ttl,
        retry_min_backoff,
        retry_max_backoff,
        dead_letter_max_attempts: u32::try_from(attempts).ok().filter(|n| *n > 0).unwrap_or(5),
        enable_message_ordering: spec.enable_message_ordering,
        max_outstanding_messages: messages.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        max_outstanding_bytes: bytes,
        create_topic_if_missing: spec.create_topic_if_missing,
        create_subscription_if_missing: spec.create_subscription_if_missing,
    }
}

fn pubsub_key(key: &str) -> Path {
    Path::of_keys("broker.googlepubsub").key(key)
}

fn not_negative(r: &mut Resolver<'_>, key: &str, value: Option<i64>) -> Option<u64> {
    let value = value.filter(|value| *value != 0)?;
    let converted = u64::try_from(value).ok();
    if converted.is_none() {
        let help = "write 0 for no limit, or remove the key";
        r.error(pubsub_key(key), format!("must not be negative, but is {value}"), Some(help));
    }
    converted
}

fn duration(
    r: &mut Resolver<'_>,
    key: &str,
    text: Option<&str>,
    seconds: std::ops::RangeInclusive<u64>,
) -> Option<Duration> {
    let text = text.filter(|text| !text.is_empty())?;
    let key = pubsub_key(key);
    let duration = match duration::parse(text, Units::GoAndDays) {
        Ok(duration) => duration,
        Err(error) => {
            r.error(&key, error.to_string(), None);
            return None;
        }
    };
    if !seconds.contains(&duration.as_secs()) {
        let word = |seconds: u64| duration::format(Duration::from_secs(seconds));
        let message = match *seconds.end() {
            u64::MAX => format!("must be at least {}, but is {text}", word(*seconds.start())),
            end => format!("must be between {} and {}, but is {text}", word(*seconds.start()), word(end)),
        };
        r.error(&key, message, None);
    }
    Some(duration)
}

#[cfg(test)]
mod tests;
