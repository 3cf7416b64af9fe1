//! Ends Jobs in the place of a kubelet.

use anyhow::Context;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use super::{ControlPlane, TestNamespace};
use crate::{PATIENCE, await_condition};

/// How a Job's Pod ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    /// The Pod's containers ended with exit code 0; the Job becomes `Complete`.
    Succeeded,
    /// A container failed; the Job becomes `Failed` after `backoffLimit` retries, so set this limit to 0.
    Failed,
}

impl JobEnd {
    fn phase(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    fn condition(self) -> &'static str {
        match self {
            Self::Succeeded => "Complete",
            Self::Failed => "Failed",
        }
    }
}

impl ControlPlane {
    /// Sets the phase of a Job's Pod as a kubelet would, and waits until the Job controller has set the Job's
    /// condition.
    pub async fn finish_job(&self, namespace: &TestNamespace, name: &str, end: JobEnd) -> anyhow::Result<Job> {
        let pods: Api<Pod> = namespace.api().await?;
        let selected = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"));
        let pod = await_condition(&format!("the pod of job {name}"), PATIENCE, async || {
            let pod = pods.list(&selected).await?.items.into_iter().next();
            pod.and_then(|pod| pod.metadata.name).context("there is none")
        })
        .await?;
        let status = Patch::Merge(json!({"status": {"phase": end.phase()}}));
        pods.patch_status(&pod, &PatchParams::default(), &status).await.context("failed to report the pod's end")?;

        let jobs: Api<Job> = namespace.api().await?;
        await_condition(&format!("job {name} to be {}", end.condition()), PATIENCE, async || {
            let job = jobs.get(name).await?;
            let conditions = job.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
            let ended = conditions.iter().any(|found| found.type_ == end.condition() && found.status == "True");
            ended.then_some(job).with_context(|| format!("its conditions are {conditions:?}"))
        })
        .await
    }
}
