//! The servers beside the cluster: database, broker, API and Sentinel. Pods reach them by Services without a selector.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use http::Request;
use kube::Client;
use lifecycle_e2e::kube::ControlPlane;
use lifecycle_e2e::parts::{Cadence, Kind, Parts, Ports};
use lifecycle_e2e::postgres::{Database, Server};
use lifecycle_e2e::process::Process;
use lifecycle_e2e::rabbitmq::{Broker, Topic};
use lifecycle_e2e::{PATIENCE, await_condition, free_port};
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// The address at which Pods find what runs beside the cluster.
const OUTSIDE: &str = "10.250.0.1";

/// The namespace of the installed programs.
pub(crate) const NAMESPACE: &str = "fleet";
/// The namespace of what outlives clusters.
pub(crate) const RECORDS: &str = "records";

/// The adapters, as in the local stack.
pub(crate) const FOUNDATION: &str = "foundation";
pub(crate) const PROVISIONER: &str = "provisioner";

pub(crate) struct Fleet {
    pub(crate) directory: PathBuf,
    pub(crate) client: Client,
    pub(crate) database: Database,
    pub(crate) parts: Parts,
    broker: Broker,
    topic: Topic,
    requests: reqwest::Client,
    _programs: [Process; 2],
}

impl Fleet {
    pub(crate) async fn start() -> Result<Self> {
        let directory = std::env::var_os("LIFECYCLE_E2E_CLUSTER").context("run `e2e/tests/install/run`")?;
        let directory = PathBuf::from(directory);
        let client = ControlPlane::shared().await?.client().await?;
        await_node(&client).await?;
        let database = async { Server::shared().await?.database().await };
        let (broker, database) = tokio::try_join!(Broker::shared(), database)?;
        let api_port = free_port()?;
        let adapters = vec![FOUNDATION.to_owned(), PROVISIONER.to_owned()];
        let parts = Parts {
            api_port,
            api_url: format!("http://127.0.0.1:{api_port}"),
            broker_url: broker.url().to_owned(),
            topic_prefix: "install".to_owned(),
            database_url: database.url().parse()?,
            kubeconfig: directory.join("kubeconfig"),
            kinds: vec![Kind {
                name: "Cluster".to_owned(),
                plural: "clusters".to_owned(),
                adapters,
                ..Kind::default()
            }],
            signing_key: None,
            maestro: None,
        };
        let topic = Topic::declare(&broker, parts.topic("clusters")).await?;
        // Declare the queues now, so that the Sentinel's first events are not lost.
        for adapter in [FOUNDATION, PROVISIONER] {
            topic.subscribe(adapter).await?;
        }
        let api = parts.api(Ports::default()).start()?;
        api.url("the API").await?;
        let cadence = Cadence { poll_interval: "500ms", unreconciled: "1s", reconciled: "30m" };
        let sentinel = parts.sentinel(Ports::default(), "clusters", cadence).start()?;
        let fleet = Self {
            directory,
            client,
            database,
            parts,
            broker,
            topic,
            requests: reqwest::Client::new(),
            _programs: [api, sentinel],
        };
        fleet.prepare_namespaces().await?;
        Ok(fleet)
    }

    /// Makes the namespaces, and Services for what runs beside the cluster.
    async fn prepare_namespaces(&self) -> Result<()> {
        let restricted = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
        for (name, labels) in [(NAMESPACE, restricted), (RECORDS, json!({}))] {
            self.post("/api/v1/namespaces", &json!({ "metadata": { "name": name, "labels": labels } })).await?;
        }
        let broker: url::Url = self.broker.url().parse()?;
        let ports = [
            ("hyperfleet-api", Some(self.parts.api_port)),
            ("rabbitmq", broker.port()),
            ("postgres", self.parts.database_url.port()),
        ];
        for (name, port) in ports {
            let port = port.with_context(|| format!("{name} has no port"))?;
            relay(port).await?;
            let service = json!({ "metadata": { "name": name }, "spec": { "ports": [{ "port": port }] } });
            self.post(&format!("/api/v1/namespaces/{NAMESPACE}/services"), &service).await?;
            let slice = json!({
                "metadata": { "name": name, "labels": { "kubernetes.io/service-name": name } },
                "addressType": "IPv4", "ports": [{ "name": "", "port": port, "protocol": "TCP" }],
                "endpoints": [{ "addresses": [OUTSIDE] }],
            });
            self.post(&format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"), &slice).await?;
        }
        Ok(())
    }

    /// Creates an object.
    pub(crate) async fn post(&self, path: &str, object: &Value) -> Result<Value> {
        Ok(self.client.request(Request::post(path).body(serde_json::to_vec(object)?)?).await?)
    }

    /// Reads an object or a list.
    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        Ok(self.client.request(Request::get(path).body(Vec::new())?).await?)
    }

