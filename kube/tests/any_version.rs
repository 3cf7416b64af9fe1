//! Tests of reads that do not insist on a version of the kind, with a real API server.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::fault::{Fault, Proxy, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace, widgets};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Fence, Form, Selector, Settings, connect};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{PropagationPolicy, WriteError, WriteErrorKind};
use serde_json::{Value, json};

/// A custom kind in the versions `v1` and `v1beta1`, with one object, and a client that looks missing kinds up at once.
struct World {
    namespace: TestNamespace,
    proxy: Proxy,
    cluster: Cluster,
    group: String,
    labels: BTreeMap<String, String>,
    definition: Value,
}

fn versions(is_beta_served: bool) -> Value {
    let open = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    json!([
        { "name": "v1", "served": true, "storage": true, "schema": open },
        { "name": "v1beta1", "served": is_beta_served, "storage": false, "schema": open },
    ])
}

impl World {
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let proxy = control_plane.proxy().await?;
        let settings = Settings { look_again_after: Duration::ZERO, ..Settings::default() };
        let client = connect(Some(&proxy.access()?.kubeconfig), "lifecycle-test/1").await?;
        let cluster = Cluster::new(client, "test", settings);
        let group = format!("{}.example.com", unique("group"));
        let mut definition = widgets(&group);
        definition["spec"]["versions"] = versions(true);
        let definition = cluster.create(&definition).await?;
        let labels = BTreeMap::from([("example.com/test".to_owned(), unique("label"))]);
        let world = Self { namespace, proxy, cluster, group, labels, definition };
        let metadata = json!({ "name": "one", "namespace": world.namespace.name(), "labels": world.labels });
        let widget = json!({ "apiVersion": format!("{}/v1", world.group), "kind": "Widget", "metadata": metadata });
        await_condition("v1 to be served", PATIENCE, async || Ok(world.cluster.create(&widget).await?)).await?;
        await_condition("v1beta1 to be served", PATIENCE, async || Ok(world.list("v1beta1", "Widget").await?)).await?;
        Ok(world)
    }

    fn kind(&self, version: &str, kind: &str) -> GroupVersionKind {
        GroupVersionKind::new(&format!("{}/{version}", self.group), kind)
    }

    async fn list(&self, version: &str, kind: &str) -> Result<Vec<Value>, WriteError> {
        let kind = self.kind(version, kind);
        let selector = Selector::Labels(&self.labels);
        self.cluster.list(&kind, Some(self.namespace.name()), selector, Form::Full)?.read_all().await
    }

    async fn list_in_any_version(&self, version: &str, kind: &str) -> Result<Vec<String>, WriteError> {
        let kind = self.kind(version, kind);
        self.list_kind_in_any_version(&kind).await
    }

    async fn list_kind_in_any_version(&self, kind: &GroupVersionKind) -> Result<Vec<String>, WriteError> {
        let (namespace, selector) = (Some(self.namespace.name()), Selector::Labels(&self.labels));
        let found = self.cluster.list_in_any_version(kind, namespace, selector, Form::Full).await?;
        Ok(found.iter().map(|object| object["apiVersion"].as_str().unwrap_or_default().to_owned()).collect())
    }

    async fn stop_serving_the_beta(&self) -> Result<()> {
        let object = ObjectRef::of(&self.definition);
        let live = self.cluster.get(&object).await?.context("the definition")?;
        let fence = Fence::new(Fence::of(&live).uid(), "");
        self.cluster.merge_patch(&json!({ "spec": { "versions": versions(false) } }), &object, fence).await?;
        await_condition("v1beta1 to be gone", PATIENCE, async || {
            let error = self.list("v1beta1", "Widget").await.err().context("it is still served")?;
            ensure!(error.kind == WriteErrorKind::NotFound, "{error}");
            Ok(())
        })
        .await?;
        // The server refuses requests with 429 while it makes a new storage for the changed kind.
        await_condition("v1 to be served still", PATIENCE, async || Ok(self.list("v1", "Widget").await?)).await?;
        Ok(())
    }

    async fn end(self) -> Result<()> {
        let fence = Fence::new(Fence::of(&self.definition).uid(), "");
        self.cluster.delete(&ObjectRef::of(&self.definition), fence, PropagationPolicy::Background).await?;
        Ok(())
    }
}

#[tokio::test]
async fn list_of_an_unserved_version_is_one_of_the_served_version() -> Result<()> {
    let world = World::new().await?;
    let versions_of_group = When::method("GET").path(format!("/apis/{}", world.group));
    let (v1, beta) = (format!("{}/v1", world.group), format!("{}/v1beta1", world.group));

    let before = world.proxy.lines().len();
    assert_eq!(world.list_in_any_version("v1beta1", "Widget").await?, [beta.as_str()]);
    assert_eq!(world.proxy.lines().len(), before + 1, "a served version takes no further request");

    world.stop_serving_the_beta().await?;
    assert_eq!(world.proxy.count(&versions_of_group), 0);
    assert_eq!(world.list_in_any_version("v1beta1", "Widget").await?, [v1.as_str()]);
    assert_eq!(world.proxy.count(&versions_of_group), 1);
    assert_eq!(world.list_in_any_version("v7", "Widget").await?, [v1.as_str()], "a version that never was");
    let object = |name: &str| ObjectRef {
        name: name.to_owned(),
        ..ObjectRef::all(world.kind("v1beta1", "Widget"), Some(world.namespace.name()))
    };
    let found = world.cluster.get_in_any_version(&object("one")).await?.context("the object")?;
    assert_eq!(found["apiVersion"], json!(v1));
    assert_eq!(world.cluster.get_in_any_version(&object("two")).await?, None);
    world.end().await
}

#[tokio::test]
async fn kind_that_no_version_serves_has_no_objects() -> Result<()> {
    let world = World::new().await?;
    let nothing: [&str; 0] = [];
    assert_eq!(world.list_in_any_version("v1", "Gadget").await?, nothing, "another kind of the group");
    for api_version in ["nowhere.example.com/v1", "v1"] {
        let kind = GroupVersionKind::new(api_version, "Gadget");
        assert_eq!(world.list_kind_in_any_version(&kind).await?, nothing, "{api_version}");
    }
    world.end().await
}

#[tokio::test]
async fn unreadable_group_is_an_error() -> Result<()> {
    let world = World::new().await?;
    world.stop_serving_the_beta().await?;
    let (group, version) = (format!("/apis/{}", world.group), format!("/apis/{}/v1", world.group));
    let cases = [
        ("the versions", "v1beta1", "Widget", group.clone(), 503, WriteErrorKind::Unavailable),
        ("the kinds of another version", "v1beta1", "Widget", version.clone(), 503, WriteErrorKind::Unavailable),
        ("the kinds of another version are forbidden", "v1beta1", "Widget", version, 403, WriteErrorKind::Forbidden),
        ("the kinds of the version", "v1beta1", "Widget", format!("{group}/v1beta1"), 500, WriteErrorKind::Unavailable),
        ("the versions, for a kind that is not served", "v1", "Gadget", group, 503, WriteErrorKind::Unavailable),
    ];
    for (name, version, kind, path, status, expected) in cases {
        world.proxy.inject(When::method("GET").path(path), Fault::Status(status));
        let error = world.list_in_any_version(version, kind).await.err().context(name)?;
        assert_eq!(error.kind, expected, "{name}: {error}");
        assert!(error.to_string().contains(&world.group), "{name}: {error}");
        world.proxy.heal();
    }
    assert_eq!(world.list_in_any_version("v1beta1", "Widget").await?.len(), 1, "healed");
    world.end().await
}
