//! The configuration file's types, without defaults; `resolve` applies those.
//!
//! The JSON Schema is derived from these types: their doc comments are its descriptions, which `docs/` shows as well.

use lifecycle_service::settings::{DurationText, HealthSpec, LogSpec, MetricsSpec};
use schemars::JsonSchema;
use serde::Deserialize;

/// The console's configuration file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsoleSpec {
    /// The address of the pages; `127.0.0.1:8000` by default. Any address that is not of the loopback interface needs `access`.
    pub listen: Option<String>,
    /// Who may read the pages. Required unless `listen` is an address of the loopback interface, which everybody on the machine may read.
    #[serde(default)]
    pub access: AccessSpec,
    /// How often an open page is brought up to date; 2s by default, 1s at least.
    #[schemars(extend("format" = "go-duration"))]
    pub refresh: Option<DurationText>,
    /// The HyperFleet API.
    #[serde(default)]
    pub api: ApiSpec,
    /// The exporter `reconcile-metrics`, whose page `/stuck` says what stuck resources wait on. Without it, nothing is called stuck.
    pub exporter: Option<PeerSpec>,
    /// The adapters, whose pages `/passes` and `/task` say what they decided and why. Without them, the pages show only what the API was told.
    #[serde(default)]
    pub adapters: Vec<AdapterSpec>,
    /// The sweeper, whose page `/plan` says what it would delete.
    pub sweeper: Option<PeerSpec>,
    /// Where other programs show more.
    #[serde(default)]
    pub links: LinksSpec,
    /// Level, format and output of the log.
    #[serde(default)]
    pub log: LogSpec,
    /// The server of health probes.
    #[serde(default)]
    pub health: HealthSpec,
    /// The server of Prometheus metrics.
    #[serde(default)]
    pub metrics: MetricsSpec,
}

/// Who may read the pages.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessSpec {
    /// A file that contains a token: readers send it as a bearer token, or as the password that their browser asks for. The console reads it at each request, so the token may change.
    pub token_file: Option<String>,
    /// The header in which a proxy names the reader whom it has authenticated, such as `X-Forwarded-Email`. The proxy has to remove the header from what its clients send.
    pub user_header: Option<String>,
    /// The addresses of such proxies, such as `10.0.3.0/24`; those of the loopback interface by default. From any other address the header counts for nothing.
    #[serde(default)]
    pub proxies: Vec<String>,
}

/// The HyperFleet API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiSpec {
    /// The API's URL, such as `http://hyperfleet-api:8000`. Required.
    pub base_url: Option<String>,
    /// The API version in paths; v1 by default.
    pub version: Option<String>,
    /// The time limit of one request; 5s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub timeout: Option<DurationText>,
    /// A file that contains the bearer token of each request; none by default. The console reads it again when it changes. Readers see what this token may read.
    pub token_file: Option<String>,
    /// The word before the token in the header `Authorization`: `Bearer` (the default) or `ServiceAccount`, by which a gateway recognises the tokens of machines.
    pub auth_scheme: Option<String>,
    /// The kinds of resources to count, as the API writes them; `Cluster` and `NodePool` by default. Resources of other kinds are listed, too.
    #[serde(default)]
    pub kinds: Vec<String>,
}

/// A program of the fleet.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerSpec {
    /// The URL of its health port, such as `http://reconcile-metrics:8080`. If the name has several addresses, as that of a headless Service has, each address is a replica.
    pub url: String,
    /// A file that contains the token of its page; none by default.
    pub token_file: Option<String>,
}

/// An adapter.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdapterSpec {
    /// The adapter's name, as in its `adapter.name`: that of its reports.
    pub name: String,
    /// The URL of its health port, such as `http://hyperfleet-adapter:8080`. If the name has several addresses, as that of a headless Service has, each address is a replica.
    pub url: String,
    /// A file that contains the token of its pages; none by default.
    pub token_file: Option<String>,
}

/// Where other programs show more.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinksSpec {
    /// The URL of a trace, with `{trace_id}` in the place of its id, such as `https://jaeger.example.com/trace/{trace_id}`; no links by default.
    pub trace: Option<String>,
    /// The URL of the log lines of a trace, with `{trace_id}` in the place of its id; no links by default.
    pub logs: Option<String>,
}
