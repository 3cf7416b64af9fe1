//! Ends the Pods of Jobs in the place of a kubelet.
//!
//! In: Pods without a node; for [`serve`], the kubeconfig of the cluster they are in. Out: their phase, `Succeeded` or
//! `Failed`, a moment after their creation. Fails: with a line on the terminal; the next look follows.
//!
//! The annotation [`EXIT_CODE`] of a Pod says how its container would have ended; without it, it succeeds. The Job
//! controller, which is real, then completes the Job or lets it fail.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use lifecycle_service::probes::Readiness;
use lifecycle_service::servers::serve_health;
use lifecycle_service::shutdown;
use serde_json::json;
use tokio::time::sleep;

use crate::kubernetes;
use crate::terminal::{bad, say};

/// The exit code of the container that the Pod would have.
const EXIT_CODE: &str = "stack.hyperfleet.io/exit-code";
/// How long a container would have run.
const RUNS: SignedDuration = SignedDuration::from_secs(2);
/// The time between two looks.
const PERIOD: Duration = Duration::from_millis(500);

/// Ends Pods until a signal. The health probe is there once Kubernetes is: its API server, and its controllers.
pub(crate) async fn serve(kubeconfig: &Path, listen: SocketAddr) -> Result<()> {
    let stop = shutdown::listen().context("failed to listen for signals")?;
    let client = kubernetes::client(kubeconfig).await?;
    let work = async {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
        // A controller makes this account.
        while accounts.get("default").await.is_err() {
            sleep(PERIOD).await;
        }
        let _server = serve_health("stack", listen, stop.clone(), Readiness::default, []).await?;
        run(client.clone()).await;
        Ok(())
    };
    tokio::select! {
        ended = work => ended,
        () = stop.cancelled() => Ok(()),
    }
}

/// Ends Pods for good.
pub(crate) async fn run(client: Client) {
    loop {
        if let Err(error) = look(&client, Timestamp::now()).await {
            say(&bad(&format!("the fake kubelet failed: {error:#}")));
        }
        sleep(PERIOD).await;
    }
}

async fn look(client: &Client, now: Timestamp) -> Result<()> {
    let pending = ListParams::default().labels("batch.kubernetes.io/job-name").fields("status.phase=Pending");
    let pods = Api::<Pod>::all(client.clone()).list(&pending).await.context("failed to list Pods")?;
    for pod in pods.items.iter().filter(|pod| is_over(pod, now)) {
        let name = pod.name_any();
        let phase = phase(pod.annotations().get(EXIT_CODE).map(String::as_str));
        let status = Patch::Merge(json!({ "status": { "phase": phase } }));
        let api: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
        match api.patch_status(&name, &PatchParams::default(), &status).await {
            // It was deleted meanwhile.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other.with_context(|| format!("failed to end the Pod {name}"))?),
        }
    }
    Ok(())
}

fn is_over(pod: &Pod, now: Timestamp) -> bool {
    pod.creation_timestamp().is_some_and(|created| now.duration_since(created.0) >= RUNS)
}

fn phase(exit_code: Option<&str>) -> &'static str {
    if exit_code.is_none_or(|code| code == "0") { "Succeeded" } else { "Failed" }
}

#[cfg(test)]
mod tests {
    use super::phase;

    #[test]
    fn pod_fails_if_its_container_would_have() {
        for (exit_code, expected) in [(None, "Succeeded"), (Some("0"), "Succeeded"), (Some("1"), "Failed")] {
            assert_eq!(phase(exit_code), expected, "{exit_code:?}");
        }
    }
}
