//! Fixtures: a database with rows as the API writes them, and an exporter that reads it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use lifecycle_e2e::postgres::{Database, Server as Postgres};
use lifecycle_service::http::Server;
use reconcile_metrics::config::{CONFIGURATION, Config, Environment, Flags};
use reconcile_metrics::scrape::Scraper;
use reconcile_metrics::server::{Shared, serve_health, serve_metrics};
use reconcile_metrics::store::Store;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio_util::sync::CancellationToken;

/// A configuration with three kinds, one of them without required adapters.
pub(crate) const KINDS: &str = "
kinds:
- {kind: Cluster, required_adapters: [dns, hypershift]}
- {kind: NodePool, required_adapters: [hypershift], stuck_after: 5m}
- {kind: Channel}
";

/// The schema of the real API, without our indexes.
pub(crate) const API_SCHEMA: &str = include_str!("schemas/rows.sql");

pub(crate) struct World {
    pub(crate) database: Database,
    pub(crate) connection: PgConnection,
}

impl World {
    /// Creates a world whose database has the API's tables without rows.
    pub(crate) async fn empty() -> Self {
        rustls_provider();
        let database = Postgres::shared().await.unwrap().database().await.unwrap();
        let connection = PgConnection::connect(&database.url()).await.unwrap();
        Self { database, connection }
    }

    /// A database with the schema of `migrations/`, which includes the two indexes of `prepare`.
    pub(crate) async fn migrated() -> Self {
        let mut world = Self::empty().await;
        lifecycle_migrations::apply(&mut world.connection).await.unwrap();
        world
    }

    /// A database with another schema.
    pub(crate) async fn with_schema(schema: &'static str) -> Self {
        let mut world = Self::empty().await;
        world.sql(schema).await;
        world
    }

    pub(crate) async fn another_connection(&self) -> PgConnection {
        PgConnection::connect(&self.database.url()).await.unwrap()
    }

    pub(crate) async fn sql(&mut self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut self.connection)
            .await
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    pub(crate) async fn number(&mut self, sql: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut self.connection).await.unwrap()
    }

    /// Inserts a resource and its conditions in one transaction, as the API does. `age` is the time since the last transition
    /// of Reconciled; `None` inserts no conditions.
    pub(crate) async fn resource(&mut self, id: &str, kind: &str, reconciled: Option<&str>, age: &str) {
        let conditions = reconciled.map(|status| rewrite(id, status, age)).unwrap_or_default();
        self.sql(&format!("BEGIN; {}{conditions} COMMIT", resource(id, kind))).await;
    }

    pub(crate) async fn report(&mut self, kind: &str, id: &str, adapter: &str, generation: i32, conditions: &str) {
        let sql = format!(
            "INSERT INTO adapter_statuses (id, resource_type, resource_id, adapter, observed_generation, last_report_time, conditions)
             VALUES (gen_random_uuid()::text, '{kind}', '{id}', '{adapter}', {generation}, now(), '{conditions}')"
        );
        self.sql(&sql).await;
    }

    pub(crate) fn config(&self, more: &str) -> Config {
        config_of(&self.database, more)
    }

    pub(crate) async fn exporter(&self, more: &str) -> Exporter {
        Exporter::start(self.config(more)).await
    }
}

fn rustls_provider() {
    lifecycle_e2e::init();
}

pub(crate) fn config_of(database: &Database, more: &str) -> Config {
    let text = format!(
        "database: {{url: '{}'}}\nhealth: {{listen: '127.0.0.1:0'}}\nmetrics: {{listen: '127.0.0.1:0'}}\n{more}",
        database.url()
    );
    let parsed = CONFIGURATION.parse("test.yaml", &text, &Environment::new(), &Flags::new());
    parsed.unwrap_or_else(|mistakes| panic!("{mistakes}")).0
}

pub(crate) fn resource(id: &str, kind: &str) -> String {
    format!(
        "INSERT INTO resources (id, kind, name, created_by, updated_by, spec, created_time)
         VALUES ('{id}', '{kind}', '{id}', 'test', 'test', '{{}}', now() - interval '7 days');"
    )
}

