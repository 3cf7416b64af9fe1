//! Requests to the HyperFleet API, as a user sends them.
//!
//! In: changes of clusters. Out: clusters and the reports about them. Fails: with the API's answer.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// A client of the API.
pub(crate) struct Api {
    base: String,
    client: reqwest::Client,
}

/// A cluster, by its id.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) id: String,
    pub(crate) name: String,
}

impl Api {
    pub(crate) fn new(url: &str) -> Self {
        Self { base: format!("{url}/api/hyperfleet/v1/clusters"), client: reqwest::Client::new() }
    }

    pub(crate) async fn create(&self, name: &str, spec: &Value) -> Result<Cluster> {
        let body = json!({ "kind": "Cluster", "name": name, "spec": spec });
        let created = self.send("POST", "", Some(&body)).await?;
        Ok(Cluster {
            id: created["id"].as_str().context("the API's answer has no id")?.to_owned(),
            name: name.to_owned(),
        })
    }

    pub(crate) async fn change(&self, cluster: &Cluster, spec: &Value) -> Result<()> {
        self.send("PATCH", &cluster.id, Some(&json!({ "spec": spec }))).await.map(drop)
    }

    pub(crate) async fn delete(&self, cluster: &Cluster) -> Result<()> {
        self.send("DELETE", &cluster.id, None).await.map(drop)
    }

    pub(crate) async fn force_delete(&self, cluster: &Cluster, reason: &str) -> Result<()> {
        let path = format!("{}/force-delete", cluster.id);
        self.send("POST", &path, Some(&json!({ "reason": reason }))).await.map(drop)
    }

    /// The cluster and the reports about it; `None` if it is gone.
    pub(crate) async fn look(&self, cluster: &Cluster) -> Result<Option<(Value, Value)>> {
        let found = self.request("GET", &cluster.id, None).await?;
        let statuses = self.request("GET", &format!("{}/statuses", cluster.id), None).await?;
        Ok(found.zip(statuses))
    }

    /// A page of the list of clusters.
    pub(crate) async fn list(&self, query: &str) -> Result<Value> {
        self.send("GET", &format!("?{query}"), None).await
    }

    /// Sends a request about something that exists.
    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        self.request(method, path, body).await?.with_context(|| format!("{method} {path}: the cluster is gone"))
    }

    /// The answer; `None` for 404.
    async fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Option<Value>> {
        let separator = if path.is_empty() || path.starts_with('?') { "" } else { "/" };
        let url = format!("{}{separator}{path}", self.base);
        let request = self.client.request(method.parse()?, url);
        let request = if let Some(body) = body { request.body(body.to_string()) } else { request };
        let response = request.send().await.with_context(|| format!("the API at {} does not answer", self.base))?;
        let status = response.status();
        let text = response.text().await.context("the API's answer is incomplete")?;
        match status.as_u16() {
            404 => Ok(None),
            _ if !status.is_success() => bail!("{method} {path}: the API answered {status}: {text}"),
            _ if text.is_empty() => Ok(Some(Value::Null)),
            _ => {
                let body = serde_json::from_str(&text);
                ensure!(body.is_ok(), "{method} {path}: the API's answer is no JSON: {text}");
                Ok(body.ok())
            }
        }
    }
}
