//! The whole system of one test, as processes.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use lifecycle_e2e::kube::TestNamespace;
use lifecycle_e2e::postgres::{Database, Server};
use lifecycle_e2e::process::{Process, Setup};
use lifecycle_e2e::rabbitmq::Topic;
use lifecycle_e2e::{PATIENCE, Stack, await_condition, unique};
use serde_json::{Value, json};

/// The adapters of a test: the second waits for what the first reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adapter {
    First,
    Second,
}

pub(crate) const BOTH: [Adapter; 2] = [Adapter::First, Adapter::Second];

pub(crate) struct System {
    /// The names of both adapters. No other test has them, as sweepers of all tests see the same cluster.
    names: [String; 2],
    pub(crate) namespace: TestNamespace,
    stack: Stack,
    topic: Topic,
    api: String,
    client: reqwest::Client,
    _processes: Vec<Process>,
    database: Database,
}

impl System {
    /// Starts everything but the adapters.
    pub(crate) async fn start() -> Result<Self> {
        lifecycle_e2e::init();
        let (stack, database) = tokio::try_join!(Stack::join(), async { Server::shared().await?.database().await })?;
        let (namespace, topic) = tokio::try_join!(stack.control_plane.namespace(), stack.broker.topic())?;
        let names = ["first", "second"].map(unique);
        for name in &names {
            // Declare the queues now, so that the Sentinel's first events are not lost.
            topic.subscribe(name).await?;
        }
        let local_api = Setup::new("local-api")?
            .arguments(&["serve"])
            .file("--config", "api.yaml", &local_api(&database, &names).to_string())?
            .start()?;
        let api = local_api.url("the API").await?;
        let sentinel = Setup::new("local-sentinel")?
            .arguments(&["serve"])
            .file("--config", "sentinel.yaml", &sentinel(&api, &stack, &topic).to_string())?
            .start()?;
        let processes = vec![local_api, sentinel];
        Ok(Self {
            names,
            namespace,
            stack,
            topic,
            api,
            client: reqwest::Client::new(),
            _processes: processes,
            database,
        })
    }

    /// The name of an adapter.
    pub(crate) fn name(&self, adapter: Adapter) -> &str {
        let [first, second] = &self.names;
        match adapter {
            Adapter::First => first,
            Adapter::Second => second,
        }
    }

    /// Starts an adapter.
    pub(crate) fn adapter(&self, adapter: Adapter) -> Result<Process> {
        let name = self.name(adapter);
        let other = if adapter == Adapter::First { Adapter::Second } else { Adapter::First };
        let deployment = json!({
            "adapter": { "name": name },
            "log": { "level": "debug" },
            "clients": {
                "hyperfleet_api": { "base_url": self.api },
                "broker": { "subscription_id": name, "topic": self.topic.name() },
                "kubernetes": { "kube_config_path": self.stack.control_plane.access().kubeconfig },
            },
            "health": { "listen": "127.0.0.1:0" },
            "metrics": { "listen": "127.0.0.1:0" },
        });
        let rabbitmq = json!({ "url": self.stack.broker.url(), "exchange_type": "topic" });
        let broker = json!({ "broker": { "type": "rabbitmq", "rabbitmq": rabbitmq } });
        Setup::new("hyperfleet-adapter")?
            .arguments(&["serve"])
            .file("-c", "adapter.yaml", &deployment.to_string())?
            .file("-t", "task.yaml", include_str!("task.yaml"))?
            .file_of_variable("BROKER_CONFIG_FILE", "broker.yaml", &broker.to_string())?
            .variable("JOURNEY_NAMESPACE", self.namespace.name())
            .variable("JOURNEY_OTHER_ADAPTER", self.name(other))
            .variable("JOURNEY_IS_FIRST", &(adapter == Adapter::First).to_string())
            .start()
    }

    /// Starts a sweeper that deletes orphans of both adapters as soon as two passes agree.
    pub(crate) fn sweeper(&self) -> Result<Process> {
        let config = json!({
            "adapters": self.names,
            "dry_run": false,
            "interval": "200ms",
            "grace": "1ms",
            "min_age": "1ms",
            "limits": { "percent": 100 },
            "api": { "base_url": self.api },
            "kubernetes": { "kubeconfig": self.stack.control_plane.access().kubeconfig },
            "lease": { "namespace": self.namespace.name() },
            "health": { "listen": "127.0.0.1:0" },
            "metrics": { "listen": "127.0.0.1:0" },
        });
        Setup::new("sweeper")?.arguments(&["run"]).file("--config", "sweeper.yaml", &config.to_string())?.start()
    }

