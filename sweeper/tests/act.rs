//! Tests of deletions, their traces and their restore, with a real API server.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::StreamExt as _;
use hyperfleet_sweeper::act::{Deleter, Outcome, Refused};
use hyperfleet_sweeper::audit::{self, Action, Audit, Line, Record};
use hyperfleet_sweeper::kube_objects::KubeObjects;
use hyperfleet_sweeper::leader::TermOver;
use hyperfleet_sweeper::objects::Objects as _;
use hyperfleet_sweeper::restore::{self, Deleted, Selection};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::ListParams;
use lifecycle_core::sweep::{Candidate, Keep, KindPattern, Limits, Policy, Share, Strikes, SweepPlan};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{Cluster, Fence, Settings, connect};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::proof::Signer;
use serde_json::{Value, json};

const OWNER: &str = "b2f1c5a0-0000-4000-8000-000000000001";

async fn cluster(kubeconfig: &Path) -> Result<Cluster> {
    Ok(Cluster::new(connect(Some(kubeconfig), "lifecycle-test/1").await?, "test", Settings::default()))
}

fn signer() -> Result<Signer> {
    Ok(Signer::new(&[7; 32])?)
}

struct World {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    cluster: Cluster,
    direct: KubeObjects,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let cluster = cluster(control_plane.kubeconfig_path()).await?;
        let direct = KubeObjects::new(cluster.clone());
        Ok(Self { control_plane, namespace, cluster, direct, folder: tempfile::tempdir()? })
    }

    /// Creates an orphan in the test's namespace, or a cluster-scoped one.
    async fn orphan(&self, mut object: Value) -> Result<Value> {
        let is_cluster_scoped = object["kind"] == "Namespace";
        object["metadata"]["labels"] =
            json!({ keys::ADAPTER: "dns", keys::RESOURCE_ID: OWNER, keys::RESOURCE: "it", "app": "a" });
        object["metadata"]["annotations"] = json!({ keys::GENERATION: "1", "note": "kept" });
        if !is_cluster_scoped {
            object["metadata"]["namespace"] = self.namespace.name().into();
        }
        let claim = Candidate::of(&object, Destination::ThisCluster);
        object["metadata"]["annotations"][keys::OWNERSHIP_PROOF] = signer()?.sign(&claim.claim()).into();
        // A Pod needs the namespace's default service account, which a controller creates.
        await_condition("the object to be created", PATIENCE, async || {
            Ok(self.direct.create(&Destination::ThisCluster, &object).await?)
        })
        .await
    }

    async fn config_map(&self, name: &str) -> Result<Value> {
        let map =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "1" } });
        self.orphan(map).await
    }

    async fn read(&self, object: &Value) -> Result<Option<Value>> {
        Ok(self.direct.read(&Destination::ThisCluster, &ObjectRef::of(object)).await?)
    }

    async fn await_gone(&self, objects: &[Value]) -> Result<()> {
        for object in objects {
            await_condition("the object to be gone", PATIENCE, async || {
                ensure!(self.read(object).await?.is_none(), "{} still exists", ObjectRef::of(object));
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Deletes the objects as a released pass does; returns the outcome of each, by kind.
    async fn sweep(&self, cluster: &KubeObjects, judged: &[Value]) -> Result<BTreeMap<String, Outcome>> {
        let policy = Policy {
            adapters: ["dns".to_owned()].into(),
            resource_id: regex::Regex::new("[0-9a-f-]{36}")?,
            grace: Duration::ZERO,
            min_age: Duration::ZERO,
            cluster_scoped: vec!["Namespace".parse::<KindPattern>()?],
            goes_along: Vec::new(),
            signers: vec![signer()?],
            limits: Limits { objects: 100, share: Share::Percent(100) },
        };
        let audit = Audit::to_file(&self.folder.path().join("audit"), true)?;
        let deleter = Deleter {
            objects: cluster,
            evidence: &(),
            permit: || Ok::<_, TermOver>(()),
            term: 3,
            call_limit: PATIENCE,
            refused: &Refused::default(),
            audit: &audit,
            policy: &policy,
            concurrency: NonZeroUsize::MIN.saturating_add(3),
            clock: Timestamp::now,
        };
        let plan = SweepPlan::new(
            judged.iter().map(|object| Candidate::of(object, Destination::ThisCluster)).collect(),
            Vec::new(),
        );
        let strikes = Strikes::default();
        let attempts: Vec<_> = deleter.delete_all(&plan, &strikes).collect().await;
        Ok(attempts.into_iter().map(|attempt| (attempt.object.object.kind.kind.clone(), attempt.outcome)).collect())
    }

    fn lines(&self) -> Result<impl Iterator<Item = std::io::Result<Line>>> {
        Ok(audit::read(BufReader::new(std::fs::File::open(self.folder.path().join("audit"))?)))
    }

    fn records(&self) -> Result<Vec<Record>> {
        self.lines()?
            .map(|line| match line? {
                Line::Record(record) => Ok(*record),
                Line::Unreadable { number, why } => anyhow::bail!("line {number}: {why}"),
            })
            .collect()
    }

    /// Restores everything; returns whether all exist, and what was printed.
    async fn restore(&self) -> Result<(bool, String)> {
        let deleted = Deleted::of(self.lines()?, &Selection::default())?;
        let mut lines = Vec::new();
        let is_complete = restore::restore(&self.direct, &deleted, false, &mut lines).await?;
        Ok((is_complete, String::from_utf8(lines)?))
    }

    /// The Event about the object with this UID.
    async fn event(&self, object: &Value) -> Result<Event> {
        let uid = object["metadata"]["uid"].as_str().context("the UID")?;
        let client = self.control_plane.client().await?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let about = ListParams::default().fields(&format!("involvedObject.uid={uid},reason=OrphanDeleted"));
        let found = kube::Api::<Event>::namespaced(client, namespace).list(&about).await?;
        found.items.into_iter().next().with_context(|| format!("no event about {}", ObjectRef::of(object)))
    }
}

/// The object without what a new one must have of its own, and without stamps.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    let fields = |object: &mut Value, at: &str, keep: fn(&str) -> bool| {
        if let Some(fields) = object.pointer_mut(at).and_then(Value::as_object_mut) {
            fields.retain(|key, _| keep(key));
        }
    };
    fields(&mut object, "", |key| key != "status");
    fields(&mut object, "/metadata", |key| {
        !["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"].contains(&key)
    });
    fields(&mut object, "/metadata/labels", |key| !key.starts_with(keys::PREFIX));
    fields(&mut object, "/metadata/annotations", |key| !key.starts_with(keys::PREFIX));
    if object["kind"] == "Job" {
        fields(&mut object, "/spec", |key| key != "selector");
        fields(&mut object, "/spec/template/metadata/labels", |key| !key.ends_with("controller-uid"));
    }
    object
}

/// One object of each kind that is hard to create anew, and two easy ones.
fn kinds() -> [Value; 6] {
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "a", "image": "none" }] });
    [
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "a": "1" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": { "a": "c2VjcmV0" } }),
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a" },
                "spec": { "type": "NodePort", "selector": { "app": "a" }, "ports": [{ "port": 80 }] } }),
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "a" },
                "spec": { "template": { "spec": pod } } }),
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": pod }),
        json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "a" },
                "spec": { "volumeName": "former", "storageClassName": "", "accessModes": ["ReadWriteOnce"],
                          "resources": { "requests": { "storage": "1Gi" } } } }),
    ]
}

