//! The API discards a report: the adapter tells a loss from an event that was only late.

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::sentinel::Event;
use serde_json::{Value, json};

use crate::adapter::Adapter;
use crate::task::{SETTINGS, task};
use crate::world::{World, writes};

/// Waits until this number of events is handled, all but `failed` of them without an error, and until as many reports
/// have failed. Returns the log's lines about discarded reports.
async fn discards(adapter: &Adapter, handled: f64, failed: f64) -> Result<Vec<String>> {
    adapter.await_handled(handled).await?;
    adapter.await_metric("hyperfleet_adapter_events_processed_total", &[("status", "failed")], failed).await?;
    adapter.await_metric("hyperfleet_adapter_errors_total", &[("error_type", "post_actions")], failed).await?;
    Ok(adapter.lines().into_iter().filter(|line| line.contains("the API discarded the report")).collect())
}

fn lists() -> When {
    When::method("GET").path_ends("/clusters/c1/statuses")
}

#[tokio::test(flavor = "multi_thread")]
async fn report_of_a_late_event_is_no_failure() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.reconcile("c1", 2).await?;
    world.topic.publish(&Event::cluster("c1", 1)).await?;
    let late = world.report("c1", 2).await?;
    assert_eq!(late.0["observed_generation"], 1);
    assert_eq!(discards(&adapter, 2.0, 0.0).await?, Vec::<String>::new());
    assert_eq!(world.api.count(&lists()), 1, "the adapter asks once, and only after the 204");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn report_ahead_of_its_resource_fails_and_is_logged_once() -> Result<()> {
    let world = World::new().await?;
    let ahead = task(SETTINGS)
        .replace("observed_generation: {expression: generation}", "observed_generation: {expression: generation + 1}");
    let adapter = world.adapter(ahead)?.start().await?;
    world.announce("c1", 1).await?;
    let logged = discards(&adapter, 1.0, 1.0).await?;
    let cause = "its `observed_generation` 2 is newer than the API resource";
    ensure!(logged.len() == 1 && logged[0].contains(cause), "{logged:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn report_behind_that_of_another_clock_fails() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.api.put_cluster("c1", 1).await?;
    let conditions = ["Applied", "Available", "Health"].map(|kind| json!({"type": kind, "status": "False"}));
    let other: Value = json!({
        "adapter": world.name(),
        "observed_generation": 1,
        "observed_time": Timestamp::now() + SignedDuration::from_mins(4),
        "conditions": conditions,
    });
    let url = format!("{}/api/hyperfleet/v1/clusters/c1/statuses", world.api.url());
    let stored = reqwest::Client::new().put(&url).json(&other).send().await?;
    ensure!(stored.status() == 201, "{stored:?}");
    world.topic.publish(&Event::cluster("c1", 1)).await?;
    let logged = discards(&adapter, 1.0, 1.0).await?;
    let cause = "is before that of the adapter's stored report";
    ensure!(logged.len() == 1 && logged[0].contains(cause), "{logged:?}");

    // The cause is unknown if the API does not list its reports.
    world.api.inject(lists(), Fault::Status(503));
    world.topic.publish(&Event::cluster("c1", 1)).await?;
    let logged = discards(&adapter, 2.0, 2.0).await?;
    ensure!(logged.len() == 2 && logged[1].contains("its cause is not known"), "{logged:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn report_of_the_second_of_a_former_one_fails_if_it_says_something_else() -> Result<()> {
    let world = World::new().await?;
    let now = Timestamp::now().to_string();
    let frozen = task(SETTINGS).replace(r#"'{{ now | date "2006-01-02T15:04:05.000000000Z07:00" }}'"#, &now);
    ensure!(frozen.contains(&now), "the task has another time");
    let adapter = world.adapter(frozen)?.start().await?;
    world.kubernetes.inject(writes().first(1), Fault::Status(403));
    assert_eq!(world.reconcile("c1", 1).await?.status("Available"), "False");
    adapter.await_handled(1.0).await?;
    adapter.await_metric("hyperfleet_adapter_errors_total", &[("error_type", "post_actions")], 0.0).await?;

    world.topic.publish(&Event::cluster("c1", 1)).await?;
    assert_eq!(world.report("c1", 2).await?.status("Available"), "True");
    adapter.await_handled(2.0).await?;
    adapter.await_metric("hyperfleet_adapter_errors_total", &[("error_type", "post_actions")], 1.0).await?;
    let logged: Vec<_> =
        adapter.lines().into_iter().filter(|line| line.contains("`observed_time` is that of the adapter's")).collect();
    ensure!(logged.len() == 1, "{logged:?}");
    Ok(())
}
