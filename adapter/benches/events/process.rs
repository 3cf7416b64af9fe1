//! Reads the CPU time and memory of a process, and the CPU time of the machine, from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;

/// A running process, given by its id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process(pub(crate) u32);

/// The CPU time that a process has used so far, and its current memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// The user and system time that the process has used.
    pub(crate) cpu: Duration,
    /// The resident memory of the process in KiB.
    pub(crate) resident: u64,
}

impl Process {
    pub(crate) fn usage(self) -> anyhow::Result<Usage> {
        Ok(Usage { cpu: self.cpu()?, resident: self.resident()? })
    }

    fn cpu(self) -> anyhow::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).context("the process has ended")?;
        // The text before `)` is the program's name in parentheses, which may contain spaces.
        let (_, fields) = stat.rsplit_once(')').context("an unexpected /proc/PID/stat")?;
        let ticks = |index: usize| fields.split_whitespace().nth(index)?.parse::<u64>().ok();
        let (user, system) = ticks(11).zip(ticks(12)).context("an unexpected /proc/PID/stat")?;
        Ok(from_ticks(user + system))
    }

    fn resident(self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).context("the process has ended")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        line.trim().trim_end_matches(" kB").parse().context("an unexpected VmRSS")
    }
}

/// The CPU time that all cores together have been busy.
pub(crate) fn busy_time() -> anyhow::Result<Duration> {
    const IDLE: usize = 3;
    const IO_WAIT: usize = 4;
    /// The fields up to steal time; the guest times after them are already part of user time.
    const FIELDS: usize = 8;
    let stat = fs::read_to_string("/proc/stat").context("no /proc/stat")?;
    let line = stat.lines().next().and_then(|line| line.strip_prefix("cpu ")).context("an unexpected /proc/stat")?;
    let fields = line.split_whitespace().take(FIELDS).enumerate();
    let busy = fields.filter(|(index, _)| ![IDLE, IO_WAIT].contains(index));
    Ok(from_ticks(busy.filter_map(|(_, ticks)| ticks.parse::<u64>().ok()).sum()))
}

/// Converts the kernel's ticks; `USER_HZ` is 100 on all common architectures.
fn from_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 10)
}