    /// The URL of the broker, as Pods write it.
    pub(crate) fn broker_url(&self) -> Result<String> {
        let mut url: url::Url = self.broker.url().parse()?;
        url.set_host(Some("rabbitmq"))?;
        Ok(url.into())
    }

    /// The messages that wait in an adapter's queue.
    pub(crate) async fn waiting(&self, adapter: &str) -> Result<u32> {
        Ok(self.broker.depth(&self.topic.queue_name(adapter)).await?.ready)
    }

    /// Sends a request to the HyperFleet API.
    pub(crate) async fn api(&self, method: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
        let url = format!("{}/api/hyperfleet/v1/{path}", self.parts.api_url);
        let request = self.requests.request(method.parse()?, url);
        let request = if body.is_null() { request } else { request.body(body.to_string()) };
        let response = request.send().await?;
        let (status, text) = (response.status().as_u16(), response.text().await?);
        Ok((status, serde_json::from_str(&text).unwrap_or_default()))
    }

    /// Reads a page, with a token if there is one. Returns the status and the text.
    pub(crate) async fn page(&self, url: &str, token: Option<&str>) -> Result<(u16, String)> {
        let request = self.requests.get(url);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let response = request.send().await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    /// Creates a cluster, and returns its id.
    pub(crate) async fn create(&self, name: &str) -> Result<String> {
        self.create_with(name, &json!({ "region": "eu" })).await
    }

    /// Creates a cluster with this spec. Returns its id.
    pub(crate) async fn create_with(&self, name: &str, spec: &Value) -> Result<String> {
        let body = json!({ "kind": "Cluster", "name": name, "spec": spec });
        let (status, created) = self.api("POST", "clusters", &body).await?;
        ensure!(status == 201, "{status}: {created}");
        Ok(created["id"].as_str().context("no id")?.to_owned())
    }

    /// Waits until all adapters are done with the present generation of a cluster.
    pub(crate) async fn await_reconciled(&self, id: &str) -> Result<()> {
        await_condition(&format!("cluster {id} to be reconciled"), PATIENCE * 2, async || {
            let (_, cluster) = self.api("GET", &format!("clusters/{id}"), &Value::Null).await?;
            let condition = &cluster["status"]["conditions"][0];
            let is_reconciled = condition["type"] == "Reconciled"
                && condition["status"] == "True"
                && condition["observed_generation"] == cluster["generation"];
            let (_, statuses) = self.api("GET", &format!("clusters/{id}/statuses"), &Value::Null).await?;
            ensure!(is_reconciled, "{cluster}\n{statuses}");
            Ok(())
        })
        .await
    }

    /// Waits until the API has removed a cluster.
    pub(crate) async fn await_removed(&self, id: &str) -> Result<()> {
        await_condition(&format!("cluster {id} to be removed"), PATIENCE * 2, async || {
            let (status, cluster) = self.api("GET", &format!("clusters/{id}"), &Value::Null).await?;
            let (_, statuses) = self.api("GET", &format!("clusters/{id}/statuses"), &Value::Null).await?;
            ensure!(status == 404, "{cluster}\n{statuses}");
            Ok(())
        })
        .await
    }
}

async fn await_node(client: &Client) -> Result<()> {
    await_condition("the node to be ready", PATIENCE, async || {
        let node: Value = client.request(Request::get("/api/v1/nodes/node").body(Vec::new())?).await?;
        let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is_ready = conditions.iter().any(|found| found["type"] == "Ready" && found["status"] == "True");
        ensure!(is_ready, "{conditions:?}");
        Ok(())
    })
    .await
}

/// Passes on what Pods send to a port of the outside address to the same port of the loopback interface.
async fn relay(port: u16) -> Result<()> {
    let listener = TcpListener::bind((OUTSIDE, port)).await?;
    tokio::spawn(async move {
        while let Ok((mut pod, _)) = listener.accept().await {
            tokio::spawn(async move {
                if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
                    let _ = copy_bidirectional(&mut pod, &mut server).await;
                }
            });
        }
    });
    Ok(())
}
