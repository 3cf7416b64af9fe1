//! The configuration file's types, without defaults; `resolve` applies those.
//!
//! The JSON Schema is derived from these types: their doc comments are its descriptions, which `docs/` shows as well.

use lifecycle_service::settings::{DurationText, HealthSpec, LogSpec};
use schemars::JsonSchema;
use serde::Deserialize;

/// The exporter's configuration file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExporterSpec {
    /// Level, format and output of the log.
    #[serde(default)]
    pub log: LogSpec,
    /// How to connect to the API's database.
    #[serde(default)]
    pub database: DatabaseSpec,
    /// The health server, which also serves `/stuck`.
    #[serde(default)]
    pub health: HealthSpec,
    /// The metrics server, and the default threshold.
    #[serde(default)]
    pub metrics: MetricsSpec,
    /// The background reading of details: which adapters stuck resources wait on, and stalled deletions.
    #[serde(default)]
    pub details: DetailsSpec,
    /// The page of stuck resources.
    #[serde(default)]
    pub stuck: StuckSpec,
    /// The API's own configuration file. The exporter reads the kinds and their required adapters from its `entities`; `kinds` then only sets thresholds.
    pub api_config_file: Option<String>,
    /// The API's kinds of resources, such as `Cluster`. Without them and without `api_config_file`, kinds have series only while they have pending resources.
    #[serde(default)]
    pub kinds: Vec<KindSpec>,
}

/// The database. Either `url`, or the parts.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSpec {
    /// The address, `postgres://user@host:port/name?sslmode=verify-full`. Put the password into `password_file` or the environment.
    pub url: Option<String>,
    /// The host, or the directory of a Unix socket; localhost by default.
    pub host: Option<String>,
    /// The port; 5432 by default.
    pub port: Option<u16>,
    /// The database's name; hyperfleet by default.
    pub name: Option<String>,
    /// The role, which needs to read the API's tables only; hyperfleet by default.
    pub username: Option<String>,
    /// A file that contains the role's password. The exporter reads it at each new connection, so the password may change.
    pub password_file: Option<String>,
    /// disable, prefer, require, verify-ca or verify-full; prefer by default.
    pub ssl_mode: Option<String>,
    /// A PEM file of certificate authorities; the system's by default.
    pub ssl_root_cert_file: Option<String>,
    /// The schema that contains the API's tables; the first in the role's search path that has them by default.
    pub schema: Option<String>,
}

/// The metrics server, and the default threshold.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSpec {
    /// The address to listen on, such as `127.0.0.1:9090`; `:9090` by default, on all interfaces.
    pub listen: Option<String>,
    /// The time limit of a scrape, including the wait for a connection; the database ends the statement then. 8s by default, below Prometheus' 10s.
    #[schemars(extend("format" = "go-duration"))]
    pub scrape_timeout: Option<DurationText>,
    /// How long a resource may be unreconciled before it is stuck; 10m by default. `kinds` can set it for each kind.
    #[schemars(extend("format" = "go-duration"))]
    pub reconciliation_stuck_threshold: Option<DurationText>,
}

/// The background reading of details.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DetailsSpec {
    /// The time between two readings; 2m by default, 1s at least. After three failed readings the figures are left out.
    #[schemars(extend("format" = "go-duration"))]
    pub interval: Option<DurationText>,
    /// The most stuck resources that one reading covers, the oldest first; 2000 by default, 10000 at most.
    pub max_resources: Option<u32>,
}

/// The page of stuck resources.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StuckSpec {
    /// A file that contains the token of `/stuck`. The exporter reads it at each request, so the token may change.
    pub token_file: Option<String>,
    /// Whether `/stuck` needs no token; false by default. If it is false and there is no `token_file`, the page is off.
    #[serde(default)]
    pub anonymous: bool,
}

/// A kind of resource.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindSpec {
    /// The kind as the API writes it: `Cluster`.
    pub kind: String,
    /// The adapters that must be done before a resource is reconciled, as in the API's configuration; none by default. Not allowed with `api_config_file`.
    pub required_adapters: Option<Vec<String>>,
    /// How long a resource may be unreconciled before it is stuck; `metrics.reconciliation_stuck_threshold` by default.
    #[schemars(extend("format" = "go-duration"))]
    pub stuck_after: Option<DurationText>,
    /// The same for a resource that is being deleted; `stuck_after` by default.
    #[schemars(extend("format" = "go-duration"))]
    pub stuck_after_deleting: Option<DurationText>,
}
