//! Tests that the fake answers as the HyperFleet API does.

use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::api::{FakeApi, Reception};
use lifecycle_e2e::fault::{Fault, When};
use reqwest::Client;
use serde_json::{Value, json};

fn client() -> Client {
    lifecycle_e2e::init();
    Client::new()
}

async fn get(api: &FakeApi, path: &str) -> anyhow::Result<(u16, Value)> {
    let response = client().get(format!("{}/api/hyperfleet/v1/{path}", api.url())).send().await?;
    Ok((response.status().as_u16(), response.json().await?))
}

async fn put_status(api: &FakeApi, path: &str, body: &Value) -> anyhow::Result<u16> {
    let request = client().put(format!("{}/api/hyperfleet/v1/{path}/statuses", api.url())).json(body);
    Ok(request.send().await?.status().as_u16())
}

fn report(available: &str, generation: i64) -> Value {
    let conditions = ["Available", "Applied", "Health"].map(|kind| json!({"type": kind, "status": available}));
    json!({"adapter": "a", "observed_generation": generation, "conditions": conditions})
}

#[tokio::test]
async fn resources_are_read_singly_and_in_lists() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    api.put_cluster("c1", 3);
    api.put_cluster("c2", 1);
    api.put_node_pool("c1", "n1", 2);

    let (status, cluster) = get(&api, "clusters/c1").await?;
    assert_eq!((status, &cluster["kind"], &cluster["generation"]), (200, &json!("Cluster"), &json!(3)));
    assert_eq!(cluster["href"], "/api/hyperfleet/v1/clusters/c1");
    let (_, nested) = get(&api, "clusters/c1/nodepools/n1").await?;
    assert_eq!(nested["owner_references"]["id"], "c1");
    let (_, flat) = get(&api, "nodepools/n1").await?;
    assert_eq!(flat, nested, "a node pool has a flat path, too");

    for (path, expected) in [
        ("clusters", vec!["c1", "c2"]),
        ("clusters?page=2&size=1", vec!["c2"]),
        ("clusters/c1/nodepools", vec!["n1"]),
        ("clusters/c2/nodepools", vec![]),
        ("nodepools", vec!["n1"]),
    ] {
        let (_, list) = get(&api, path).await?;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let ids: Vec<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
        assert_eq!(ids, expected, "{path}");
        assert_eq!(list["size"], expected.len(), "{path}: `size` counts the items of the page");
    }
    Ok(())
}

#[tokio::test]
async fn missing_resource_is_a_404_problem_document() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    let response = client().get(format!("{}/api/hyperfleet/v1/clusters/none", api.url())).send().await?;
    assert_eq!(response.status(), 404);
    let content_type = response.headers().get("content-type").cloned();
    assert_eq!(content_type.as_ref().and_then(|value| value.to_str().ok()), Some("application/problem+json"));
    let problem: Value = response.json().await?;
    assert_eq!(problem["code"], "HYPERFLEET-NTF-001");
    assert_eq!(problem["type"], "https://api.hyperfleet.io/errors/not-found");
    assert_eq!(problem["instance"], "/api/hyperfleet/v1/clusters/none");
    assert_eq!(put_status(&api, "clusters/none", &report("True", 1)).await?, 404);
    Ok(())
}

#[tokio::test]
async fn deleted_resource_is_readable_until_removed() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    let path = api.put_cluster("c1", 1);
    api.mark_deleted(&path)?;
    let (status, cluster) = get(&api, &path).await?;
    assert_eq!((status, &cluster["generation"]), (200, &json!(2)));
    assert!(cluster["deleted_time"].is_string());
    api.remove(&path);
    assert_eq!(get(&api, &path).await?.0, 404);
    Ok(())
}

#[tokio::test]
async fn every_report_is_recorded_with_its_reception() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    let path = api.put_cluster("c1", 2);
    assert_eq!(put_status(&api, &path, &report("True", 3)).await?, 204, "ahead of the resource");
    assert_eq!(put_status(&api, &path, &json!({"adapter": "a"})).await?, 400);
    assert_eq!(put_status(&api, &path, &report("True", 2)).await?, 201);
    let receptions: Vec<Reception> = api.reports(&path).iter().map(|report| report.reception).collect();
    assert_eq!(receptions, [Reception::Discarded, Reception::Invalid, Reception::Stored]);

    let stored = api.await_status(&path, PATIENCE, |body| body["observed_generation"] == 2).await?;
    assert_eq!(stored, report("True", 2));
    let (_, list) = get(&api, "clusters/c1/statuses").await?;
    assert_eq!((&list["total"], &list["items"][0]["adapter"]), (&json!(1), &json!("a")));
    assert!(list["items"][0]["conditions"][0]["last_transition_time"].is_string());
    Ok(())
}

