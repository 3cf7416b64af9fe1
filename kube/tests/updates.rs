//! Tests of updates that take fields from others, with a real API server.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Fence, Settings, Takeover, connect};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::{PropagationPolicy, UpdateMode, WriteErrorKind};
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

    fn object(&self, api_version: &str, kind: &str, spec: Value) -> Value {
        let metadata = json!({ "name": "object", "namespace": self.namespace.name() });
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec })
    }

    async fn live(&self, object: &ObjectRef) -> Result<Value> {
        self.cluster.get(object).await?.context("it is gone")
    }

    /// Updates an object as soon as no controller writes it between the read and the write.
    async fn update(&self, desired: &Value, mode: UpdateMode) -> Result<Value> {
        let object = ObjectRef::of(desired);
        await_condition("an update", PATIENCE, async || {
            let live = self.live(&object).await?;
            let seen = Version::new(live.clone());
            match self.cluster.update(desired, &object, Fence::of(&live), &seen, mode).await {
                Err(error) if error.kind == WriteErrorKind::Conflict => Err(error.into()),
                result => Ok(result),
            }
        })
        .await?
        .map_err(Into::into)
    }

    async fn delete(&self, object: &ObjectRef) -> Result<()> {
        let live = self.live(object).await?;
        self.cluster.delete(object, Fence::new(Fence::of(&live).uid(), ""), PropagationPolicy::Background).await?;
        Ok(())
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
async fn replacement_removes_what_an_own_write_had_set_and_nothing_else() -> Result<()> {
    let world = World::new().await?;
    let stamped = |data: Value, digest: &str| {
        let mut map = world.map(data);
        map["metadata"]["annotations"] = json!({ "example.com/digest": digest });
        map
    };
    let (first, desired) = (stamped(json!({ "own": "1", "old": "1" }), "1"), stamped(json!({ "own": "1" }), "2"));
    let object = ObjectRef::of(&desired);
    let live = world.cluster.create(&first).await?;
    let live = world.apply_as("other-actor", &live, json!({ "c": "x" })).await?;
    let hold = json!({ "metadata": { "finalizers": ["example.com/hold"], "labels": { "of": "somebody" } } });
    let live = world.cluster.merge_patch(&hold, &object, Fence::of(&live)).await?.context("it is gone")?;
    let replace = async |desired: &Value, fence: Fence<'_>, live: &Value| {
        world.cluster.update(desired, &object, fence, &Version::new(live.clone()), UpdateMode::Replace).await
    };

    let unfenced = replace(&desired, Fence::new(Fence::of(&live).uid(), ""), &live).await;
    assert_eq!(unfenced.map_err(|error| error.kind), Err(WriteErrorKind::Invalid));
    let mut own = desired.clone();
    own["metadata"]["finalizers"] = json!(["example.com/own"]);
    let replaced = replace(&own, Fence::of(&live), &live).await?;
    assert_eq!(replaced["data"], json!({ "own": "1", "c": "x" }));
    assert_eq!(replaced["metadata"]["labels"], json!({ "of": "somebody" }));
    assert_eq!(replaced["metadata"]["finalizers"], json!(["example.com/hold", "example.com/own"]));

    let late = replace(&desired, Fence::of(&live), &live).await;
    assert_eq!(late.map_err(|error| error.kind), Err(WriteErrorKind::Conflict));
    let release = json!({ "metadata": { "finalizers": null } });
    world.cluster.merge_patch(&release, &object, Fence::of(&replaced)).await?;
    Ok(())
}

