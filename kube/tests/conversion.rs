//! Tests of a kind whose conversion webhook does not answer, with a real API server.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::ByteString;
use lifecycle_e2e::kube::{ControlPlane, TestNamespace, widgets};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Fence, Form, Pages, Selector, Settings, connect};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{PropagationPolicy, UpdateMode, WriteError, WriteErrorKind};
use serde_json::{Value, json};

/// A kind that is stored in `v1` and served in `v2`, too, with one object.
struct World {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    cluster: Cluster,
    group: String,
    definition: Value,
}

impl World {
    /// On the second control plane: Kubernetes empties no namespace while it cannot list a kind.
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::apart().await?;
        let namespace = control_plane.namespace().await?;
        let client = connect(Some(control_plane.kubeconfig_path()), "lifecycle-test/1").await?;
        let cluster = Cluster::new(client, "test", Settings::default());
        let group = format!("{}.example.com", unique("group"));
        let open = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
        let version = |name: &str| json!({ "name": name, "served": true, "storage": name == "v1", "schema": open });
        let mut definition = widgets(&group);
        definition["spec"]["versions"] = json!([version("v1"), version("v2")]);
        let definition = cluster.create(&definition).await?;
        let world = Self { control_plane, namespace, cluster, group, definition };
        let stored = world.widget("v1", "one");
        await_condition("v1 to be served", PATIENCE, async || Ok(world.cluster.create(&stored).await?)).await?;
        Ok(world)
    }

    fn widget(&self, version: &str, name: &str) -> Value {
        let metadata = json!({ "name": name, "namespace": self.namespace.name() });
        json!({ "apiVersion": format!("{}/{version}", self.group), "kind": "Widget", "metadata": metadata })
    }

    fn list(&self, version: &str) -> Result<Pages<'_>, WriteError> {
        let kind = GroupVersionKind::new(&format!("{}/{version}", self.group), "Widget");
        self.cluster.list(&kind, Some(self.namespace.name()), Selector::Everything, Form::Full)
    }

    async fn convert(&self, conversion: Value) -> Result<()> {
        let fence = Fence::new(Fence::of(&self.definition).uid(), "");
        let patch = json!({ "spec": { "conversion": conversion } });
        self.cluster.merge_patch(&patch, &ObjectRef::of(&self.definition), fence).await?.context("the definition")?;
        Ok(())
    }

    /// A webhook at a port on which nobody listens.
    fn away(&self) -> Result<Value> {
        let authority = self.control_plane.kubeconfig_path().with_file_name("ca.crt");
        let client = json!({ "url": "https://127.0.0.1:1/convert", "caBundle": ByteString(fs::read(authority)?) });
        Ok(json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": client } }))
    }
}

/// The kind and the status of a refusal that names the webhook.
fn refusal<T>(name: &str, result: Result<T, WriteError>) -> Result<(WriteErrorKind, Option<u16>)> {
    let error = result.err().with_context(|| format!("{name}: it was not refused"))?;
    ensure!(error.message.contains("conversion webhook"), "{name}: {error}");
    Ok((error.kind, error.status))
}

#[tokio::test]
async fn conversion_webhook_that_is_away_is_no_limit_of_requests() -> Result<()> {
    let world = World::new().await?;
    let (stored, wanted) = (world.widget("v1", "one"), world.widget("v2", "one"));
    let object = ObjectRef::of(&wanted);
    let live = world.cluster.get(&ObjectRef::of(&stored)).await?.context("the object")?;
    world.convert(world.away()?).await?;

    // Without a limit, the server lists from its own cache, which it cannot fill.
    let from_cache = async || world.list("v2")?.with_page_size(0).read_all().await;
    let refused =
        await_condition("the server to notice", PATIENCE, async || refusal("a list of all", from_cache().await))
            .await?;
    assert_eq!(refused, (WriteErrorKind::Unavailable, Some(429)), "fewer requests do not help");
    let seen = Version::new(live.clone());
    let update = world.cluster.update(&wanted, &object, Fence::of(&live), &seen, UpdateMode::Apply);
    let others = [
        ("a page", refusal("a page", world.list("v2")?.read_all().await)),
        ("an object", refusal("an object", world.cluster.get(&object).await)),
        ("an apply", refusal("an apply", update.await)),
        ("a creation", refusal("a creation", world.cluster.create(&world.widget("v2", "two")).await)),
    ];
    for (name, refused) in others {
        assert_eq!(refused?, (WriteErrorKind::Unavailable, Some(500)), "{name}");
    }
    assert_eq!(world.list("v1")?.read_all().await?.len(), 1, "in the version in which it is stored");

    world.convert(json!({ "strategy": "None", "webhook": null })).await?;
    await_condition("the object to be read again", PATIENCE, async || {
        ensure!(from_cache().await?.len() == 1, "it is not there");
        Ok(())
    })
    .await?;
    let fence = Fence::new(Fence::of(&world.definition).uid(), "");
    world.cluster.delete(&ObjectRef::of(&world.definition), fence, PropagationPolicy::Background).await?;
    Ok(())
}
