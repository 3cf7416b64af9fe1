//! The program against Kubernetes itself: a real API server with Omnia's kinds, of which the test plays the controller of agents.

use std::collections::BTreeSet;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::kube::{ControlPlane, TestNamespace};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{PROGRAM, pack};

const GROUP: &str = "omnia.altairalabs.ai";
const KINDS: [(&str, &str); 4] = [
    ("AgentRuntime", "agentruntimes"),
    ("PromptPack", "promptpacks"),
    ("Provider", "providers"),
    ("ToolRegistry", "toolregistries"),
];

/// The definition of a kind whose objects may have any content.
fn definition(kind: &str, plural: &str) -> Value {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": { "spec": open, "status": open } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List") },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
            }],
        },
    })
}

/// A namespace of a cluster that has Omnia's kinds.
struct Cluster {
    control_plane: ControlPlane,
    namespace: TestNamespace,
    folder: tempfile::TempDir,
    state: String,
}

impl Cluster {
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::shared().await?;
        let namespace = control_plane.namespace().await?;
        let cluster = Self { control_plane, namespace, folder: tempfile::tempdir()?, state: String::new() };
        for (kind, plural) in KINDS {
            cluster.apply(&definition(kind, plural)).await?;
            let definition = format!("crd/{plural}.{GROUP}");
            cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &definition]).await?;
        }
        let name = cluster.namespace.name();
        let provider = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Provider",
            "metadata": { "name": "claude", "namespace": name }, "spec": {},
        });
        cluster.apply(&provider).await?;
        Ok(cluster)
    }

    async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let output = self.control_plane.kubectl(arguments).await?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    async fn apply(&self, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = self.folder.path().join(format!("{name}.json"));
        std::fs::write(&path, object.to_string())?;
        let path = path.to_str().context("a path")?;
        self.kubectl(&["apply", "--server-side", "--field-manager=tester", "-f", path]).await.map(drop)
    }

    /// The objects of the pack, as `kind/name`.
    async fn objects(&self) -> Result<BTreeSet<String>> {
        let kinds = format!("configmaps,agentruntimes.{GROUP},promptpacks.{GROUP},toolregistries.{GROUP}");
        let selector = "app.kubernetes.io/managed-by=promptarena";
        let arguments = ["get", &kinds, "-n", self.namespace.name(), "-l", selector, "-o", "name"];
        Ok(self.kubectl(&arguments).await?.lines().map(|line| line.replace(&format!(".{GROUP}"), "")).collect())
    }

    /// Asks a new process of the program. Meanwhile each agent gets the status of one that runs, as from its controller.
    async fn call(&mut self, method: &str, pack: &Value) -> Result<Value> {
        let config = json!({
            "kubeconfig": self.control_plane.kubeconfig_path(), "workspace": self.namespace.name(),
            "providers": { "default": "claude" },
        });
        let params = json!({
            "pack_json": pack.to_string(), "deploy_config": config.to_string(), "prior_state": self.state,
            "environment": "default",
        });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut process =
            Command::new(PROGRAM).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let mut input = process.stdin.take().context("no input")?;
        input.write_all(format!("{request}\n").as_bytes()).await?;
        drop(input);
        let answered = async {
            let output = process.wait_with_output().await?;
            anyhow::Ok(serde_json::from_slice::<Value>(&output.stdout)?)
        };
        let answer = tokio::select! {
            answer = answered => answer?,
            failed = self.control() => failed.and(Err(anyhow::anyhow!("the controller ended")))?,
        };
        let result = |key: &str| answer["result"][key].as_str().or(answer["error"]["data"][key].as_str());
        if let Some(state) = result("adapter_state") {
            self.state = state.to_owned();
        }
        Ok(answer)
    }

    /// Plays the controller of agents for ever.
    async fn control(&self) -> Result<()> {
        let namespace = self.namespace.name();
        let agents = format!("agentruntimes.{GROUP}");
        loop {
            let listed = self.kubectl(&["get", &agents, "-n", namespace, "-o", "json"]).await?;
            let listed: Value = serde_json::from_str(&listed)?;
            for agent in listed["items"].as_array().into_iter().flatten() {
                let generation = &agent["metadata"]["generation"];
                if agent["status"]["observedGeneration"] == *generation {
                    continue;
                }
                let name = agent["metadata"]["name"].as_str().unwrap_or_default();
                let status = json!({ "status": { "phase": "Running", "observedGeneration": generation } }).to_string();
                let patch =
                    ["patch", &agents, name, "-n", namespace, "--subresource=status", "--type=merge", "-p", &status];
                self.kubectl(&patch).await?;
            }
        }
    }
}

