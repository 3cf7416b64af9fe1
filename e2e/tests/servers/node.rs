//! Tests of the control plane with a node: Jobs run, and nothing of the node is left on the machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, LogParams, PostParams};
use lifecycle_e2e::kube::{ControlPlane, NODE_IMAGE};
use lifecycle_e2e::process::processes_of;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lifetime::{report_and_wait, run_test};

fn pod(script: &str) -> Value {
    json!({
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": NODE_IMAGE, "command": ["sh", "-c", script]}],
    })
}

#[tokio::test]
#[ignore = "needs root and `e2e/tools/node/node prepare`, see e2e/README.md"]
async fn jobs_run_to_their_end() -> anyhow::Result<()> {
    let namespace = ControlPlane::with_node().await?.namespace().await?;
    let (jobs, pods): (Api<Job>, Api<Pod>) = (namespace.api().await?, namespace.api().await?);
    let cases = [
        ("succeeds", "echo done by $(hostname)", "Complete", 0, "done by succeeds-"),
        ("fails", "ls /none", "Failed", 1, "ls: /none: No such file or directory"),
    ];
    for (name, script, ..) in cases {
        let job = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"spec": pod(script)}},
        }))?;
        jobs.create(&PostParams::default(), &job).await?;
    }
    for (name, _, condition, code, log) in cases {
        await_condition(&format!("job {name} to be {condition}"), PATIENCE, async || {
            let status = jobs.get(name).await?.status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            let met = conditions.iter().any(|found| found.type_ == condition && found.status == "True");
            ensure!(met, "its conditions are {conditions:?}");
            Ok(())
        })
        .await?;
        let selected = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={name}"));
        let pod = pods.list(&selected).await?.items.into_iter().next().context("the job has no pod")?;
        let containers = pod.status.and_then(|status| status.container_statuses).unwrap_or_default();
        let ended = containers.into_iter().find_map(|container| container.state?.terminated);
        assert_eq!(ended.map(|ended| ended.exit_code), Some(code), "{name}");
        let pod = pod.metadata.name.context("the pod has no name")?;
        let text = pods.logs(&pod, &LogParams::default()).await?;
        assert!(text.starts_with(log), "{name}: {text}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs root and `e2e/tools/node/node prepare`, see e2e/README.md"]
async fn image_is_not_pulled_from_a_registry() -> anyhow::Result<()> {
    let namespace = ControlPlane::with_node().await?.namespace().await?;
    let pods: Api<Pod> = namespace.api().await?;
    let containers = json!([{"name": "main", "image": "quay.io/none/none:1"}]);
    let pod = serde_json::from_value(json!({"metadata": {"name": "other"}, "spec": {"containers": containers}}))?;
    pods.create(&PostParams::default(), &pod).await?;
    await_condition("the pull to fail", PATIENCE, async || {
        let containers = pods.get("other").await?.status.and_then(|status| status.container_statuses);
        let waiting = containers.unwrap_or_default().into_iter().find_map(|container| container.state?.waiting);
        let message = waiting.and_then(|waiting| waiting.message).unwrap_or_default();
        ensure!(message.contains("the-node-has-no-registry"), "it says `{message}`");
        Ok(())
    })
    .await
}

/// The child process of the test below: starts a Pod in a run of its own, and waits to be killed.
#[tokio::test]
#[ignore = "run as a process by the test below"]
async fn child_process_starts_a_pod_and_waits() -> anyhow::Result<()> {
    let start = async || {
        let namespace = ControlPlane::with_node().await?.namespace().await?;
        let pods: Api<Pod> = namespace.api().await?;
        let pod = serde_json::from_value(json!({"metadata": {"name": "waits"}, "spec": pod("sleep 3600")}))?;
        pods.create(&PostParams::default(), &pod).await?;
        await_condition("the pod to run", PATIENCE, async || {
            let phase = pods.get("waits").await?.status.and_then(|status| status.phase);
            ensure!(phase.as_deref() == Some("Running"), "it is {phase:?}");
            Ok(())
        })
        .await?;
        anyhow::Ok(namespace)
    };
    match start().await {
        Ok(_namespace) => report_and_wait("running").await,
        Err(error) => report_and_wait(&format!("{error:#}")).await,
    }
}

#[tokio::test]
#[ignore = "needs root and `e2e/tools/node/node prepare`, see e2e/README.md"]
async fn killed_node_leaves_nothing_behind() -> anyhow::Result<()> {
    for victim in ["child_process_starts_a_pod_and_waits", "supervise"] {
        let before = machine()?;
        let run = TempDir::new()?;
        let process = run_test("node::child_process_starts_a_pod_and_waits", &run, "report")?;
        let report = run.path().join("report");
        let report =
            await_condition("the process' report", 4 * PATIENCE, async || Ok(fs::read_to_string(&report)?)).await?;
        ensure!(report == "running", "{report}");
        let cgroups = cgroups_of(&run)?;
        ensure!(!cgroups.is_empty(), "the node has no cgroups");

        let found = processes_of(run.path())?.into_iter().find(|(_, command)| command.contains(victim));
        let (number, _) = found.with_context(|| format!("there is no process `{victim}`"))?;
        ensure!(Command::new("kill").args(["-KILL", &number]).status()?.success(), "kill failed");

        await_condition("the node to be gone", PATIENCE, async || {
            // A process of a Pod is in one of these cgroups, and the kernel removes no cgroup with a process.
            let left: Vec<_> = cgroups.iter().filter(|cgroup| cgroup.exists()).collect();
            ensure!(left.is_empty(), "cgroups: {left:?}");
            let mut left = processes_of(run.path())?;
            left.retain(|(_, command)| !command.contains("child_process_starts_a_pod_and_waits"));
            ensure!(left.is_empty(), "processes: {left:?}");
            Ok(())
        })
        .await
        .with_context(|| format!("after the end of `{victim}`"))?;
        drop(process);
        assert_eq!(machine()?, before, "after the end of `{victim}`");
    }
    Ok(())
}

/// The cgroups of the run's node, in all hierarchies.
fn cgroups_of(run: &TempDir) -> anyhow::Result<Vec<PathBuf>> {
    let mut roots = vec![PathBuf::from("/sys/fs/cgroup")];
    roots.extend(fs::read_dir("/sys/fs/cgroup")?.flatten().map(|entry| entry.path()));
    let mut found = Vec::new();
    for instance in fs::read_dir(run.path())?.flatten() {
        let name = format!("lifecycle-e2e-{}", instance.file_name().display());
        found.extend(roots.iter().map(|root| root.join(&name)).filter(|cgroup| cgroup.exists()));
    }
    Ok(found)
}

/// What a node could change on the machine: network interfaces, mounts, directories, and the sysctls that a kubelet sets.
fn machine() -> anyhow::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/sys/class/net")?.flatten() {
        found.insert(format!("interface {}", entry.file_name().display()));
    }
    found.extend(fs::read_to_string("/proc/self/mounts")?.lines().map(|line| format!("mount {line}")));
    for name in
        ["vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"]
    {
        found.insert(format!("{name} = {}", fs::read_to_string(format!("/proc/sys/{name}"))?.trim()));
    }
    for path in [
        "/opt/containerd",
        "/run/containerd",
        "/run/netns",
        "/run/node",
        "/var/lib/cni",
        "/var/lib/kubelet",
        "/var/log/pods",
    ] {
        found.insert(format!("{path}: {}", Path::new(path).exists()));
    }
    Ok(found)
}
