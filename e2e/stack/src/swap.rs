//! Other programs in the place of parts.
//!
//! In: the options. Out: the programs, the adapter's ports and its task. Fails: if a program is missing, a task cannot be
//! read, or a port is in use.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use lifecycle_e2e::parts::{FIXED_PORTS, Ports};

/// The task of the provisioner that a Go adapter loads.
const PLAIN: &str = include_str!("tasks/plain.yaml");

/// Which programs to start in the place of this workspace's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Swapped parts, such as the Go programs")]
pub struct Swapped {
    /// The API: started as `PATH migrate`, then `PATH serve`, both with `--config FILE`.
    #[arg(long, value_name = "PATH")]
    pub api_program: Option<PathBuf>,
    /// The Sentinel: started as `PATH serve --config FILE`, with the flags of its two addresses and `BROKER_CONFIG_FILE`.
    #[arg(long, value_name = "PATH")]
    pub sentinel_program: Option<PathBuf>,
    /// The adapter `provisioner`: started as `PATH serve --config FILE --task-config FILE`, with `BROKER_CONFIG_FILE`.
    ///
    /// Its task then has no key that a Go adapter lacks, so the stories `history`, `debounce` and `bundle` cannot be played.
    #[arg(long, value_name = "PATH")]
    pub adapter_program: Option<PathBuf>,
    /// Where `--adapter-program` listens. A Go adapter listens at 8080 and 9090, and nowhere else; a program of this
    /// workspace obeys `HYPERFLEET_HEALTH_LISTEN` and `HYPERFLEET_METRICS_LISTEN`.
    #[arg(long, value_name = "HEALTH,METRICS", value_parser = ports, requires = "adapter_program")]
    pub adapter_ports: Option<Ports>,
    /// Another task for the adapter `provisioner`, whichever program runs it.
    #[arg(long, value_name = "FILE")]
    pub adapter_task: Option<PathBuf>,
}

/// What is started in the place of this workspace's programs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Swap {
    pub(crate) api: Option<PathBuf>,
    pub(crate) sentinel: Option<PathBuf>,
    pub(crate) adapter: Option<(PathBuf, Ports)>,
    /// The task of the provisioner; `None` for the one that the stories are about.
    pub(crate) task: Option<String>,
}

impl Swapped {
    /// Checks that what the options name is there, and that the adapter's ports are free.
    pub(crate) fn resolve(&self) -> Result<Swap> {
        let program = |option: &str, path: &Option<PathBuf>| {
            path.as_deref().map(|path| existing(path).with_context(|| format!("--{option}"))).transpose()
        };
        let adapter = program("adapter-program", &self.adapter_program)?;
        let adapter = adapter.map(|path| (path, self.adapter_ports.unwrap_or(FIXED_PORTS)));
        if let Some((_, ports)) = &adapter {
            [ports.health, ports.metrics].into_iter().try_for_each(ensure_free)?;
        }
        let task = match &self.adapter_task {
            Some(path) => Some(fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?),
            None => adapter.is_some().then(|| PLAIN.to_owned()),
        };
        Ok(Swap {
            api: program("api-program", &self.api_program)?,
            sentinel: program("sentinel-program", &self.sentinel_program)?,
            adapter,
            task,
        })
    }
}

/// The absolute path: parts run in directories of their own.
fn existing(path: &Path) -> Result<PathBuf> {
    let absolute = fs::canonicalize(path).with_context(|| format!("there is no program {}", path.display()))?;
    ensure!(absolute.is_file(), "{} is no program", path.display());
    Ok(absolute)
}

/// A Go adapter whose port is in use only logs that, and another program would then answer in its place.
fn ensure_free(port: u16) -> Result<()> {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).map(drop).with_context(|| {
        format!("--adapter-program needs the port {port}, which is in use: `ss -ltnp sport = :{port}` shows by whom")
    })
}

fn ports(text: &str) -> Result<Ports, String> {
    let read = || {
        let (health, metrics) = text.split_once(',')?;
        Some(Ports { health: health.parse().ok()?, metrics: metrics.parse().ok()? })
    };
    read().ok_or_else(|| format!("write two ports, such as {},{}", FIXED_PORTS.health, FIXED_PORTS.metrics))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::net::TcpListener;

    use super::*;

    #[test]
    fn ports_are_two_numbers() {
        assert_eq!(ports("8080,9090"), Ok(FIXED_PORTS));
        for text in ["8080", "8080,", "a,b", "8080,90900"] {
            assert!(ports(text).is_err(), "{text}");
        }
    }

    #[test]
    fn missing_program_and_taken_port_are_told_before_anything_starts() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let this = std::env::current_exe().unwrap();
        let cases = [
            (
                Swapped { api_program: Some("/no/such".into()), ..Swapped::default() },
                "--api-program: there is no program",
            ),
            (
                Swapped { sentinel_program: Some("/".into()), ..Swapped::default() },
                "--sentinel-program: / is no program",
            ),
            (
                Swapped {
                    adapter_program: Some(this),
                    adapter_ports: Some(Ports { health: port, metrics: port }),
                    ..Swapped::default()
                },
                "which is in use",
            ),
            (Swapped { adapter_task: Some("/no/such".into()), ..Swapped::default() }, "failed to read /no/such"),
        ];
        for (options, expected) in cases {
            let error = format!("{:#}", options.resolve().unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
