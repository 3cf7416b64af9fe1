//! The program: starts on an empty database, serves, ends on SIGTERM, and says why it cannot start.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use lifecycle_e2e::postgres::Server;
use lifecycle_e2e::process::Setup;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};

/// A configuration of one kind, with free ports.
fn config(url: &str) -> String {
    let any_port = json!({ "port": 0 });
    let entities = json!([{ "kind": "Channel", "plural": "channels" }]);
    json!({ "server": any_port, "health": any_port, "metrics": any_port, "database": { "url": url }, "entities": entities })
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn program_serves_from_an_empty_database_until_sigterm() -> Result<()> {
    lifecycle_e2e::init();
    let database = Server::shared().await?.database().await?;
    for start in ["the first", "a second"] {
        let setup = Setup::new("local-api").arguments(&["serve"]);
        let mut program = setup.file("--config", "api.yaml", &config(&database.url())).start()?;
        let api = program.url("the API").await?;
        let list: Value = reqwest::get(format!("{api}/api/hyperfleet/v1/channels")).await?.json().await?;
        ensure!(list["total"] == 0, "{start} start: {list}");
        for (purpose, path, expected) in
            [("health", "/readyz", "\"ok\""), ("metrics", "/metrics", "path=\"/api/hyperfleet/v1/channels\"")]
        {
            let text = reqwest::get(format!("{}{path}", program.url(purpose).await?)).await?.text().await?;
            ensure!(text.contains(expected), "{text}");
        }
        let begun = Instant::now();
        program.stop().await?;
        ensure!(begun.elapsed() < Duration::from_secs(15), "no request runs, so it waits for nothing");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn program_without_a_database_says_which_it_cannot_reach() -> Result<()> {
    let text = config("postgres://nobody@127.0.0.1:1/nothing");
    let program = Setup::new("local-api").arguments(&["serve"]).file("--config", "api.yaml", &text).start()?;
    await_condition("the error", PATIENCE, async || {
        let lines = program.lines();
        let is_told = |line: &String| line.starts_with("Error: failed to connect to the database at 127.0.0.1:1: ");
        ensure!(lines.iter().any(is_told), "{lines:?}");
        Ok(())
    })
    .await
}