/// What the server allocated and others filled in, of objects of which each fails or breaks without it.
#[tokio::test]
async fn replacement_keeps_what_the_server_and_controllers_set() -> Result<()> {
    let world = World::new().await?;
    let pod = json!({ "containers": [{ "name": "a", "image": "x", "ports": [{ "containerPort": 80 }] }] });
    let labels = json!({ "app": "a" });
    let template = json!({ "metadata": { "labels": labels }, "spec": pod });
    let mut job = template.clone();
    job["spec"]["restartPolicy"] = json!("Never");
    let volume = unique("volume");
    let cases = [
        (
            world.object("v1", "Service", json!({ "type": "NodePort", "selector": labels, "ports": [{ "port": 80 }] })),
            json!({}),
            vec!["/spec/clusterIP", "/spec/ports/0/nodePort", "/spec/ipFamilies"],
        ),
        (
            world.object("batch/v1", "Job", json!({ "suspend": true, "template": job })),
            json!({}),
            vec!["/spec/selector", "/spec/template/metadata/labels"],
        ),
        (
            world.object(
                "apps/v1",
                "Deployment",
                json!({ "selector": { "matchLabels": labels }, "template": template }),
            ),
            json!({}),
            vec!["/metadata/annotations/deployment.kubernetes.io~1revision"],
        ),
        (
            json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": volume },
                    "spec": { "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"],
                              "hostPath": { "path": "/a" } } }),
            json!({ "spec": { "claimRef": { "namespace": world.namespace.name(), "name": "claim" } } }),
            vec!["/spec/claimRef"],
        ),
        (
            json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                    "metadata": { "name": volume }, "webhooks": [{
                        "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                        "clientConfig": { "service": { "namespace": world.namespace.name(), "name": "a" } } }] }),
            json!({ "webhooks": [{ "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                    "clientConfig": { "caBundle": "Cg==", "service": {
                        "namespace": world.namespace.name(), "name": "a" } } }] }),
            vec!["/webhooks/0/clientConfig/caBundle"],
        ),
    ];
    let controller = cluster(world.control_plane.kubeconfig_path(), "controller").await?;
    for (desired, filled_in, kept) in cases {
        let (object, kind) = (ObjectRef::of(&desired), &desired["kind"]);
        let created = world.cluster.create(&desired).await?;
        if filled_in != json!({}) {
            let fence = Fence::new(Fence::of(&created).uid(), "");
            controller.merge_patch(&filled_in, &object, fence).await?.context("it is gone")?;
        }
        let live = await_condition("the controller", PATIENCE, async || {
            let live = world.live(&object).await?;
            ensure!(kept.iter().all(|field| live.pointer(field).is_some()), "{kind}: {live}");
            Ok(live)
        })
        .await?;
        let seen = Version::new(live.clone());
        let same = world.cluster.update(&desired, &object, Fence::of(&live), &seen, UpdateMode::Replace).await?;
        assert_eq!(same["metadata"]["resourceVersion"], live["metadata"]["resourceVersion"], "{kind}: it is unchanged");
        let mut changed = desired.clone();
        changed["metadata"]["labels"] = json!({ "changed": "1" });
        let replaced = world.update(&changed, UpdateMode::Replace).await?;
        assert_eq!(replaced["metadata"]["labels"]["changed"], "1", "{kind}");
        for field in kept {
            assert_eq!(replaced.pointer(field), live.pointer(field), "{kind}: {field}");
        }
        world.delete(&object).await?;
    }
    Ok(())
}

/// Choices after which a default of the one before, which belongs to nobody, has to go; or a field of somebody else.
#[tokio::test]
async fn apply_is_followed_by_one_write_without_the_fields_that_the_server_named() -> Result<()> {
    let world = World::new().await?;
    let group = format!("{}.example.com", unique("group"));
    let labels = json!({ "app": "a" });
    let workload = |more: Value| {
        let volumes = json!([{ "name": "v" }]);
        let pod = json!({ "volumes": volumes, "containers": [{ "name": "a", "image": "x" }] });
        let template = json!({ "metadata": { "labels": labels }, "spec": pod });
        let mut spec = json!({ "selector": { "matchLabels": labels }, "template": template });
        json_merge(&mut spec, &more);
        spec
    };
    let deployment = |more| world.object("apps/v1", "Deployment", workload(more));
    let set = |more| world.object("apps/v1", "StatefulSet", workload(more));
    let definition = |conversion: Value| {
        let version = json!({ "name": "v1", "served": true, "storage": true,
                              "schema": { "openAPIV3Schema": { "type": "object" } } });
        json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": format!("things.{group}") },
                "spec": { "group": group, "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
                          "versions": [version], "conversion": conversion } })
    };
    let webhook = json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": {
        "service": { "namespace": world.namespace.name(), "name": "a" } } } });
    let injected =
        json!({ "spec": { "conversion": { "webhook": { "clientConfig": { "service": { "path": "/of/others" } } } } } });
    let other_volume =
        json!({ "template": { "spec": { "volumes": [{ "name": "v", "secret": { "secretName": "s" } }] } } });
    let cases = [
        ("strategy", deployment(json!({})), deployment(json!({ "strategy": { "type": "Recreate" } })), json!({})),
        ("a volume", deployment(json!({})), deployment(other_volume), json!({})),
        ("a set", set(json!({})), set(json!({ "updateStrategy": { "type": "OnDelete" } })), json!({})),
        ("a definition", definition(webhook), definition(json!({ "strategy": "None" })), injected),
    ];
    let controller = cluster(world.control_plane.kubeconfig_path(), "controller").await?;
    for (name, first, second, of_others) in cases {
        let object = ObjectRef::of(&first);
        let created = world.cluster.create(&first).await?;
        // The first apply drops the defaults of the creation, which the server fills in again.
        world.update(&first, UpdateMode::Apply).await?;
        if of_others != json!({}) {
            let fence = Fence::new(Fence::of(&created).uid(), "");
            controller.merge_patch(&of_others, &object, fence).await?.context("it is gone")?;
        }
        let chosen = world.update(&second, UpdateMode::Apply).await.with_context(|| name.to_owned())?;
        assert_eq!(chosen["metadata"]["uid"], created["metadata"]["uid"], "{name}");
        let seen = Version::new(created.clone());
        let late = world.cluster.update(&first, &object, Fence::of(&created), &seen, UpdateMode::Apply).await;
        assert_eq!(late.map_err(|error| error.kind), Err(WriteErrorKind::Conflict), "{name}");
        world.update(&first, UpdateMode::Apply).await.with_context(|| format!("{name}, and back"))?;
        world.delete(&object).await?;
    }
    Ok(())
}

