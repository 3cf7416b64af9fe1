//! Reads the page of a resource, for what its sources answer.

use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};

use crate::PAGES;
use crate::world::{ID, World, passes};

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
