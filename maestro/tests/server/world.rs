//! A server with one consumer, and a client.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use lifecycle_maestro::{Maestro, Settings, work};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{Target, WriteError, WriteErrorKind};
use local_maestro::{LocalMaestro, Options};
use serde_json::{Value, json};

pub(crate) const CONSUMER: &str = "cluster-a";

pub(crate) struct World {
    pub(crate) server: LocalMaestro,
    pub(crate) client: Maestro,
}

/// Settings without TLS.
pub(crate) fn settings(grpc: &str, rest: &str) -> Settings {
    Settings {
        grpc_address: grpc.split_once("://").map_or(grpc, |(_, address)| address).to_owned(),
        http_address: rest.to_owned(),
        source: "tester".to_owned(),
        timeout: Duration::from_secs(10),
        grpc_files: None,
        http_files: None,
        token: None,
    }
}

pub(crate) fn client(settings: Settings) -> Result<Maestro> {
    Ok(Maestro::new(settings, Arc::new(|| Box::new(|_| ())))?)
}

/// A work of one ConfigMap.
pub(crate) fn work(name: &str, text: &str) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": name, "labels": {"app": "demo"}, "annotations": {"hyperfleet.io/generation": "1"}},
        "spec": {"workload": {"manifests": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"text": text}},
        ]}},
    })
}

/// The fence of a work that was read.
pub(crate) fn target(work: &Value) -> Target {
    let version = Version::new(work.clone());
    Target {
        destination: Destination::Consumer(CONSUMER.to_owned()),
        kind: work::kind(),
        namespace: Some(CONSUMER.to_owned()),
        name: version.name().to_owned(),
        uid: version.uid().to_owned(),
        resource_version: version.resource_version().to_owned(),
    }
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, WriteError>) -> WriteErrorKind {
    result.unwrap_err().kind
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        Self::with(Options { consumers: vec![CONSUMER.to_owned()], ..Options::default() }).await
    }

    pub(crate) async fn with(options: Options) -> Result<Self> {
        lifecycle_e2e::init();
        let server = LocalMaestro::start(options).await?;
        let client = client(settings(server.grpc_url(), server.rest_url()))?;
        Ok(Self { server, client })
    }

    pub(crate) fn id(&self, name: &str) -> String {
        self.client.id(CONSUMER, name)
    }

    /// Creates a work, and reads it: the answer to a creation has no UID.
    pub(crate) async fn create(&self, work: &Value) -> Result<Value> {
        let created = self.client.create(work, CONSUMER).await?;
        self.read(created["metadata"]["name"].as_str().unwrap()).await
    }

    pub(crate) async fn read(&self, name: &str) -> Result<Value> {
        Ok(self.client.get(CONSUMER, name).await?.unwrap())
    }
}
