//! The configuration. The keys, and the names of flags and variables, are the real API's, so that its file and its
//! environment start this one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr as _;

use lifecycle_config::decode::Typing;
use lifecycle_config::document::{Document, Path as Place};
use lifecycle_config::settings::{Derived, FileName, Resolver, Setting, Table};
use lifecycle_service::configuration::Configuration;
use lifecycle_service::logging::{LogSettings, Output};
use lifecycle_service::settings::{LogSpec, log_at};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

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
        Setting::text("database.host", "db-host", &["HYPERFLEET_DATABASE_HOST"]),
        Setting::text("database.port", "db-port", &["HYPERFLEET_DATABASE_PORT"]),
        Setting::text("database.name", "db-name", &["HYPERFLEET_DATABASE_NAME"]),
        Setting::text("database.username", "db-username", &["HYPERFLEET_DATABASE_USERNAME"]),
        Setting::variable("database.password", &["HYPERFLEET_DATABASE_PASSWORD"]),
        Setting::text("logging.level", "log-level", &["HYPERFLEET_LOGGING_LEVEL"]),
        Setting::text("logging.format", "log-format", &["HYPERFLEET_LOGGING_FORMAT"]),
        Setting::text("logging.output", "log-output", &["HYPERFLEET_LOGGING_OUTPUT"]),
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
    pub server: ServerSpec,
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
    pub logging: LogSpec,
    /// Has no effect: this API writes no traces.
    pub tracing: Option<Value>,
}

/// The server of the API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// An IP address, or `localhost`.
    pub host: Option<String>,
    /// The port; 0 for any free one.
    pub port: Option<u16>,
    /// Has no effect: this API serves no `OpenAPI` document.
    pub openapi_schema_path: Option<String>,
    /// Authentication, which this API lacks.
    #[serde(default)]
    pub jwt: JwtSpec,
}

/// Authentication, which this API lacks. Unknown keys are warnings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(extend("x-lenient" = true))]
#[serde(deny_unknown_fields)]
pub struct JwtSpec {
    /// Has no effect: everybody may do everything.
    pub enabled: Option<bool>,
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

/// The database: `url`, or the keys of the real API. The role must own the database, as `serve` creates the tables.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSpec {
    /// The URL, such as `postgres://api:secret@localhost:5432/hyperfleet`. The other keys then have no effect.
    pub url: Option<String>,
    /// Must be postgres, the default.
    pub dialect: Option<String>,
    /// The host.
    pub host: Option<String>,
    /// The port; 5432 by default.
    pub port: Option<u16>,
    /// The name of the database; hyperfleet by default.
    pub name: Option<String>,
    /// The role; hyperfleet by default.
    pub username: Option<String>,
    /// The role's password; none by default.
    pub password: Option<String>,
    /// TLS.
    #[serde(default)]
    pub ssl: TlsSpec,
}

/// TLS of connections to the database.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// disable (the default), prefer, require, verify-ca or verify-full.
    pub mode: Option<String>,
    /// A PEM file of certificate authorities; the system's by default.
    pub root_cert_file: Option<String>,
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

/// The configuration file of the API. `database.url` may contain a password.
pub const CONFIGURATION: Configuration<ApiSpec, Config> = Configuration {
    file: FILE,
    absent: "no configuration file",
    table: API,
    document: Document::parse_secret,
    resolve,
    log: |config| (config.log, "local-api"),
};

fn resolve(spec: ApiSpec, mut resolver: Resolver<'_>, _: &Environment) -> Option<Config> {
    let r = &mut resolver;
    let database = database(r, &spec.database);
    if spec.server.jwt.enabled == Some(true) {
        r.warn("server.jwt.enabled", "has no effect: this API authenticates nobody", None);
    }
    if spec.entities.is_empty() {
        r.error("entities", "is required", "list the kinds that the API serves, as in `e2e/local-api/example.yaml`");
    }
    let registry = Registry::new(&spec.entities);
    for fault in registry.as_ref().err().into_iter().flatten() {
        r.error(Place::of_keys("entities").index(fault.entity).key(fault.key), fault.message.clone(), None);
    }
    let server = ListenSpec { host: spec.server.host, port: spec.server.port };
    let listen = listen(r, "server", &server, 8000);
    let health_listen = self::listen(r, "health", &spec.health, 8080);
    let metrics_listen = self::listen(r, "metrics", &spec.metrics, 9090);
    let log = log_at(r, "logging", &spec.logging, Output::Stderr);
    Some(Config { listen, health_listen, metrics_listen, database: database?, registry: registry.ok()?, log })
}

fn database(r: &mut Resolver<'_>, spec: &DatabaseSpec) -> Option<PgConnectOptions> {
    if let Some(dialect) = spec.dialect.as_deref().filter(|dialect| !matches!(*dialect, "" | "postgres")) {
        r.error("database.dialect", format!("must be postgres, but is \"{dialect}\""), "leave it out");
    }
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if let Some(url) = given(&spec.url) {
        let is_postgres = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
        let options = if is_postgres { PgConnectOptions::from_str(&url).ok() } else { None };
        if options.is_none() {
            // The error may quote the URL, which may contain a password.
            r.error(
                "database.url",
                "is no URL of a PostgreSQL database",
                "write `postgres://USER:PASSWORD@HOST:PORT/NAME`",
            );
        }
        return options;
    }
    let Some(host) = given(&spec.host) else {
        let help = "write a URL, such as `postgres://api@localhost:5432/hyperfleet`, or the host and the other keys";
        r.error("database.url", "is required", help);
        return None;
    };
    let modes = [
        ("disable", PgSslMode::Disable),
        ("prefer", PgSslMode::Prefer),
        ("require", PgSslMode::Require),
        ("verify-ca", PgSslMode::VerifyCa),
        ("verify-full", PgSslMode::VerifyFull),
    ];
    let mode = r.choice("database.ssl.mode", spec.ssl.mode.as_deref(), &modes, PgSslMode::Disable);
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(&host)
        .port(spec.port.unwrap_or(5432))
        .database(&given(&spec.name).unwrap_or_else(|| "hyperfleet".to_owned()))
        .username(&given(&spec.username).unwrap_or_else(|| "hyperfleet".to_owned()))
        .ssl_mode(mode);
    if let Some(password) = given(&spec.password) {
        options = options.password(&password);
    }
    if let Some(file) = given(&spec.ssl.root_cert_file) {
        options = options.ssl_root_cert(file);
    }
    Some(options)
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
