//! A real API server with a test namespace, and the transport under test.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use hyperfleet_adapter::dependency::kubernetes::FORMER_MANAGERS;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_kube::{Cluster, Settings, connect};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::observation::{Query, QueryBy, Version};
use lifecycle_objects::write::{Command, Executed, Target, WriteError, WriteErrorKind};
use lifecycle_transport::Transport;
use lifecycle_transport::executor::execute;
use lifecycle_transport::kubernetes::KubernetesTransport;
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) const ADAPTER: &str = "team-adapter";

pub(crate) async fn transport(kubeconfig: &Path, settings: Settings) -> Result<KubernetesTransport> {
    lifecycle_e2e::init();
    let settings = Settings { former_managers: &FORMER_MANAGERS, ..settings };
    Ok(KubernetesTransport::new(Cluster::new(connect(Some(kubeconfig), "lifecycle-test/1").await?, ADAPTER, settings)))
}

/// A control plane, a test namespace, and the transport under test.
pub(crate) struct World {
    pub(crate) control_plane: ControlPlane,
    pub(crate) namespace: TestNamespace,
    pub(crate) transport: KubernetesTransport,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let transport = transport(control_plane.kubeconfig_path(), Settings::default()).await?;
        Ok(Self { control_plane, namespace, transport })
    }

    /// Replaces the transport by one that looks a missing kind up again at once.
    pub(crate) async fn without_lookup_pause(self) -> Result<Self> {
        let settings = Settings { look_again_after: Duration::ZERO, ..Settings::default() };
        Ok(Self { transport: transport(self.control_plane.kubeconfig_path(), settings).await?, ..self })
    }

    pub(crate) fn object(&self, api_version: &str, kind: &str, name: &str, rest: Value) -> Value {
        let mut object = json!({ "apiVersion": api_version, "kind": kind,
                                 "metadata": { "name": name, "namespace": self.namespace.name() } });
        if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
            object.extend(rest);
        }
        object
    }

    pub(crate) fn map(&self, name: &str, data: Value) -> Value {
        self.object("v1", "ConfigMap", name, json!({ "data": data }))
    }

    pub(crate) fn named(&self, name: &str) -> Query {
        self.query("v1", "ConfigMap", QueryBy::Name(name.to_owned()))
    }

    pub(crate) fn query(&self, api_version: &str, kind: &str, by: QueryBy) -> Query {
        let namespace = Some(self.namespace.name().to_owned());
        Query { destination: Destination::ThisCluster, kind: GroupVersionKind::new(api_version, kind), namespace, by }
    }

    pub(crate) async fn read(&self, name: &str) -> Result<Option<Value>> {
        Ok(self.transport.find(&self.named(name)).await?.pop())
    }

    pub(crate) async fn create(&self, desired: &Value) -> Result<Value, WriteError> {
        self.transport.create(desired, &Destination::ThisCluster).await
    }

    pub(crate) async fn dry_run_create(&self, desired: &Value) -> Result<(), WriteError> {
        self.transport.dry_run_create(desired, &Destination::ThisCluster).await
    }

    /// Reads the current version of a target's object.
    pub(crate) async fn now(&self, target: &Target) -> Result<Option<Value>> {
        let (kind, namespace) = (target.kind.clone(), target.namespace.clone());
        let query =
            Query { destination: Destination::ThisCluster, kind, namespace, by: QueryBy::Name(target.name.clone()) };
        Ok(self.transport.find(&query).await?.pop())
    }

    pub(crate) async fn execute(&self, command: Command) -> Executed {
        execute(&self.transport, command, Instant::now() + PATIENCE).await
    }

    /// Patches a config map as another field manager.
    pub(crate) async fn patch_as(&self, manager: &str, name: &str, patch: Value) -> Result<()> {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        self.namespace.api::<ConfigMap>().await?.patch(name, &params, &Patch::Merge(patch)).await?;
        Ok(())
    }
}

pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn target(object: &Value) -> Target {
    Target {
        destination: Destination::ThisCluster,
        kind: GroupVersionKind::new(text(object, "/apiVersion"), text(object, "/kind")),
        namespace: object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned),
        name: text(object, "/metadata/name").to_owned(),
        uid: text(object, "/metadata/uid").to_owned(),
        resource_version: text(object, "/metadata/resourceVersion").to_owned(),
    }
}

pub(crate) fn namesake(object: &Value) -> Target {
    Target { uid: "00000000-0000-4000-8000-000000000000".to_owned(), ..target(object) }
}

pub(crate) fn refusal<T: std::fmt::Debug>(answer: Result<T, WriteError>) -> Result<(WriteErrorKind, Option<u16>)> {
    let error = answer.err().context("the call should have been refused")?;
    Ok((error.kind, error.status))
}

/// An object as a version that was read.
pub(crate) fn seen(object: &Value) -> Version {
    Version::new(object.clone())
}

/// A version without managed fields, for which there is nothing to migrate.
pub(crate) fn unmanaged() -> Version {
    Version::new(json!({}))
}

pub(crate) fn managed_fields(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/managedFields")
}
