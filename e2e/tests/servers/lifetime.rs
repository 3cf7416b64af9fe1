//! Tests that servers are shared between test processes, and stop after the last of them.

use std::fs;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use lifecycle_e2e::process::processes_of;
use lifecycle_e2e::rabbitmq::{Broker, PrivateBroker};
use lifecycle_e2e::{PATIENCE, await_condition};
use tempfile::TempDir;
use tokio::net::TcpStream;

/// The child process of the tests below: starts the broker in its own run, writes the broker's URL to a file,
/// and waits to be killed.
#[tokio::test]
#[ignore = "run as a process by the tests below"]
async fn child_process_starts_the_broker_and_waits() -> anyhow::Result<()> {
    let broker = Broker::shared().await?;
    report_and_wait(broker.url()).await
}

/// A child process that is killed when a test drops it.
pub(crate) struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a test of this binary in another process, in a run of its own. The process reports to the file `report`.
pub(crate) fn run_test(name: &str, run: &TempDir, report: &str) -> anyhow::Result<Process> {
    let child = Command::new(std::env::current_exe()?)
        .args(["--exact", name, "--include-ignored"])
        .env("LIFECYCLE_E2E_RUN_DIR", run.path())
        .env("LIFECYCLE_E2E_REPORT", run.path().join(report))
        .env_remove("LIFECYCLE_E2E_AMQP_URL")
        .stdout(Stdio::null())
        .spawn()?;
    Ok(Process(child))
}

/// Called by that test in the other process: writes the report, and waits to be killed.
pub(crate) async fn report_and_wait(report: &str) -> anyhow::Result<()> {
    let path = std::env::var_os("LIFECYCLE_E2E_REPORT").context("LIFECYCLE_E2E_REPORT is not set")?;
    let partial = std::path::Path::new(&path).with_extension("partial");
    fs::write(&partial, report)?;
    fs::rename(&partial, &path)?;
    std::future::pending().await
}

fn another_process(run: &TempDir, number: usize) -> anyhow::Result<Process> {
    run_test("lifetime::child_process_starts_the_broker_and_waits", run, &format!("report-{number}"))
}

async fn reported_address(run: &TempDir, number: usize) -> anyhow::Result<String> {
    let path = run.path().join(format!("report-{number}"));
    let url =
        await_condition("the process to have a broker", 2 * PATIENCE, async || Ok(fs::read_to_string(&path)?)).await?;
    let address = url.split_once('@').and_then(|(_, rest)| rest.split_once('/')).map(|(address, _)| address.to_owned());
    address.with_context(|| format!("`{url}` has no address"))
}

async fn await_silence(address: &str) -> anyhow::Result<()> {
    await_condition("the broker to be gone", PATIENCE, async || {
        ensure!(TcpStream::connect(address).await.is_err(), "it listens");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn broker_is_shared_and_stops_when_its_users_are_killed() -> anyhow::Result<()> {
    let run = TempDir::new()?;
    let (first, second) = (another_process(&run, 1)?, another_process(&run, 2)?);
    let address = reported_address(&run, 1).await?;
    assert_eq!(reported_address(&run, 2).await?, address, "the second process uses the first one's broker");

    drop(first);
    TcpStream::connect(&address).await.context("the broker keeps running for the second process")?;
    drop(second);
    await_silence(&address).await?;
    await_condition("every process of the run to end", PATIENCE, async || {
        let left = processes_of(run.path())?;
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn private_broker_stops_when_dropped() -> anyhow::Result<()> {
    let private = PrivateBroker::start().await?;
    let url = private.broker().url().to_owned();
    let address = url.split_once('@').and_then(|(_, rest)| rest.split_once('/')).map(|(address, _)| address);
    let address = address.with_context(|| format!("`{url}` has no address"))?.to_owned();
    drop(private);
    ensure!(TcpStream::connect(&address).await.is_err(), "it listens");
    Ok(())
}
