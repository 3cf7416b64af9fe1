//! Installs and builds what the stack needs, with the progress of the tools that do it.
//!
//! In: this checkout. Out: servers and programs that can be started. Fails: if a tool fails, which says why.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::terminal::{say, step};

/// The root of the checkout that this program was built from.
pub(crate) fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Installs servers, also those of a node if there is to be one, and builds programs.
pub(crate) fn prepare(with_node: bool) -> Result<()> {
    step("The servers: PostgreSQL, RabbitMQ, Prometheus, and a Kubernetes control plane (minutes, the first time)");
    run("./test", &["--setup"])?;
    if with_node {
        step("The node: containerd, a kubelet and a scheduler (minutes, the first time)");
        run("e2e/tools/node/node", &["prepare"])?;
    }
    step("The programs of this workspace");
    // The profile in which this program was built.
    let profile: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
    run("cargo", &[&["build", "--locked", "--workspace", "--bins"], profile].concat())?;
    say("");
    Ok(())
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let line = format!("{program} {}", arguments.join(" "));
    let status = Command::new(program).args(arguments).current_dir(checkout()).status();
    let status = status.with_context(|| format!("failed to run `{line}`"))?;
    ensure!(status.success(), "`{line}` failed: the lines above say why");
    Ok(())
}
