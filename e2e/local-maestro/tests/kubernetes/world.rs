//! A server, a namespace of a real API server, and an agent between them.

use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_proto::cloud_event::Data;
use lifecycle_proto::cloud_event_attribute_value::Attr;
use lifecycle_proto::cloud_event_service_client::CloudEventServiceClient;
use lifecycle_proto::{CloudEvent, CloudEventAttributeValue, PublishRequest};
use local_maestro::{Bundle, KubeAgent, LocalMaestro, Options};
use serde_json::{Value, json};
use tonic::transport::Channel;

pub(crate) const CONSUMER: &str = "cluster-a";
/// How often agents look at their objects.
const PERIOD: Duration = Duration::from_millis(200);

pub(crate) struct World {
    pub(crate) maestro: LocalMaestro,
    pub(crate) namespace: TestNamespace,
    pub(crate) maps: Api<ConfigMap>,
    control_plane: ControlPlane,
    grpc: CloudEventServiceClient<Channel>,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let consumers = vec![CONSUMER.to_owned()];
        let maestro = LocalMaestro::start(Options { consumers, ..Options::default() }).await?;
        let channel = Channel::from_shared(maestro.grpc_url().to_owned())?.connect_lazy();
        let (maps, grpc) = (namespace.api().await?, CloudEventServiceClient::new(channel));
        Ok(Self { maestro, namespace, maps, control_plane, grpc })
    }

    pub(crate) async fn agent(&self) -> Result<KubeAgent> {
        Ok(KubeAgent::start(&self.maestro, CONSUMER, self.control_plane.client().await?, PERIOD))
    }

    async fn publish(&self, action: &str, id: &str, data: Option<&Value>) -> Result<()> {
        let attributes = [
            ("contenttype", Attr::CeString("application/json".to_owned())),
            ("ce-clustername", Attr::CeString(CONSUMER.to_owned())),
            ("ce-resourceid", Attr::CeString(id.to_owned())),
            ("ce-resourceversion", Attr::CeInteger(0)),
        ];
        let event = CloudEvent {
            id: unique("event"),
            source: "lifecycle".to_owned(),
            spec_version: "1.0".to_owned(),
            r#type: format!("io.open-cluster-management.works.v1alpha1.manifestbundles.spec.{action}"),
            attributes: attributes
                .into_iter()
                .map(|(name, value)| (name.to_owned(), CloudEventAttributeValue { attr: Some(value) }))
                .collect(),
            data: data.map(|data| Data::BinaryData(data.to_string().into_bytes())),
        };
        self.grpc.clone().publish(PublishRequest { event: Some(event) }).await?;
        Ok(())
    }

    pub(crate) async fn create(&self, id: &str, data: &Value) -> Result<()> {
        self.publish("create_request", id, Some(data)).await
    }

    pub(crate) async fn update(&self, id: &str, data: &Value) -> Result<()> {
        self.publish("update_request", id, Some(data)).await
    }

    pub(crate) async fn delete(&self, id: &str) -> Result<()> {
        self.publish("delete_request", id, None).await
    }

    /// The manifest of a `ConfigMap` with one value.
    pub(crate) fn map(&self, name: &str, value: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": self.namespace.name() },
            "data": { "value": value },
        })
    }

    /// What names the `ConfigMap` in rules and configurations.
    pub(crate) fn identifier(&self, name: &str) -> Value {
        json!({ "group": "", "resource": "configmaps", "name": name, "namespace": self.namespace.name() })
    }

    /// Waits until a bundle satisfies a condition.
    pub(crate) async fn bundle(&self, what: &str, id: &str, is_so: impl Fn(&Bundle) -> bool) -> Result<Bundle> {
        await_condition(what, PATIENCE, async || {
            let bundle = self.maestro.bundle(id).ok_or_else(|| anyhow::anyhow!("no bundle"))?;
            ensure!(is_so(&bundle), "{:?}", bundle.status);
            Ok(bundle)
        })
        .await
    }

    /// Waits until this version of a bundle is applied.
    pub(crate) async fn applied(&self, id: &str, version: i32) -> Result<Bundle> {
        self.bundle("a bundle to be applied", id, |bundle| condition(bundle, "Applied") == Some((true, version))).await
    }

    pub(crate) async fn gone(&self, id: &str) -> Result<()> {
        await_condition("a bundle to be gone", PATIENCE, async || {
            ensure!(self.maestro.bundle(id).is_none(), "the bundle is there");
            Ok(())
        })
        .await
    }

    /// The names and values of the test's maps, in the order of names.
    pub(crate) async fn values(&self) -> Result<Vec<(String, String)>> {
        let maps = self.maps.list(&kube::api::ListParams::default()).await?;
        let values = maps.items.into_iter().filter(|map| map.metadata.name.as_deref() != Some("kube-root-ca.crt"));
        let value = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("value")).cloned();
        Ok(values.map(|map| (map.metadata.name.clone().unwrap_or_default(), value(&map).unwrap_or_default())).collect())
    }

    /// Checks the names of the test's maps.
    pub(crate) async fn expect_maps(&self, expected: &[&str]) -> Result<()> {
        let values = self.values().await?;
        let names: Vec<_> = values.iter().map(|(name, _)| name.as_str()).collect();
        ensure!(names == expected, "{names:?} instead of {expected:?}");
        Ok(())
    }
}

/// Whether a condition of a bundle is true, and of which version.
pub(crate) fn condition(bundle: &Bundle, kind: &str) -> Option<(bool, i32)> {
    let conditions = &bundle.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition["type"] == kind)?;
    let version = i32::try_from(found["observedGeneration"].as_i64()?).ok()?;
    Some((found["status"] == "True", version))
}

/// The feedback of a manifest, by name.
pub(crate) fn feedback(bundle: &Bundle, ordinal: usize) -> Vec<(String, Value)> {
    let entry = bundle.status.as_ref().and_then(|status| status.resource_status.get(ordinal));
    let values = entry.and_then(|entry| entry["statusFeedback"]["values"].as_array());
    let named = values.into_iter().flatten();
    named.map(|value| (value["name"].as_str().unwrap_or_default().to_owned(), value["fieldValue"].clone())).collect()
}
