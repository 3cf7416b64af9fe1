//! Builds the clients of a sweeper from its configuration.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use jiff::Timestamp;
use lifecycle_api_client::{Client, RetryPolicy, Settings as ApiSettings, TokenSettings, without_password};
use lifecycle_kube::{Cluster, Settings};
use lifecycle_maestro::Maestro;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_service::version::THIS;
use serde_json::Value;

use crate::act::Refused;
use crate::all_objects::Everywhere;
use crate::audit::Audit;
use crate::config::{ApiConfig, Config};
use crate::http_api::{HttpApi, Limits};
use crate::kube_objects::KubeObjects;
use crate::leader;
use crate::maestro_objects::Works;
use crate::metrics::Metrics;
use crate::pass::{Clock, Sweeper};
use crate::plan_page::PlanPage;

/// A sweeper of real servers.
pub type RealSweeper = Sweeper<Everywhere, HttpApi>;

/// The field manager of events and restored objects.
const FIELD_MANAGER: &str = "hyperfleet-sweeper";

/// What failed if no client of Kubernetes can be built, and the cure.
const NO_CLUSTER: &str = "failed to connect to Kubernetes; outside a pod, set --kubeconfig or KUBECONFIG";

/// Attempts of one request to the API. The next pass is another attempt, so one more than the first is enough.
const ATTEMPTS: u32 = 2;

/// Requests that wait for the API at the same time.
const CONCURRENT: usize = 8;

/// How long a token is used before its file is checked for a change.
const TOKEN_CACHE: Duration = Duration::from_secs(30);

/// Builds a sweeper.
///
/// # Errors
///
/// A client cannot be built, or the audit file cannot be opened.
pub async fn sweeper(config: Config) -> anyhow::Result<RealSweeper> {
    let audit = match &config.audit_file {
        Some(file) => Audit::to_file(file, config.audit_secrets)?,
        None => Audit::to_stdout(config.audit_secrets),
    };
    let metrics = Metrics::new(&THIS, config.policy.grace, config.dry_run);
    let (objects, api) = (objects(&config).await?, api(&config.api)?);
    let (refused, clock) = (Refused::default(), Clock::start());
    let page = PlanPage::new(&config.plan_access, Timestamp::now());
    Ok(Sweeper { objects, api, audit, refused, metrics: Arc::new(metrics), page, clock, config })
}

/// Connects to the cluster whose objects are swept, and to Maestro if the configuration names one.
///
/// # Errors
///
/// There is neither a kubeconfig nor a service account; or a client of Maestro cannot be built.
pub async fn objects(config: &Config) -> anyhow::Result<Everywhere> {
    let cluster = cluster(config).await?;
    let works = config.maestro.clone().map(|settings| Maestro::new(settings, Arc::new(|| Box::new(|_| ()))));
    let maestro = works.transpose().context("failed to build the client of Maestro")?;
    Ok(Everywhere { cluster, works: maestro.map(Works::new) })
}

/// Connects to the cluster whose objects are swept.
///
/// # Errors
///
/// There is neither a kubeconfig nor a service account.
pub async fn cluster(config: &Config) -> anyhow::Result<KubeObjects> {
    let rate = config.kubernetes_rate;
    let settings = Settings {
        rate_limit: Some((f64::from(rate), rate)),
        // A CRD may be removed and installed again between two passes.
        look_again_after: Duration::ZERO,
        ..Settings::default()
    };
    Ok(KubeObjects::new(Cluster::new(kubernetes(config).await?, FIELD_MANAGER, settings)))
}

/// Builds a client of the API server.
///
/// # Errors
///
/// There is neither a kubeconfig nor a service account.
pub async fn kubernetes(config: &Config) -> anyhow::Result<lifecycle_kube::Client> {
    let agent = format!("hyperfleet-sweeper/{}", THIS.number);
    lifecycle_kube::connect(config.kubeconfig.as_deref(), &agent).await.context(NO_CLUSTER)
}

/// Says which cluster, which Maestro and which API a command is about to talk to, and by which Lease leaders exclude each other.
///
/// Two kubeconfig files can name one server, and one server name can lead to another cluster tomorrow: the UID of the
/// namespace `kube-system` is that of the cluster.
///
/// # Errors
///
/// There is neither a kubeconfig nor a service account.
pub async fn whereabouts(config: &Config) -> anyhow::Result<String> {
    let server = lifecycle_kube::server(config.kubeconfig.as_deref()).await.context(NO_CLUSTER)?;
    let cluster = Cluster::new(kubernetes(config).await?, FIELD_MANAGER, Settings::default());
    let object =
        ObjectRef { kind: GroupVersionKind::new("v1", "Namespace"), namespace: None, name: "kube-system".to_owned() };
    let uid = match cluster.get(&object).await {
        Ok(Some(found)) => found.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or("unknown").to_owned(),
        Ok(None) => "unknown: it does not exist".to_owned(),
        Err(error) => format!("unknown: {}", error.message),
    };
    let api = without_password(&config.api.base_url);
    let maestro = config
        .maestro
        .as_ref()
        .map_or_else(String::new, |maestro| format!(", Maestro {}", without_password(&maestro.http_address)));
    let lease = named(&config.lease);
    Ok(format!("cluster {server} (UID of kube-system: {uid}), HyperFleet API {api}{maestro}, {lease}"))
}

/// The Lease in words. `plan` and `restore` need none.
fn named(lease: &leader::Settings) -> String {
    match &lease.namespace {
        Some(namespace) => format!("Lease {namespace}/{}", lease.name),
        None => "no Lease, as `lease.namespace` is not set".to_owned(),
    }
}

/// Builds a client of the API.
///
/// # Errors
///
/// The URL is unusable.
pub fn api(config: &ApiConfig) -> anyhow::Result<HttpApi> {
    let client = Client::new(ApiSettings {
        base_url: config.base_url.clone(),
        version: config.version.clone(),
        timeout: config.timeout,
        retry: RetryPolicy { attempts: ATTEMPTS, ..RetryPolicy::default() },
        // A cache may still have the 404 from before a resource was created.
        default_headers: [(CACHE_CONTROL, HeaderValue::from_static("no-cache"))].into_iter().collect(),
        token: config.token_file.clone().map(|path| TokenSettings {
            path,
            cache_ttl: TOKEN_CACHE,
            scheme: config.auth_scheme,
        }),
        user_agent: HeaderValue::from_static("hyperfleet-sweeper"),
    })?;
    let rate = config.requests_per_second;
    let limits = Limits { rate: Some((f64::from(rate), rate)), concurrent: CONCURRENT };
    Ok(HttpApi::new(client, limits, ()))
}
