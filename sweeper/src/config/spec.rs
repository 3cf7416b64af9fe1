//! The configuration file's types, without defaults; `resolve` applies those.
//!
//! The JSON Schema is derived from these types: their doc comments are its descriptions, which `docs/` shows as well.

use std::num::NonZeroUsize;

use lifecycle_maestro::config::spec::MaestroSpec;
use lifecycle_service::settings::{DurationText, HealthSpec, LogSpec, MetricsSpec};
use schemars::JsonSchema;
use serde::Deserialize;

/// The sweeper's configuration file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweeperSpec {
    /// The names of the adapters whose objects are swept, as in their `adapter.name`. Required: objects of other adapters are never touched.
    #[serde(default)]
    pub adapters: Vec<String>,
    /// Whether `run` and `sweep` only report what they would delete; true by default.
    pub dry_run: Option<bool>,
    /// The time from the end of one pass to the beginning of the next; 10m by default.
    #[schemars(extend("format" = "go-duration"))]
    pub interval: Option<DurationText>,
    /// How long an API resource must be gone before its objects go: the least time between two passes in which the API says so; 30m by default.
    #[schemars(extend("format" = "go-duration"))]
    pub grace: Option<DurationText>,
    /// The least age of an object that is deleted; 1h by default.
    #[schemars(extend("format" = "go-duration"))]
    pub min_age: Option<DurationText>,
    /// A regular expression that matches the whole label `hyperfleet.io/resource-id` of objects that may be deleted; that of a UUID in lower case by default.
    pub resource_id_pattern: Option<String>,
    /// Which kinds of objects are swept.
    #[serde(default)]
    pub kinds: KindsSpec,
    /// The limits of one pass.
    #[serde(default)]
    pub limits: LimitsSpec,
    /// The HyperFleet API.
    #[serde(default)]
    pub api: ApiSpec,
    /// The client of the Kubernetes API.
    #[serde(default)]
    pub kubernetes: KubernetesSpec,
    /// The Maestro whose works are swept, too; none by default. Set it if an adapter has `clients.maestro`.
    pub maestro: Option<MaestroSpec>,
    /// The Lease by which one of several replicas is the leader.
    #[serde(default)]
    pub lease: LeaseSpec,
    /// The record of deletions.
    #[serde(default)]
    pub audit: AuditSpec,
    /// The files with the keys that the adapters sign ownership proofs with: two while the adapters change their key. With a key, an object without a valid proof is kept. Required for cluster-scoped kinds.
    #[serde(default)]
    pub signing_key_files: Vec<String>,
    /// Logging.
    #[serde(default)]
    pub log: LogSpec,
    /// The page of the last pass, `/plan`; off by default.
    #[serde(default)]
    pub plan: PlanSpec,
    /// The server of health probes, which also serves `/plan`.
    #[serde(default)]
    pub health: HealthSpec,
    /// The server of Prometheus metrics.
    #[serde(default)]
    pub metrics: MetricsSpec,
}

/// Which kinds of objects are swept. A pattern is `Job`, `batch/Job`, `batch/*`, or `core/Secret` for the core group.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindsSpec {
    /// Only these kinds; every served kind that can be listed and deleted by default.
    #[serde(default)]
    pub include: Vec<String>,
    /// None of these kinds. By default those that Kubernetes' own controllers write: `core/Endpoints`, `discovery.k8s.io/EndpointSlice`, `core/Event`, `events.k8s.io/Event` and `metrics.k8s.io/*`.
    pub exclude: Option<Vec<String>>,
    /// The cluster-scoped kinds whose objects may be deleted, such as `core/Namespace`; none by default. They need `signing_key_files`.
    #[serde(default)]
    pub cluster_scoped: Vec<String>,
    /// The kinds whose unlabelled objects may go along with their namespace, or with the definition of their kind, such as `rbac.authorization.k8s.io/RoleBinding`; none by default: any other content keeps the namespace.
    #[serde(default)]
    pub goes_along: Vec<String>,
}

/// The limits of one pass.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsSpec {
    /// The most orphans with which a pass deletes anything without a person's approval; 50 by default.
    pub objects: Option<u64>,
    /// The same in percent of the objects that could be orphans: those which no other object owns, no adapter disowned, and whose kind may be deleted. Rounded down. By default 5, and in a small fleet 10 objects, if those are at most a quarter.
    pub percent: Option<u64>,
    /// The most deletions at the same time; 8 by default.
    pub deletions_at_once: Option<NonZeroUsize>,
}

/// The HyperFleet API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiSpec {
    /// The API's URL, such as `http://hyperfleet-api:8000`. Required.
    pub base_url: Option<String>,
    /// The API version in paths; v1 by default.
    pub version: Option<String>,
    /// The time limit of one request; 10s by default.
    #[schemars(extend("format" = "go-duration"))]
    pub timeout: Option<DurationText>,
    /// A file that contains the bearer token of each request; none by default. The sweeper reads it again when it changes. The token has to be able to read every resource: one that it may not see looks deleted.
    pub token_file: Option<String>,
    /// The word before the token in the header `Authorization`: `Bearer` (the default) or `ServiceAccount`, by which a gateway recognises the tokens of machines.
    pub auth_scheme: Option<String>,
    /// The most requests in one second; 50 by default.
    pub requests_per_second: Option<u32>,
}

/// The client of the Kubernetes API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KubernetesSpec {
    /// The kubeconfig file; by default the service account of the pod.
    pub kubeconfig: Option<String>,
    /// The most requests in one second; 50 by default.
    pub requests_per_second: Option<u32>,
}

/// The Lease by which one of several replicas is the leader.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseSpec {
    /// The Lease's namespace; by default that of the pod.
    pub namespace: Option<String>,
    /// The Lease's name; hyperfleet-sweeper by default. The replicas of one installation share a Lease; another installation in the same namespace needs another name.
    pub name: Option<String>,
    /// How long the other replicas wait for a sign of the leader; 15s by default, in whole seconds.
    #[schemars(extend("format" = "go-duration"))]
    pub duration: Option<DurationText>,
    /// How long the leader acts without renewing the Lease; 10s by default, at least 2s less than `duration`, and at most 80 % of it.
    #[schemars(extend("format" = "go-duration"))]
    pub renew_deadline: Option<DurationText>,
    /// The time between two attempts; 2s by default, and less than `renew_deadline`.
    #[schemars(extend("format" = "go-duration"))]
    pub retry: Option<DurationText>,
}

/// The page of the last pass.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanSpec {
    /// A file that contains the token of `/plan`. The sweeper reads it at each request, so the token may change.
    pub token_file: Option<String>,
    /// Whether `/plan` needs no token; false by default. If it is false and there is no `token_file`, the page is off.
    #[serde(default)]
    pub anonymous: bool,
}

/// The record of deletions, from which `restore` creates objects again.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditSpec {
    /// The file that each deletion is appended to; standard output by default.
    pub file: Option<String>,
    /// Whether the record contains the data of Secrets; false by default.
    pub secrets: Option<bool>,
}