#[tokio::test]
async fn apply_that_the_manifest_itself_makes_invalid_is_not_followed_by_another_write() -> Result<()> {
    let world = World::new().await?;
    let spec = |image: &str| json!({ "containers": [{ "name": "a", "image": "x" }], "nodeName": image });
    let pod = world.object("v1", "Pod", spec("first"));
    let live = world.cluster.create(&pod).await?;
    let object = ObjectRef::of(&pod);
    let changed = world.object("v1", "Pod", spec("second"));
    let seen = Version::new(live.clone());
    let refused = world.cluster.update(&changed, &object, Fence::of(&live), &seen, UpdateMode::Apply).await;
    let error = refused.err().context("a Pod cannot move")?;
    assert_eq!((error.kind, error.status), (WriteErrorKind::Invalid, Some(422)), "{error}");
    assert!(error.call.starts_with("apply "), "{error}");
    Ok(())
}

/// The first version lacks a field that the second one fills in, so that the server cannot read the first one's owners.
#[tokio::test]
async fn object_moves_to_a_version_with_another_default() -> Result<()> {
    let world = World::new().await?;
    let group = format!("{}.example.com", unique("group"));
    let version = |name: &str, is_stored: bool, fields: Value| {
        json!({ "name": name, "served": true, "storage": is_stored, "schema": { "openAPIV3Schema": {
            "type": "object", "properties": { "spec": { "type": "object", "properties": fields } } } } })
    };
    let text = json!({ "type": "string" });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": { "group": group, "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" }, "versions": [
            version("v1", false, json!({ "a": text, "c": text })),
            version("v2", true, json!({ "a": text, "b": { "type": "string", "default": "x" }, "c": text })),
        ] },
    });
    let definition = world.cluster.create(&definition).await?;
    let thing = |version: &str, spec: Value| world.object(&format!("{group}/{version}"), "Thing", spec);
    let first = thing("v1", json!({ "a": "1", "c": "1" }));
    await_condition("the kind to be served", PATIENCE, async || Ok(world.cluster.dry_run_create(&first).await?))
        .await?;
    let live = world.cluster.create(&first).await?;
    let object = ObjectRef::of(&first);
    let update = async |desired: &Value, live: &Value| {
        let seen = Version::new(live.clone());
        world.cluster.update(desired, &object, Fence::of(live), &seen, UpdateMode::Apply).await
    };
    let live = update(&first, &live).await?;
    let moved = update(&thing("v2", json!({ "a": "2" })), &live).await?;
    assert_eq!(moved["spec"], json!({ "a": "2", "b": "x" }));
    let next = update(&thing("v2", json!({ "b": "y" })), &moved).await?;
    assert_eq!(next["spec"], json!({ "b": "y" }), "it still knows what it set");
    world.delete(&ObjectRef::of(&definition)).await
}

/// Merges mappings, as a merge patch without nulls does.
fn json_merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            from.iter().for_each(|(name, value)| json_merge(into.entry(name).or_insert(Value::Null), value));
        }
        (into, from) => *into = from.clone(),
    }
}
