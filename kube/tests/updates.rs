//! Tests of updates that take fields from others, with a real API server.

use std::path::Path;

use anyhow::{Context as _, Result};
use lifecycle_core::object_ref::ObjectRef;
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_kube::{Cluster, ErrorKind, Fence, Settings, Takeover, connect};
use serde_json::{Value, json};

struct World {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    cluster: Cluster,
}

/// A client with this field manager.
async fn cluster(kubeconfig: &Path, manager: &str) -> Result<Cluster> {
    Ok(Cluster::new(connect(Some(kubeconfig), "lifecycle-test/1").await?, manager, Settings::default()))
}

impl World {
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let cluster = cluster(control_plane.kubeconfig_path(), "adapter").await?;
        Ok(Self { control_plane, namespace, cluster })
    }

    fn map(&self, data: Value) -> Value {
        let metadata = json!({ "name": "map", "namespace": self.namespace.name() });
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })
    }

    /// Applies a field as another field manager.
    async fn apply_as(&self, manager: &str, live: &Value, data: Value) -> Result<Value> {
        let other = cluster(self.control_plane.kubeconfig_path(), manager).await?;
        let desired = self.map(data);
        Ok(other.apply(&desired, &ObjectRef::of(&desired), Fence::of(live)).await?)
    }
}

#[tokio::test]
async fn apply_after_a_takeover_removes_the_fields_of_kubectl_and_no_others() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map(json!({ "own": "1" }));
    let mut live = world.cluster.create(&desired).await?;
    for (manager, field) in [("kubectl", "a"), ("kubectl-edit", "b"), ("other-actor", "c")] {
        live = world.apply_as(manager, &live, json!({ field: "x" })).await?;
    }
    let object = ObjectRef::of(&desired);
    let managed_fields = live.pointer("/metadata/managedFields").context("no managed fields")?;
    let fence = Fence::of(&live);
    let version = world.cluster.migrate(&object, fence, managed_fields, Takeover::OwnAndKubectl).await?;
    let version = version.context("nothing was migrated")?;
    let live = world.cluster.apply(&desired, &object, Fence::new(fence.uid(), &version)).await?;
    assert_eq!(live["data"], json!({ "own": "1", "c": "x" }));
    Ok(())
}

#[tokio::test]
async fn replacement_removes_what_the_manifest_lacks_except_finalizers() -> Result<()> {
    let world = World::new().await?;
    let desired = world.map(json!({ "own": "1" }));
    let object = ObjectRef::of(&desired);
    let live = world.cluster.create(&desired).await?;
    let live = world.apply_as("other-actor", &live, json!({ "c": "x" })).await?;
    let hold = json!({ "metadata": { "finalizers": ["example.com/hold"], "labels": { "of": "somebody" } } });
    let live = world.cluster.merge_patch(&hold, &object, Fence::of(&live)).await?.context("it is gone")?;

    let unfenced = world.cluster.replace(&desired, &object, Fence::new(Fence::of(&live).uid(), ""), &live).await;
    assert_eq!(unfenced.map_err(|error| error.kind), Err(ErrorKind::Invalid));
    let mut own = desired.clone();
    own["metadata"]["finalizers"] = json!(["example.com/own"]);
    let replaced = world.cluster.replace(&own, &object, Fence::of(&live), &live).await?;
    assert_eq!(replaced["data"], json!({ "own": "1" }));
    assert_eq!(replaced["metadata"]["labels"], Value::Null);
    assert_eq!(replaced["metadata"]["finalizers"], json!(["example.com/own", "example.com/hold"]));

    let late = world.cluster.replace(&desired, &object, Fence::of(&live), &live).await;
    assert_eq!(late.map_err(|error| error.kind), Err(ErrorKind::Conflict));
    let release = json!({ "metadata": { "finalizers": null } });
    world.cluster.merge_patch(&release, &object, Fence::of(&replaced)).await?;
    Ok(())
}
