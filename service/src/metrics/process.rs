//! Collects the metrics of the process from `/proc` at each scrape.
//!
//! In: the kernel's text files. Out: the `process_*` series that every Prometheus client library has. Fails:
//! never; a value that cannot be read is left out.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Ticks of the kernel's clock per second (`USER_HZ`): 100 on every architecture that Linux containers run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads and encodes the metrics of this process.
#[derive(Debug)]
pub(super) struct ProcessCollector;

/// The values that the kernel reports for this process.
#[derive(Debug, Default, PartialEq)]
struct Process {
    cpu_seconds: Option<f64>,
    start_time_seconds: Option<f64>,
    resident_bytes: Option<f64>,
    virtual_bytes: Option<f64>,
    open_fds: Option<f64>,
    max_fds: Option<f64>,
    threads: Option<f64>,
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let process = Process::read();
        if let Some(seconds) = process.cpu_seconds {
            let counter = ConstCounter::new(seconds);
            let help = "CPU time spent, user and system";
            counter.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, counter.metric_type())?)?;
        }
        let gauges = [
            ("process_start_time_seconds", "When the process started, since the epoch", process.start_time_seconds),
            ("process_resident_memory_bytes", "Resident memory", process.resident_bytes),
            ("process_virtual_memory_bytes", "Virtual memory", process.virtual_bytes),
            ("process_open_fds", "Open file descriptors", process.open_fds),
            ("process_max_fds", "Limit of open file descriptors", process.max_fds),
            ("process_threads", "Threads", process.threads),
        ];
        for (name, help, value) in gauges {
            if let Some(value) = value {
                let gauge = ConstGauge::new(value);
                gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
            }
        }
        Ok(())
    }
}

impl Process {
    fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let mut process = Self::parse(
            &text("/proc/self/stat"),
            &text("/proc/self/status"),
            &text("/proc/self/limits"),
            &text("/proc/stat"),
        );
        // Reading the directory opens a descriptor of its own, which is subtracted.
        process.open_fds = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().saturating_sub(1) as f64);
        process
    }

    fn parse(stat: &str, status: &str, limits: &str, system: &str) -> Self {
        // The second field is the command's name in parentheses and may contain spaces, so fields are counted
        // after it.
        let after_name: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |index: usize| after_name.get(index).and_then(|text| text.parse::<f64>().ok());
        let boot = line(system, "btime").and_then(|rest| rest.trim().parse::<f64>().ok());
        let max_fds = line(limits, "Max open files").and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        Self {
            cpu_seconds: ticks(11).zip(ticks(12)).map(|(user, system)| (user + system) / TICKS_PER_SECOND),
            start_time_seconds: boot.zip(ticks(19)).map(|(boot, started)| boot + started / TICKS_PER_SECOND),
            resident_bytes: kilobytes(status, "VmRSS:"),
            virtual_bytes: kilobytes(status, "VmSize:"),
            open_fds: None,
            max_fds,
            threads: line(status, "Threads:").and_then(|rest| rest.trim().parse().ok()),
        }
    }
}

fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

fn kilobytes(status: &str, name: &str) -> Option<f64> {
    let number = line(status, name)?.trim().strip_suffix("kB")?.trim();
    number.parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_files_are_parsed() {
        let stat = "42 (a (odd) name) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 4 0 1000 999 77 1";
        let status = "Name:\tx\nVmSize:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t4\n";
        let limits =
            "Limit    Soft Limit  Hard Limit Units\nMax open files            1024                 4096   files\n";
        assert_eq!(
            Process::parse(stat, status, limits, "cpu 1 2\nbtime 1700000000\n"),
            Process {
                cpu_seconds: Some(2.0),
                start_time_seconds: Some(1_700_000_010.0),
                resident_bytes: Some(1_048_576.0),
                virtual_bytes: Some(2_097_152.0),
                open_fds: None,
                max_fds: Some(1024.0),
                threads: Some(4.0),
            }
        );
    }

    #[test]
    fn unreadable_values_are_left_out() {
        let nothing = Process::parse("garbage", "VmRSS: many kB", "Max open files unlimited", "");
        assert_eq!(nothing, Process::default());
    }

    #[test]
    fn metrics_of_this_process_are_plausible() {
        let process = Process::read();
        let now = jiff::Timestamp::now().as_duration().as_secs_f64();
        assert!(process.start_time_seconds.is_some_and(|at| at > now - 86_400.0 && at < now + 5.0), "{process:?}");
        assert!(process.resident_bytes.is_some_and(|bytes| bytes > 100_000.0), "{process:?}");
        assert!(process.open_fds.is_some_and(|count| count >= 1.0), "{process:?}");
    }
}
