//! Tests kinds, scopes and permissions on a real API server.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::rbac::v1::PolicyRule;
use lifecycle_e2e::kube::widgets;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::Settings;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Query, QueryBy};
use lifecycle_objects::write::PropagationPolicy::Background;
use lifecycle_objects::write::UpdateMode::Apply;
use lifecycle_objects::write::{Deletion, Target, WriteErrorKind};
use lifecycle_transport::Transport;
use lifecycle_transport::memory::MemoryTransport;
use serde_json::{Value, json};

use crate::world::{World, refusal, seen, target, transport};

#[tokio::test]
async fn custom_kind_works_when_installed_and_has_no_objects_before() -> Result<()> {
    let world = World::new().await?;
    let settings = Settings { look_again_after: Duration::ZERO, ..Settings::default() };
    let transport = transport(world.control_plane.kubeconfig_path(), settings).await?;
    let group = format!("{}.example.com", unique("group"));
    let api_version = format!("{group}/v1");
    let by_name = world.query(&api_version, "Widget", QueryBy::Name("one".to_owned()));
    let desired = |size: u32| world.object(&api_version, "Widget", "one", json!({ "spec": { "size": size } }));
    let create = async || transport.create(&desired(1), &Destination::ThisCluster).await;
    assert_eq!(transport.find(&by_name).await?, Vec::<Value>::new());
    assert_eq!(refusal(create().await)?.0, WriteErrorKind::NotFound);

    let definition = transport.create(&widgets(&group), &Destination::ThisCluster).await?;
    let live = await_condition("the kind to be served", PATIENCE, async || Ok(create().await?)).await?;
    let updated = transport.update(&desired(2), &target(&live), &seen(&live), Apply).await?;
    assert_eq!(updated["spec"]["size"], 2);
    assert_eq!(transport.find(&by_name).await?, std::slice::from_ref(&updated));
    assert_eq!(transport.delete(&target(&updated), Background).await?, Deletion::Gone);
    assert_eq!(transport.find(&by_name).await?, Vec::<Value>::new());

    let any_version = Target { resource_version: String::new(), ..target(&definition) };
    transport.delete(&any_version, Background).await?;
    await_condition("the kind to be gone", PATIENCE, async || {
        let error = create().await.err().context("it is still served")?;
        ensure!(error.kind == WriteErrorKind::NotFound, "{error}");
        Ok(())
    })
    .await?;
    assert_eq!(transport.find(&by_name).await?, Vec::<Value>::new());
    Ok(())
}

#[tokio::test]
async fn forbidden_missing_namespace_and_cluster_scope_are_distinguished() -> Result<()> {
    let world = World::new().await?;
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let reader = world.namespace.user(&[rule]).await?;
    let transport = transport(&reader.kubeconfig, Settings::default()).await?;
    assert_eq!(transport.find(&world.named("none")).await?, Vec::<Value>::new());
    let refused = transport.create(&world.map("none", json!({})), &Destination::ThisCluster).await;
    assert_eq!(refusal(refused)?, (WriteErrorKind::Forbidden, Some(403)));

    let mut homeless = world.map("none", json!({}));
    homeless["metadata"]["namespace"] = json!(unique("missing"));
    let refused = world.create(&homeless).await;
    assert_eq!(refusal(refused)?, (WriteErrorKind::NamespaceMissing, Some(404)));

    let cluster_scoped = world.query("v1", "Namespace", QueryBy::Name(world.namespace.name().to_owned()));
    assert_eq!(world.transport.find(&cluster_scoped).await?.len(), 1, "the query's namespace is ignored");
    Ok(())
}

