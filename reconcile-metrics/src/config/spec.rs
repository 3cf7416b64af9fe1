//! The configuration file as its author writes it.
//!
//! The doc comments are the published schema's descriptions, and the schema is what a file is checked against.
//! Nothing here has its default applied: see `resolve`.

use schemars::JsonSchema;
use serde::Deserialize;

/// Go's notation of a duration, checked by the schema's `format`.
pub type DurationText = String;

/// What the exporter reads, from where, and where it serves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExporterSpec {
    /// Logging.
    #[serde(default)]
    pub log: LogSpec,
    /// The database.
    #[serde(default)]
    pub database: DatabaseSpec,
    /// The health server, which also serves `/stuck`.
    #[serde(default)]
    pub health: HealthSpec,
    /// The metrics server, and what is stuck.
    #[serde(default)]
    pub metrics: MetricsSpec,
    /// What a scrape does not wait for: figures by adapter, and stalled deletions.
    #[serde(default)]
    pub details: DetailsSpec,
    /// The page of stuck resources.
    #[serde(default)]
    pub stuck: StuckSpec,
    /// The API's own configuration file; its `entities` say which kinds there are and which adapters each requires. `kinds` then adds thresholds alone.
    pub api_config_file: Option<String>,
    /// The kinds of the lifecycle API. Without them and without `api_config_file` the exporter counts what the rows show.
    #[serde(default)]
    pub kinds: Vec<KindSpec>,
}

/// Logging.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    /// debug, info, warn or error; info by default.
    pub level: Option<String>,
    /// json or text; json by default.
    pub format: Option<String>,
    /// stdout or stderr; stderr by default, as commands print on standard output.
    pub output: Option<String>,
}

/// The database. Either `url`, or the parts.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSpec {
    /// `postgres://user@host:port/name?sslmode=verify-full`; a password belongs into `password_file` or the environment.
    pub url: Option<String>,
    /// The host, or a socket's directory; localhost by default.
    pub host: Option<String>,
    /// The port; 5432 by default.
    pub port: Option<u16>,
    /// The database's name; hyperfleet by default.
    pub name: Option<String>,
    /// The role, which needs to read only; hyperfleet by default.
    pub username: Option<String>,
    /// A file that holds the role's password; read at each new connection, so that it may be renewed.
    pub password_file: Option<String>,
    /// disable, prefer, require, verify-ca or verify-full; prefer by default.
    pub ssl_mode: Option<String>,
    /// A PEM file of certificate authorities, instead of the system's.
    pub ssl_root_cert_file: Option<String>,
    /// The schema that holds the tables; the role's search path decides by default.
    pub schema: Option<String>,
}

/// The health server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthSpec {
    /// Where it listens; `:8080` by default.
    pub listen: Option<String>,
}

/// The metrics server, and what is stuck.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSpec {
    /// Where it listens; `:9090` by default.
    pub listen: Option<String>,
    /// The time for a scrape, waiting for a connection included, after which the database itself ends the statement; 8s by default, below Prometheus' 10s.
    #[schemars(extend("format" = "go-duration"))]
    pub scrape_timeout: Option<DurationText>,
    /// How long a resource may stay unreconciled before it is stuck; 10m by default. Kinds may differ.
    #[schemars(extend("format" = "go-duration"))]
    pub reconciliation_stuck_threshold: Option<DurationText>,
}

/// What a scrape does not wait for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DetailsSpec {
    /// How often they are renewed, beside the scrapes; 2m by default, 1s at least. They are dropped when three in a row failed.
    #[schemars(extend("format" = "go-duration"))]
    pub interval: Option<DurationText>,
    /// How many stuck resources are looked into, the oldest first; 2000 by default, 10000 at most.
    pub max_resources: Option<u32>,
}

/// The page of stuck resources.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StuckSpec {
    /// A file that holds the token which readers of `/stuck` present; read at each request, so that it may be renewed.
    pub token_file: Option<String>,
    /// Whether `/stuck` is open to everybody who reaches the health port; false by default. Without it and without a token the page is off.
    #[serde(default)]
    pub anonymous: bool,
}

/// A kind of resource.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindSpec {
    /// The kind as the API writes it: `Cluster`.
    pub kind: String,
    /// The adapters that the API waits for, as in its own configuration; none by default. Not beside `api_config_file`.
    pub required_adapters: Option<Vec<String>>,
    /// How long one may stay unreconciled before it is stuck; `metrics.reconciliation_stuck_threshold` by default.
    #[schemars(extend("format" = "go-duration"))]
    pub stuck_after: Option<DurationText>,
    /// The same while it is being deleted; `stuck_after` by default.
    #[schemars(extend("format" = "go-duration"))]
    pub stuck_after_deleting: Option<DurationText>,
}
