//! Limits the memory of a program by a cgroup of its own, as Kubernetes limits a container.
//!
//! In: a limit in bytes, and a command. Out: the command that starts the program in the cgroup; then the kernel's count
//! of processes that it killed for the limit. Fails: where no memory cgroup can be made.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use rustix::process::geteuid;
use tokio::process::Command;

use crate::unique;

/// Where cgroups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// A cgroup with a limit of memory. Dropping it removes it, if no process is left in it.
#[derive(Debug)]
pub struct MemoryLimit {
    directory: PathBuf,
    is_v2: bool,
}

impl MemoryLimit {
    /// Makes a cgroup whose processes may have this many bytes of memory in all, and no swap; none without root.
    pub fn new(bytes: u64) -> Result<Option<Self>> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let is_v2 = Path::new(ROOT).join("cgroup.controllers").exists();
        let parent = if is_v2 { PathBuf::from(ROOT) } else { Path::new(ROOT).join("memory") };
        if is_v2 {
            fs::write(parent.join("cgroup.subtree_control"), "+memory")
                .context("failed to pass on the memory controller")?;
        }
        let limit = Self { directory: parent.join(unique("lifecycle")), is_v2 };
        fs::create_dir(&limit.directory).with_context(|| format!("failed to make {}", limit.directory.display()))?;
        let (memory, swap) =
            if is_v2 { ("memory.max", "memory.swap.max") } else { ("memory.limit_in_bytes", "memory.swappiness") };
        fs::write(limit.directory.join(memory), bytes.to_string()).context("failed to limit the memory")?;
        // A kernel without swap lacks the file.
        let _ = fs::write(limit.directory.join(swap), "0");
        Ok(Some(limit))
    }

    /// Starts the program of `command` in the cgroup: with the same arguments, directory and environment.
    #[must_use]
    pub fn around(&self, command: &Command) -> Command {
        let command = command.as_std();
        let mut around = Command::new("/bin/sh");
        around.args(["-c", r#"echo $$ >"$0" && exec "$@""#]);
        around.arg(self.directory.join("cgroup.procs")).arg(command.get_program()).args(command.get_args());
        around.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(directory) = command.get_current_dir() {
            around.current_dir(directory);
        }
        around
    }

    /// How many processes the kernel killed because the memory did not suffice.
    pub fn kills(&self) -> Result<u64> {
        let file = self.directory.join(if self.is_v2 { "memory.events" } else { "memory.oom_control" });
        let text = fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
        let Some(count) = text.lines().find_map(|line| line.strip_prefix("oom_kill ")) else {
            bail!("{} counts no kills: {text}", file.display());
        };
        Ok(count.parse()?)
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // A process that still ends keeps the cgroup, which is empty and harmless then.
        let _ = fs::remove_dir(&self.directory);
    }
}
