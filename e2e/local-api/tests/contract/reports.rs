//! PUT and GET of adapter statuses, and what they make of the resource.

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::world::{World, report};

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_all_adapters_reconcile_a_resource() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let stored = world.report(&cluster, "dns", "True", "False").await?.expect(201)?;
    ensure!(stored["adapter"] == "dns" && stored["observed_generation"] == 1, "{stored}");
    ensure!(stored["created_time"] == stored["last_report_time"], "{stored}");
    ensure!(world.reconciled(&cluster).await?["status"] == "False", "one adapter is missing");
    world.report(&cluster, "stranger", "False", "False").await?.expect(201)?;
    world.report(&cluster, "validation", "True", "False").await?.expect(201)?;
    let reconciled = world.reconciled(&cluster).await?;
    ensure!(reconciled["status"] == "True" && reconciled["reason"] == "ReconciledAll", "{reconciled}");
    ensure!(reconciled["last_updated_time"] == stored["last_report_time"], "the oldest report: {reconciled}");
    let list = world.get(&format!("{cluster}/statuses")).await?.expect(200)?;
    let adapters: Vec<_> = list["items"].as_array().into_iter().flatten().map(|report| &report["adapter"]).collect();
    ensure!(adapters == ["dns", "stranger", "validation"] && list["total"] == 3, "{list}");
    let page = world.get(&format!("{cluster}/statuses?size=2&page=2&search=ignored")).await?.expect(200)?;
    ensure!(page["items"][0]["adapter"] == "validation" && page["size"] == 1 && page["page"] == 2, "{page}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_report_is_discarded() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    world.report(&cluster, "dns", "True", "False").await?.expect(201)?;
    let stored = world.get(&format!("{cluster}/statuses")).await?.body;
    let mut old = report("dns", &json!(1), "False", "False");
    old["observed_time"] = json!(Timestamp::now() - SignedDuration::from_mins(1));
    for body in [old, report("dns", &json!(2), "False", "False"), report("dns", &json!(1), "Unknown", "False")] {
        let answer = world.send("PUT", &format!("{cluster}/statuses"), &body).await?;
        ensure!(answer.status == 204 && answer.body.is_null(), "{answer:?}");
    }
    ensure!(world.get(&format!("{cluster}/statuses")).await?.body == stored, "nothing is stored");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn report_of_the_same_time_is_dropped_and_answered_with_the_stored_one() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let whole_second = Timestamp::now().round(jiff::Unit::Second)?;
    let put = async |available: &str, time: Timestamp| {
        let mut body = report("dns", &json!(1), available, "False");
        body["observed_time"] = json!(time);
        world.send("PUT", &format!("{cluster}/statuses"), &body).await?.expect(201)
    };
    let stored = put("False", whole_second).await?;
    ensure!(put("True", whole_second).await? == stored, "201 for what is lost");
    let list = world.get(&format!("{cluster}/statuses")).await?.body;
    ensure!(list["items"][0] == stored, "{list}");
    let later = put("True", whole_second + SignedDuration::from_micros(1)).await?;
    ensure!(later["conditions"][0]["status"] == "True", "{later}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn first_report_that_does_not_know_is_stored_and_changes_no_condition() -> Result<()> {
    let world = World::new().await?;
    let (cluster, created) = world.create("clusters", "Cluster", "one").await?;
    world.report(&cluster, "dns", "Unknown", "False").await?.expect(201)?;
    ensure!(world.get(&cluster).await?.body == created, "the resource is as it was");
    ensure!(world.get(&format!("{cluster}/statuses")).await?.body["total"] == 1, "the report is stored");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn report_that_is_invalid_or_about_nothing_is_refused() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let put = async |path: &str, body: &Value| world.send("PUT", &format!("{path}/statuses"), body).await;
    put(&cluster, &report("", &json!(1), "True", "False")).await?.problem(400, "VAL-000")?;
    put(&cluster, &json!({ "adapter": 1 })).await?.problem(400, "VAL-006")?;
    let bare = json!({ "adapter": "dns", "observed_generation": 1, "conditions": [] });
    let answer = put(&cluster, &bare).await?;
    answer.problem(400, "VAL-000")?;
    ensure!(answer.body["errors"].as_array().map(Vec::len) == Some(3), "Available, Applied, Health: {answer:?}");
    put("clusters/none", &report("dns", &json!(1), "True", "False")).await?.problem(404, "NTF-001")?;
    world.get("clusters/none/statuses").await?.problem(404, "NTF-001")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_at_the_same_time_are_all_stored() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    let path = format!("{cluster}/statuses");
    let put =
        async |adapter: &str| world.send("PUT", &path, &report(adapter, &json!(1), "True", "False")).await?.expect(201);
    tokio::try_join!(put("validation"), put("dns"), put("other"), put("fourth"))?;
    ensure!(world.get(&path).await?.body["total"] == 4, "each adapter has its report");
    ensure!(world.reconciled(&cluster).await?["status"] == "True", "the last one aggregated all");
    Ok(())
}
