//! The local API of one test, behind the rules of a proxy.
//!
//! In: resources, which a test writes into the API's tables with the ids and generations that it needs. Out: the
//! answers of [`local_api`], served by the test's own process, and a record of all status reports. Fails: if no
//! database server can be started. Tests inject answers that the API never gives with [`Faults`].
//!
//! Each API has a schema of its own in a database of the test's process: a database for each would take 7 MB, and three
//! times as long to create.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use axum::Router;
use axum::body::{Body, to_bytes};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use jiff::Timestamp;
use local_api::changes::{Api, Target};
use local_api::metrics::Metrics;
use local_api::model::{BASE, Condition};
use local_api::problem::Problem;
use local_api::registry::{EntitySpec, Registry};
use local_api::routes::router;
use local_api::store;
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::sync::OnceCell;
use tower::ServiceExt as _;

use crate::fault::{self, Backend, Faults, Server};
use crate::postgres::{self, Database};

/// The most connections of one API. The server accepts 200, and dozens of tests may run at the same time.
const CONNECTIONS: u32 = 4;

/// The kinds of every API. Resources wait for two adapters: the journeys run the first one, and nobody the second, so
/// that the API keeps a deleted resource until its test removes it.
const ENTITIES: &str = r#"[
  {"kind": "Cluster", "plural": "clusters", "required_adapters": ["journey", "absent"]},
  {"kind": "NodePool", "plural": "nodepools", "parent_kind": "Cluster", "on_parent_delete": "cascade",
   "required_adapters": ["journey", "absent"]}
]"#;

/// A running API. Dropping it closes its connections.
pub struct LocalApi {
    server: Server,
    api: Api,
    reports: Reports,
}

/// The bodies of all reports, by the id of the resource.
type Reports = Arc<Mutex<BTreeMap<String, Vec<Value>>>>;

impl Deref for LocalApi {
    type Target = Faults;

    fn deref(&self) -> &Faults {
        &self.server.faults
    }
}

impl LocalApi {
    /// Starts an API without resources, in the current runtime.
    pub async fn start() -> anyhow::Result<Self> {
        crate::init();
        let specs: Vec<EntitySpec> = serde_json::from_str(ENTITIES)?;
        let registry = Registry::new(&specs).map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
        let api = Api {
            pool: pool().await.context("failed to prepare the API's tables")?,
            registry: Arc::new(registry),
            clock: Arc::new(Timestamp::now),
            metrics: Arc::new(Metrics::default()),
        };
        let reports = Reports::default();
        let backend = Recorder { router: router(api.clone()), reports: reports.clone() };
        Ok(Self { server: Server::start(backend, None).await?, api, reports })
    }

    /// The base URL for an adapter's configuration, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Stores a live cluster, or gives an existing one this generation and undoes its deletion.
    pub async fn put_cluster(&self, id: &str, generation: i64) -> anyhow::Result<()> {
        self.put("Cluster", id, generation, &format!("{BASE}/clusters/{id}"), None).await
    }

    /// Stores a live node pool of a cluster, or gives an existing one this generation and undoes its deletion.
    pub async fn put_node_pool(&self, cluster: &str, id: &str, generation: i64) -> anyhow::Result<()> {
        self.put("NodePool", id, generation, &format!("{BASE}/clusters/{cluster}/nodepools/{id}"), Some(cluster)).await
    }

