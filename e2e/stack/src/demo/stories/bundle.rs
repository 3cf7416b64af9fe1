//! How a bundle rises, heals and goes: the add-on of the provisioner's task.
//!
//! In: a [`Scene`]. Out: lines. Fails: if a request fails, if what the story tells does not happen in time, or if a wave
//! does not wait for the former one.
//!
//! One look lists each kind at another moment, `ConfigMap` before `Job`. Each check holds whatever happens in between.

use anyhow::{Result, ensure};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{look_at, name, watch_removed};
use crate::api::Cluster;
use crate::demo::observation::{Kind, Observation};
use crate::demo::scene::Scene;
use crate::layout::PROVISIONER;

const PARENT: &str = "addon";
/// The waves as they rise: the first one has both of these.
const SETTINGS: &str = "addon-settings";
const PREPARE: &str = "addon-prepare";
const INSTALL: &str = "addon-install";
const ROUTE: &str = "addon-route";

const DRIFT: &str = "hyperfleet_adapter_bundle_drift_total";
/// Keeps an object that is being deleted, until whoever wrote this has done its own work.
const FINALIZER: &str = "stack.hyperfleet.io/hold";

pub(in crate::demo) async fn bundle(scene: &Scene) -> Result<()> {
    scene.title("A cluster with an add-on, a bundle of three waves: settings and a Job; another Job; a route");
    let cluster = scene.create(&name("bundle"), &json!({ "region": "north", "addon": true })).await?;
    rise(scene, &cluster).await?;
    heal(scene, &cluster).await?;
    go(scene, &cluster).await?;
    let logs = scene.running.logs.replace("<part>", PROVISIONER);
    look_at(scene, &format!("`object of the bundle was changed by somebody else` in the provisioner's log, {logs}"));
    scene.tell("e2e/stack/src/tasks/provisioner.yaml: `bundle`, and docs/bundles.md");
    Ok(())
}

async fn rise(scene: &Scene, cluster: &Cluster) -> Result<()> {
    let is_ready = async |seen: &Observation| {
        let is_complete = |job: &str| seen.state(Kind::Job, job) == Some("is complete");
        ensure!(
            seen.state(Kind::Job, INSTALL).is_none() || is_complete(PREPARE),
            "Job {INSTALL} came before Job {PREPARE} was complete"
        );
        ensure!(
            seen.state(Kind::ConfigMap, ROUTE).is_none() || is_complete(INSTALL),
            "ConfigMap {ROUTE} came before Job {INSTALL} was complete"
        );
        Ok(seen.state(Kind::ConfigMap, ROUTE).is_some() && seen.cluster.as_ref().is_some_and(|now| now.is_reconciled))
    };
    scene.watch(cluster, "the end of the last wave", is_ready).await?;
    scene.tell("Each wave waited for the former one, and the cluster for the last one.");
    Ok(())
}

async fn heal(scene: &Scene, cluster: &Cluster) -> Result<()> {
    scene.title(
        "A stranger edits an object of the bundle; after its `reapply-interval`, 5 s (an hour by default), it is repaired",
    );
    let drift = async || scene.figure(PROVISIONER, DRIFT).await;
    let before = drift().await?;
    let routes = scene.objects::<ConfigMap>(cluster);
    let edit = json!({ "data": { "traffic": "off" } });
    routes.patch(ROUTE, &manager("stranger"), &Patch::Merge(edit)).await?;
    scene.tell(&format!("a stranger   turns the traffic off in ConfigMap {ROUTE}, and tells nobody"));
    let is_repaired = async |_: &Observation| {
        let route = routes.get(ROUTE).await?;
        let traffic = route.data.as_ref().and_then(|data| data.get("traffic"));
        Ok(traffic.is_some_and(|traffic| traffic == "on") && drift().await? > before)
    };
    scene.watch(cluster, "the repair", is_repaired).await?;
    scene.tell(&format!("Kubernetes   ConfigMap {ROUTE} has its traffic on again"));
    for series in scene.series(PROVISIONER, DRIFT).await?.iter().filter(|series| series.value > 0.0) {
        scene.tell(&format!("{PROVISIONER:<12} {DRIFT}{} {}", series.labels, series.value));
    }
    Ok(())
}

async fn go(scene: &Scene, cluster: &Cluster) -> Result<()> {
    scene.title(
        "It is deleted in the opposite order: the route; a Job; settings and the other Job; the bundle's parent last",
    );
    hold(scene, cluster, json!([FINALIZER])).await?;
    scene.tell(&format!("you          put a finalizer on Job {INSTALL}, as a controller with work of its own does"));
    scene.api.delete(cluster).await?;
    scene.tell("you          delete the cluster");
    let mut was_going = false;
    let is_held = async |seen: &Observation| {
        ensure_order(seen, was_going)?;
        was_going = seen.state(Kind::Job, INSTALL) == Some("is being deleted");
        let reported = seen.adapters.get(PROVISIONER).is_some_and(|report| report.starts_with("generation 2:"));
        Ok(was_going && reported && seen.state(Kind::ConfigMap, ROUTE).is_none())
    };
    scene.watch(cluster, "the deletion of the second wave", is_held).await?;
    scene.tell("The route is gone. The first wave, the parent and the namespace around them wait for the Job.");
    hold(scene, cluster, json!(null)).await?;
    scene.tell("you          take the finalizer away");
    let is_gone = async |seen: &Observation| {
        ensure_order(seen, true)?;
        Ok(seen.state(Kind::ConfigMap, PARENT).is_none())
    };
    scene.watch(cluster, "the end of the bundle", is_gone).await?;
    watch_removed(scene, cluster).await
}

/// Fails if an object went before its turn. `was_going`: whether the look before saw the deletion of the second wave.
fn ensure_order(seen: &Observation, was_going: bool) -> Result<()> {
    let is_there = |kind: Kind, name: &str| seen.state(kind, name).is_some();
    ensure!(!was_going || !is_there(Kind::ConfigMap, ROUTE), "Job {INSTALL} went before ConfigMap {ROUTE}");
    ensure!(
        !is_there(Kind::Job, INSTALL) || is_there(Kind::ConfigMap, SETTINGS),
        "ConfigMap {SETTINGS} went before Job {INSTALL}"
    );
    ensure!(
        !is_there(Kind::Job, PREPARE) || is_there(Kind::ConfigMap, PARENT),
        "the parent, ConfigMap {PARENT}, did not go last"
    );
    ensure!(
        !is_there(Kind::ConfigMap, SETTINGS) || is_there(Kind::ConfigMap, PARENT),
        "the parent, ConfigMap {PARENT}, did not go last"
    );
    Ok(())
}

/// Writes the finalizers of the second wave.
async fn hold(scene: &Scene, cluster: &Cluster, finalizers: Value) -> Result<()> {
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": finalizers } }));
    scene.objects::<Job>(cluster).patch(INSTALL, &manager("controller"), &patch).await?;
    Ok(())
}

fn manager(name: &str) -> PatchParams {
    PatchParams { field_manager: Some(name.to_owned()), ..PatchParams::default() }
}
