//! Helm, and the images of the programs on the node.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use lifecycle_e2e::program;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

/// The registry of the images, which nobody asks: they are on the node.
const REGISTRY: &str = "hyperfleet.local";
const TAG: &str = "e2e";

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A script below `e2e/tools`.
pub(crate) fn tool(path: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tools").join(path))
}

/// Runs a command to its end, and returns what it printed.
pub(crate) async fn output(command: &mut Command) -> Result<String> {
    let output = command.output().await.with_context(|| format!("failed to start {command:?}"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{command:?}: {}\n{printed}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(printed)
}

/// Helm with an administrator's rights.
pub(crate) struct Helm {
    program: PathBuf,
    cluster: PathBuf,
    files: TempDir,
}

impl Helm {
    pub(crate) async fn new(cluster: &Path) -> Result<Self> {
        let directory = output(tool("build").args(["--where", "helm"])).await?;
        Ok(Self {
            program: Path::new(directory.trim()).join("helm"),
            cluster: cluster.to_owned(),
            files: TempDir::new()?,
        })
    }

    /// Packs a program that cargo built, and gives the image to the node. Returns the chart's values of the image.
    pub(crate) async fn load(&self, name: &str) -> Result<Value> {
        let archive = self.files.path().join(format!("{name}.tar"));
        let image = format!("{REGISTRY}/{name}:{TAG}");
        let mut pack = Command::new(root().join("deploy/docker/pack"));
        output(pack.arg(program(name)?).arg(image).arg(&archive)).await?;
        let import = ["ctr", "--namespace", "k8s.io", "images", "import"];
        output(tool("node/cluster").arg("enter").arg(&self.cluster).args(import).arg(&archive)).await?;
        Ok(json!({ "registry": REGISTRY, "repository": name, "tag": TAG, "pullPolicy": "Never" }))
    }

    /// Writes values into a file, which gets this name.
    pub(crate) fn values(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.files.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// Runs Helm in a namespace; `{chart}` of the arguments is the directory of the charts.
    pub(crate) async fn run(&self, namespace: &str, arguments: &[&str]) -> Result<String> {
        let charts = root().join("deploy/charts").display().to_string();
        let mut command = Command::new(&self.program);
        command.arg("--kubeconfig").arg(self.cluster.join("kubeconfig")).args(["--namespace", namespace]);
        output(command.args(arguments.iter().map(|argument| argument.replace("{charts}", &charts)))).await
    }
}
