//! The servers around the adapter of one test: a namespace behind a proxy, the API, and an exchange.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use kube::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::fault::{Proxy, Request, When};
use lifecycle_e2e::kube::TestNamespace;
use lifecycle_e2e::rabbitmq::{Broker, Topic};
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, Stack, await_condition};
use serde_json::{Value, json};

use crate::adapter::Setup;

/// The id of the subscription from which the adapter consumes.
pub(crate) const SUBSCRIPTION: &str = "journey";

/// The servers and resources that belong to one test.
pub(crate) struct World {
    pub(crate) stack: Stack,
    pub(crate) namespace: TestNamespace,
    /// The proxy of the API server, which records the adapter's requests and injects faults.
    pub(crate) kubernetes: Proxy,
    pub(crate) api: LocalApi,
    pub(crate) topic: Topic,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        let stack = Stack::join().await?;
        let (namespace, kubernetes, api, topic) = tokio::try_join!(
            stack.control_plane.namespace(),
            stack.control_plane.proxy(),
            LocalApi::start(),
            stack.broker.topic(),
        )?;
        // Declare the queue now, so that events published before the adapter starts are not lost.
        topic.subscribe(SUBSCRIPTION).await?;
        Ok(Self { stack, namespace, kubernetes, api, topic })
    }

    /// The adapter's name, unless a test chooses another. All tests share the API server, and a deletion searches all
    /// namespaces for objects of this adapter and cluster.
    pub(crate) fn name(&self) -> &str {
        self.namespace.name()
    }

    /// The files of an adapter that runs this task with these servers.
    pub(crate) fn adapter(&self, task: impl Into<String>) -> Result<Setup> {
        self.adapter_at(&self.stack.broker, &self.topic, task)
    }

    /// The files of an adapter that consumes from another broker.
    pub(crate) fn adapter_at(&self, broker: &Broker, topic: &Topic, task: impl Into<String>) -> Result<Setup> {
        let deployment = json!({
            "adapter": {"name": self.name()},
            "log": {"level": "debug"},
            "clients": {
                "hyperfleet_api": {"base_url": self.api.url(), "base_delay": "10ms", "max_delay": "20ms"},
                "broker": {"subscription_id": SUBSCRIPTION, "topic": topic.name()},
                "kubernetes": {"kube_config_path": self.kubernetes.access()?.kubeconfig},
            },
            "health": {"listen": "127.0.0.1:0"},
            "metrics": {"listen": "127.0.0.1:0"},
        });
        let rabbitmq = json!({"url": broker.url(), "exchange_type": "topic"});
        Ok(Setup {
            deployment,
            broker: Some(json!({"broker": {"type": "rabbitmq", "rabbitmq": rabbitmq}})),
            task: task.into(),
            environment: BTreeMap::from([("JOURNEY_NAMESPACE".to_owned(), self.namespace.name().to_owned())]),
        })
    }

    /// Stores the cluster at this generation in the API, and publishes an event about it.
    pub(crate) async fn announce(&self, cluster: &str, generation: i64) -> Result<()> {
        self.api.put_cluster(cluster, generation).await?;
        self.topic.publish(&Event::cluster(cluster, generation)).await
    }

    /// Announces the cluster, and waits for the adapter's next report about it.
    pub(crate) async fn reconcile(&self, cluster: &str, generation: i64) -> Result<Report> {
        let known = self.reports(cluster).len();
        self.announce(cluster, generation).await?;
        self.report(cluster, known + 1).await
    }

    /// Publishes another event about the unchanged cluster, and waits for the report.
    pub(crate) async fn reconcile_again(&self, cluster: &str) -> Result<Report> {
        let known = self.reports(cluster).len();
        let generation = self.generation(cluster).await?;
        self.topic.publish(&Event::cluster(cluster, generation)).await?;
        self.report(cluster, known + 1).await
    }

    async fn generation(&self, cluster: &str) -> Result<i64> {
        let document: Value =
            reqwest::get(format!("{}/api/hyperfleet/v1/clusters/{cluster}", self.api.url())).await?.json().await?;
        document["generation"].as_i64().with_context(|| format!("{document}"))
    }

    /// Returns all status reports about a cluster, in the order of arrival.
    pub(crate) fn reports(&self, cluster: &str) -> Vec<Report> {
        self.api.reports(cluster).into_iter().map(Report).collect()
    }

    /// Waits for the n-th report about a cluster.
    pub(crate) async fn report(&self, cluster: &str, number: usize) -> Result<Report> {
        await_condition(&format!("report {number} about {cluster}"), PATIENCE, async || {
            let reports = self.reports(cluster);
            reports.get(number - 1).cloned().with_context(|| format!("{} reports", reports.len()))
        })
        .await
    }

    /// A client for a kind in the test's namespace, with administrator permissions.
    pub(crate) async fn objects(&self, api_version: &str, kind: &str) -> Result<Api<DynamicObject>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Ok(Api::namespaced_with(self.stack.control_plane.client().await?, self.namespace.name(), &resource))
    }

    /// Reads an object of the core group, as JSON; null if it is absent.
    pub(crate) async fn object(&self, kind: &str, name: &str) -> Result<Value> {
        Ok(serde_json::to_value(self.objects("v1", kind).await?.get_opt(name).await?)?)
    }

    /// The current length of the record of Kubernetes requests.
    pub(crate) fn mark(&self) -> usize {
        self.kubernetes.requests().len()
    }

    /// The adapter's Kubernetes calls after a mark, such as `GET configmaps/c1`, without discovery of kinds.
    pub(crate) fn calls_since(&self, mark: usize) -> Vec<String> {
        let requests = self.kubernetes.requests();
        requests.iter().skip(mark).filter_map(|request| self.call(request)).collect()
    }

    fn call(&self, request: &Request) -> Option<String> {
        let (_, path) = request.path.split_once(&format!("/namespaces/{}/", self.namespace.name()))?;
        let dry_run = if request.query.contains("dryRun") { " (dry run)" } else { "" };
        Some(format!("{} {path}{dry_run}", request.method))
    }
}

/// Chooses requests that write: all but GET.
pub(crate) fn writes() -> When {
    When::any().and(|request| request.method != "GET")
}

/// A status report as the API received it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report(pub(crate) Value);

impl Report {
    /// A condition by its type; null if the report lacks it.
    pub(crate) fn condition(&self, kind: &str) -> &Value {
        let conditions = self.0["conditions"].as_array();
        conditions.and_then(|all| all.iter().find(|condition| condition["type"] == kind)).unwrap_or(&Value::Null)
    }

    /// The status of a condition.
    pub(crate) fn status(&self, kind: &str) -> &str {
        self.condition(kind)["status"].as_str().unwrap_or_default()
    }

    /// The decision about a resource with its reason, such as `skip SameGeneration`.
    pub(crate) fn outcome(&self, resource: &str) -> String {
        let outcome = &self.0["data"]["outcomes"][resource];
        let text = |key: &str| outcome[key].as_str().unwrap_or_default();
        format!("{} {}", text("decision"), text("reason"))
    }

    /// The statuses of the four conditions in the order Applied, Available, Health, Finalized.
    pub(crate) fn statuses(&self) -> [&str; 4] {
        ["Applied", "Available", "Health", "Finalized"].map(|kind| self.status(kind))
    }
}
