//! What a process or the whole machine has used, as the kernel counts it.
//!
//! In: `/proc`. Out: CPU time and memory. Fails: if the process has ended.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// What a process has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The user and system time.
    pub cpu: Duration,
    /// The resident memory now, in KiB.
    pub resident: u64,
    /// The most memory that was resident at any time, in KiB.
    pub most_resident: u64,
}

impl Usage {
    /// Reads the usage of a process.
    pub fn of(process: u32) -> Result<Self> {
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}")).context("the process has ended");
        Self::parse(&read("stat")?, &read("status")?).context("an unexpected stat or status of a process")
    }

    fn parse(stat: &str, status: &str) -> Option<Self> {
        // The text before `)` is the program's name in parentheses, which may contain spaces.
        let fields = stat.rsplit_once(')')?.1;
        let ticks = |index: usize| fields.split_whitespace().nth(index)?.parse::<u64>().ok();
        let kibibytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.trim().trim_end_matches(" kB").parse().ok()
        };
        Some(Self {
            cpu: from_ticks(ticks(11)? + ticks(12)?),
            resident: kibibytes("VmRSS:")?,
            most_resident: kibibytes("VmHWM:")?,
        })
    }
}

/// The CPU time that all cores together have been busy.
pub fn busy() -> Result<Duration> {
    const IDLE: usize = 3;
    const IO_WAIT: usize = 4;
    /// The fields up to steal time; the guest times after them are already part of user time.
    const FIELDS: usize = 8;
    let stat = fs::read_to_string("/proc/stat").context("failed to read /proc/stat")?;
    let line = stat.lines().next().and_then(|line| line.strip_prefix("cpu ")).context("an unexpected /proc/stat")?;
    let fields = line.split_whitespace().take(FIELDS).enumerate();
    let busy = fields.filter(|(index, _)| ![IDLE, IO_WAIT].contains(index));
    Ok(from_ticks(busy.filter_map(|(_, ticks)| ticks.parse::<u64>().ok()).sum()))
}

/// Converts the kernel's ticks; `USER_HZ` is 100 on all common architectures.
#[must_use]
pub fn from_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_with_spaces_in_its_name_is_read() {
        let stat = "42 (a (b) c) S 7 42 42 0 -1 4194560 9 0 0 0 100 20 3 1 20 0 4 0 5";
        let status = "Name:\ta\nVmHWM:\t     300 kB\nVmRSS:\t      20 kB\n";
        let expected = Usage { cpu: Duration::from_millis(1200), resident: 20, most_resident: 300 };
        assert_eq!(Usage::parse(stat, status), Some(expected));
    }
}
