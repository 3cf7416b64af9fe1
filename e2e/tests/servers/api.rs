//! Tests of the API behind the tests: its rows, its record of reports, and the answers in place of its own.

use jiff::Timestamp;
use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::fault::{Fault, When};
use reqwest::Client;
use serde_json::{Value, json};

fn client() -> Client {
    lifecycle_e2e::init();
    Client::new()
}

async fn get(api: &LocalApi, path: &str) -> anyhow::Result<(u16, Value)> {
    let response = client().get(format!("{}/api/hyperfleet/v1/{path}", api.url())).send().await?;
    Ok((response.status().as_u16(), response.json().await?))
}

async fn put_status(api: &LocalApi, path: &str, body: &Value) -> anyhow::Result<u16> {
    let request = client().put(format!("{}/api/hyperfleet/v1/{path}/statuses", api.url())).json(body);
    Ok(request.send().await?.status().as_u16())
}

fn report(finalized: &str, generation: i64) -> Value {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let conditions = ["Available", "Applied", "Health"].map(|kind| condition(kind, "True"));
    let conditions = [&conditions[..], &[condition("Finalized", finalized)]].concat();
    json!({"adapter": "journey", "observed_generation": generation, "conditions": conditions})
}

#[tokio::test]
async fn resource_has_the_id_and_generation_that_a_test_chose() -> anyhow::Result<()> {
    let (api, other) = tokio::try_join!(LocalApi::start(), LocalApi::start())?;
    api.put_cluster("c1", 3).await?;
    api.put_node_pool("c1", "n1", 2).await?;

    let (status, cluster) = get(&api, "clusters/c1").await?;
    assert_eq!((status, &cluster["kind"], &cluster["generation"]), (200, &json!("Cluster"), &json!(3)));
    let (_, node_pool) = get(&api, "clusters/c1/nodepools/n1").await?;
    assert_eq!(node_pool["owner_references"], json!({"id": "c1", "kind": "Cluster", "href": cluster["href"]}));
    assert_eq!(get(&api, "resources/n1").await?, (200, node_pool));
    assert_eq!(get(&other, "clusters/c1").await?.0, 404, "each API has tables of its own");

    api.put_reconciled("c1", "True", Timestamp::UNIX_EPOCH).await?;
    let condition = get(&api, "clusters/c1").await?.1["status"]["conditions"][0].clone();
    assert_eq!((&condition["status"], &condition["observed_generation"]), (&json!("True"), &json!(3)));
    assert_eq!(condition["last_updated_time"], "1970-01-01T00:00:00Z");
    Ok(())
}

#[tokio::test]
async fn deleted_resource_is_readable_until_its_row_is_removed() -> anyhow::Result<()> {
    let api = LocalApi::start().await?;
    api.put_cluster("c1", 1).await?;
    api.delete("c1").await?;
    let (status, cluster) = get(&api, "clusters/c1").await?;
    assert_eq!((status, &cluster["generation"]), (200, &json!(2)));
    assert!(cluster["deleted_time"].is_string());
    assert_eq!(put_status(&api, "clusters/c1", &report("True", 2)).await?, 201);
    assert_eq!(get(&api, "clusters/c1").await?.0, 200, "the API waits for a second adapter");

    api.put_cluster("c1", 5).await?;
    let (_, cluster) = get(&api, "clusters/c1").await?;
    assert_eq!((&cluster["generation"], &cluster["deleted_time"]), (&json!(5), &Value::Null));
    api.remove("c1").await?;
    assert_eq!(get(&api, "clusters/c1").await?.0, 404);
    Ok(())
}

#[tokio::test]
async fn every_report_is_recorded_and_stored_ones_are_aggregated() -> anyhow::Result<()> {
    let api = LocalApi::start().await?;
    api.put_cluster("c1", 2).await?;
    let reports = [(report("False", 3), 204), (json!({"adapter": "journey"}), 400), (report("False", 2), 201)];
    for (report, expected) in &reports {
        assert_eq!(put_status(&api, "clusters/c1", report).await?, *expected, "{report}");
    }
    assert_eq!(api.reports("c1"), reports.map(|(report, _)| report));
    let (_, list) = get(&api, "clusters/c1/statuses").await?;
    assert_eq!((&list["total"], &list["items"][0]["observed_generation"]), (&json!(1), &json!(2)));
    let conditions = get(&api, "clusters/c1").await?.1["status"]["conditions"].clone();
    let kinds: Vec<_> = conditions.as_array().into_iter().flatten().map(|condition| &condition["type"]).collect();
    assert_eq!(kinds, ["Reconciled", "LastKnownReconciled", "JourneySuccessful"]);
    Ok(())
}

#[tokio::test]
async fn fault_applies_to_the_chosen_request_only() -> anyhow::Result<()> {
    let api = LocalApi::start().await?;
    api.put_cluster("c1", 1).await?;
    api.inject(When::method("PUT").path_ends("/statuses").nth(1), Fault::Status(503));
    api.inject(When::method("PUT").nth(2), Fault::ResetAfter);
    assert_eq!(put_status(&api, "clusters/c1", &report("False", 1)).await?, 503);
    assert!(api.reports("c1").is_empty(), "the refused report was not stored");
    assert!(put_status(&api, "clusters/c1", &report("False", 1)).await.is_err());
    assert_eq!(api.reports("c1").len(), 1, "the report whose answer was lost was stored");
    Ok(())
}

#[tokio::test]
async fn injected_answer_or_half_of_the_own_one_replaces_it() -> anyhow::Result<()> {
    let api = LocalApi::start().await?;
    api.put_cluster("c1", 1).await?;
    let headers = vec![("content-type", "text/html".to_owned())];
    api.inject(When::any().nth(1), Fault::Answer { status: 404, headers, body: "<html>".to_owned() });
    api.inject(When::any().nth(2), Fault::Truncate);
    let mut bodies = Vec::new();
    for expected in [(404, "text/html"), (200, "application/json"), (200, "application/json")] {
        let response = client().get(format!("{}/api/hyperfleet/v1/clusters/c1", api.url())).send().await?;
        let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        assert_eq!((response.status().as_u16(), content_type.unwrap_or_default()), expected);
        bodies.push(response.text().await?);
    }
    assert_eq!(bodies[0], "<html>");
    assert!(bodies[2].starts_with(&bodies[1]) && bodies[1].len() == bodies[2].len() / 2, "{bodies:?}");
    Ok(())
}
