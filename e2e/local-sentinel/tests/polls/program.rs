//! The program as a process: its start, its pages, its log during failures, and its end.

use std::process::Stdio;

use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::process::Process;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::world::World;

fn program(world: &World) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_local-sentinel"));
    command
        .env_clear()
        .env("HYPERFLEET_API_BASE_URL", world.api.url())
        .env("HYPERFLEET_BROKER_TOPIC", world.topic.name())
        .env("HYPERFLEET_RESOURCE_TYPE", "clusters")
        .env("HYPERFLEET_POLL_INTERVAL", "100ms")
        .env("BROKER_RABBITMQ_URL", world.broker.url());
    command
}

/// A running Sentinel.
struct Serving(Process);

impl Serving {
    fn start(world: &World, exchange_type: &str) -> anyhow::Result<Self> {
        let mut command = program(world);
        command
            .args([
                "serve",
                "--health-server-bindaddress",
                "127.0.0.1:0",
                "--metrics-server-bindaddress",
                "127.0.0.1:0",
            ])
            .args(["--exchange-type", exchange_type]);
        Ok(Self(Process::start("the Sentinel", command, TempDir::new()?)?))
    }

    /// The log entries whose message begins with this text.
    fn entries(&self, message: &str) -> Vec<Value> {
        self.0.entries(|entry| entry["message"].as_str().is_some_and(|text| text.starts_with(message)))
    }

    async fn logged(&self, message: &str) -> anyhow::Result<Value> {
        self.0.await_log(message, |entry| entry["message"].as_str().is_some_and(|text| text.starts_with(message))).await
    }

    async fn get(&self, purpose: &str, path: &str) -> anyhow::Result<(u16, String)> {
        let url = self.0.url(purpose).await?;
        let response = reqwest::get(format!("{url}{path}")).await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    async fn await_readiness(&self, status: u16, body: &str) -> anyhow::Result<()> {
        await_condition(body, PATIENCE, async || {
            let answer = self.get("health", "/readyz").await?;
            anyhow::ensure!(answer == (status, body.to_owned()), "{answer:?}");
            Ok(())
        })
        .await
    }
}

#[tokio::test]
async fn program_announces_resources_until_a_signal() -> anyhow::Result<()> {
    let world = World::start().await?;
    let queue = world.topic.subscribe("adapter").await?;
    world.api.put_cluster("c1", 1).await?;
    let mut serving = Serving::start(&world, "topic")?;
    assert_eq!(world.take(&queue).await?.1.kind, "com.redhat.hyperfleet.cluster.reconcile");
    serving.await_readiness(200, r#"{"checks":{"api":"ok","broker":"ok"},"status":"ok"}"#).await?;
    let (_, metrics) = serving.get("metrics", "/metrics").await?;
    let series = "hyperfleet_sentinel_pending_resources{component=\"sentinel\",version=\"0.0.0-dev\",resource_type=\"clusters\",resource_selector=\"all\"} 1\n";
    assert!(metrics.contains(series), "{metrics}");

    world.api.inject(When::any(), Fault::Status(503));
    let problem = r#"{"checks":{"api":"error","broker":"ok"},"status":"error","message":"not usable: api"}"#;
    serving.await_readiness(503, problem).await?;
    assert_eq!(serving.get("health", "/healthz").await?.0, 200, "an outage does not restart the program");
    let polls = world.api.requests().len() + 3;
    world.api.await_count(&When::any(), polls, PATIENCE).await?;
    world.api.heal();
    serving.logged("The API can be read again").await?;
    assert_eq!(serving.entries("The API cannot be read").len(), 1, "an outage is logged once");

    serving.0.stop().await?;
    assert_eq!(serving.entries("Stopped").len(), 1);
    Ok(())
}

#[tokio::test]
async fn exchange_of_another_type_is_named_in_the_log() -> anyhow::Result<()> {
    let world = World::start().await?;
    let serving = Serving::start(&world, "fanout")?;
    let error = serving.logged("The broker cannot be used").await?["error"].as_str().unwrap().to_owned();
    assert!(error.contains("of type fanout (broker.rabbitmq.exchange_type)"), "{error}");
    let problem = r#"{"checks":{"api":"ok","broker":"error"},"status":"error","message":"not usable: broker"}"#;
    serving.await_readiness(503, problem).await
}

#[tokio::test]
async fn other_commands_print_and_end() -> anyhow::Result<()> {
    let world = World::start().await?;
    let cases = [
        (vec!["check"], true, "0 errors, 0 warnings"),
        (vec!["check", "--poll-interval", "x"], false, "--poll-interval"),
        (vec!["schema"], true, "max_age_unreconciled"),
        (vec!["version"], true, "Version:"),
    ];
    for (arguments, succeeds, expected) in cases {
        let output = program(&world).args(&arguments).stdin(Stdio::null()).output().await?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() == succeeds && text.contains(expected), "{arguments:?}: {text}");
    }
    Ok(())
}
