//! The deployment file as its author writes it.
//!
//! The doc comments are the descriptions in the published JSON Schema, and the decoder checks a file against
//! that schema. A missing key is `None` here: the module `resolve` fills in the defaults.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use lifecycle_maestro::config::spec::MaestroSpec;
use lifecycle_service::settings::{DurationText, HealthSpec, LogSpec, MetricsSpec};
use schemars::JsonSchema;
use serde::Deserialize;

/// The deployment file: how one adapter runs.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdapterSpec {
    /// The adapter's identity.
    pub adapter: IdentitySpec,
    /// Whether to log the merged configuration and serve it over HTTP, with secrets redacted.
    #[serde(default)]
    pub debug_config: bool,
    /// Level, format and output of the log.
    pub log: Option<LogSpec>,
    /// The servers that the adapter calls.
    pub clients: Option<ClientsSpec>,
    /// The labels that the adapter writes onto every object.
    pub stamp: Option<StampSpec>,
    /// Signing of the labels on every object; off by default.
    pub signing: Option<SigningSpec>,
    /// The deadline of one event's reconcile pass; 60s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub event_deadline: Option<DurationText>,
    /// The time that running passes get to finish at shutdown; 25s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub shutdown_grace: Option<DurationText>,
    /// The threads that handle events; 1 by default, 64 at most. Health, metrics and signals have a thread of their own.
    pub workers: Option<NonZeroUsize>,
    /// Inputs of events beside the broker.
    pub inputs: Option<InputsSpec>,
    /// The pages of the last passes and of the task, `/passes` and `/task`; off by default.
    pub passes: Option<PassesSpec>,
    /// The server of health probes, which also serves `/passes` and `/task`.
    pub health: Option<HealthSpec>,
    /// The server of Prometheus metrics.
    pub metrics: Option<MetricsSpec>,
}

/// The adapter's identity.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentitySpec {
    /// The adapter's name: in logs, metrics and traces, as a label on its objects, and as their field manager.
    pub name: String,
    /// The version of the program that the file was written for; major and minor must equal the program's.
    pub version: Option<String>,
}

/// The servers that the adapter calls.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientsSpec {
    /// The HyperFleet API.
    pub hyperfleet_api: Option<ApiSpec>,
    /// The broker's topic and subscription; the connection is configured in the broker's own file.
    pub broker: Option<BrokerSpec>,
    /// The client of the Kubernetes API.
    pub kubernetes: Option<KubernetesSpec>,
    /// Maestro, for resources with `transport.client: maestro`.
    pub maestro: Option<MaestroSpec>,
}

/// The HyperFleet API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiSpec {
    /// The API's URL; required by `serve`.
    pub base_url: Option<String>,
    /// The API version in relative URLs; v1 by default.
    pub version: Option<String>,
    /// The timeout of one attempt; 10s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub timeout: Option<DurationText>,
    /// The largest number of attempts, the first included; 3 by default.
    pub retry_attempts: Option<i64>,
    /// How the delay between attempts grows: exponential (the default), linear or constant.
    pub retry_backoff: Option<String>,
    /// The delay before the second attempt; 1s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub base_delay: Option<DurationText>,
    /// The upper bound of the delay between attempts; 30s by default. A server's `Retry-After` may be longer, up to the
    /// event's deadline.
    #[schemars(extend("format" = "go-duration"))]
    pub max_delay: Option<DurationText>,
    /// Headers that every request carries.
    pub default_headers: Option<BTreeMap<String, String>>,
    /// The bearer token that every request carries; none by default.
    pub auth: Option<AuthSpec>,
}

/// A bearer token that is read from a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthSpec {
    /// The absolute path of the token's file. Required if `token_cache_ttl` is set; without either, requests
    /// carry no token.
    pub token_path: Option<String>,
    /// How long the adapter keeps a token before it reads the file again; 0 reads the file for every attempt.
    #[schemars(extend("format" = "go-duration"))]
    pub token_cache_ttl: Option<DurationText>,
    /// The word before the token in the header `Authorization`: `Bearer` (the default) or `ServiceAccount`, by which a
    /// gateway recognises the tokens of machines.
    pub scheme: Option<String>,
}

/// The broker's topic and subscription.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrokerSpec {
    /// The subscription; adapters with the same subscription share its events. Required by `serve`.
    pub subscription_id: Option<String>,
    /// The topic. Required by `serve`.
    pub topic: Option<String>,
}

/// The client of the Kubernetes API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KubernetesSpec {
    /// Accepted for compatibility; it has no effect.
    pub api_version: Option<String>,
    /// A kubeconfig file; by default the service account of the pod that the adapter runs in. Files of tokens and CAs
    /// that it names are read again when they change.
    pub kube_config_path: Option<String>,
    /// The rate limit in requests per second; no limit by default.
    pub qps: Option<f64>,
    /// How many requests may exceed `qps` at once.
    pub burst: Option<i64>,
}

/// The labels that the adapter writes onto every object.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StampSpec {
    /// A template for the value of the label `hyperfleet.io/resource-id`; the event's `id` by default.
    pub resource_id: Option<String>,
}

/// Signing of the labels on every object.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SigningSpec {
    /// The file of the signing key, at least 32 bytes; a relative path is relative to the deployment file. With
    /// a key, every object that the adapter writes gets the annotation `hyperfleet.io/ownership-proof`, without
    /// which the sweeper deletes nothing.
    #[schemars(required)]
    pub key_file: Option<String>,
}

/// The pages of the last passes and of the task.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PassesSpec {
    /// A file that contains the token of `/passes` and `/task`. The adapter reads it at each request, so the token may
    /// change.
    pub token_file: Option<String>,
    /// Whether the pages need no token; false by default. If it is false and there is no `token_file`, the pages are off,
    /// and no pass is kept.
    #[serde(default)]
    pub anonymous: bool,
    /// The most passes that `/passes` keeps, the newest; 1000 by default, 10000 at most.
    pub keep: Option<usize>,
    /// The most bytes of them, from 65536 to 67108864; 8388608 by default. One pass takes an eighth at most, and says what
    /// it leaves out.
    pub max_bytes: Option<usize>,
}

/// Inputs of events beside the broker.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputsSpec {
    /// The HTTP input for `CloudEvents`; off by default.
    pub http: Option<HttpSpec>,
}

/// The HTTP input for `CloudEvents`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    /// The address to listen on, such as `:8080` or `127.0.0.1:8080`.
    pub listen: Option<String>,
}
