//! The whole system of one test, as processes.

mod invariants;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::parts::{Cadence, Kind, Parts, Ports};
use lifecycle_e2e::postgres::Server;
use lifecycle_e2e::process::Process;
use lifecycle_e2e::rabbitmq::{Broker, Topic};
use lifecycle_e2e::series::Series;
use lifecycle_e2e::{PATIENCE, await_condition, free_port, unique};
use serde_json::{Value, json};

use crate::metrics;

/// The adapters of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adapter {
    /// Of clusters.
    First,
    /// Of clusters, too: it waits for what the first reports, and the first waits for it in a deletion.
    Second,
    /// Of node pools.
    Pool,
}

/// The adapters of clusters.
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
    /// The names of the adapters. No other test has them, as sweepers of all tests see the same cluster.
    names: [String; 3],
    pub(crate) namespace: TestNamespace,
    pub(crate) parts: Parts,
    pub(crate) topic: Topic,
    pub(crate) api: Process,
    /// `None` if the journey sends the events itself.
    pub(crate) sentinel: Option<Process>,
    _sentinel_of_pools: Option<Process>,
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

    /// Starts everything but the adapters, with node pools, for which the deletion of their cluster means `restrict`,
    /// `cascade` or `orphan`.
    pub(crate) async fn with_node_pools(on_parent_delete: &str) -> Result<Self> {
        let mut system = Self::of_kinds(Servers::shared().await?, Some(on_parent_delete)).await?;
        system.start_sentinel(Cadence::TEST)?;
        Ok(system)
    }

    /// Starts everything but the adapters and the Sentinel.
    pub(crate) async fn without_sentinel(servers: Servers) -> Result<Self> {
        Self::of_kinds(servers, None).await
    }

    async fn of_kinds(servers: Servers, node_pools: Option<&str>) -> Result<Self> {
        lifecycle_e2e::init();
        let namespace = servers.control_plane.namespace().await?;
        let names = ["first", "second", "pool"].map(unique);
        let [first, second, pool] = names.clone();
        let api_port = free_port()?;
        let kind = |name: &str, adapters, parent| Kind {
            name: name.to_owned(),
            plural: format!("{}s", name.to_lowercase()),
            parent,
            adapters,
        };
        let mut kinds = vec![kind("Cluster", vec![first, second], None)];
        if let Some(on_parent_delete) = node_pools {
            kinds.push(kind("NodePool", vec![pool], Some(("Cluster".to_owned(), on_parent_delete.to_owned()))));
        }
        let parts = Parts {
            api_port,
            api_url: format!("http://127.0.0.1:{api_port}"),
            broker_url: servers.broker.url().to_owned(),
            topic_prefix: unique("topic"),
            database_url: servers.database_url.parse()?,
            kubeconfig: servers.kubeconfig,
            kinds,
            signing_key: None,
            maestro: None,
        };
        let mut topics = Vec::new();
        for kind in &parts.kinds {
            let topic = Topic::declare(&servers.broker, parts.topic(&kind.plural)).await?;
            for adapter in &kind.adapters {
                // Declare the queues now, so that the Sentinel's first events are not lost.
                topic.subscribe(adapter).await?;
            }
            topics.push(topic);
        }
        let api = start_api(&parts).await?;
        // So short that an unreconciled resource is stuck before the test gives up waiting.
        let hasty = json!({
            "metrics": { "reconciliation_stuck_threshold": "1s" },
            "details": { "interval": "1s" },
            "stuck": { "anonymous": true },
        });
        let exporter = parts.exporter(Ports::default(), &hasty).start()?;
        let sentinel = |_| parts.sentinel(Ports::default(), "nodepools", Cadence::TEST).start();
        let sentinel_of_pools = node_pools.map(sentinel).transpose()?;
        Ok(Self {
            names,
            namespace,
            parts,
            topic: topics.swap_remove(0),
            api,
            sentinel: None,
            _sentinel_of_pools: sentinel_of_pools,
            exporter,
            client: reqwest::Client::new(),
        })
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
        let [first, second, pool] = &self.names;
        match adapter {
            Adapter::First => first,
            Adapter::Second => second,
            Adapter::Pool => pool,
        }
    }

    /// Starts an adapter.
    pub(crate) fn adapter(&self, adapter: Adapter) -> Result<Process> {
        self.adapter_as(adapter, &self.parts.kubeconfig)
    }

    /// Starts an adapter with credentials of its own.
    pub(crate) fn adapter_as(&self, adapter: Adapter, kubeconfig: &Path) -> Result<Process> {
        let (plural, created_after, deleted_after) = match adapter {
            Adapter::First => ("clusters", "", self.name(Adapter::Second)),
            Adapter::Second => ("clusters", self.name(Adapter::First), ""),
            Adapter::Pool => ("nodepools", "", ""),
        };
        let parts = Parts { kubeconfig: kubeconfig.to_owned(), ..self.parts.clone() };
        parts
            .adapter(Ports::default(), self.name(adapter), plural, include_str!("task.yaml"))
            .variable("JOURNEY_NAMESPACE", self.namespace.name())
            .variable("JOURNEY_PLURAL", plural)
            .variable("JOURNEY_CREATED_AFTER", created_after)
            .variable("JOURNEY_DELETED_AFTER", deleted_after)
            .start()
    }

    /// Starts all adapters of a system with node pools.
    pub(crate) fn adapters(&self) -> Result<[Process; 3]> {
        let start = |adapter| self.adapter(adapter);
        Ok([start(Adapter::First)?, start(Adapter::Second)?, start(Adapter::Pool)?])
    }

    /// Starts a sweeper that deletes orphans of the adapters as soon as two passes agree.
    pub(crate) fn sweeper(&self) -> Result<Process> {
        // A new leader waits for this duration.
        self.sweeper_with_lease("4s", "2s")
    }

    /// Starts such a sweeper with these durations of its Lease.
    pub(crate) fn sweeper_with_lease(&self, duration: &str, renew_deadline: &str) -> Result<Process> {
        let hasty = json!({
            "dry_run": false, "interval": "200ms", "grace": "1ms", "min_age": "1ms", "limits": { "percent": 100 },
            "kinds": { "include": ["core/ConfigMap"] },
            "lease": { "duration": duration, "renew_deadline": renew_deadline, "retry": "200ms" },
        });
        self.parts.sweeper(Ports::default(), &self.names, self.namespace.name(), &hasty).start()
    }

    /// The sum of the exporter's series of this name with these labels.
    pub(crate) async fn figure(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        let text = metrics::text(&self.exporter).await?;
        let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let is_meant = |series: &Series| labels.iter().all(|label| series.labels.contains(label));
        let values: Vec<f64> = Series::all(&text, name).filter(is_meant).map(|series| series.value).collect();
        ensure!(!values.is_empty(), "the exporter has no {name} with {labels:?}, so it does not know: {text}");
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

    /// Creates a node pool, and returns the path that it has with a cluster and without one.
    pub(crate) async fn create_node_pool(&self, cluster: &str, name: &str, spec: &Value) -> Result<String> {
        let body = json!({ "kind": "NodePool", "name": name, "spec": spec });
        let created = self.send("POST", &format!("{cluster}/nodepools"), &body, 201).await?;
        Ok(format!("nodepools/{}", created["id"].as_str().context("no id")?))
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

    /// The region in an adapter's object for a resource.
    pub(crate) async fn region(&self, adapter: Adapter, path: &str) -> Result<Option<String>> {
        let data = self.object(adapter, path).await?.and_then(|object| object.data);
        Ok(data.and_then(|mut data| data.remove("region")))
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
