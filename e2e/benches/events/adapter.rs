//! Runs the adapter as a process: writes its files, starts it, reads its metrics and its log.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Sub;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use lifecycle_benches::build;
use lifecycle_e2e::usage::Usage;
use lifecycle_e2e::{await_condition, free_port};
use local_maestro::LocalMaestro;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::options::Options;
use super::{PATIENCE, task, within_patience};

/// A program to measure.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    /// Where it serves its probes, and its metrics.
    pub(crate) ports: (u16, u16),
}

impl Program {
    /// The programs that the options name, the first one first.
    pub(crate) fn of(options: &Options) -> anyhow::Result<Vec<Self>> {
        let path = options.binary.clone().map_or_else(|| build("hyperfleet-adapter"), Ok)?;
        let mut programs = vec![Self { name: "adapter", path, ports: (free_port()?, free_port()?) }];
        if let Some(path) = &options.beside {
            let ports = match options.beside_ports {
                Some(ports) => ports,
                None => (free_port()?, free_port()?),
            };
            programs.push(Self { name: "beside", path: path.clone(), ports });
        }
        Ok(programs)
    }
}

/// The servers that the adapter uses, and the options of the benchmark.
pub(crate) struct Deployment<'a> {
    pub(crate) broker_url: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) subscription: &'a str,
    pub(crate) api_url: String,
    pub(crate) kubeconfig: &'a Path,
    pub(crate) namespace: &'a str,
    /// The stand-in of Maestro, for the shape that needs it.
    pub(crate) maestro: Option<&'a LocalMaestro>,
    pub(crate) options: &'a Options,
}

/// A running adapter; dropping it kills the process.
pub(crate) struct Adapter {
    _child: Child,
    process: u32,
    metrics_url: String,
    client: reqwest::Client,
    directory: TempDir,
}

/// Numbers of requests to Kubernetes or Maestro, by verb.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls(pub(crate) BTreeMap<String, u64>);

impl Sub for Calls {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        let since = |(verb, count): (String, u64)| {
            let before = earlier.0.get(&verb).copied().unwrap_or_default();
            (verb, count - before)
        };
        Self(self.0.into_iter().map(since).filter(|(_, count)| *count > 0).collect())
    }
}

