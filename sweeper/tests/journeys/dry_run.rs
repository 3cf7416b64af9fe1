//! Looking before leaping: dry runs, plans, and a single sweep.

use std::fs;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::fault::When;
use serde_json::{Value, json};

use crate::world::World;

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_run_is_the_default_and_deletes_nothing() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    let sweeper = world.sweeper()?.with("dry_run", Value::Null).run()?;
    sweeper.await_metric("passes_total{result=\"dry_run\"} 3").await?;
    let pass = sweeper.await_passes(1).await?;
    assert_eq!((&pass["due"], &pass["result"]), (&json!(1), &json!("dry_run")), "{pass}");
    sweeper.await_metric("dry_run 1").await?;
    sweeper.await_metric("candidates{kind=\"core/ConfigMap\",verdict=\"delete\"} 1").await?;
    world.assert_names(&["living", "orphan"]).await?;
    assert_eq!(world.kubernetes.count(&When::method("DELETE")), 0);
    assert!(world.events("orphan").await?.is_empty(), "nothing is announced");
    assert!(world.records("orphan")?.is_empty(), "nothing is recorded");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_names_the_orphan_and_exits_with_2() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let setup = world.sweeper()?.with("grace", "1h");
    let nothing = setup.output(&["plan"]).await?;
    assert_eq!(nothing.status.code(), Some(0), "{nothing:?}");
    ensure!(stdout(&nothing).contains("nothing is due"), "{nothing:?}");

    let id = world.orphan("orphan").await?;
    let plan = setup.output(&["plan"]).await?;
    assert_eq!(plan.status.code(), Some(2), "{plan:?}");
    let text = stdout(&plan);
    let row = text.lines().find(|line| line.contains("orphan")).context("a row")?;
    ensure!(row.starts_with("delete") && row.contains(&id) && row.contains(&world.adapter), "{text}");
    ensure!(text.contains("keep 1: its API resource exists"), "{text}");

    let json: Value = serde_json::from_slice(&setup.output(&["plan", "-o", "json"]).await?.stdout)?;
    let planned = &json["objects"][0];
    assert_eq!((&planned["name"], &planned["verdict"]), (&json!("orphan"), &json!("delete")), "{json}");
    let hash = json["plan"].as_str().context("the hash")?;
    ensure!(text.contains(&format!("plan {hash}: 1 object(s) would be deleted")), "{text}");
    world.assert_names(&["living", "orphan"]).await?;
    let writes = When::any().and(|request| request.method != "GET");
    assert_eq!(world.kubernetes.count(&writes), 0, "a plan writes nothing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_is_the_first_strike_of_a_sweep() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    let setup = world.sweeper()?.with("grace", "1h");
    let mut plan: Value = serde_json::from_slice(&setup.output(&["plan", "--output", "json"]).await?.stdout)?;
    world.orphan("later").await?;
    let file = world.audit().with_file_name("plan.json");
    let path = file.to_str().context("a path")?;

    fs::write(&file, plan.to_string())?;
    let mut early = setup.spawn(&["sweep", "--once", "--first-strike", path])?;
    let waits = early.await_log("the grace", |entry| entry["message"] == "Looking again after the grace").await?;
    ensure!(waits["wait_seconds"].as_f64().is_some_and(|left| (3000.0..3600.0).contains(&left)), "{waits}");
    early.signal("TERM").await?;
    assert_eq!(early.exit().await?.code(), Some(1));
    world.assert_names(&["later", "living", "orphan"]).await?;

    // The same plan, as if it were written almost a grace ago.
    plan["time"] = json!(jiff::Timestamp::now() - jiff::SignedDuration::from_secs(3598));
    fs::write(&file, plan.to_string())?;
    let sweep = setup.output(&["sweep", "--once", "--first-strike", path]).await?;
    assert_eq!(sweep.status.code(), Some(0), "{sweep:?}");
    world.assert_names(&["later", "living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn single_sweep_waits_for_the_grace() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    let sweep = world.sweeper()?.output(&["sweep", "--once"]).await?;
    assert_eq!(sweep.status.code(), Some(0), "{sweep:?}");
    world.assert_names(&["living"]).await?;
    let text = stdout(&sweep);
    let [first, second] =
        ["has not been gone for `grace` yet", "1 object(s) due: 1 deleted"].map(|part| text.find(part));
    ensure!(first.is_some() && first < second, "{text}");
    let records = world.records("orphan")?;
    let [gone_since, time] = ["gone_since", "time"].map(|key| records[0][key].as_str().unwrap_or_default());
    let waited = time.parse::<jiff::Timestamp>()?.duration_since(gone_since.parse()?);
    ensure!(waited >= jiff::SignedDuration::from_secs(1), "{waited:?}");

    let dry = world.orphan("another").await?;
    let sweep = world.sweeper()?.with("dry_run", true).output(&["sweep", "--once"]).await?;
    assert_eq!(sweep.status.code(), Some(0), "{sweep:?}");
    ensure!(stdout(&sweep).contains("1 object(s) would be deleted") && stdout(&sweep).contains(&dry), "{sweep:?}");
    world.assert_names(&["another", "living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_sweep_records_what_it_deleted_and_deletes_no_more() -> Result<()> {
    let world = World::new().await?;
    world.orphan("first").await?;
    world.orphan("second").await?;
    let gate = world.kubernetes.hold(world.request("DELETE", "first"));
    let mut sweep = world.sweeper()?.with("limits.deletions_at_once", 1).spawn(&["sweep", "--once"])?;
    gate.reached().await;
    sweep.signal("TERM").await?;
    sweep.await_log("the end of the term", |entry| entry["message"] == "Term ended").await?;
    gate.release();
    assert_eq!(sweep.exit().await?.code(), Some(1));
    world.assert_names(&["second"]).await?;
    let last = world.records("first")?.pop().context("a record")?;
    assert_eq!(last["action"]["result"]["outcome"], "deleted", "{last}");
    assert_eq!(world.lease().await?.spec.and_then(|spec| spec.holder_identity).as_deref(), Some(""));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn sweep_that_is_interrupted_during_the_grace_ends_at_once() -> Result<()> {
    let world = World::new().await?;
    world.orphan("orphan").await?;
    let mut sweep = world.sweeper()?.with("grace", "1h").spawn(&["sweep", "--once"])?;
    sweep.await_log("the grace", |entry| entry["message"] == "Looking again after the grace").await?;
    sweep.signal("TERM").await?;
    assert_eq!(sweep.exit().await?.code(), Some(1));
    world.assert_names(&["orphan"]).await
}