/// Returns SQL that deletes and inserts all conditions of a resource, as the API does for each report.
pub(crate) fn rewrite(id: &str, reconciled: &str, age: &str) -> String {
    format!(
        "DELETE FROM resource_conditions WHERE resource_id = '{id}';
         INSERT INTO resource_conditions (resource_id, type, status, reason, message, observed_generation,
             created_time, last_updated_time, last_transition_time)
         SELECT '{id}', type, status, 'Why', 'because', 1, now(), now(), now() - interval '{age}'
         FROM (VALUES ('Reconciled', '{reconciled}'), ('LastKnownReconciled', '{reconciled}'),
             ('DnsSuccessful', 'True')) AS c(type, status);"
    )
}

/// A running exporter, in this process.
pub(crate) struct Exporter {
    pub(crate) scraper: Arc<Scraper>,
    pub(crate) stop: CancellationToken,
    metrics: Server,
    health: Server,
    client: reqwest::Client,
}

impl Exporter {
    pub(crate) async fn start(config: Config) -> Self {
        let store = Store::new(&config.database, &config.kinds);
        lifecycle_e2e::init();
        let (config, store) = (Arc::new(config), Arc::new(store));
        let scraper = Scraper::new(store.clone(), &config);
        let shared = Shared::new(config, scraper.clone(), store);
        let stop = CancellationToken::new();
        let (metrics, health) =
            tokio::try_join!(serve_metrics(shared.clone()), serve_health(shared, stop.clone())).unwrap();
        Self { scraper, stop, metrics, health, client: reqwest::Client::new() }
    }

    pub(crate) async fn metrics_as(&self, accept: &str) -> (String, String) {
        let url = format!("http://{}/metrics", self.metrics.address());
        let response = self.client.get(url).header("accept", accept).send().await.unwrap();
        assert_eq!(response.status(), 200, "a scrape is answered with 200 even if the database cannot be read");
        let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        (content_type, response.text().await.unwrap())
    }

    pub(crate) async fn scrape(&self) -> Samples {
        Samples::parse(&self.metrics_as("text/plain").await.1)
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&'static str, &str)]) -> (u16, String) {
        let mut request = self.client.get(format!("http://{}{path}", self.health.address()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

/// The samples of a scrape by `name{labels}`, without the labels `component` and `version`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Samples(pub(crate) BTreeMap<String, f64>);

impl Samples {
    pub(crate) fn parse(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let mut labels: Vec<_> = labels
                .trim_end_matches('}')
                .split(',')
                .filter(|label| !label.is_empty() && !label.starts_with("component=") && !label.starts_with("version="))
                .collect();
            labels.sort_unstable();
            (format!("{name}{{{}}}", labels.join(",")), value.parse().unwrap())
        });
        Self(samples.collect())
    }

    #[track_caller]
    pub(crate) fn get(&self, series: &str) -> f64 {
        *self.0.get(series).unwrap_or_else(|| panic!("no series {series} in {:#?}", self.0.keys()))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.keys().any(|series| series.starts_with(&format!("{name}{{")))
    }

    /// Returns the number of pending resources, the number of stuck ones, and the longest time in seconds, for one flow.
    #[track_caller]
    pub(crate) fn flow(&self, resource_type: &str, is_delete: bool) -> (f64, f64, f64) {
        let labels = format!("{{is_delete=\"{is_delete}\",resource_type=\"{resource_type}\"}}");
        let name = "hyperfleet_api_resource_pending_reconciliation";
        let get = |suffix: &str| self.get(&format!("{name}{suffix}{labels}"));
        (get(""), get("_stuck"), get("_stuck_duration_seconds"))
    }

    #[track_caller]
    pub(crate) fn success(&self) -> f64 {
        self.get("hyperfleet_reconcile_metrics_scrape_success{collector=\"snapshot\"}")
    }
}

pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_reconcile-metrics"))
}
