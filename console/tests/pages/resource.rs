//! Reads the page of a resource, for what its sources answer.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use serde_json::{Value, json};

use crate::world::{ID, World, cluster, passes};
use crate::{PAGES, ago};

/// A console beside one adapter, whose newest pass has these members.
async fn beside_pass(members: Value) -> World {
    let mut passes = passes();
    passes["passes"][0].as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let router = Router::new().route("/passes", get(async move || passes.to_string()));
    World::beside(router, "adapters: [{name: jobs, url: '{peer}'}]\n").await
}

#[tokio::test]
async fn page_says_why_a_precondition_is_not_met() {
    let unmet = json!([{"name": "ready", "matched": false}]);
    let why = "precondition ready not met: phase is Pending";
    let world = beside_pass(json!({"status": "skipped", "preconditions": unmet, "notMet": why})).await;
    let page = world.page(PAGES[1]).await;
    assert!(page.contains("<blockquote>precondition ready not met: phase is Pending</blockquote>"), "{page}");
    assert!(page.contains("<p>Precondition ready not met: phase is Pending.</p>"), "{page}");
    assert!(!page.contains("The precondition <code>"), "it is said twice: {page}");
}

#[tokio::test]
async fn object_that_has_served_counts_as_ready() {
    let served = json!({"object": "Job.batch n/migrate", "decision": "skip: it has served", "effect": "none", "readiness": "Absent"});
    let cases = [("as the adapter says", json!(true), 2), ("an older adapter says nothing", Value::Null, 1)];
    for (name, ready, expected) in cases {
        let mut served = served.clone();
        served["ready"] = ready;
        let other = json!({"object": "ConfigMap n/a", "effect": "created", "readiness": "Ready"});
        let decision = json!({"resource": "website", "decision": "skip", "objects": [served, other]});
        let page = beside_pass(json!({"decisions": [decision]})).await.page(PAGES[1]).await;
        assert!(page.contains(&format!("{expected} of 2 objects are ready")), "{name}: {page}");
    }
}

#[tokio::test]
async fn page_without_an_exporter_says_that_stuck_is_not_judged() {
    let sentences =
        ["What is stuck is not known: no <code>exporter</code>", "Whether this takes too long is not judged"];
    let (with, without) = (World::all().await, World::start("").await);
    for (path, sentence) in PAGES.into_iter().zip(sentences) {
        assert!(!with.page(path).await.contains(sentence), "{path}");
        let page = without.page(path).await;
        assert!(page.contains(sentence), "{path}: {page}");
    }
    assert!(PAGES[1].ends_with(ID));
}

#[tokio::test]
async fn page_of_a_deleted_resource_tells_its_last_passes() {
    let deleted =
        json!([{"name": "job", "kind": "Job", "namespace": "n", "resourceName": "provision", "result": "deleted"}]);
    let world = beside_pass(json!({"resources": deleted})).await;
    let (status, page) = world.get("/resources/gone").await;
    assert_eq!(status, 404, "{page}");
    assert!(
        page.contains("The API has no resource with the id gone") && page.contains("Job n/provision deleted."),
        "{page}"
    );
    let (_, page) = World::start("").await.get("/resources/gone").await;
    assert!(page.contains("no resource with the id gone") && !page.contains("What happened"), "{page}");
}

#[tokio::test]
async fn page_says_how_far_back_passes_go() {
    let oldest = ago(7);
    let passes = json!({"adapter": "jobs", "totals": {"success": 9000}, "kept": {"passes": 1000, "oldest": oldest}});
    let router =
        Router::new().route("/passes", get(async move || passes.to_string())).route("/task", get(async || "{}"));
    let world = World::beside(router, "adapters: [{name: jobs, url: '{peer}'}]\n").await;
    for (path, sentence) in
        [(PAGES[1], "those that it keeps; these go back to <time"), ("/adapters/jobs", "its passes go back to <time")]
    {
        let page = world.page(path).await;
        assert!(page.contains(sentence), "{path}: {page}");
    }
}

#[tokio::test]
async fn condition_has_a_mark_if_its_good_status_is_known() {
    let condition = |name: &str, status: &str| json!({"type": name, "status": status});
    let conditions = json!([
        condition("Available", "False"),
        condition("Finalized", "False"),
        condition("Degraded", "False"),
        condition("Progressing", "True"),
    ]);
    let mut cluster = cluster("north");
    cluster["status"]["conditions"] = conditions;
    let answer = move || ([(CONTENT_TYPE, "application/json")], cluster.to_string());
    let page =
        World::of(Router::new().fallback(get(async move || answer())), Router::new(), "").await.page(PAGES[1]).await;
    for (name, mark) in [("Available", "mark bad"), ("Finalized", "mark busy"), ("Degraded", ""), ("Progressing", "")] {
        let cells = page.split(&format!("<td>{name}</td>")).nth(1).unwrap();
        let status = cells.split("</td>").next().unwrap();
        assert!(status.contains(mark) && (status.contains("mark") != mark.is_empty()), "{name}: {status}");
    }
}
