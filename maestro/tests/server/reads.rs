//! Reading one work and many, and answers that are not Maestro's.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use anyhow::Result;
use axum::Json;
use axum::http::StatusCode;
use lifecycle_objects::write::WriteErrorKind;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::world::{CONSUMER, World, client, kind, settings, target, work};

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn list_shows_every_work_with_the_labels_over_many_pages() -> Result<()> {
    let world = World::new().await?;
    world.server.register("cluster-b");
    let names: BTreeSet<String> = (0..120).map(|number| format!("w-{number}")).collect();
    for name in &names {
        world.client.create(&work(name, "one"), CONSUMER).await?;
    }
    let mut other = work("other", "one");
    other["metadata"]["labels"] = json!({"app": "another"});
    world.client.create(&other, CONSUMER).await?;
    world.client.create(&work("elsewhere", "one"), "cluster-b").await?;

    let found = world.client.list(CONSUMER, &labels(&[("app", "demo")])).await?;
    let found: BTreeSet<String> =
        found.iter().map(|work| work["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(found, names);
    let reads = world.server.rest_requests().iter().filter(|request| request.contains("search=")).count();
    assert_eq!(reads, 3, "pages of 50");
    assert_eq!(world.client.list(CONSUMER, &labels(&[("app", "none")])).await?, Vec::<Value>::new());
    Ok(())
}

#[tokio::test]
async fn status_is_shown_once_the_agent_has_reported_on_the_version() -> Result<()> {
    let world = World::new().await?;
    let id = world.id("w");
    let live = world.create(&work("w", "one")).await?;
    assert_eq!(world.read("w").await?.get("status"), None);
    world.server.apply(&id)?;
    let applied = world.read("w").await?;
    let condition = |work: &Value| {
        let conditions = work["status"]["conditions"].as_array().unwrap();
        conditions.iter().find(|condition| condition["type"] == "Applied").unwrap()["status"].clone()
    };
    assert_eq!(condition(&applied), "True");
    assert_eq!(applied["status"]["resourceStatus"]["manifests"][0]["resourceMeta"]["name"], "w");
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    world.client.patch(CONSUMER, &patch, &target(&live)).await?;
    assert_eq!(world.read("w").await?.get("status"), None, "the report is about the version before");
    world.server.apply(&id)?;
    assert_eq!(condition(&world.read("w").await?), "True");
    Ok(())
}

#[tokio::test]
async fn failing_server_is_no_absent_work() -> Result<()> {
    let world = World::new().await?;
    world.server.faults().fail_rest(2);
    assert_eq!(kind(world.client.get(CONSUMER, "w").await), WriteErrorKind::Unavailable);
    assert_eq!(kind(world.client.list(CONSUMER, &BTreeMap::new()).await), WriteErrorKind::Unavailable);
    world.server.pause();
    assert_eq!(kind(world.client.get(CONSUMER, "w").await), WriteErrorKind::Unreachable);
    world.server.resume();
    assert_eq!(world.client.get(CONSUMER, "w").await?, None);
    world.client.probe().await.unwrap();
    world.server.faults().refuse_publish(1);
    assert_eq!(world.client.probe().await.unwrap_err().status, Some(503), "the gRPC server");
    world.server.faults().fail_rest(1);
    assert_eq!(world.client.probe().await.unwrap_err().status, Some(500), "the REST server");
    assert!(world.server.bundles().is_empty());
    Ok(())
}

/// Answers of many MiB are asked for again in smaller parts.
#[tokio::test]
async fn list_of_large_works_takes_smaller_pages() -> Result<()> {
    let world = World::new().await?;
    for number in 0..40 {
        let mut work = work(&format!("w-{number}"), "one");
        work["metadata"]["annotations"]["large"] = json!("x".repeat(1 << 20));
        world.client.create(&work, CONSUMER).await?;
    }
    let found = world.client.list(CONSUMER, &labels(&[("app", "demo")])).await?;
    assert_eq!(found.len(), 40);
    let sizes: Vec<_> =
        world.server.rest_requests().into_iter().filter(|request| request.contains("search=")).collect();
    assert!(sizes[0].contains("size=50") && sizes[1].contains("size=25"), "{sizes:?}");
    Ok(())
}

#[tokio::test]
async fn answer_of_another_server_counts_as_no_answer() -> Result<()> {
    let work = json!({"kind": "ResourceBundle", "id": "another", "version": 1, "metadata": {}, "manifests": []});
    let answers = [
        ("a proxy's page", StatusCode::NOT_FOUND, json!("not found")),
        ("an error of another kind", StatusCode::NOT_FOUND, json!({"kind": "Error", "code": "HYPERFLEET-7"})),
        ("an empty document", StatusCode::OK, json!({})),
        ("another work", StatusCode::OK, work),
        ("a list without items", StatusCode::OK, json!({"kind": "ResourceBundleList"})),
        ("an item without an id", StatusCode::OK, json!({"kind": "ResourceBundleList", "items": [{}]})),
        ("a redirect", StatusCode::FOUND, json!({})),
    ];
    for (name, status, body) in answers {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let routes = axum::Router::new().fallback(async move || (status, Json(body.clone())));
        let server = tokio::spawn(async move { axum::serve(listener, routes).await });
        let client = client(settings("127.0.0.1:1", &address))?;
        assert_eq!(kind(client.get(CONSUMER, "w").await), WriteErrorKind::Unavailable, "{name}");
        assert_eq!(kind(client.list(CONSUMER, &BTreeMap::new()).await), WriteErrorKind::Unavailable, "{name}");
        assert!(client.probe().await.is_err(), "{name}");
        server.abort();
    }
    Ok(())
}