#[tokio::test]
async fn orphans_are_announced_recorded_deleted_and_restored() -> Result<()> {
    let world = World::new().await?;
    let mut orphans = Vec::new();
    for object in kinds() {
        orphans.push(world.orphan(object).await?);
    }
    let pods = world.namespace.api::<Pod>().await?;
    let of_job = ListParams::default().labels("batch.kubernetes.io/job-name=a");
    await_condition("the Job's Pod", PATIENCE, async || {
        let found = pods.list(&of_job).await?.items;
        ensure!(found.iter().any(|pod| pod.metadata.finalizers.is_some()), "{} pods", found.len());
        Ok(())
    })
    .await?;
    // Controllers write the status, the Job's start and the claim's finalizer, so the objects are read as they are now.
    let mut judged = Vec::new();
    for object in &orphans {
        judged.push(world.read(object).await?.context("the orphan")?);
    }

    let outcomes = await_quiet(&world, &judged).await?;
    for (kind, outcome) in &outcomes {
        ensure!(outcome.may_be_deleted(), "{kind}: {outcome}");
    }
    world.await_gone(&judged).await?;
    await_condition("the Job's Pods to be gone", PATIENCE, async || {
        ensure!(pods.list(&of_job).await?.items.is_empty(), "a Pod is left");
        Ok(())
    })
    .await?;
    let records = world.records()?;
    for object in &judged {
        let event = world.event(object).await?;
        let message = event.message.unwrap_or_default();
        ensure!(message.contains(OWNER) && message.contains("term 3"), "{message}");
        let uid = object["metadata"]["uid"].as_str().context("the UID")?;
        let mut manifests =
            records.iter().filter(|record| record.object.uid == uid).filter_map(|record| match &record.action {
                Action::Delete { manifest, omitted } => Some((manifest, omitted)),
                Action::Result { .. } => None,
            });
        let (manifest, omitted) = manifests.next_back().context("its record")?;
        assert_eq!(*omitted, ["metadata.managedFields"]);
        assert_eq!(comparable(manifest)["spec"], comparable(object)["spec"]);
    }

    let (is_complete, text) = world.restore().await?;
    ensure!(is_complete, "{text}");
    for object in &judged {
        let restored = world.read(object).await?.context("the restored object")?;
        let (mut restored, mut expected) = (comparable(&restored), comparable(object));
        // The controller that protects claims and Pods in use sets its finalizer a moment later.
        for object in [&mut restored, &mut expected] {
            object["metadata"]["finalizers"] = Value::Null;
        }
        assert_eq!(restored, expected);
    }
    ensure!(text.contains("; it runs again"), "{text}");
    let (is_complete, text) = world.restore().await?;
    ensure!(is_complete && text.lines().all(|line| line.starts_with("exists ")), "{text}");
    Ok(())
}

