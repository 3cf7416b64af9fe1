//! Starts a control plane with a node that runs Pods.
//!
//! In: the programs that `e2e/tools/node/node prepare` installs. Out: [`Access`] to an API server whose scheduler
//! and kubelet are real. Fails: without root or these programs; the error says what to do.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Api;

use super::access::Access;
use super::start;
use crate::run::{Instance, free_port};

/// The image of the node's Pods, a busybox: the node has no registry, and so no other image.
pub const NODE_IMAGE: &str = "hyperfleet.local/busybox:1";

pub(super) async fn start(instance: &mut Instance) -> anyhow::Result<Access> {
    let programs = programs()?;
    let access = start::start(instance).await?;
    scheduler(instance, &programs, &access)?;
    node(instance, &access).await?;
    Ok(access)
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/node/node")
}

/// The directory of the built programs, if everything that a node needs is there.
fn programs() -> anyhow::Result<PathBuf> {
    let output = Command::new(script()).arg("check").output().context("failed to run `e2e/tools/node/node`")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn scheduler(instance: &mut Instance, programs: &Path, access: &Access) -> anyhow::Result<()> {
    let argv = [
        programs.join("kube-scheduler").display().to_string(),
        format!("--kubeconfig={}", access.kubeconfig.display()),
        "--leader-elect=false".to_owned(),
        // Turn its own HTTPS server off; tests observe its effects instead.
        "--secure-port=0".to_owned(),
    ];
    instance.spawn("kube-scheduler", &[], &argv)
}

async fn node(instance: &mut Instance, access: &Access) -> anyhow::Result<()> {
    let name = instance.directory().file_name().context("the instance's directory has no name")?;
    let argv = [
        script().display().to_string(),
        "up".to_owned(),
        // The name of a cgroup, so it says what made it.
        format!("lifecycle-e2e-{}", name.display()),
        access.kubeconfig.display().to_string(),
        access.certificate_authority.display().to_string(),
        free_port()?.to_string(),
    ];
    instance.spawn("node", &[], &argv)?;
    let nodes: Api<Node> = Api::all(access.client().await?);
    instance
        .await_start("the node to be ready", async || {
            let node = nodes.list(&kube::api::ListParams::default()).await?.items.into_iter().next();
            let conditions = node.and_then(|node| node.status?.conditions).unwrap_or_default();
            let ready = conditions.iter().find(|found| found.type_ == "Ready").context("it has not registered")?;
            ensure!(ready.status == "True", "{}", ready.message.as_deref().unwrap_or_default());
            Ok(())
        })
        .await
}
