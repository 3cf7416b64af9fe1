//! Loads the configuration from a file, environment variables and flags.
//!
//! In: the file's text, the variables and the flags. Out: a [`Config`] with every default applied. Fails: with all
//! diagnostics at once. The keys, and the names of flags and variables, are the real API's, so that its file and its
//! environment start this one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr as _;

use lifecycle_config::decode::{Typing, schema_of};
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::{Document, Path as Place};
use lifecycle_config::settings::{self as merge, Derived, FileName, Resolver, Setting, Table};
use lifecycle_service::logging::{LogSettings, Output};
use lifecycle_service::settings::{self as service, LogSpec, log};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sqlx::postgres::PgConnectOptions;

pub use lifecycle_config::settings::{Environment, Flags};

use crate::registry::{EntitySpec, Registry};

/// The flag and the variable that name the configuration file.
pub const FILE: FileName = FileName { flag: "config", short: 'c', variable: "HYPERFLEET_CONFIG" };

/// The table of flags and variables.
pub const API: Table = Table {
    settings: &[
        Setting::text("server.host", "server-host", &["HYPERFLEET_SERVER_HOST"]),
        Setting::text("server.port", "server-port", &["HYPERFLEET_SERVER_PORT"]),
        Setting::text("health.host", "health-host", &["HYPERFLEET_HEALTH_HOST"]),
        Setting::text("health.port", "health-port", &["HYPERFLEET_HEALTH_PORT"]),
        Setting::text("metrics.host", "metrics-host", &["HYPERFLEET_METRICS_HOST"]),
        Setting::text("metrics.port", "metrics-port", &["HYPERFLEET_METRICS_PORT"]),
        Setting::text("database.url", "database-url", &["HYPERFLEET_DATABASE_URL"]),
        Setting::text("log.level", "log-level", &["HYPERFLEET_LOGGING_LEVEL"]),
        Setting::text("log.format", "log-format", &["HYPERFLEET_LOGGING_FORMAT"]),
        Setting::text("log.output", "log-output", &["HYPERFLEET_LOGGING_OUTPUT"]),
    ],
    derived: Derived::None,
    typing: Typing::Strict,
};

/// The configuration file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiSpec {
    /// The server of the API; `localhost:8000` by default.
    #[serde(default)]
    pub server: ListenSpec,
    /// The server of health probes; `localhost:8080` by default.
    #[serde(default)]
    pub health: ListenSpec,
    /// The server of Prometheus metrics; `localhost:9090` by default.
    #[serde(default)]
    pub metrics: ListenSpec,
    /// The database.
    #[serde(default)]
    pub database: DatabaseSpec,
    /// The kinds that the API serves.
    #[serde(default)]
    pub entities: Vec<EntitySpec>,
    /// Logging.
    #[serde(default)]
    pub log: LogSpec,
}

/// The address of a server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenSpec {
    /// An IP address, or `localhost`.
    pub host: Option<String>,
    /// The port; 0 for any free one.
    pub port: Option<u16>,
}

/// The database.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSpec {
    /// The URL, such as `postgres://api:secret@localhost:5432/hyperfleet`. Its role must own the database, as `serve` creates the tables.
    pub url: Option<String>,
}

/// The configuration with every default applied.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the API listens.
    pub listen: SocketAddr,
    /// Where the server of health probes listens.
    pub health_listen: SocketAddr,
    /// Where the server of metrics listens.
    pub metrics_listen: SocketAddr,
    /// How to connect to the database.
    pub database: PgConnectOptions,
    /// The kinds.
    pub registry: Registry,
    /// Level, format and stream of the log.
    pub log: LogSettings,
}

/// Reads and loads the configuration file; without a path it loads flags and variables alone.
///
/// # Errors
/// Returns every diagnostic, also if the file cannot be read.
pub fn load(
    path: Option<&Path>,
    environment: &Environment,
    flags: &Flags,
) -> Result<(Config, Diagnostics), Diagnostics> {
    service::load(&FILE, path, "no configuration file", |file, text| parse(file, text, environment, flags))
}

/// Loads a configuration from the file's text. Returns warnings beside the configuration.
///
/// # Errors
/// Returns every diagnostic.
pub fn parse(
    file: &str,
    text: &str,
    environment: &Environment,
    flags: &Flags,
) -> Result<(Config, Diagnostics), Diagnostics> {
    merge::load(&API, &schema(), Document::parse_secret(file, text)?, environment, flags, resolve)
}

/// Returns the JSON Schema of the file.
#[must_use]
pub fn schema() -> Value {
    schema_of::<ApiSpec>()
}

fn resolve(spec: ApiSpec, mut resolver: Resolver<'_>) -> Option<Config> {
    let r = &mut resolver;
    let url = spec.database.url.unwrap_or_default();
    if url.is_empty() {
        r.error("database.url", "is required", "write a URL, such as `postgres://api@localhost:5432/hyperfleet`");
    }
    let is_postgres = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
    let database = if is_postgres { PgConnectOptions::from_str(&url).ok() } else { None };
    if database.is_none() && !url.is_empty() {
        // The error may quote the URL, which may contain a password.
        r.error(
            "database.url",
            "is no URL of a PostgreSQL database",
            "write `postgres://USER:PASSWORD@HOST:PORT/NAME`",
        );
    }
    if spec.entities.is_empty() {
        r.error("entities", "is required", "list the kinds that the API serves, as in `e2e/local-api/example.yaml`");
    }
    let registry = Registry::new(&spec.entities);
    for fault in registry.as_ref().err().into_iter().flatten() {
        r.error(Place::of_keys("entities").index(fault.entity).key(fault.key), fault.message.clone(), None);
    }
    let listen = listen(r, "server", &spec.server, 8000);
    let health_listen = self::listen(r, "health", &spec.health, 8080);
    let metrics_listen = self::listen(r, "metrics", &spec.metrics, 9090);
    let log = log(r, &spec.log, Output::Stderr);
    Some(Config { listen, health_listen, metrics_listen, database: database?, registry: registry.ok()?, log })
}

fn listen(r: &mut Resolver<'_>, section: &str, spec: &ListenSpec, port: u16) -> SocketAddr {
    let port = spec.port.unwrap_or(port);
    let host = match spec.host.as_deref() {
        None | Some("" | "localhost") => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Some(text) => text.parse().ok(),
    };
    if host.is_none() {
        r.error(Place::of_keys(section).key("host"), "is no IP address", "write `localhost`, `0.0.0.0` or another one");
    }
    SocketAddr::new(host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), port)
}

#[cfg(test)]
mod tests;
