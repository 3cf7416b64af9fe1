//! The whole system of one test, as processes.

mod invariants;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::parts::{Cadence, Kind, Parts, Ports};
use lifecycle_e2e::postgres::Server;
use lifecycle_e2e::process::Process;
use lifecycle_e2e::rabbitmq::{Broker, Topic};
use lifecycle_e2e::{PATIENCE, await_condition, free_port, unique};
use serde_json::{Value, json};

/// The adapters of a test: the second waits for what the first reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adapter {
    First,
    Second,
}

pub(crate) const BOTH: [Adapter; 2] = [Adapter::First, Adapter::Second];

/// The exporter's count of resources that are not reconciled.
pub(crate) const UNRECONCILED: &str = "hyperfleet_api_resource_pending_reconciliation";

/// The servers under a system. A journey that stops one of them replaces it by a private one or by a proxy.
pub(crate) struct Servers {
    pub(crate) control_plane: ControlPlane,
    /// The kubeconfig of the adapters and of the sweeper.
    pub(crate) kubeconfig: PathBuf,
    pub(crate) broker: Broker,
    pub(crate) database_url: String,
}

impl Servers {
    /// The servers that all tests share, with a database of this test.
    pub(crate) async fn shared() -> Result<Self> {
        let database = async { Server::shared().await?.database().await };
        let (control_plane, broker, database) = tokio::try_join!(ControlPlane::shared(), Broker::shared(), database)?;
        let kubeconfig = control_plane.access().kubeconfig.clone();
        Ok(Self { control_plane, kubeconfig, broker, database_url: database.url() })
    }
}

pub(crate) struct System {
    /// The names of both adapters. No other test has them, as sweepers of all tests see the same cluster.
    names: [String; 2],
    pub(crate) namespace: TestNamespace,
    pub(crate) parts: Parts,
    pub(crate) topic: Topic,
    pub(crate) api: Process,
    /// `None` if the journey sends the events itself.
    pub(crate) sentinel: Option<Process>,
    exporter: Process,
    client: reqwest::Client,
}

impl System {
    /// Starts everything but the adapters, on the servers that all tests share.
    pub(crate) async fn start() -> Result<Self> {
        Self::on(Servers::shared().await?).await
    }

    /// Starts everything but the adapters.
    pub(crate) async fn on(servers: Servers) -> Result<Self> {
        let mut system = Self::without_sentinel(servers).await?;
        system.start_sentinel(Cadence::TEST)?;
        Ok(system)
    }

    /// Starts everything but the adapters and the Sentinel.
    pub(crate) async fn without_sentinel(servers: Servers) -> Result<Self> {
        lifecycle_e2e::init();
        let namespace = servers.control_plane.namespace().await?;
        let names = ["first", "second"].map(unique);
        let api_port = free_port()?;
        let clusters = Kind {
            name: "Cluster".to_owned(),
            plural: "clusters".to_owned(),
            adapters: names.to_vec(),
            ..Kind::default()
        };
        let parts = Parts {
            api_port,
            api_url: format!("http://127.0.0.1:{api_port}"),
            broker_url: servers.broker.url().to_owned(),
            topic_prefix: unique("topic"),
            database_url: servers.database_url,
            kubeconfig: servers.kubeconfig,
            kinds: vec![clusters],
        };
        let topic = Topic::declare(&servers.broker, parts.topic("clusters")).await?;
        for name in &names {
            // Declare the queues now, so that the Sentinel's first events are not lost.
            topic.subscribe(name).await?;
        }
        let api = start_api(&parts).await?;
        // So short that an unreconciled resource is stuck before the test gives up waiting.
        let hasty = json!({
            "metrics": { "reconciliation_stuck_threshold": "1s" },
            "details": { "interval": "1s" },
            "stuck": { "anonymous": true },
        });
        let exporter = parts.exporter(Ports::default(), &hasty).start()?;
        Ok(Self { names, namespace, parts, topic, api, sentinel: None, exporter, client: reqwest::Client::new() })
    }

    /// Starts the API, in the place of the former one.
    pub(crate) async fn start_api(&mut self) -> Result<()> {
        self.api = start_api(&self.parts).await?;
        Ok(())
    }

    /// Starts the Sentinel, in the place of the former one.
    pub(crate) fn start_sentinel(&mut self, cadence: Cadence) -> Result<()> {
        self.sentinel = Some(self.parts.sentinel(Ports::default(), "clusters", cadence).start()?);
        Ok(())
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
        let other = if adapter == Adapter::First { Adapter::Second } else { Adapter::First };
        let setup = self.parts.adapter(Ports::default(), self.name(adapter), "clusters", include_str!("task.yaml"));
        setup
            .variable("JOURNEY_NAMESPACE", self.namespace.name())
            .variable("JOURNEY_OTHER_ADAPTER", self.name(other))
            .variable("JOURNEY_IS_FIRST", &(adapter == Adapter::First).to_string())
            .start()
    }

    /// Starts a sweeper that deletes orphans of both adapters as soon as two passes agree.
    pub(crate) fn sweeper(&self) -> Result<Process> {
        let hasty = json!({
            "dry_run": false, "interval": "200ms", "grace": "1ms", "min_age": "1ms", "limits": { "percent": 100 },
            "kinds": { "include": ["core/ConfigMap"] },
            // A new leader waits for this duration.
            "lease": { "duration": "4s", "renew_deadline": "2s", "retry": "200ms" },
        });
        self.parts.sweeper(Ports::default(), &self.names, self.namespace.name(), &hasty).start()
    }

    /// The sum of the exporter's series of this name, and with this text among their labels.
    pub(crate) async fn figure(&self, name: &str, label: &str) -> Result<f64> {
        let text = reqwest::get(format!("{}/metrics", self.exporter.url("metrics").await?)).await?.text().await?;
        let is_meant = |line: &&str| line.starts_with(&format!("{name}{{")) && line.contains(label);
        let values =
            text.lines().filter(is_meant).map(|line| Ok(line.rsplit_once(' ').context("no value")?.1.parse()?));
        let values: Vec<f64> = values.collect::<Result<_>>()?;
        ensure!(!values.is_empty(), "the exporter has no {name} with {label}, so it does not know: {text}");
        Ok(values.iter().sum())
    }

    /// Sends a request to the API; returns its body, `null` without one.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value, expected: u16) -> Result<Value> {
        let url = format!("{}/api/hyperfleet/v1/{path}", self.parts.api_url);
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
            ensure!(resource["generation"] == generation && is_reconciled(&resource), "{resource}");
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

async fn start_api(parts: &Parts) -> Result<Process> {
    let api = parts.api(Ports::default()).start()?;
    api.url("the API").await?;
    Ok(api)
}

/// Whether all adapters are done with the present generation of a resource.
fn is_reconciled(resource: &Value) -> bool {
    let condition = &resource["status"]["conditions"][0];
    condition["type"] == "Reconciled"
        && condition["status"] == "True"
        && condition["observed_generation"] == resource["generation"]
}
