//! Tests that a real API server drops no field in silence.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use lifecycle_e2e::kube::widgets;
use lifecycle_e2e::{PATIENCE, await_condition, unique};
use lifecycle_kube::{CallObserver, CallRecord, Cluster, Fence, Settings, connect};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::UpdateMode::Apply;
use lifecycle_objects::write::{PropagationPolicy, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::world::{World, seen, target, transport};

/// Installs a kind whose schema has only `spec.size`, and drops every other field.
async fn install_pruning_kind(world: &World, subresources: Value) -> Result<String> {
    let group = format!("{}.example.com", unique("group"));
    let mut definition = widgets(&group);
    let size = json!({ "type": "object", "properties": { "size": { "type": "integer" } } });
    let status = json!({ "type": "object", "properties": { "phase": { "type": "string" } } });
    let schema = json!({ "type": "object", "properties": { "spec": size, "status": status } });
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
    definition["spec"]["versions"][0]["subresources"] = subresources;
    world.transport.create(&definition, &Destination::ThisCluster).await?;
    let api_version = format!("{group}/v1");
    let probe = world.object(&api_version, "Widget", "probe", json!({ "spec": { "size": 1 } }));
    await_condition("the kind to be served", PATIENCE, async || Ok(world.dry_run_create(&probe).await?)).await?;
    Ok(api_version)
}

#[tokio::test]
async fn field_that_the_kind_lacks_is_invalid_and_named_in_every_write() -> Result<()> {
    let world = World::new().await?.without_lookup_pause().await?;
    let custom = install_pruning_kind(&world, json!({})).await?;
    // No controller writes to a CronJob that is suspended, so each refusal is about the field, and none about a change.
    let cron_job = |spec: Value| {
        let template = json!({ "spec": { "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "a", "image": "a" }]
        } } } });
        let spec_of_all = json!({ "suspend": true, "schedule": "0 0 1 1 *", "jobTemplate": template });
        let mut object = world.object("batch/v1", "CronJob", "one", json!({ "spec": spec_of_all }));
        if let (Some(fields), Value::Object(more)) = (object["spec"].as_object_mut(), spec) {
            fields.extend(more);
        }
        object
    };
    let widget = |spec: Value| world.object(&custom, "Widget", "one", json!({ "spec": spec }));
    let cases = [
        ("a custom kind", widget(json!({ "size": 1 })), widget(json!({ "size": 2, "sise": 3 })), "sise"),
        ("a kind of Kubernetes", cron_job(json!({})), cron_job(json!({ "suspnd": true })), "suspnd"),
    ];
    for (name, right, wrong, field) in cases {
        let live = {
            let refused = world.create(&wrong).await.err().with_context(|| format!("{name}: it was created"))?;
            assert_eq!(refused.kind, WriteErrorKind::Invalid, "{name}: {refused}");
            assert!(refused.message.contains(&format!("spec.{field}")), "{name}: {refused}");
            world.create(&right).await?
        };
        let patch = json!({ "spec": { field: 1 } });
        let refused = [
            world.dry_run_create(&wrong).await.err(),
            world.transport.update(&wrong, &target(&live), &seen(&live), Apply).await.err(),
            world.transport.patch(&patch, &target(&live)).await.err(),
        ];
        for error in refused {
            let error = error.with_context(|| format!("{name}: the field was dropped"))?;
            assert_eq!(error.kind, WriteErrorKind::Invalid, "{name}: {error}");
            assert!(error.message.contains(&format!("spec.{field}")), "{name}: {error}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn patch_of_a_status_subresource_is_refused_and_of_a_plain_status_sent() -> Result<()> {
    let world = World::new().await?.without_lookup_pause().await?;
    for (subresources, is_sent) in [(json!({ "status": {} }), false), (json!({}), true)] {
        let api_version = install_pruning_kind(&world, subresources).await?;
        let live = world.create(&world.object(&api_version, "Widget", "one", json!({ "spec": { "size": 1 } }))).await?;
        let patched = world.transport.patch(&json!({ "status": { "phase": "Ready" } }), &target(&live)).await;
        if is_sent {
            assert_eq!(patched?.context("the object")?["status"]["phase"], "Ready");
        } else {
            let error = patched.err().context("the server would ignore it")?;
            assert_eq!((error.kind, error.status), (WriteErrorKind::Invalid, None), "{error}");
            assert!(error.message.contains("the status of Widget is a subresource"), "{error}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn warning_of_the_server_is_counted_once_for_each_object_and_text() -> Result<()> {
    let world = World::new().await?;
    let counted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&counted);
    let observer: CallObserver = Arc::new(move || {
        let counter = Arc::clone(&counter);
        Box::new(move |record: &CallRecord<'_>| {
            counter.fetch_add(record.warnings, Ordering::Relaxed);
        })
    });
    let settings = Settings { observer: Some(observer), ..Settings::default() };
    let transport = transport(world.control_plane.kubeconfig_path(), settings).await?;
    // The server warns of this kind, which is deprecated.
    let mut object = world.object("v1", "Endpoints", "warned", json!({}));
    for expected in [1, 1] {
        transport.dry_run_create(&object, &Destination::ThisCluster).await?;
        assert_eq!(counted.load(Ordering::Relaxed), expected);
    }
    object["metadata"]["name"] = json!("warned-too");
    transport.dry_run_create(&object, &Destination::ThisCluster).await?;
    assert_eq!(counted.load(Ordering::Relaxed), 2);
    Ok(())
}

/// The server creates such objects, and refuses every later apply of them: a creation behind the adapter's back shows it.
#[tokio::test]
async fn object_that_the_server_would_never_apply_is_not_created() -> Result<()> {
    let world = World::new().await?;
    let template = |pod: Value| json!({ "template": { "metadata": { "labels": { "app": "a" } }, "spec": pod } });
    let twice = |field: &str, element: Value| {
        let pod = json!({ "containers": [{ "name": "a", "image": "x", field: [element, element] }] });
        world.object("v1", "PodTemplate", "one", template(pod))
    };
    let of_pod = |field: &str, element: Value| {
        let pod = json!({ "containers": [{ "name": "a", "image": "x" }], field: [element, element] });
        world.object("v1", "PodTemplate", "one", template(pod))
    };
    let secrets = json!({ "secrets": [{ "name": "s" }, { "name": "s" }] });
    let cases = [
        ("env", twice("env", json!({ "name": "A", "value": "1" }))),
        ("ports", twice("ports", json!({ "containerPort": 80 }))),
        ("imagePullSecrets", of_pod("imagePullSecrets", json!({ "name": "s" }))),
        ("hostAliases", of_pod("hostAliases", json!({ "ip": "10.0.0.1" }))),
        ("secrets", world.object("v1", "ServiceAccount", "one", secrets)),
    ];
    let other = Cluster::new(
        connect(Some(world.control_plane.kubeconfig_path()), "lifecycle-test/1").await?,
        "other",
        Settings::default(),
    );
    for (list, object) in cases {
        for refused in [world.create(&object).await.map(drop), world.dry_run_create(&object).await] {
            let error = refused.err().with_context(|| format!("{list}: it was accepted"))?;
            assert_eq!((error.kind, error.status), (WriteErrorKind::Invalid, None), "{list}: {error}");
            assert!(error.message.contains(list), "{list}: {error}");
        }
        let live = other.create(&object).await?;
        let refused = world.transport.update(&object, &target(&live), &seen(&live), Apply).await;
        let error = refused.err().with_context(|| format!("{list}: the server applies it"))?;
        assert_eq!((error.kind, error.status), (WriteErrorKind::Invalid, Some(500)), "{list}: {error}");
        other.delete(&ObjectRef::of(&object), Fence::of(&live), PropagationPolicy::Background).await?;
    }
    Ok(())
}