    /// Starts an exporter on the API's database.
    pub(crate) fn exporter(&self) -> Result<Process> {
        let config = json!({
            "database": { "url": self.database.url() },
            "kinds": [{ "kind": "Cluster", "required_adapters": self.names }],
            "health": { "listen": "127.0.0.1:0" },
            "metrics": { "listen": "127.0.0.1:0" },
        });
        Setup::new("reconcile-metrics")?
            .arguments(&["serve"])
            .file("--config", "exporter.yaml", &config.to_string())?
            .start()
    }

    /// The value of a series of the exporter, by its name and one label; 0 without a series.
    pub(crate) async fn figure(&self, exporter: &Process, name: &str, label: &str) -> Result<f64> {
        let text = reqwest::get(format!("{}/metrics", exporter.url("metrics").await?)).await?.text().await?;
        let is_meant = |line: &&str| line.starts_with(&format!("{name}{{")) && line.contains(label);
        let values = text.lines().filter(is_meant).filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        Ok(values.sum())
    }

    /// Sends a request to the API; returns its body, `null` without one.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value, expected: u16) -> Result<Value> {
        let url = format!("{}/api/hyperfleet/v1/{path}", self.api);
        let request = self.client.request(method.parse()?, url);
        let request = if body.is_null() { request } else { request.body(body.to_string()) };
        let response = request.send().await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        ensure!(status == expected, "{method} {path}: expected {expected}, not {status}: {text}");
        if text.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
    }

    /// Creates a cluster, and returns its path.
    pub(crate) async fn create_cluster(&self, name: &str, spec: &Value) -> Result<String> {
        let body = json!({ "kind": "Cluster", "name": name, "spec": spec });
        let created = self.send("POST", "clusters", &body, 201).await?;
        Ok(format!("clusters/{}", created["id"].as_str().context("no id")?))
    }

    /// Waits until all adapters are done with this generation of a resource.
    pub(crate) async fn await_reconciled(&self, path: &str, generation: i64) -> Result<()> {
        await_condition(&format!("{path} to be reconciled at {generation}"), PATIENCE, async || {
            let resource = self.send("GET", path, &Value::Null, 200).await?;
            let condition = &resource["status"]["conditions"][0];
            let is_done = condition["status"] == "True" && condition["observed_generation"] == generation;
            ensure!(is_done, "{resource}");
            Ok(())
        })
        .await
    }

    /// Waits until the API has removed a resource.
    pub(crate) async fn await_removed(&self, path: &str) -> Result<()> {
        await_condition(&format!("{path} to be removed"), PATIENCE, async || {
            self.send("GET", path, &Value::Null, 404).await.map(drop)
        })
        .await
    }

    /// The object that an adapter made for a resource; `None` if there is none.
    pub(crate) async fn object(&self, adapter: Adapter, path: &str) -> Result<Option<ConfigMap>> {
        let (_, id) = path.rsplit_once('/').context("no id in the path")?;
        let objects: Api<ConfigMap> = self.namespace.api().await?;
        Ok(objects.get_opt(&format!("{}-{id}", self.name(adapter))).await?)
    }
}

fn local_api(database: &Database, adapters: &[String]) -> Value {
    let any_port = json!({ "host": "127.0.0.1", "port": 0 });
    json!({
        "server": any_port, "health": any_port, "metrics": any_port,
        "database": { "url": database.url() },
        "entities": [
            { "kind": "Cluster", "plural": "clusters", "required_adapters": adapters },
        ],
    })
}

fn sentinel(api: &str, stack: &Stack, topic: &Topic) -> Value {
    json!({
        "clients": { "hyperfleet_api": { "base_url": api }, "broker": { "topic": topic.name() } },
        "broker": { "rabbitmq": { "url": stack.broker.url(), "exchange_type": "topic" } },
        "resource_type": "clusters",
        "poll_interval": "100ms",
        "max_age_unreconciled": "200ms",
        "health": { "listen": "127.0.0.1:0" },
        "metrics": { "listen": "127.0.0.1:0" },
    })
}
