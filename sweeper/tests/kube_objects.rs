//! Tests of the cluster port with a real API server, behind a proxy that counts and breaks requests.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use hyperfleet_sweeper::kube_objects::KubeObjects;
use hyperfleet_sweeper::objects::{Choice, Objects};
use lifecycle_core::sweep::Candidate;
use lifecycle_e2e::fault::{Fault, Proxy, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace, widgets};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Fence, ServedKind, Settings, connect};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::Generation;
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::{Deletion, WriteError, WriteErrorKind};
use serde_json::{Value, json};

const HERE: Destination = Destination::ThisCluster;

/// A test namespace, an adapter of its own, and a client that lists two objects per page.
struct World {
    namespace: TestNamespace,
    proxy: Proxy,
    objects: KubeObjects,
    adapter: String,
}

impl World {
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let proxy = control_plane.proxy().await?;
        let settings = Settings { metadata_page_size: 2, ..Settings::default() };
        let client = connect(Some(&proxy.access()?.kubeconfig), "sweeper-test/1").await?;
        let objects = KubeObjects::new(Cluster::new(client, "test", settings));
        Ok(Self { namespace, proxy, objects, adapter: unique("adapter") })
    }

    /// An object of this world's adapter, which names an API resource.
    fn object(&self, api_version: &str, kind: &str, name: &str, resource_id: &str) -> Value {
        let labels = json!({ "hyperfleet.io/adapter": self.adapter, "hyperfleet.io/resource-id": resource_id });
        json!({ "apiVersion": api_version, "kind": kind,
                "metadata": { "name": name, "namespace": self.namespace.name(), "labels": labels,
                              "annotations": { "hyperfleet.io/generation": "7" } } })
    }

    async fn config_maps(&self, resource_id: &str, count: usize) -> Result<()> {
        for index in 0..count {
            self.objects.create(&HERE, &self.object("v1", "ConfigMap", &format!("map-{index}"), resource_id)).await?;
        }
        Ok(())
    }

    async fn kind(&self, group: &str, kind: &str) -> Result<ServedKind> {
        let served = self.objects.discover().await?.kinds;
        let found = served.into_iter().find(|served| served.kind.group == group && served.kind.kind == kind);
        found.with_context(|| format!("{kind} in {group} is not served"))
    }

    /// Lists this world's objects: other tests on the same server have labelled objects too.
    async fn list(&self, kind: &ServedKind) -> Result<Vec<Candidate>, WriteError> {
        let mut found = Vec::new();
        self.objects.list(kind, Choice::Labelled(keys::ADAPTER), &mut |candidate| found.push(candidate)).await?;
        found.retain(|candidate| candidate.adapter == self.adapter);
        Ok(found)
    }

    /// Defines a custom kind with one object; returns the definition and the kind.
    async fn custom_kind(&self, resource_id: &str) -> Result<(Value, ServedKind)> {
        let group = format!("{}.example.com", unique("group"));
        let definition = self.objects.create(&HERE, &widgets(&group)).await?;
        let widget = self.object(&format!("{group}/v1"), "Widget", "widget", resource_id);
        let kind = await_condition("the kind to be served", PATIENCE, async || {
            let kind = self.kind(&group, "Widget").await?;
            self.objects.create(&HERE, &widget).await?;
            Ok(kind)
        });
        Ok((definition, kind.await?))
    }

    async fn delete(&self, object: &Value) -> Result<Deletion, WriteError> {
        self.objects.delete(&HERE, &ObjectRef::of(object), Fence::of(object)).await
    }

    /// Deletes the definition of a custom kind in the version that it has by now.
    async fn delete_definition(&self, definition: &Value) -> Result<Deletion, WriteError> {
        let uid = definition["metadata"]["uid"].as_str().unwrap_or_default();
        self.objects.delete(&HERE, &ObjectRef::of(definition), Fence::new(uid, "")).await
    }
}

fn names(found: &[Candidate]) -> BTreeSet<&str> {
    found.iter().map(|candidate| candidate.object.name.as_str()).collect()
}

