//! A local API with a database of its own, and a clock that the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use lifecycle_e2e::postgres::{Database, Server};
use lifecycle_service::http::{Limits, Listener};
use local_api::changes::Api;
use local_api::metrics::Metrics;
use local_api::registry::{EntitySpec, Registry};
use local_api::routes::router;
use serde_json::{Value, json};
use sqlx::Connection as _;
use sqlx::postgres::PgPoolOptions;

/// The path prefix of every resource.
pub(crate) const BASE: &str = "/api/hyperfleet/v1";

/// The kinds of the tests: a tree with each policy, and references.
const ENTITIES: &str = r#"[
  {"kind": "Cluster", "plural": "clusters", "required_adapters": ["validation", "dns"], "name_min_len": 3,
   "name_max_len": 53, "references": [{"ref_type": "wif_config", "target_kind": "WifConfig", "max": 1}]},
  {"kind": "NodePool", "plural": "nodepools", "parent_kind": "Cluster", "on_parent_delete": "cascade",
   "required_adapters": ["validation"]},
  {"kind": "Channel", "plural": "channels"},
  {"kind": "Version", "plural": "versions", "parent_kind": "Channel", "on_parent_delete": "restrict"},
  {"kind": "Network", "plural": "networks"},
  {"kind": "Subnet", "plural": "subnets", "parent_kind": "Network", "on_parent_delete": "orphan"},
  {"kind": "Address", "plural": "addresses", "parent_kind": "Subnet", "on_parent_delete": "cascade"},
  {"kind": "WifConfig", "plural": "wifconfigs"},
  {"kind": "Gateway", "plural": "gateways",
   "references": [{"ref_type": "network", "target_kind": "Network", "min": 1, "max": 1}]}
]"#;

pub(crate) struct World {
    server: lifecycle_service::http::Server,
    client: reqwest::Client,
    /// Seconds since the test began.
    seconds: Arc<AtomicI64>,
    pub(crate) metrics: Arc<Metrics>,
    _database: Database,
}

/// An answer: its status, headers and JSON body; `null` without one.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        lifecycle_e2e::init();
        let database = Server::shared().await?.database().await?;
        let mut connection = sqlx::PgConnection::connect(&database.url()).await?;
        lifecycle_migrations::apply(&mut connection).await?;
        connection.close().await?;
        let entities: Vec<EntitySpec> = serde_json::from_str(ENTITIES)?;
        let registry = Registry::new(&entities).map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
        let (seconds, metrics) = (Arc::new(AtomicI64::new(0)), Arc::new(Metrics::default()));
        let (start, passed) = (Timestamp::now(), Arc::clone(&seconds));
        let api = Api {
            pool: PgPoolOptions::new().max_connections(8).connect(&database.url()).await?,
            registry: Arc::new(registry),
            clock: Arc::new(move || start + jiff::SignedDuration::from_secs(passed.load(Ordering::SeqCst))),
            metrics: Arc::clone(&metrics),
        };
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), "the API").await?;
        let server = listener.serve(router(api), Limits::default());
        Ok(Self { server, client: reqwest::Client::new(), seconds, metrics, _database: database })
    }

    /// Moves the clock by a second, and returns the new time.
    pub(crate) fn tick(&self) -> i64 {
        self.seconds.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Sends a request to a path below [`BASE`]; a path that begins with a slash is taken as it is.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Answer> {
        self.send_with(method, path, body, &[]).await
    }

    pub(crate) async fn send_with(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Result<Answer> {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("{BASE}/{path}") };
        let url = format!("http://{}{path}", self.server.address());
        let mut request = self.client.request(method.parse()?, url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = if body.is_null() { request } else { request.body(body.to_string()) };
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).context(text)? };
        Ok(Answer { status, headers, body })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        self.send("GET", path, &Value::Null).await
    }

    /// Creates a resource, and returns its path below [`BASE`], and its document.
    pub(crate) async fn create(&self, collection: &str, kind: &str, name: &str) -> Result<(String, Value)> {
        let body = json!({ "kind": kind, "name": name, "spec": {} });
        let answer = self.send("POST", collection, &body).await?;
        ensure!(answer.status == 201, "{answer:?}");
        let href = answer.body["href"].as_str().context("no href")?;
        Ok((href.trim_start_matches(&format!("{BASE}/")).to_owned(), answer.body))
    }

    /// Reports on a resource as one adapter, at the generation that the resource has.
    pub(crate) async fn report(&self, path: &str, adapter: &str, available: &str, finalized: &str) -> Result<Answer> {
        let generation = self.get(path).await?.body["generation"].clone();
        self.tick();
        self.send("PUT", &format!("{path}/statuses"), &report(adapter, &generation, available, finalized)).await
    }

    /// Makes every adapter of a cluster or node pool report that the deletion is done.
    pub(crate) async fn finalize(&self, path: &str, adapters: &[&str]) -> Result<()> {
        for adapter in adapters {
            let answer = self.report(path, adapter, "False", "True").await?;
            ensure!(answer.status == 201, "{answer:?}");
        }
        Ok(())
    }

    /// The `Reconciled` condition of a resource.
    pub(crate) async fn reconciled(&self, path: &str) -> Result<Value> {
        let conditions = self.get(path).await?.body["status"]["conditions"].clone();
        let found = conditions.as_array().into_iter().flatten().find(|condition| condition["type"] == "Reconciled");
        Ok(found.cloned().unwrap_or_default())
    }
}

/// A report without a time: the API takes its own.
pub(crate) fn report(adapter: &str, generation: &Value, available: &str, finalized: &str) -> Value {
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status });
    json!({
        "adapter": adapter,
        "observed_generation": generation,
        "conditions": [
            condition("Available", available),
            condition("Applied", "True"),
            condition("Health", "True"),
            condition("Finalized", finalized),
        ],
    })
}

impl Answer {
    /// Checks that the answer is a problem document of this status and code, and returns its detail.
    pub(crate) fn problem(&self, status: u16, code: &str) -> Result<String> {
        let Self { body, headers, .. } = self;
        ensure!(self.status == status && body["status"] == status, "{self:?}");
        ensure!(body["code"] == format!("HYPERFLEET-{code}"), "{body}");
        ensure!(headers["content-type"] == "application/problem+json", "{headers:?}");
        ensure!(body["trace_id"].as_str() == Some(headers["x-request-id"].to_str()?), "{self:?}");
        for member in ["type", "title", "detail", "instance", "timestamp"] {
            ensure!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {body}");
        }
        Ok(body["detail"].as_str().unwrap_or_default().to_owned())
    }

    /// Checks the status of the answer, and returns its body.
    pub(crate) fn expect(self, status: u16) -> Result<Value> {
        ensure!(self.status == status, "expected {status}: {self:?}");
        Ok(self.body)
    }
}