impl Adapter {
    pub(crate) async fn start(program: &Program, deployment: &Deployment<'_>) -> anyhow::Result<Self> {
        let directory = TempDir::new().context("failed to make a directory")?;
        let write = |name: &str, text: String| -> anyhow::Result<_> {
            let path = directory.path().join(name);
            fs::write(&path, text).with_context(|| format!("failed to write {name}"))?;
            Ok(path)
        };
        let config = write("config.yaml", deployment.config())?;
        let task = write("task.yaml", task::task(deployment.namespace, deployment.options.shape))?;
        let broker = write("broker.yaml", deployment.broker())?;
        let log = File::create(directory.path().join(LOG)).context("failed to make a log")?;
        let (health, metrics) = program.ports;
        let child = Command::new(&program.path)
            .arg("serve")
            .arg("--config")
            .arg(config)
            .arg("--task-config")
            .arg(task)
            .env("BROKER_CONFIG_FILE", broker)
            .env("HYPERFLEET_HEALTH_LISTEN", format!("127.0.0.1:{health}"))
            .env("HYPERFLEET_METRICS_LISTEN", format!("127.0.0.1:{metrics}"))
            .stdout(log.try_clone().context("failed to share the log")?)
            .stderr(log)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start {}", program.path.display()))?;
        let process = child.id().context("the adapter ended at once")?;
        // The adapter installs its TLS provider in its own process; this process needs one for its HTTP client.
        lifecycle_e2e::init();
        let client = reqwest::Client::builder().build().context("failed to make a client")?;
        let ready = format!("http://127.0.0.1:{health}/readyz");
        let up = await_condition("the adapter to be ready", PATIENCE, async || {
            client.get(&ready).send().await?.error_for_status()?;
            Ok(())
        });
        let log = directory.path().join(LOG);
        up.await.with_context(|| format!("its log is:\n{}", fs::read_to_string(log).unwrap_or_default()))?;
        let metrics_url = format!("http://127.0.0.1:{metrics}/metrics");
        // A profiler needs the process id to attach.
        print_note(&format!("{} is process {}", program.name, process));
        Ok(Self { _child: child, process, metrics_url, client, directory })
    }

    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        Usage::of(self.process)
    }

    /// The numbers of requests to Kubernetes or Maestro so far, from the adapter's metrics; none if the program does not count them.
    pub(crate) async fn calls(&self) -> anyhow::Result<Calls> {
        let mut calls = Calls::default();
        for line in self.metrics().await?.lines() {
            let Some(series) = line.strip_prefix("hyperfleet_adapter_api_requests_total") else { continue };
            if matches!(label(series, "api"), Some("kubernetes" | "maestro")) {
                let verb = label(series, "method").unwrap_or_default();
                *calls.0.entry(verb.to_owned()).or_default() += value(series)?;
            }
        }
        Ok(calls)
    }

    /// Fails unless the adapter has completed exactly this number of passes, all successfully.
    pub(crate) async fn check(&self, events: usize) -> anyhow::Result<()> {
        let metrics = self.metrics().await?;
        let passes = metrics.lines().filter_map(|line| line.strip_prefix("hyperfleet_adapter_events_processed_total"));
        for series in passes {
            let (status, count) = (label(series, "status").unwrap_or_default(), value(series)?);
            let expected = if status == "success" { events as u64 } else { 0 };
            ensure!(count == expected, "{count} passes of status {status}, expected {expected}");
        }
        Ok(())
    }

    /// The last lines of the adapter's log.
    pub(crate) fn tail(&self) -> String {
        const LINES: usize = 20;
        let log = fs::read_to_string(self.directory.path().join(LOG)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    async fn metrics(&self) -> anyhow::Result<String> {
        within_patience("the adapter's metrics", async {
            Ok(self.client.get(&self.metrics_url).send().await?.error_for_status()?.text().await?)
        })
        .await
    }
}

impl Deployment<'_> {
    fn config(&self) -> String {
        let Self { topic, subscription, api_url, .. } = self;
        let (kubeconfig, log_level) = (self.kubeconfig.display(), &self.options.log_level);
        let maestro = self.maestro.map(|maestro| {
            let grpc = maestro.grpc_url().trim_start_matches("http://");
            let rest = maestro.rest_url();
            format!("  maestro: {{ grpc_server_address: '{grpc}', http_server_address: '{rest}', source_id: bench, insecure: true }}\n")
        });
        format!(
            "adapter: {{ name: bench }}\n\
             log: {{ level: {log_level} }}\n\
             clients:\n  \
               hyperfleet_api: {{ base_url: '{api_url}' }}\n  \
               broker: {{ topic: {topic}, subscription_id: {subscription} }}\n  \
               kubernetes: {{ kube_config_path: '{kubeconfig}' }}\n{}",
            maestro.unwrap_or_default()
        )
    }

    fn broker(&self) -> String {
        let Self { broker_url, options: Options { parallelism, .. }, .. } = self;
        format!(
            "subscriber: {{ parallelism: {parallelism} }}\n\
             broker: {{ type: rabbitmq, rabbitmq: {{ url: '{broker_url}', exchange_type: topic }} }}\n"
        )
    }
}

const LOG: &str = "adapter.log";

fn label<'a>(series: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = series.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}

fn value(series: &str) -> anyhow::Result<u64> {
    let text = series.rsplit(' ').next().unwrap_or_default();
    Ok(text.parse::<f64>().with_context(|| format!("no number in `{series}`"))? as u64)
}

#[expect(clippy::print_stderr, reason = "a note beside the result")]
fn print_note(text: &str) {
    eprintln!("{text}");
}