#[tokio::test]
async fn fault_applies_to_the_chosen_request_only() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    let path = api.put_cluster("c1", 1);
    api.inject(When::method("PUT").path_ends("/statuses").nth(1), Fault::Status(503));
    api.inject(When::method("PUT").nth(2), Fault::ResetAfter);
    assert_eq!(put_status(&api, &path, &report("True", 1)).await?, 503);
    assert!(api.reports(&path).is_empty(), "the refused report was not stored");
    assert!(put_status(&api, &path, &report("True", 1)).await.is_err());
    assert_eq!(api.reports(&path).len(), 1, "the report whose answer was lost was stored");
    Ok(())
}

#[tokio::test]
async fn injected_answer_or_half_of_the_own_one_replaces_it() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    let path = api.put_cluster("c1", 1);
    let headers = vec![("content-type", "text/html".to_owned())];
    api.inject(When::any().nth(1), Fault::Answer { status: 404, headers, body: "<html>".to_owned() });
    api.inject(When::any().nth(2), Fault::Truncate);
    let mut bodies = Vec::new();
    for expected in [(404, "text/html"), (200, "application/json"), (200, "application/json")] {
        let response = client().get(format!("{}/api/hyperfleet/v1/{path}", api.url())).send().await?;
        let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        assert_eq!((response.status().as_u16(), content_type.unwrap_or_default()), expected);
        bodies.push(response.text().await?);
    }
    assert_eq!(bodies[0], "<html>");
    assert!(bodies[2].starts_with(&bodies[1]) && bodies[1].len() == bodies[2].len() / 2, "{bodies:?}");
    Ok(())
}

#[tokio::test]
async fn fixed_answer_replaces_the_apis() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    api.respond("POST", "/hooks/done", 202, json!({"ok": true}));
    let response = client().post(format!("{}/hooks/done", api.url())).send().await?;
    assert_eq!(response.status(), 202);
    assert_eq!(response.json::<Value>().await?, json!({"ok": true}));
    let unknown = client().post(format!("{}/hooks/other", api.url())).send().await?;
    assert_eq!(unknown.status(), 404);
    let problem: Value = unknown.json().await?;
    assert_eq!((&problem["code"], &problem["instance"]), (&json!("HYPERFLEET-NTF-000"), &json!("/hooks/other")));
    let wrong = client().delete(format!("{}/api/hyperfleet/v1/clusters/c1", api.url())).send().await?;
    assert_eq!(wrong.status(), 405);
    Ok(())
}

#[tokio::test]
async fn resources_of_all_kinds_are_read_searched_and_projected() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    api.put_cluster("c1", 3);
    api.put_node_pool("c1", "n1", 2);
    assert_eq!(get(&api, "resources/n1").await?, get(&api, "clusters/c1/nodepools/n1").await?);
    assert_eq!(get(&api, "resources?size=1").await?.1["total"], 2);
    let (_, found) = get(&api, "resources?search=id+in+['n1','x']&fields=generation").await?;
    assert_eq!(found, json!({"items": [{"id": "n1", "generation": 2}], "page": 1, "size": 1, "total": 1}));
    for (path, status, code) in [
        ("resources/none", 404, "HYPERFLEET-NTF-001"),
        ("zones/z1", 404, "HYPERFLEET-NTF-000"),
        ("resources?search=name='a'", 400, "HYPERFLEET-VAL-005"),
    ] {
        let (answered, problem) = get(&api, path).await?;
        assert_eq!((answered, &problem["code"]), (status, &json!(code)), "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn force_delete_removes_a_deleted_resource_and_its_descendants() -> anyhow::Result<()> {
    let api = FakeApi::start().await?;
    let path = api.put_cluster("c1", 1);
    api.put_cluster("c12", 1);
    api.put_node_pool("c1", "n1", 1);
    let force_delete = async |id: &str, reason: &str| -> anyhow::Result<(u16, String)> {
        let url = format!("{}/api/hyperfleet/v1/resources/{id}/force-delete", api.url());
        let response = client().post(url).json(&json!({"reason": reason})).send().await?;
        Ok((response.status().as_u16(), response.text().await?))
    };
    let (status, body) = force_delete("c1", "stuck").await?;
    assert!(status == 409 && body.contains("HYPERFLEET-CNF-003"), "not marked as deleted: {status} {body}");
    api.mark_deleted(&path)?;
    assert_eq!(force_delete("c1", "").await?.0, 400, "without a reason");
    assert_eq!(force_delete("c2", "stuck").await?.0, 404);
    assert_eq!(get(&api, &path).await?.0, 200, "refused requests change nothing");
    assert_eq!(force_delete("c1", "stuck").await?, (204, String::new()));
    for (id, expected) in [("c1", 404), ("n1", 404), ("c12", 200)] {
        assert_eq!(get(&api, &format!("resources/{id}")).await?.0, expected, "{id}");
    }
    Ok(())
}
