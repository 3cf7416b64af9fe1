//! A fake of the HyperFleet API, for tests that need its answers without its database.
//!
//! In: resources that a test stores. Out: the answers of the real API to the requests of the adapter and of the
//! sweeper: reading and listing resources, also those of all kinds by `resources`; sending and listing status
//! reports; and force-deletions. [`Reception`] names the reports that it refuses, discards or drops. Tests inject
//! faults with the rules of a proxy ([`Faults`]).
//!
//! The fake does not aggregate reports into a resource's conditions, finalize deletions, or authenticate. It
//! searches by `id in ['…']` only, and refuses every other search, filter and order. Only the test, and a
//! force-deletion, changes resources.

mod answer;
mod endpoint;
mod problem;
mod query;
mod statuses;
mod store;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::body::Body;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::await_condition;
use crate::fault::{self, Backend, Faults, Server};
pub use statuses::Reception;
pub use store::Report;
use store::Store;

/// The path prefix of the API's resources.
const BASE: &str = "/api/hyperfleet/v1";

/// A running fake API. Dropping it closes its connections.
///
/// Resources are named by their path below the API's base: `clusters/c1`, `clusters/c1/nodepools/n1`.
pub struct FakeApi {
    server: Server,
    store: Arc<Store>,
}

impl Deref for FakeApi {
    type Target = Faults;

    fn deref(&self) -> &Faults {
        &self.server.faults
    }
}

impl FakeApi {
    /// Starts an API without resources, in the current runtime.
    pub async fn start() -> anyhow::Result<Self> {
        let store = Arc::new(Store::default());
        let server = Server::start(Api { store: store.clone() }, None).await?;
        Ok(Self { server, store })
    }

    /// The base URL for an adapter's configuration, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Stores a live cluster, and returns its path.
    pub fn put_cluster(&self, id: &str, generation: i64) -> String {
        let path = format!("clusters/{id}");
        self.put(&path, resource("Cluster", id, &path, generation));
        path
    }

    /// Stores a live node pool of a cluster, and returns its path.
    pub fn put_node_pool(&self, cluster: &str, id: &str, generation: i64) -> String {
        let path = format!("clusters/{cluster}/nodepools/{id}");
        let mut document = resource("NodePool", id, &path, generation);
        let owner = json!({"id": cluster, "kind": "Cluster", "href": format!("{BASE}/clusters/{cluster}")});
        document["owner_references"] = owner;
        self.put(&path, document);
        path
    }

    /// Stores a document at a path, replacing the former one.
    pub fn put(&self, path: &str, document: Value) {
        self.store.put(path, document);
    }

    /// Changes a document. The generation changes only if `change` changes it.
    pub fn edit(&self, path: &str, change: impl FnOnce(&mut Value)) -> anyhow::Result<()> {
        self.store.edit(path, change)
    }

    /// Marks a resource as deleted, as the API does on request: it stays readable, and its generation rises
    /// by one.
    pub fn mark_deleted(&self, path: &str) -> anyhow::Result<()> {
        self.edit(path, |document| {
            document["deleted_time"] = json!(jiff::Timestamp::now());
            document["deleted_by"] = json!("test@example.com");
            document["generation"] = json!(document["generation"].as_i64().unwrap_or_default() + 1);
        })
    }

    /// Removes a resource and its reports, so that the API answers 404.
    pub fn remove(&self, path: &str) {
        self.store.remove(path);
    }

    /// Answers requests of this method and full path with a fixed status and JSON body, instead of the API's
    /// answer.
    pub fn respond(&self, method: &str, path: &str, status: u16, body: Value) {
        self.store.respond(method, path, status, body);
    }

    /// Returns all status reports about a resource in the order of arrival, including those that were not
    /// stored.
    #[must_use]
    pub fn reports(&self, path: &str) -> Vec<Report> {
        self.store.reports(path)
    }

    /// Waits until a stored report about a resource satisfies the predicate, and returns the first such report.
    pub async fn await_status(
        &self,
        path: &str,
        limit: Duration,
        predicate: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        await_condition(&format!("a matching report about {path}"), limit, async || {
            let reports = self.reports(path);
            let stored = reports.iter().filter(|report| report.reception == Reception::Stored);
            let found = stored.map(|report| &report.body).find(|body| predicate(body)).cloned();
            found.with_context(|| format!("{reports:?}"))
        })
        .await
    }
}

/// A resource as the API returns it right after its creation.
fn resource(kind: &str, id: &str, path: &str, generation: i64) -> Value {
    let now = jiff::Timestamp::now();
    json!({
        "id": id,
        "kind": kind,
        "name": id,
        "href": format!("{BASE}/{path}"),
        "spec": {},
        "labels": {},
        "generation": generation,
        "created_time": now,
        "updated_time": now,
        "created_by": "test@example.com",
        "updated_by": "test@example.com",
        "status": {"conditions": []},
    })
}

struct Api {
    store: Arc<Store>,
}

impl Backend for Api {
    async fn answer(&self, request: Request<Body>) -> anyhow::Result<Response<Body>> {
        answer::answer(&self.store, request).await
    }

    fn refusal(&self, status: u16, request: &fault::Request) -> Response<Body> {
        problem::problem(status, "injected by the test", &request.path, &[])
    }
}