/// Sweeps until no object changed between its last read and its deletion: controllers still write to new objects.
async fn await_quiet(world: &World, judged: &[Value]) -> Result<BTreeMap<String, Outcome>> {
    let mut all = BTreeMap::new();
    await_condition("the deletions", PATIENCE, async || {
        let left: Vec<_> = judged
            .iter()
            .filter(|object| !all.contains_key(object["kind"].as_str().unwrap_or_default()))
            .cloned()
            .collect();
        for (kind, outcome) in world.sweep(&world.direct, &left).await? {
            if outcome != Outcome::Changed {
                all.insert(kind, outcome);
            }
        }
        ensure!(all.len() == judged.len(), "{all:?}");
        Ok(())
    })
    .await?;
    Ok(all)
}

#[tokio::test]
async fn namespace_is_deleted_and_restored_when_it_is_allowed() -> Result<()> {
    let world = World::new().await?;
    let name = unique("test");
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let namespace = world.orphan(namespace).await?;
    let judged = [namespace.clone()];
    let outcomes = await_quiet(&world, &judged).await?;
    ensure!(matches!(outcomes["Namespace"], Outcome::Terminating { .. }), "{outcomes:?}");
    assert_eq!(world.event(&namespace).await?.metadata.namespace.as_deref(), Some("default"));
    world.await_gone(&judged).await?;

    let (is_complete, text) = world.restore().await?;
    assert_eq!((is_complete, text), (true, format!("created Namespace {name}\n")));
    let restored = world.read(&namespace).await?.context("the namespace")?;
    assert_eq!(comparable(&restored), comparable(&namespace));
    world.direct.delete(&Destination::ThisCluster, &ObjectRef::of(&restored), Fence::of(&restored)).await.ok();
    Ok(())
}

