//! The configuration file as its author writes it.
//!
//! The doc comments are the published schema's descriptions, and the schema is what a file is checked against.
//! Nothing here has its default applied: see `settle`.

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
    /// The metrics server, and what it serves.
    #[serde(default)]
    pub metrics: MetricsSpec,
    /// What a scrape does not wait for: per-adapter figures, blocked deletions, missing conditions.
    #[serde(default)]
    pub details: DetailsSpec,
    /// The page of stuck resources.
    #[serde(default)]
    pub stuck: StuckSpec,
    /// The kinds of the lifecycle API, as its own configuration lists them. Without them the exporter counts what the rows show.
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
    /// The most connections at once, for everything together, one of which scrapes have to themselves; 2 by default and at least, 16 at most.
    pub max_connections: Option<u32>,
    /// The time for a connection, its handshake included; 3s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub connect_timeout: Option<DurationText>,
    /// The time after which the database itself ends a statement of a scrape; 5s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub statement_timeout: Option<DurationText>,
}

/// The health server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthSpec {
    /// Where it listens; `:8080` by default.
    pub listen: Option<String>,
    /// How long after its last answer the database counts as gone for `/readyz`; 2m by default.
    #[schemars(extend("format" = "go-duration"))]
    pub database_answered_within: Option<DurationText>,
}

/// The metrics server, and what it serves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSpec {
    /// Where it listens; `:9090` by default.
    pub listen: Option<String>,
    /// The time for a scrape, waiting for a connection included; 8s by default, below Prometheus' 10s.
    #[schemars(extend("format" = "go-duration"))]
    pub scrape_timeout: Option<DurationText>,
    /// How long a resource may stay unreconciled before it is stuck; 10m by default. Kinds may differ.
    #[schemars(extend("format" = "go-duration"))]
    pub reconciliation_stuck_threshold: Option<DurationText>,
    /// The bounds of the age histogram; 1m, 5m, 10m, 30m, 1h, 3h, 6h, 12h, 1d and 7d by default, 15 at most.
    pub age_buckets: Option<Vec<DurationText>>,
    /// The names of the transition counter: `started` (`hyperfleet_api_reconciliation_started_total`, the default), `requests`
    /// (`hyperfleet_api_reconciliation_requests_total`), or both.
    pub transition_counters: Option<Vec<String>>,
    /// The spelling of `resource_type` on the transition counter: `lower_case` (the default, as on all gauges) or `as_written`.
    pub transition_resource_type: Option<String>,
    /// The value of the label `component`; reconcile-metrics by default.
    pub component: Option<String>,
}

/// What a scrape does not wait for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DetailsSpec {
    /// How often they are renewed, beside the scrapes; 30s by default, 1s at least. They are dropped when three in a row failed.
    #[schemars(extend("format" = "go-duration"))]
    pub interval: Option<DurationText>,
    /// The same for missing conditions, which takes a pass over all resources; on our schema it checks the record of them.
    /// 10m by default, 1m at least.
    #[schemars(extend("format" = "go-duration"))]
    pub missing_interval: Option<DurationText>,
    /// How many stuck resources are looked into, the oldest first, and as many deletions apart; 2000 by default, 10000 at most.
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
    /// The adapters that the API waits for, as in its own configuration; none by default.
    #[serde(default)]
    pub required_adapters: Vec<String>,
    /// The kind that owns it, as in the API's configuration; none by default.
    pub parent_kind: Option<String>,
    /// How long one may stay unreconciled before it is stuck; `metrics.reconciliation_stuck_threshold` by default.
    #[schemars(extend("format" = "go-duration"))]
    pub stuck_after: Option<DurationText>,
    /// The same while it is being deleted; `stuck_after` by default.
    #[schemars(extend("format" = "go-duration"))]
    pub stuck_after_deleting: Option<DurationText>,
    /// Where the older schema keeps it: known for `Cluster` and `NodePool`.
    pub table: Option<TableSpec>,
}

/// A table of the older schema, one for each kind. A column that it has by none of the names below makes the kind one that is not read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// The table's name.
    pub name: String,
    /// The column of conditions, JSONB or JSON, and the keys that lead to the list where it is nested: `status.conditions`; `status_conditions` by default.
    pub conditions: Option<String>,
    /// The column of ids; `id` by default.
    pub id: Option<String>,
    /// The column of names; `name` by default, and the id is shown for want of it.
    pub resource_name: Option<String>,
    /// The column of the wanted generation; `generation` by default, and the newest that was reported on for want of it.
    pub generation: Option<String>,
    /// The column of the time of creation; `created_time` or `created_at` by default.
    pub created: Option<String>,
    /// The column of the time of deletion, null until then; `deleted_time` or `deleted_at` by default.
    pub deleted: Option<String>,
    /// The column that holds the parent's id; `owner_id` by default, and for want of it nobody knows whose deletion one holds up.
    pub owner: Option<String>,
}
