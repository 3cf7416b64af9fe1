//! The deployment file as its author writes it.
//!
//! As with the task file, the doc comments are the published schema's descriptions, and the schema is what
//! a file is checked against. Nothing here has its default applied: see `resolve`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// Go's notation of a duration, checked by the schema's `format`.
pub type DurationText = String;

/// How one adapter is deployed.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdapterSpec {
    /// Who the adapter is.
    pub adapter: IdentitySpec,
    /// Whether the merged configuration is logged and served, with secrets redacted.
    #[serde(default)]
    pub debug_config: bool,
    /// Logging.
    pub log: Option<LogSpec>,
    /// The servers that the adapter talks to.
    pub clients: Option<ClientsSpec>,
    /// What is written onto every object.
    pub stamp: Option<StampSpec>,
    /// Proof that an object's labels are the adapter's; not made by default.
    pub signing: Option<SigningSpec>,
    /// The time that one event may take; 60s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub event_deadline: Option<DurationText>,
    /// The time that running events get to finish when the process is told to stop; 25s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub shutdown_grace: Option<DurationText>,
    /// Ways in for events beside the broker.
    pub inputs: Option<InputsSpec>,
    /// The health server.
    pub health: Option<ListenSpec>,
    /// The metrics server.
    pub metrics: Option<ListenSpec>,
}

/// Who the adapter is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentitySpec {
    /// The adapter's name: in logs, metrics and traces, on the objects that it manages, and as their field manager.
    pub name: String,
    /// The version of the program that the configuration is for; major and minor must agree with it.
    pub version: Option<String>,
}

/// Logging.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    /// debug, info, warn or error; info by default.
    pub level: Option<String>,
    /// json or text; json by default.
    pub format: Option<String>,
    /// stdout or stderr; stdout by default.
    pub output: Option<String>,
}

/// The servers that the adapter talks to.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientsSpec {
    /// The lifecycle API.
    pub hyperfleet_api: Option<ApiSpec>,
    /// What of the broker is received; how it is reached stands in the broker's own file.
    pub broker: Option<BrokerSpec>,
    /// The Kubernetes API.
    pub kubernetes: Option<KubernetesSpec>,
    /// Maestro. It is read and checked, but not used yet.
    pub maestro: Option<MaestroSpec>,
}

/// The lifecycle API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiSpec {
    /// Where it is; required to serve.
    pub base_url: Option<String>,
    /// The version in relative URLs; v1 by default.
    pub version: Option<String>,
    /// The time for one attempt; 10s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub timeout: Option<DurationText>,
    /// Attempts in total; 3 by default.
    pub retry_attempts: Option<i64>,
    /// How the delay between attempts grows: exponential (the default), linear or constant.
    pub retry_backoff: Option<String>,
    /// The first delay; 1s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub base_delay: Option<DurationText>,
    /// The longest delay; 30s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub max_delay: Option<DurationText>,
    /// Headers of every request.
    pub default_headers: Option<BTreeMap<String, String>>,
    /// The bearer token of every request.
    pub auth: Option<AuthSpec>,
}

/// A bearer token in a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthSpec {
    /// The file, by an absolute path. Required beside `token_cache_ttl`; without both, calls carry no token.
    pub token_path: Option<String>,
    /// How long a token that was read is kept; 0 reads it anew for every attempt.
    #[schemars(extend("format" = "go-duration"))]
    pub token_cache_ttl: Option<DurationText>,
}

/// What of the broker is received.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrokerSpec {
    /// The subscription; adapters that share one share its events. Required to serve.
    pub subscription_id: Option<String>,
    /// The topic. Required to serve.
    pub topic: Option<String>,
}

/// The Kubernetes API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KubernetesSpec {
    /// Accepted for compatibility; it has no effect.
    pub api_version: Option<String>,
    /// A kubeconfig file; the cluster that the process runs in by default.
    pub kube_config_path: Option<String>,
    /// Requests per second; not limited by default.
    pub qps: Option<f64>,
    /// Requests at once above `qps`.
    pub burst: Option<i64>,
}

/// Maestro.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaestroSpec {
    /// The address of its gRPC server.
    pub grpc_server_address: Option<String>,
    /// The URL of its HTTP server.
    pub http_server_address: Option<String>,
    /// The source of the events that are sent to it.
    pub source_id: Option<String>,
    /// Accepted for compatibility; it has no effect.
    pub client_id: Option<String>,
    /// How it is authenticated.
    pub auth: Option<MaestroAuthSpec>,
    /// The time for one HTTP request; 10s by default.
    pub timeout: Option<String>,
    /// The time for the health check of the gRPC server; 20s by default.
    pub server_healthiness_timeout: Option<String>,
    /// Accepted for compatibility; it has no effect.
    pub retry_attempts: Option<i64>,
    /// Accepted for compatibility; it has no effect.
    pub keepalive: Option<KeepaliveSpec>,
    /// Whether connections are not encrypted or not verified.
    #[serde(default)]
    pub insecure: bool,
}

/// How Maestro is authenticated.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaestroAuthSpec {
    /// Accepted for compatibility; it has no effect.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Certificates.
    pub tls_config: Option<TlsSpec>,
}

/// Certificates.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    /// The authority of the gRPC server.
    pub ca_file: Option<String>,
    /// The client's certificate.
    pub cert_file: Option<String>,
    /// The client's key.
    pub key_file: Option<String>,
    /// The authority of the HTTP server; `ca_file` by default.
    pub http_ca_file: Option<String>,
}

/// Keep-alive pings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepaliveSpec {
    /// The time between pings.
    pub time: Option<String>,
    /// The time for an answer.
    pub timeout: Option<String>,
}

/// What is written onto every object.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StampSpec {
    /// The value of the label `hyperfleet.io/resource-id`, a template; the event's `id` by default.
    pub resource_id: Option<String>,
}

/// Proof that an object's labels are the adapter's.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SigningSpec {
    /// The file that holds the key, at least 32 bytes; a relative path starts at the deployment file. Every object that is
    /// written gets the annotation `hyperfleet.io/ownership-proof`, without which the sweeper deletes nothing.
    #[schemars(required)]
    pub key_file: Option<String>,
}

/// Ways in for events beside the broker.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputsSpec {
    /// `CloudEvents` by HTTP.
    pub http: Option<ListenSpec>,
}

/// A server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListenSpec {
    /// The address to listen at: `:8080`, `127.0.0.1:8080`.
    pub listen: Option<String>,
}
