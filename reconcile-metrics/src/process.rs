//! The process' own metrics, read from `/proc` at each scrape.
//!
//! In: the kernel's text files. Out: the `process_*` families that every Prometheus client library exposes. A value that
//! cannot be read is left out; a scrape never fails over it.

use std::fs;

use crate::samples::{Family, Kind, Sample, Value};

/// The kernel's unit of time towards user space (`USER_HZ`): 100 on every architecture that Linux containers run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The families that could be read.
#[must_use]
pub fn families() -> Vec<Family> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut families = parse(&text("/proc/self/stat"), &text("/proc/self/status"), &text("/proc/stat"));
    // Reading the folder opens one more.
    let open = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().saturating_sub(1) as f64);
    families.extend(family("process_open_fds", Kind::Gauge, "Open file descriptors", open));
    families
}

fn parse(stat: &str, status: &str, system: &str) -> Vec<Family> {
    // The second field is the command's name in brackets, and can hold anything; fields count from it.
    let after_name: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |index: usize| after_name.get(index).and_then(|text| text.parse::<f64>().ok());
    let cpu = ticks(11).zip(ticks(12)).map(|(user, system)| (user + system) / TICKS_PER_SECOND);
    let boot = line(system, "btime").and_then(|rest| rest.trim().parse::<f64>().ok());
    let started = boot.zip(ticks(19)).map(|(boot, started)| boot + started / TICKS_PER_SECOND);
    let threads = line(status, "Threads:").and_then(|rest| rest.trim().parse().ok());
    [
        family("process_cpu_seconds_total", Kind::Counter, "CPU time spent, user and system", cpu),
        family("process_start_time_seconds", Kind::Gauge, "When the process started, since the epoch", started),
        family("process_resident_memory_bytes", Kind::Gauge, "Resident memory", kilobytes(status, "VmRSS:")),
        family("process_virtual_memory_bytes", Kind::Gauge, "Virtual memory", kilobytes(status, "VmSize:")),
        family("process_threads", Kind::Gauge, "Threads", threads),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn family(name: &'static str, kind: Kind, help: &'static str, value: Option<f64>) -> Option<Family> {
    let sample = Sample { labels: Vec::new(), value: Value::Number(value?) };
    Some(Family { name, help, kind, samples: vec![sample] })
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
    fn reads_what_the_kernel_writes() {
        let stat = "42 (a (odd) name) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 4 0 1000 999 77 1";
        let status = "Name:\tx\nVmSize:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t4\n";
        let families = parse(stat, status, "cpu 1 2\nbtime 1700000000\n");
        let read: Vec<_> = families
            .iter()
            .filter_map(|family| match family.samples.as_slice() {
                [Sample { value: Value::Number(value), .. }] => Some((family.name, *value)),
                _ => None,
            })
            .collect();
        assert_eq!(
            read,
            [
                ("process_cpu_seconds_total", 2.0),
                ("process_start_time_seconds", 1_700_000_010.0),
                ("process_resident_memory_bytes", 1_048_576.0),
                ("process_virtual_memory_bytes", 2_097_152.0),
                ("process_threads", 4.0),
            ]
        );
    }

    #[test]
    fn leaves_out_what_it_cannot_read() {
        assert_eq!(parse("garbage", "VmRSS: many kB", ""), []);
    }

    #[test]
    fn knows_this_very_process() {
        assert_eq!(families().len(), 6);
    }
}
