//! Reads the CPU time and the memory of the parts and servers that this process has started.
//!
//! In: `/proc`, and the process ids of the parts. Out: the usage of each part and each server. Fails: if a part has ended.
//!
//! A part is a child of this process. A server is a child of a supervisor, which is a child of this process, and has
//! children of its own.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::usage::from_ticks;

/// The name of this process in the figures.
pub(super) const SELF: &str = "stack (the load)";
/// The name of what starts and stops the servers.
pub(super) const SUPERVISORS: &str = "supervisors";
/// What a server's first process is called, and the server's name.
const SERVERS: [(&str, &str); 6] = [
    ("postgres", "postgres"),
    ("beam.smp", "rabbitmq"),
    ("epmd", "rabbitmq"),
    ("etcd", "etcd"),
    ("kube-apiserver", "kube-apiserver"),
    // The kernel keeps 15 characters of a name.
    ("kube-controller", "kube-controller-manager"),
];

/// What a part or a server has used so far, and the memory that it has now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Usage {
    /// User and system time.
    pub(super) cpu: Duration,
    /// Resident memory in KiB; what several processes of a server share counts once.
    pub(super) resident: u64,
}

#[derive(Debug, Clone, Default)]
struct Process {
    parent: u32,
    name: String,
    /// The time of the process, and of the children that it has waited for.
    cpu: Duration,
    /// The resident memory in KiB that is the process' own, and the memory that others may share.
    own: u64,
    shared: u64,
}

/// Reads the usage of this process, of the parts, and of the servers.
pub(super) fn usage(parts: &[(String, u32)]) -> Result<BTreeMap<String, Usage>> {
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc").context("failed to list processes")? {
        let name = entry.context("failed to list processes")?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end meanwhile.
        let file = |name: &str| fs::read_to_string(format!("/proc/{id}/{name}")).unwrap_or_default();
        processes.extend(Process::parse(&file("stat"), &file("status")).map(|process| (id, process)));
    }
    let found = sum(&processes, std::process::id(), parts);
    for (name, _) in parts {
        ensure!(found.contains_key(name), "{name} was started again, so its figures are lost: see its log");
    }
    Ok(found)
}

impl Process {
    fn parse(stat: &str, status: &str) -> Option<Self> {
        // The name in parentheses may contain spaces.
        let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let kibibytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default()
        };
        Some(Self {
            parent: u32::try_from(number(1)?).ok()?,
            name: name.to_owned(),
            cpu: from_ticks((11..=14).map(number).sum::<Option<u64>>()?),
            own: kibibytes("RssAnon:"),
            shared: kibibytes("RssFile:") + kibibytes("RssShmem:"),
        })
    }
}

/// Sums the processes that descend from `root` by part and by server.
fn sum(processes: &BTreeMap<u32, Process>, root: u32, parts: &[(String, u32)]) -> BTreeMap<String, Usage> {
    let mut found: BTreeMap<String, (Usage, u64)> = BTreeMap::new();
    for (&id, process) in processes {
        let Some(name) = part_of(processes, id, root, parts) else { continue };
        let (usage, shared) = found.entry(name.to_owned()).or_default();
        usage.cpu += process.cpu;
        usage.resident += process.own;
        *shared = process.shared.max(*shared);
    }
    let resident = |(usage, shared): (Usage, u64)| Usage { resident: usage.resident + shared, ..usage };
    found.into_iter().map(|(name, usage)| (name, resident(usage))).collect()
}

/// The part or server that a process belongs to.
fn part_of<'a>(processes: &BTreeMap<u32, Process>, id: u32, root: u32, parts: &'a [(String, u32)]) -> Option<&'a str> {
    // The process, its parent, and so on; without the root.
    let mut line = Vec::new();
    let mut next = id;
    while next != root {
        line.push(next);
        next = processes.get(&next)?.parent;
    }
    let Some(child) = line.pop() else { return Some(SELF) };
    if let Some((name, _)) = parts.iter().find(|(_, id)| *id == child) {
        return Some(name);
    }
    let server = line.pop().and_then(|server| processes.get(&server));
    let server = server.and_then(|server| SERVERS.into_iter().find(|(name, _)| *name == server.name));
    Some(server.map_or(SUPERVISORS, |(_, name)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_with_spaces_in_its_name_is_read() {
        let stat = "42 (a (b) c) S 7 42 42 0 -1 4194560 9 0 0 0 100 20 3 1 20 0 4 0 5";
        let status = "Name:\ta\nRssAnon:\t     300 kB\nRssFile:\t      20 kB\nRssShmem:\t       1 kB\n";
        let read = Process::parse(stat, status).map(|read| (read.parent, read.name, read.cpu, read.own, read.shared));
        assert_eq!(read, Some((7, "a (b) c".to_owned(), Duration::from_millis(1240), 300, 21)));
    }

    #[test]
    fn processes_count_for_the_part_or_server_they_descend_from() {
        let process = |parent, name: &str, seconds, own, shared| Process {
            parent,
            name: name.to_owned(),
            cpu: Duration::from_secs(seconds),
            own,
            shared,
        };
        let processes = BTreeMap::from([
            (1, process(0, "init", 99, 99, 99)),
            (10, process(1, "stack", 1, 10, 1)),
            (11, process(10, "local-api", 2, 20, 2)),
            (12, process(10, "bash", 3, 30, 3)),
            (13, process(12, "postgres", 4, 40, 4)),
            (14, process(13, "postgres", 5, 50, 5)),
            (15, process(12, "flock", 6, 60, 1)),
        ]);
        let usage = |seconds, resident| Usage { cpu: Duration::from_secs(seconds), resident };
        let expected = BTreeMap::from([
            (SELF.to_owned(), usage(1, 11)),
            ("api".to_owned(), usage(2, 22)),
            (SUPERVISORS.to_owned(), usage(9, 93)),
            ("postgres".to_owned(), usage(9, 95)),
        ]);
        assert_eq!(sum(&processes, 10, &[("api".to_owned(), 11)]), expected);
    }
}
