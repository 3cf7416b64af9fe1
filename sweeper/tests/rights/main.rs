//! Tests of the printed roles and of the printed policy on a real API server, which enforces them.

mod labels;
mod policy;
mod roles;

use anyhow::{Context as _, Result};
use http::{Method, Request};
use hyperfleet_sweeper::config::{CONFIGURATION, Config, Environment, Flags};
use kube::Client;
use lifecycle_e2e::kube::ControlPlane;
use lifecycle_kube::rights::Account;
use lifecycle_kube::{Cluster, ServedKind, Settings, connect};
use lifecycle_objects::object_ref::ObjectRef;
use serde_json::Value;

/// An API server, and the kinds that it serves.
struct Server {
    control_plane: ControlPlane,
    client: Client,
    served: Vec<ServedKind>,
}

impl Server {
    /// Connects to a control plane that tests of other things do not use: the policy holds in the whole cluster.
    async fn connect() -> Result<Self> {
        let control_plane = ControlPlane::apart().await?;
        let client = connect(Some(control_plane.kubeconfig_path()), "lifecycle-test/1").await?;
        let served = Cluster::new(client.clone(), "test", Settings::default()).discover().await?.kinds;
        Ok(Self { client, served, control_plane })
    }

    /// Sends a request as a user with every right; as the administrator if the name is empty.
    async fn send(&self, user: &str, method: Method, path: &str, body: &Value) -> Result<Value, kube::Error> {
        let media_type = match method {
            Method::PATCH if body.is_array() => "application/json-patch+json",
            Method::PATCH if body.get("apiVersion").is_some() => "application/apply-patch+yaml",
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder().method(method).uri(path).header("Content-Type", media_type);
        if !user.is_empty() {
            request = request.header("Impersonate-User", user).header("Impersonate-Group", "system:masters");
        }
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.client.request(request.body(body).map_err(kube::Error::HttpError)?).await
    }

    /// Applies printed manifests as `kubectl apply -f` does.
    async fn apply(&self, printed: &str) -> Result<()> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(printed)?;
        for document in documents {
            let path = format!("{}?fieldManager=test&force=true", self.path(&document)?);
            self.send("", Method::PATCH, &path, &document).await.with_context(|| path)?;
        }
        Ok(())
    }

    /// The URL path of an object.
    fn path(&self, object: &Value) -> Result<String> {
        let object = ObjectRef::of(object);
        let served = self.served.iter().find(|served| served.kind == object.kind);
        let plural = &served.with_context(|| format!("{} is not served", object.kind))?.plural;
        let root = if object.kind.group.is_empty() { "/api" } else { "/apis" };
        let namespace = object.namespace.map(|namespace| format!("/namespaces/{namespace}")).unwrap_or_default();
        Ok(format!("{root}/{}{namespace}/{plural}/{}", object.kind.api_version(), object.name))
    }
}

/// A configuration with these keys beside the required ones.
fn config(text: &str) -> Result<Config> {
    let text = format!("adapters: [a]\napi: {{base_url: 'http://api:8000'}}\n{text}");
    let loaded = CONFIGURATION.parse("sweeper.yaml", &text, &Environment::new(), &Flags::new());
    loaded.map(|(config, _)| config).map_err(|diagnostics| anyhow::anyhow!("{diagnostics}"))
}

fn account(text: &str) -> Result<Account> {
    Account::parse(text).map_err(anyhow::Error::msg)
}
