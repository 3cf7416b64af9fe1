//! Tests of the example's inventory and fenced deletion, and of metadata-only pages, with a real API server.

#[path = "../examples/prune/inventory.rs"]
mod inventory;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace, widgets};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Fence, Form, Selector, Settings, connect};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, PropagationPolicy, WriteErrorKind};
use serde_json::{Value, json};

/// A test namespace, a label of its own, and a client that lists two objects per page.
struct World {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    cluster: Cluster,
    labels: BTreeMap<String, String>,
}

async fn cluster(kubeconfig: &std::path::Path) -> Result<Cluster> {
    let settings = Settings { metadata_page_size: 2, ..Settings::default() };
    Ok(Cluster::new(connect(Some(kubeconfig), "lifecycle-test/1").await?, "test", settings))
}

impl World {
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let cluster = cluster(control_plane.kubeconfig_path()).await?;
        let labels = BTreeMap::from([("example.com/test".to_owned(), unique("label"))]);
        Ok(Self { control_plane, namespace, cluster, labels })
    }

    /// A labelled object in the test namespace, with some data.
    fn object(&self, api_version: &str, kind: &str, name: &str) -> Value {
        json!({ "apiVersion": api_version, "kind": kind, "data": { "a": "1" },
                "metadata": { "name": name, "namespace": self.namespace.name(), "labels": self.labels } })
    }

    async fn config_maps(&self, count: usize) -> Result<()> {
        for index in 0..count {
            self.cluster.create(&self.object("v1", "ConfigMap", &format!("map-{index}"))).await?;
        }
        Ok(())
    }
}

fn names(objects: &[Value]) -> Vec<String> {
    let mut names: Vec<_> = objects.iter().map(|object| ObjectRef::of(object).to_string()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn inventory_lists_objects_of_every_kind_with_metadata_only() -> Result<()> {
    let world = World::new().await?;
    let group = format!("{}.example.com", unique("group"));
    let definition = world.cluster.create(&widgets(&group)).await?;
    let widget = world.object(&format!("{group}/v1"), "Widget", "one");
    await_condition("the kind to be served", PATIENCE, async || {
        // Refreshes the cache of kinds, so that the creation finds a kind that was installed meanwhile.
        world.cluster.discover().await?;
        Ok(world.cluster.create(&widget).await?)
    })
    .await?;
    world.config_maps(1).await?;

    let found = inventory::take(&world.cluster, &world.labels).await?;
    let namespace = world.namespace.name();
    assert_eq!(names(&found.objects), [format!("ConfigMap {namespace}/map-0"), format!("Widget {namespace}/one")]);
    // Tests that run concurrently install and remove kinds in `example.com`, whose discovery may fail.
    ensure!(found.unread.iter().all(|error| error.call.contains("example.com") || error.call.contains("Widget")));
    for object in &found.objects {
        assert_eq!(object.as_object().map(|object| object.len()), Some(3), "{object}");
        assert_eq!(object["metadata"]["labels"], json!(world.labels), "{object}");
    }
    world.cluster.delete(&ObjectRef::of(&definition), Fence::new(uid(&definition)?, ""), BACKGROUND).await?;
    Ok(())
}

const BACKGROUND: PropagationPolicy = PropagationPolicy::Background;

fn uid(object: &Value) -> Result<&str> {
    object["metadata"]["uid"].as_str().context("the UID")
}

#[tokio::test]
async fn metadata_only_list_is_read_page_by_page() -> Result<()> {
    let world = World::new().await?;
    world.config_maps(5).await?;
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    let mut pages =
        world.cluster.list(&kind, Some(world.namespace.name()), Selector::Labels(&world.labels), Form::MetadataOnly)?;
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await? {
        ensure!(page.iter().all(|object| object.get("data").is_none() && object["kind"] == "ConfigMap"), "{page:?}");
        sizes.push(page.len());
    }
    assert_eq!(sizes, [2, 2, 1]);
    Ok(())
}

#[tokio::test]
async fn list_that_expires_between_pages_is_an_error() -> Result<()> {
    let world = World::new().await?;
    world.config_maps(3).await?;
    let proxy = world.control_plane.proxy().await?;
    let cluster = cluster(&proxy.access()?.kubeconfig).await?;
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    let mut pages =
        cluster.list(&kind, Some(world.namespace.name()), Selector::Labels(&world.labels), Form::MetadataOnly)?;
    assert_eq!(pages.next().await?.map(|page| page.len()), Some(2));
    proxy.inject(When::method("GET").path_ends("/configmaps"), Fault::Status(410));
    assert_eq!(pages.next().await.err().map(|error| error.kind), Some(WriteErrorKind::Expired));
    Ok(())
}

#[tokio::test]
async fn deletion_is_refused_for_another_uid_or_version() -> Result<()> {
    let world = World::new().await?;
    world.config_maps(1).await?;
    let listed = inventory::take(&world.cluster, &world.labels).await?.objects.pop().context("the object")?;

    let mut namesake = listed.clone();
    namesake["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000");
    let refused = inventory::delete(&world.cluster, &namesake).await;
    assert_eq!(refused.err().map(|error| error.kind), Some(WriteErrorKind::Conflict), "another UID");

    let patch = json!({ "data": { "a": "2" } });
    let patched = world.cluster.merge_patch(&patch, &ObjectRef::of(&listed), Fence::of(&listed)).await?;
    let refused = inventory::delete(&world.cluster, &listed).await;
    assert_eq!(refused.err().map(|error| error.kind), Some(WriteErrorKind::Conflict), "another version");

    let deleted = inventory::delete(&world.cluster, &patched.context("the object")?).await?;
    assert_eq!(deleted, Deletion::Gone);
    assert_eq!(world.cluster.get(&ObjectRef::of(&listed)).await?, None);
    Ok(())
}