#[tokio::test]
async fn object_that_changes_before_the_deletion_survives() -> Result<()> {
    let world = World::new().await?;
    let map = world.config_map("a").await?;
    let proxy = world.control_plane.proxy().await?;
    let slow = KubeObjects::new(cluster(&proxy.access()?.kubeconfig).await?);
    let gate = proxy.hold(When::method("DELETE"));
    let change = async {
        gate.reached().await;
        let patch = json!({ "data": { "a": "2" } });
        let patched = world.cluster.merge_patch(&patch, &ObjectRef::of(&map), Fence::of(&map)).await;
        gate.release();
        patched
    };
    let judged = [map.clone()];
    let (outcomes, patched) = tokio::join!(world.sweep(&slow, &judged), change);
    assert_eq!(outcomes?["ConfigMap"], Outcome::Changed);
    assert_eq!(world.read(&map).await?, patched?);
    let (is_complete, text) = world.restore().await?;
    ensure!(!is_complete && text.contains("no record of a deleted object"), "{text}");
    Ok(())
}

#[tokio::test]
async fn lost_answer_is_uncertain_and_can_be_restored() -> Result<()> {
    let world = World::new().await?;
    let map = world.config_map("a").await?;
    let proxy = world.control_plane.proxy().await?;
    let lossy = KubeObjects::new(cluster(&proxy.access()?.kubeconfig).await?);
    proxy.inject(When::method("DELETE"), Fault::ResetAfter);
    let outcomes = world.sweep(&lossy, std::slice::from_ref(&map)).await?;
    ensure!(matches!(outcomes["ConfigMap"], Outcome::Uncertain(_)), "{outcomes:?}");
    assert_eq!(proxy.count(&When::method("DELETE")), 1, "a deletion is not sent again");
    assert_eq!(world.read(&map).await?, None);

    let (is_complete, text) = world.restore().await?;
    ensure!(is_complete, "{text}");
    assert_eq!(world.read(&map).await?.as_ref().map(comparable), Some(comparable(&map)));
    Ok(())
}

#[tokio::test]
async fn object_with_a_finalizer_is_deleted_once() -> Result<()> {
    let world = World::new().await?;
    let map = world.config_map("a").await?;
    let object = ObjectRef::of(&map);
    let patch = json!({ "metadata": { "finalizers": ["example.com/wait"] } });
    let map = world.cluster.merge_patch(&patch, &object, Fence::of(&map)).await?.context("the object")?;
    let proxy = world.control_plane.proxy().await?;
    let counted = KubeObjects::new(cluster(&proxy.access()?.kubeconfig).await?);

    let outcomes = world.sweep(&counted, std::slice::from_ref(&map)).await?;
    assert_eq!(outcomes["ConfigMap"], Outcome::Terminating { finalizers: vec!["example.com/wait".to_owned()] });
    let outcomes = world.sweep(&counted, std::slice::from_ref(&map)).await?;
    assert_eq!(outcomes["ConfigMap"], Outcome::Kept(Keep::Terminating));
    assert_eq!(proxy.count(&When::method("DELETE")), 1);
    let (is_complete, text) = world.restore().await?;
    ensure!(!is_complete && text.contains("it is still being deleted"), "{text}");

    let live = world.read(&map).await?.context("the terminating object")?;
    world.cluster.merge_patch(&json!({ "metadata": { "finalizers": null } }), &object, Fence::of(&live)).await?;
    world.await_gone(&[map]).await
}
