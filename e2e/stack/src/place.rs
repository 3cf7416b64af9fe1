//! Where a stack keeps its files, and how other processes find it.
//!
//! In: the target directory that this program was built into. Out: a directory that only one stack uses at a time, and the
//! addresses of the running stack. Fails: if another stack uses the directory, or if none does.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

const ADDRESSES: &str = "addresses.json";

/// The directory of a stack.
pub(crate) struct Place {
    directory: PathBuf,
    /// Whether somebody chose it, and other commands must be told.
    is_chosen: bool,
}

/// The directory, while this process has it.
pub(crate) struct Claim {
    pub(crate) directory: PathBuf,
    _lock: File,
}

/// The addresses of a running stack.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Running {
    /// The API, without a path.
    pub(crate) api: String,
    /// A kubeconfig file of an administrator.
    pub(crate) kubeconfig: PathBuf,
    /// Maestro's REST interface, without a path; `None` if no adapter writes to a remote cluster.
    pub(crate) maestro: Option<String>,
    /// The namespace of what outlives clusters.
    pub(crate) records_namespace: String,
    /// Prometheus.
    pub(crate) prometheus: String,
    /// The exporter's page of stuck resources.
    pub(crate) stuck: String,
    /// The console; `None` if there is none.
    #[serde(default)]
    pub(crate) console: Option<String>,
    /// The metrics of each part, by its name.
    pub(crate) metrics: Vec<(String, String)>,
    /// Where the logs are: files, or a command.
    pub(crate) logs: String,
    /// Where the sweeper's record of deletions is.
    pub(crate) audit: String,
    /// Whether the provisioner has another task than that of the stories.
    pub(crate) has_other_task: bool,
}

impl Place {
    /// `stack/` in the target directory, so that two checkouts have two stacks.
    pub(crate) fn of_this_checkout() -> Result<Self> {
        let program = std::env::current_exe().context("the path of this program is unknown")?;
        let target = program.ancestors().find(|path| path.join("CACHEDIR.TAG").is_file()).or_else(|| program.parent());
        let directory = target.context("this program has no directory")?.join("stack");
        Ok(Self { directory, is_chosen: false })
    }

    /// The given directory.
    pub(crate) fn at(directory: PathBuf) -> Result<Self> {
        let directory =
            std::path::absolute(&directory).with_context(|| format!("{} is no path", directory.display()))?;
        Ok(Self { directory, is_chosen: true })
    }

    /// A command line of this program that finds the stack of this directory.
    pub(crate) fn command(&self, arguments: &str) -> String {
        let option = if self.is_chosen { format!(" --directory {}", self.directory.display()) } else { String::new() };
        format!("cargo run --bin stack -- {arguments}{option}")
    }

    /// Takes the directory, without the files of former stacks.
    pub(crate) fn claim(&self) -> Result<Claim> {
        let here = self.directory.display();
        fs::create_dir_all(&self.directory).with_context(|| format!("failed to create {here}"))?;
        let path = self.directory.join("lock");
        let lock = File::options().create(true).append(true).open(&path);
        let lock = lock.with_context(|| format!("failed to open {}", path.display()))?;
        if lock.try_lock().is_err() {
            bail!("a stack of this checkout runs already: stop it with Control-C in its terminal");
        }
        for entry in fs::read_dir(&self.directory).with_context(|| format!("failed to read {here}"))? {
            let path = entry.with_context(|| format!("failed to read {here}"))?.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { Ok(()) };
            removed.with_context(|| format!("failed to remove {}", path.display()))?;
        }
        Ok(Claim { directory: self.directory.clone(), _lock: lock })
    }

    /// The addresses of the running stack.
    pub(crate) fn running(&self) -> Result<Running> {
        let cure = "no stack runs: start one with `cargo run --bin stack` in another terminal";
        let text = fs::read(self.directory.join(ADDRESSES)).context(cure)?;
        serde_json::from_slice(&text).context("the file of its addresses is broken: restart the stack")
    }
}

impl Claim {
    /// Tells other processes where the parts are.
    pub(crate) fn publish(&self, running: &Running) -> Result<()> {
        let path = self.directory.join(ADDRESSES);
        fs::write(&path, serde_json::to_vec_pretty(running)?)
            .with_context(|| format!("failed to write {}", path.display()))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.directory.join(ADDRESSES));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn command_names_a_chosen_directory() {
        let cases = [
            (Place::of_this_checkout(), "cargo run --bin stack -- demo stuck"),
            (Place::at("/some/where".into()), "cargo run --bin stack -- demo stuck --directory /some/where"),
        ];
        for (place, expected) in cases {
            assert_eq!(place.unwrap().command("demo stuck"), expected);
        }
    }
}
