//! Installs and builds what the stack needs, with the progress of the tools that do it.
//!
//! In: this checkout. Out: servers and programs that can be started. Fails: if a tool fails, which says why.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::cargo;

use crate::terminal::{say, step};

/// The root of the checkout that this program was built from.
pub(crate) fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Installs servers, also those of a node if there is to be one, and builds programs.
pub(crate) fn prepare(with_node: bool) -> Result<()> {
    step("The servers: PostgreSQL, RabbitMQ, Prometheus, and a Kubernetes control plane (minutes, the first time)");
    run(Command::new("./test").arg("--setup"))?;
    if with_node {
        step("The node: containerd, a kubelet and a scheduler (minutes, the first time)");
        run(Command::new("e2e/tools/node/node").arg("prepare"))?;
    }
    step("The programs of this workspace");
    // The profile in which this program was built.
    let profile: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
    run(cargo().args(["build", "--locked", "--workspace", "--bins"]).args(profile))?;
    say("");
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let line = words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
    let status = command.current_dir(checkout()).status();
    let status = status.with_context(|| format!("failed to run `{line}`"))?;
    ensure!(status.success(), "`{line}` failed: the lines above say why");
    Ok(())
}
