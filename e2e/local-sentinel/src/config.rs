//! The configuration of the local Sentinel.
//!
//! The keys are those of the real Sentinel's file, and `broker` of its broker's file. Both can be in one file; if
//! `BROKER_CONFIG_FILE` names a file, `broker` is read there. No diagnostic quotes a line of a file, because the broker's
//! URL may hold a password.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use lapin::ExchangeKind;
use lapin::types::ShortString;
use lapin::uri::AMQPUri;
use lifecycle_api_client::TokenSettings;
use lifecycle_config::decode::schema_of;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics};
use lifecycle_config::document::Document;
use lifecycle_config::settings::{self as merge, Resolver};
use lifecycle_service::configuration::{Configuration, Loaded};
use lifecycle_service::files;
use lifecycle_service::logging::LogSettings;

mod default_rule;
mod resolve;
pub mod settings;
pub mod spec;

pub use lifecycle_config::settings::{Environment, Flags};

use crate::decision::MaxAges;
use settings::{BROKER, BROKER_FILE, FILE, SENTINEL};
use spec::{BrokerFileSpec, SentinelSpec};

/// The configuration with every default applied.
#[derive(Debug, Clone)]
pub struct Config {
    /// The Sentinel's name, in its connections and log lines.
    pub name: String,
    /// The HyperFleet API.
    pub api: ApiConfig,
    /// The plural type of the resources.
    pub resource_type: String,
    /// The labels that a resource must have, by name.
    pub selector: BTreeMap<String, String>,
    /// The time between two polls.
    pub poll_interval: Duration,
    /// The ages of the rule.
    pub ages: MaxAges,
    /// The exchange to which events are published.
    pub topic: ShortString,
    /// The broker.
    pub broker: BrokerConfig,
    /// Level, format and stream of the log.
    pub log: LogSettings,
    /// The address of probes.
    pub health_listen: SocketAddr,
    /// The address of `/metrics`.
    pub metrics_listen: SocketAddr,
}

/// The HyperFleet API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiConfig {
    /// The API's URL.
    pub base_url: String,
    /// The time limit of one request.
    pub timeout: Duration,
    /// The most items of a page.
    pub page_size: u16,
    /// The file of the bearer token.
    pub token: Option<TokenSettings>,
}

/// The broker, and the type of the exchange on it.
#[derive(Debug, Clone)]
pub struct BrokerConfig {
    /// The address of the broker.
    pub url: BrokerUrl,
    /// The type of the exchange; all programs that declare it must agree.
    pub exchange_type: ExchangeType,
}

/// An AMQP URL. `Display` and `Debug` print neither user nor password.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl(AMQPUri);

/// The type of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeType {
    /// Queues with exactly the message's routing key.
    Direct,
    /// All queues.
    Fanout,
    /// Queues whose pattern matches the message's routing key.
    Topic,
    /// Queues whose arguments match the message's headers.
    Headers,
}

impl BrokerUrl {
    /// The address as the AMQP library takes it.
    #[must_use]
    pub fn uri(&self) -> AMQPUri {
        self.0.clone()
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AMQPUri { scheme, authority, vhost, .. } = &self.0;
        write!(f, "{scheme}://{}:{} (virtual host {vhost})", authority.host, authority.port)
    }
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BrokerUrl({self})")
    }
}

impl ExchangeType {
    /// Every type with its name in the configuration.
    const NAMES: [(&'static str, Self); 4] =
        [("direct", Self::Direct), ("fanout", Self::Fanout), ("topic", Self::Topic), ("headers", Self::Headers)];

    /// The type as the AMQP library takes it.
    #[must_use]
    pub fn kind(self) -> ExchangeKind {
        match self {
            Self::Direct => ExchangeKind::Direct,
            Self::Fanout => ExchangeKind::Fanout,
            Self::Topic => ExchangeKind::Topic,
            Self::Headers => ExchangeKind::Headers,
        }
    }

    /// The type's name in the configuration.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Fanout => "fanout",
            Self::Topic => "topic",
            Self::Headers => "headers",
        }
    }
}

/// The configuration file of the Sentinel, with the broker in it.
pub const CONFIGURATION: Configuration<SentinelSpec, Config> = Configuration {
    file: FILE,
    absent: "no configuration file",
    table: SENTINEL,
    document,
    resolve: |spec, resolver, _| resolve::resolve(spec, resolver, None),
    log: |config| (config.log, &config.name),
};

/// Loads the configuration, with the broker of a file of its own if there is one.
///
/// # Errors
/// Returns every diagnostic, also if a file cannot be read. Diagnostics of the broker's file come first.
pub fn load(environment: &Environment, flags: &Flags) -> Loaded<Config> {
    let (apart, mut warnings) = match broker_file(environment, flags)? {
        Some((broker, warnings)) => (Some(broker), warnings),
        None => (None, Diagnostics::default()),
    };
    let resolve = |spec, resolver: Resolver<'_>| resolve::resolve(spec, resolver, apart);
    let (config, found) = CONFIGURATION.load_by(environment, flags, resolve)?;
    warnings.extend(found);
    Ok((config, warnings))
}

/// Parses a file. Go's configuration library reads keys in any case.
fn document(file: &str, text: &str) -> Result<Document, Diagnostics> {
    Ok(Document::parse_secret(file, text)?.with_lower_case_keys())
}

/// Loads the broker's file; `None` if no variable names one.
fn broker_file(environment: &Environment, flags: &Flags) -> Result<Option<(BrokerConfig, Diagnostics)>, Diagnostics> {
    let Some(name) = environment.get(BROKER_FILE).filter(|name| !name.is_empty()) else { return Ok(None) };
    let text = files::read_text(Path::new(name), files::CONFIGURATION).map_err(|error| {
        let help = format!("name a readable file by {BROKER_FILE}");
        Diagnostics::from(Diagnostic::unreadable(name, &error, Some(help)))
    })?;
    let schema = schema_of::<BrokerFileSpec>();
    merge::load(&BROKER, &schema, document(name, &text)?, environment, flags, resolve::broker_file).map(Some)
}

#[cfg(test)]
mod tests;