fn actions(plan: &Value) -> BTreeSet<&str> {
    plan["result"]["changes"].as_array().into_iter().flatten().filter_map(|change| change["action"].as_str()).collect()
}

#[tokio::test]
async fn pack_lives_in_a_real_cluster() -> Result<()> {
    let mut cluster = Cluster::new().await?;
    let mut wanted = pack(&["router", "seller"], &["lookup", "refund"], &["refund"]);
    let applied = cluster.call("apply", &wanted).await?;
    ensure!(applied["error"].is_null(), "{applied}");
    let all = ["configmap/my-pack-packdata", "promptpack/my-pack", "toolregistry/my-pack-tools"];
    let with = |agents: &[&str]| -> BTreeSet<String> {
        let agents = agents.iter().map(|name| format!("agentruntime/{name}"));
        agents.chain(all.map(str::to_owned)).collect()
    };
    ensure!(cluster.objects().await? == with(&["router", "seller"]), "{:?}", cluster.objects().await?);
    let plan = cluster.call("plan", &wanted).await?;
    ensure!(actions(&plan) == ["NO_CHANGE"].into(), "{plan}");

    // Somebody changes what the pack wants: that is drift, which the next apply mends.
    let (namespace, packs) = (cluster.namespace.name().to_owned(), format!("promptpacks.{GROUP}"));
    let drift = json!({ "spec": { "version": "9.9.9" } }).to_string();
    cluster.kubectl(&["patch", &packs, "my-pack", "-n", &namespace, "--type=merge", "-p", &drift]).await?;
    let plan = cluster.call("plan", &wanted).await?;
    ensure!(actions(&plan).contains("DRIFT"), "{plan}");
    let applied = cluster.call("apply", &wanted).await?;
    ensure!(applied["error"].is_null(), "{applied}");

    // What left the pack goes, and what another owner has stays.
    let foreign = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AgentRuntime",
        "metadata": { "name": "support", "namespace": namespace, "labels": { "app.kubernetes.io/managed-by": "helm" } },
        "spec": { "theirs": true },
    });
    cluster.apply(&foreign).await?;
    wanted = pack(&["router"], &["lookup", "refund"], &["refund"]);
    cluster.call("apply", &wanted).await?;
    ensure!(cluster.objects().await? == with(&["router"]), "{:?}", cluster.objects().await?);
    let taken = cluster.call("apply", &pack(&["router", "support"], &["lookup"], &[])).await?;
    let message = taken["error"]["message"].as_str().unwrap_or_default();
    ensure!(message.contains("belongs to `helm`"), "{taken}");

    // A new program without a state finds everything by its labels, and a deletion leaves nothing of the pack.
    cluster.state.clear();
    let applied = cluster.call("apply", &wanted).await?;
    ensure!(applied["error"].is_null(), "{applied}");
    let destroyed = cluster.call("destroy", &wanted).await?;
    ensure!(destroyed["result"]["status"] == "destroyed", "{destroyed}");
    ensure!(cluster.objects().await?.is_empty(), "{:?}", cluster.objects().await?);
    let agents = format!("agentruntimes.{GROUP}");
    let support = cluster.kubectl(&["get", &agents, "support", "-n", &namespace, "-o", "json"]).await?;
    let support: Value = serde_json::from_str(&support)?;
    ensure!(support["spec"] == json!({ "theirs": true }), "{support}");
    Ok(())
}