    /// Writes the row itself: the API chooses ids, and raises generations one by one. All rows have the same time of
    /// creation, so that lists without an order have that of the ids.
    async fn put(
        &self,
        kind: &str,
        id: &str,
        generation: i64,
        href: &str,
        cluster: Option<&str>,
    ) -> anyhow::Result<()> {
        sqlx::query(
            "INSERT INTO resources (id, kind, name, href, generation, owner_id, owner_kind, owner_href,
                                    spec, created_by, updated_by, created_time)
             VALUES ($1, $2, $1, $3, $4, $5, $6, $7, '{}', 'test', 'test', '2026-01-01T00:00:00Z')
             ON CONFLICT (id) DO UPDATE SET
                 generation = excluded.generation, updated_time = now(), deleted_time = NULL, deleted_by = NULL",
        )
        .bind(id)
        .bind(kind)
        .bind(href)
        .bind(i32::try_from(generation)?)
        .bind(cluster)
        .bind(cluster.map(|_| "Cluster"))
        .bind(cluster.map(|cluster| format!("{BASE}/clusters/{cluster}")))
        .execute(&self.api.pool)
        .await?;
        Ok(())
    }

    /// Stores many reconciled clusters at once, with the ids `cluster-000000` and so on: more than the API could store one by one
    /// within a test. Each region of the label `region` has a thousand of them.
    pub async fn put_fleet(&self, count: i32) -> anyhow::Result<()> {
        sqlx::query(
            "WITH fleet AS (
                 SELECT 'cluster-' || lpad(n::text, 6, '0') AS id, 'r' || n / 1000 AS region FROM generate_series(0, $1 - 1) n
             ), stored AS (
                 INSERT INTO resources (id, kind, name, href, generation, spec, created_by, updated_by, created_time)
                 SELECT id, 'Cluster', id, $2 || '/clusters/' || id, 1, '{}', 'test', 'test', '2026-01-01T00:00:00Z' FROM fleet
             ), conditions AS (
                 INSERT INTO resource_conditions (resource_id, type, status, observed_generation, created_time,
                                                  last_updated_time, last_transition_time)
                 SELECT id, 'Reconciled', 'True', 1, now(), now(), now() FROM fleet
             )
             INSERT INTO resource_labels (resource_id, key, value) SELECT id, 'region', region FROM fleet",
        )
        .bind(count)
        .bind(BASE)
        .execute(&self.api.pool)
        .await?;
        // As autovacuum does, which may come later than a test.
        sqlx::query("ANALYZE").execute(&self.api.pool).await?;
        Ok(())
    }

    /// Stores the condition `Reconciled` of a resource as reports of this time about its generation would.
    pub async fn put_reconciled(&self, id: &str, status: &str, time: Timestamp) -> anyhow::Result<()> {
        let resource = self.api.get(&Target::of(id)).await.map_err(refused)?;
        let condition = Condition {
            kind: "Reconciled".to_owned(),
            status: status.to_owned(),
            reason: None,
            message: None,
            observed_generation: resource.generation,
            created_time: time,
            last_updated_time: time,
            last_transition_time: time,
        };
        Ok(store::put_conditions(&mut *self.api.pool.acquire().await?, id, &[condition]).await?)
    }

    /// Requests the deletion of a resource, as DELETE does: the resource stays readable, and its generation rises by
    /// one.
    pub async fn delete(&self, id: &str) -> anyhow::Result<()> {
        self.api.delete(&Target::of(id)).await.map_err(refused)?;
        Ok(())
    }

    /// Removes a resource's row, as a database does that loses data: the API answers 404.
    pub async fn remove(&self, id: &str) -> anyhow::Result<()> {
        sqlx::query("DELETE FROM resources WHERE id = $1").bind(id).execute(&self.api.pool).await?;
        Ok(())
    }

    /// Removes the rows of several resources at once, so that nobody sees a part of the loss.
    pub async fn remove_all(&self, ids: &[&str]) -> anyhow::Result<()> {
        sqlx::query("DELETE FROM resources WHERE id = ANY($1)").bind(ids).execute(&self.api.pool).await?;
        Ok(())
    }

    /// Returns the bodies of all status reports about a resource, in the order of the API's answers. Includes reports
    /// that the API did not store.
    #[must_use]
    pub fn reports(&self, id: &str) -> Vec<Value> {
        // A panic of another test leaves the map consistent.
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned().unwrap_or_default()
    }
}

fn refused(problem: Problem) -> anyhow::Error {
    anyhow::anyhow!("the API refused: {problem:?}")
}

/// Connects to a new schema, and creates the API's tables in it.
async fn pool() -> anyhow::Result<PgPool> {
    static DATABASE: OnceCell<Database> = OnceCell::const_new();
    let database = DATABASE.get_or_try_init(async || postgres::Server::shared().await?.database().await).await?;
    let schema = crate::unique("api").replace('-', "_");
    let options = PgConnectOptions::from_str(&database.url())?.options([("search_path", &schema)]);
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await?;
    let mut connection = pool.acquire().await?;
    sqlx::query(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&mut *connection).await?;
    lifecycle_migrations::apply(&mut connection).await?;
    Ok(pool)
}

/// Records reports, and leaves the answers to the API.
struct Recorder {
    router: Router,
    reports: Reports,
}

impl Backend for Recorder {
    async fn answer(&self, request: Request<Body>) -> anyhow::Result<Response<Body>> {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await?;
        let resource = parts.uri.path().strip_suffix("/statuses").and_then(|path| path.rsplit('/').next());
        let reported = resource.filter(|_| parts.method == Method::PUT).map(str::to_owned);
        let response = self.router.clone().oneshot(Request::from_parts(parts, Body::from(body.clone()))).await?;
        if let Some(id) = reported {
            let report = serde_json::from_slice(&body).unwrap_or_default();
            self.reports.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().push(report);
        }
        Ok(response)
    }

    fn refusal(&self, status: u16, request: &fault::Request) -> Response<Body> {
        let code = match status {
            401 => "AUT-001",
            403 => "AUZ-001",
            429 => "LMT-001",
            503 => "SVC-001",
            _ => "INT-001",
        };
        let document = json!({
            "status": status,
            "detail": "injected by the test",
            "instance": request.path,
            "code": format!("HYPERFLEET-{code}"),
        });
        let mut response = Response::new(Body::from(document.to_string()));
        // An invalid status is a mistake in the test; 500 makes the mistake visible.
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response
    }
}