/// The objects of a kind, as a step of their life writes them.
fn lives(world: &World) -> Vec<Vec<Value>> {
    let pod = |image: &str| json!({ "containers": [{ "name": "c", "image": image }], "restartPolicy": "Never" });
    let labelled = |image: &str| json!({ "metadata": { "labels": { "app": "x" } }, "spec": pod(image) });
    let always = |image: &str| {
        let mut template = labelled(image);
        template["spec"]["restartPolicy"] = json!("Always");
        template
    };
    let selector = json!({ "matchLabels": { "app": "x" } });
    let life = |version: &str, kind: &str, first: Value, second: Value| {
        let written = |body: &Value, label: &str, annotation: &str| {
            let mut object = world.object(version, kind, "generation", body.clone());
            object["metadata"]["labels"] = json!({ "step": label });
            object["metadata"]["annotations"] = json!({ "example.io/step": annotation });
            object
        };
        vec![
            written(&first, "1", "1"),
            written(&first, "1", "1"),
            written(&first, "2", "1"),
            written(&first, "2", "2"),
            written(&second, "2", "2"),
        ]
    };
    let spec = |spec: Value| json!({ "spec": spec });
    vec![
        life("v1", "ConfigMap", json!({ "data": { "a": "1" } }), json!({ "data": { "a": "2" } })),
        // Core writes `stringData` as `data`: the transport never sends it.
        life("v1", "Secret", json!({ "data": { "a": "MQ==" } }), json!({ "data": { "b": "Mg==" } })),
        life("v1", "Service", spec(json!({ "ports": [{ "port": 80 }] })), spec(json!({ "ports": [{ "port": 81 }] }))),
        life("v1", "ServiceAccount", json!({}), json!({ "automountServiceAccountToken": false })),
        life("v1", "PodTemplate", json!({ "template": always("a") }), json!({ "template": always("b") })),
        life(
            "apps/v1",
            "Deployment",
            spec(json!({ "selector": selector, "template": always("a") })),
            spec(json!({ "selector": selector, "template": always("b") })),
        ),
        life(
            "apps/v1",
            "DaemonSet",
            spec(json!({ "selector": selector, "template": always("a") })),
            spec(json!({ "selector": selector, "template": always("b") })),
        ),
        life(
            "apps/v1",
            "StatefulSet",
            spec(json!({ "serviceName": "x", "selector": selector, "template": always("a") })),
            spec(json!({ "serviceName": "x", "selector": selector, "template": always("b") })),
        ),
        life(
            "batch/v1",
            "Job",
            spec(json!({ "template": { "spec": pod("a") } })),
            spec(json!({ "template": { "spec": pod("a") }, "suspend": true })),
        ),
        life(
            "batch/v1",
            "CronJob",
            spec(json!({ "schedule": "0 0 * * *", "jobTemplate": { "spec": { "template": { "spec": pod("a") } } } })),
            spec(json!({ "schedule": "1 0 * * *", "jobTemplate": { "spec": { "template": { "spec": pod("a") } } } })),
        ),
        life(
            "policy/v1",
            "PodDisruptionBudget",
            spec(json!({ "minAvailable": 1 })),
            spec(json!({ "minAvailable": 2 })),
        ),
        life(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            spec(json!({ "podSelector": {} })),
            spec(json!({ "podSelector": {}, "policyTypes": ["Egress"] })),
        ),
        life(
            "networking.k8s.io/v1",
            "Ingress",
            spec(
                json!({ "ingressClassName": "a", "defaultBackend": { "service": { "name": "x", "port": { "number": 1 } } } }),
            ),
            spec(
                json!({ "ingressClassName": "b", "defaultBackend": { "service": { "name": "x", "port": { "number": 1 } } } }),
            ),
        ),
        life(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            spec(
                json!({ "maxReplicas": 2, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "x" } }),
            ),
            spec(
                json!({ "maxReplicas": 3, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "x" } }),
            ),
        ),
        life(
            "coordination.k8s.io/v1",
            "Lease",
            spec(json!({ "holderIdentity": "a" })),
            spec(json!({ "holderIdentity": "b" })),
        ),
        life(
            "rbac.authorization.k8s.io/v1",
            "Role",
            json!({ "rules": [] }),
            json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] }),
        ),
    ]
}

/// The generation, and the data of a Secret, after each write of a life.
async fn played(transport: &impl Transport, life: &[Value]) -> Result<Vec<(Value, Value)>> {
    let mut seen_values = Vec::new();
    let mut live: Option<Value> = None;
    for desired in life {
        let written = match &live {
            None => transport.create(desired, &Destination::ThisCluster).await?,
            Some(live) => updated(transport, desired, live).await?,
        };
        seen_values.push((written["metadata"]["generation"].clone(), written["data"].clone()));
        live = Some(written);
    }
    Ok(seen_values)
}