#[tokio::test]
async fn labelled_objects_of_any_kind_are_listed_page_by_page() -> Result<()> {
    let world = World::new().await?;
    let (one, two) = (unique("one"), unique("two"));
    world.config_maps(&one, 5).await?;
    world.objects.create(&HERE, &world.object("v1", "ConfigMap", "other", &two)).await?;
    let (definition, widget) = world.custom_kind(&one).await?;
    let role = world.object("rbac.authorization.k8s.io/v1", "ClusterRole", &unique("role"), &one);
    let role = world.objects.create(&HERE, &role).await?;
    let role_name = ObjectRef::of(&role).name;

    let config_map = world.kind("", "ConfigMap").await?;
    let page = || When::method("GET").path_ends("/configmaps").query_contains("labelSelector");
    let before = world.proxy.count(&page());
    let listed = world.list(&config_map).await?;
    assert_eq!(names(&listed), BTreeSet::from(["map-0", "map-1", "map-2", "map-3", "map-4", "other"]));
    ensure!(world.proxy.count(&page()) - before >= 3, "6 objects are at least 3 pages of 2");
    assert_eq!(listed.iter().filter(|candidate| candidate.resource_id == two).count(), 1);

    let cluster_role = world.kind("rbac.authorization.k8s.io", "ClusterRole").await?;
    assert_eq!(names(&world.list(&widget).await?), BTreeSet::from(["widget"]));
    let roles = world.list(&cluster_role).await?;
    assert_eq!(names(&roles), BTreeSet::from([role_name.as_str()]));
    assert_eq!(roles[0].object, ObjectRef::of(&role), "a cluster-scoped object has no namespace");
    let map = listed.iter().find(|candidate| candidate.resource_id == one).context("a config map")?;
    assert_eq!(map.generation, Generation(7));
    let live = world.objects.read(&HERE, &map.object).await?.context("the config map")?;
    assert_eq!(live["metadata"]["uid"], json!(map.uid), "a listed object can be read by its kind and name");

    assert_eq!(world.delete(&role).await?, Deletion::Gone);
    assert_eq!(world.objects.read(&HERE, &ObjectRef::of(&role)).await?, None);
    world.delete_definition(&definition).await?;
    Ok(())
}

#[tokio::test]
async fn deletion_with_a_stale_fence_is_refused() -> Result<()> {
    let world = World::new().await?;
    let map = world.objects.create(&HERE, &world.object("v1", "ConfigMap", "map", "x")).await?;
    let object = ObjectRef::of(&map);
    let uid = map["metadata"]["uid"].as_str().context("the UID")?;
    let version = map["metadata"]["resourceVersion"].as_str().context("the version")?;
    let namesake = "00000000-0000-4000-8000-000000000000";
    for (name, fence) in [
        ("another UID", Fence::new(namesake, version)),
        ("another version", Fence::new(uid, "1")),
        ("another UID at any version", Fence::new(namesake, "")),
    ] {
        let refused = world.objects.delete(&HERE, &object, fence).await;
        assert_eq!(refused.err().map(|error| error.kind), Some(WriteErrorKind::Conflict), "{name}");
    }
    let unfenced = world.objects.delete(&HERE, &object, Fence::new("", "")).await;
    assert_eq!(unfenced.err().map(|error| error.kind), Some(WriteErrorKind::Invalid), "no fence at all");
    assert_eq!(world.objects.read(&HERE, &object).await?.as_ref(), Some(&map), "nothing was changed");
    assert_eq!(world.delete(&map).await?, Deletion::Gone);
    assert_eq!(world.objects.read(&HERE, &object).await?, None);
    Ok(())
}

#[tokio::test]
async fn kind_that_is_removed_after_its_discovery_fails_to_list() -> Result<()> {
    let world = World::new().await?;
    let (definition, widget) = world.custom_kind("x").await?;
    assert_eq!(world.list(&widget).await?.len(), 1);
    world.delete_definition(&definition).await?;
    let error = await_condition("the list to fail", PATIENCE, async || {
        let listed = world.list(&widget).await;
        listed.err().context("the kind is still listed")
    })
    .await?;
    ensure!(error.kind == WriteErrorKind::NotFound && error.call == "list Widget", "{error:?}");
    Ok(())
}

#[tokio::test]
async fn list_that_expires_between_pages_is_an_error() -> Result<()> {
    let world = World::new().await?;
    world.config_maps(&unique("resource"), 5).await?;
    let kind = world.kind("", "ConfigMap").await?;
    for pages in [1, 2] {
        world.proxy.heal();
        world.proxy.inject(When::method("GET").query_contains("&continue=").nth(pages), Fault::Status(410));
        let mut seen = 0;
        let listed = world.objects.list(&kind, Choice::Labelled(keys::ADAPTER), &mut |_| seen += 1).await;
        assert_eq!(listed.err().map(|error| error.kind), Some(WriteErrorKind::Expired), "after {pages} pages");
        assert_eq!(seen, 2 * pages);
    }
    world.proxy.heal();
    assert_eq!(world.list(&kind).await?.len(), 5);
    Ok(())
}
