//! Starts a RabbitMQ node that shares no files and no ports with any other.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Broker;
use super::tls::TlsListener;
use crate::run::{Instance, free_port};

/// The start script of Debian's package. `/usr/sbin/rabbitmq-server` is a wrapper that changes user and directory.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

const CONTROL: &str = "/usr/lib/rabbitmq/bin/rabbitmqctl";

/// The ports of a node, which stay the same after a restart.
pub(super) struct Listeners {
    amqp: u16,
    distribution: u16,
    epmd: u16,
    tls: Option<TlsListener>,
}

impl Listeners {
    pub(super) fn choose(tls: Option<TlsListener>) -> anyhow::Result<Self> {
        Ok(Self { amqp: free_port()?, distribution: free_port()?, epmd: free_port()?, tls })
    }
}

pub(super) async fn start(instance: &mut Instance, listeners: &Listeners) -> anyhow::Result<Broker> {
    let epmd = epmd()?;
    anyhow::ensure!(
        Path::new(SERVER).is_file(),
        "RabbitMQ is not installed; run `./test --setup` once, it installs the package rabbitmq-server"
    );
    let environment = environment(instance, listeners)?;
    // Start Erlang's port mapper here: otherwise the node starts one itself, which outlives the run.
    let argv = [epmd.display().to_string(), "-port".to_owned(), listeners.epmd.to_string()];
    instance.spawn("epmd", &environment, &argv)?;
    instance.await_port("epmd to listen", listeners.epmd).await?;
    instance.spawn("rabbitmq", &environment, &[SERVER.to_owned()])?;
    let broker = Broker { url: format!("amqp://guest:guest@127.0.0.1:{}/%2f", listeners.amqp) };
    instance
        .await_start("RabbitMQ to accept connections", async || {
            let connection = broker.connect().await?;
            Ok(connection.close(200, "ready".into()).await?)
        })
        .await?;
    if let Some(tls) = &listeners.tls {
        instance.await_port("RabbitMQ to listen for TLS", tls.port).await?;
    }
    Ok(broker)
}

/// Runs `rabbitmqctl` for the node of `instance`.
pub(super) async fn control(instance: &Instance, listeners: &Listeners, arguments: &[&str]) -> anyhow::Result<()> {
    let output = tokio::process::Command::new(CONTROL)
        .args(arguments)
        .envs(environment(instance, listeners)?)
        .output()
        .await
        .context("failed to run rabbitmqctl")?;
    let words = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "rabbitmqctl {arguments:?} failed: {words}");
    Ok(())
}

fn epmd() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join("epmd"))
        .find(|candidate| candidate.is_file())
        .context("Erlang's `epmd` is not in PATH; run `./test --setup` once, it installs RabbitMQ with it")
}

fn environment(instance: &Instance, listeners: &Listeners) -> anyhow::Result<Vec<(&'static str, String)>> {
    let directory = instance.directory();
    let write = |name: &str, content: String| -> anyhow::Result<String> {
        let path = directory.join(name);
        fs::write(&path, content).with_context(|| format!("failed to write {}", path.display()))?;
        Ok(path.display().to_string())
    };
    let configuration = format!(
        "listeners.tcp.1 = 127.0.0.1:{}\n\
         log.console = true\n\
         log.console.level = info\n\
         log.file = false\n\
         disk_free_limit.absolute = 50MB\n\
         {}",
        listeners.amqp,
        listeners.tls.as_ref().map(TlsListener::configuration).unwrap_or_default(),
    );
    Ok(vec![
        // A name and a cookie (in HOME) of its own, so that no other node or tool on this machine connects to
        // the node.
        ("RABBITMQ_NODENAME", format!("e2e-{}@localhost", listeners.amqp)),
        ("HOME", instance.data("home")?.display().to_string()),
        ("RABBITMQ_CONFIG_FILE", write("rabbitmq.conf", configuration)?),
        ("RABBITMQ_ADVANCED_CONFIG_FILE", directory.join("none").display().to_string()),
        ("RABBITMQ_CONF_ENV_FILE", directory.join("none").display().to_string()),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", write("enabled_plugins", "[].\n".to_owned())?),
        ("RABBITMQ_MNESIA_BASE", instance.data("mnesia")?.display().to_string()),
        ("RABBITMQ_LOG_BASE", instance.data("log")?.display().to_string()),
        // Otherwise a node or tool that breaks off leaves its dump in the directory of the test.
        ("ERL_CRASH_DUMP", instance.data("log")?.join("erl_crash.dump").display().to_string()),
        ("RABBITMQ_PID_FILE", directory.join("rabbitmq.pid").display().to_string()),
        ("RABBITMQ_NODE_PORT", listeners.amqp.to_string()),
        ("RABBITMQ_DIST_PORT", listeners.distribution.to_string()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
        ("ERL_EPMD_PORT", listeners.epmd.to_string()),
        (
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            // Two scheduler threads that do not busy-wait, to leave the CPU to the tests.
            "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}".to_owned(),
        ),
        // Makes the start script `exec` the server, so that the supervisor's signal reaches the server.
        ("RUNNING_UNDER_SYSTEMD", "true".to_owned()),
    ])
}