/// Updates an object that a controller may write at the same time, as later events would.
async fn updated(transport: &impl Transport, desired: &Value, live: &Value) -> Result<Value> {
    let object = ObjectRef::of(live);
    let by = QueryBy::Name(object.name);
    let query = Query { destination: Destination::ThisCluster, kind: object.kind, namespace: object.namespace, by };
    await_condition("the update", PATIENCE, async || {
        let live = transport.find(&query).await?.pop().context("the object")?;
        let any_version = Target { resource_version: String::new(), ..target(&live) };
        Ok(transport.update(desired, &any_version, &seen(&live), Apply).await?)
    })
    .await
}

#[tokio::test]
async fn store_of_dry_runs_counts_generations_as_the_server_does() -> Result<()> {
    let world = World::new().await?;
    for life in lives(&world) {
        let kind = life.first().context("a life has steps")?["kind"].clone();
        let on_server = played(&world.transport, &life).await.with_context(|| format!("{kind} on a server"))?;
        let in_store = MemoryTransport::new("2026-01-01T00:00:00Z".parse()?);
        let in_store = played(&in_store, &life).await.with_context(|| format!("{kind} in the store"))?;
        ensure!(in_store == on_server, "{kind}: in the store {in_store:?}, on a server {on_server:?}");
    }
    Ok(())
}

/// A server stores quantities in the form that core computes, and the store of dry runs keeps.
#[tokio::test]
async fn quantities_are_stored_in_their_canonical_form() -> Result<()> {
    let world = World::new().await?;
    // A quota takes whole numbers of an unknown resource alone; the Pod has the fractions.
    let spellings = [
        "2048Mi", "1000Mi", "1.5Gi", "0.5Ki", "1023", "1024", "1000", "1000m", "1.", "+2", "1000k", "12e3", "1000e3",
        "1e2", "1E", "0Mi", "9E",
    ];
    let hard: serde_json::Map<String, Value> =
        spellings.iter().enumerate().map(|(index, text)| (format!("example.com/q{index}"), json!(text))).collect();
    let quota = world.object("v1", "ResourceQuota", "quota", json!({ "spec": { "hard": hard } }));
    let resources =
        json!({ "limits": { "memory": "2048Mi", "cpu": "2000m" }, "requests": { "memory": "1024Mi", "cpu": 0.5 } });
    let pod = json!({
        "containers": [{ "name": "c", "image": "a", "resources": resources }],
        "volumes": [{ "name": "v", "emptyDir": { "sizeLimit": "1024Ki" } }],
    });
    let pod = world.object("v1", "Pod", "pod", json!({ "spec": pod }));
    let claim = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1024Mi" } } });
    let claim = world.object("v1", "PersistentVolumeClaim", "claim", json!({ "spec": claim }));
    let limits = json!({ "limits": [{ "type": "Container", "max": { "cpu": "4000m" }, "default": { "memory": "1024Mi", "cpu": 1 } }] });
    let limits = world.object("v1", "LimitRange", "limits", json!({ "spec": limits }));
    let memory = MemoryTransport::new(jiff::Timestamp::UNIX_EPOCH);
    for (desired, part) in [
        (&claim, "/spec/resources"),
        (&pod, "/spec/volumes/0/emptyDir"),
        (&pod, "/spec/containers/0/resources"),
        (&limits, "/spec/limits/0/max"),
        (&quota, "/spec/hard"),
    ] {
        let stored = match world.transport.find(&named(&world, desired)).await?.pop() {
            Some(stored) => stored,
            None => world.create(desired).await?,
        };
        let in_memory = match memory.find(&named(&world, desired)).await?.pop() {
            Some(stored) => stored,
            None => memory.create(desired, &Destination::ThisCluster).await?,
        };
        assert_ne!(stored.pointer(part), desired.pointer(part), "{part}");
        assert_eq!(in_memory.pointer(part), stored.pointer(part), "{part}");
    }
    Ok(())
}

fn named(world: &World, object: &Value) -> Query {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    world.query(text("/apiVersion"), text("/kind"), QueryBy::Name(text("/metadata/name").to_owned()))
}
