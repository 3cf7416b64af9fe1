//! Reads pages whose sources hang, are busy, have died, or answer too much.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::ensure;
use axum::Router;
use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use lifecycle_e2e::{PATIENCE, await_condition};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::PAGES;
use crate::world::{World, api, cluster, passes};

/// Counts questions, and says the number of each from 0.
fn counter() -> (Arc<AtomicUsize>, impl Fn() -> usize + Clone + Send + Sync + 'static) {
    let asked = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&asked);
    (asked, move || count.fetch_add(1, Ordering::SeqCst))
}

#[tokio::test]
async fn exporter_that_never_answers_delays_pages_once() {
    let (asked, count) = counter();
    let hang = async move || {
        count();
        std::future::pending::<()>().await
    };
    let world = World::of_patience("2s", Router::new().route("/stuck", get(hang)), "exporter: {url: '{peer}'}").await;
    let pages = [world.page("/"), world.page("/?page=2"), world.page(PAGES[1]), world.page("/?page=3")];
    for page in futures::future::join_all(pages).await {
        assert!(page.contains("exporter is away"), "{page}");
    }
    // All four share the one question that has no answer, and none asks another one.
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn exporter_that_serves_another_reader_is_asked_again() {
    let (asked, count) = counter();
    let answer = async move || match count() % 3 {
        0 | 1 => {
            let body = json!({"status": "error", "message": "another client is reading; try again"});
            (StatusCode::SERVICE_UNAVAILABLE, body.to_string())
        }
        _ => (StatusCode::OK, json!({"items": [], "total": 0}).to_string()),
    };
    let world = World::beside(Router::new().route("/stuck", get(answer)), "exporter: {url: '{peer}'}").await;
    let page = world.page("/").await;
    assert!(page.contains("Nothing is stuck") && !page.contains("is away"), "{page}");
    assert_eq!(asked.load(Ordering::SeqCst), 6, "two questions, each in the third attempt");
}

#[tokio::test]
async fn exporter_that_is_busy_for_long_is_shown_as_away() {
    let answer =
        async || (StatusCode::SERVICE_UNAVAILABLE, json!({"message": "another client is reading"}).to_string());
    let world = World::beside(Router::new().route("/stuck", get(answer)), "exporter: {url: '{peer}'}").await;
    let page = world.page("/").await;
    assert!(page.contains("exporter is away") && page.contains("another client is reading"), "{page}");
}

#[tokio::test]
async fn replica_that_accepts_no_connection_delays_a_page_by_a_second() {
    // Linux drops what would open a connection beyond the queue, as nobody answers at the address of a machine that is off.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(connection) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        waiting.push(connection.unwrap());
    }
    let adapters = format!("adapters: [{{name: jobs, url: 'http://{address}'}}]\n");
    let world = World::of_patience("60s", Router::new(), &adapters).await;
    let page = timeout(Duration::from_secs(20), world.page("/adapters/jobs")).await.unwrap();
    assert!(page.contains("adapter jobs is away"), "{page}");
}

#[tokio::test]
async fn adapter_with_long_passes_is_asked_for_fewer() {
    let long = "x".repeat(6 * 1024 * 1024);
    let answer = async move |Query(query): Query<Vec<(String, String)>>| {
        let limit = query.iter().find(|(key, _)| key == "limit").map(|(_, limit)| limit.parse().unwrap()).unwrap();
        let mut answer = passes();
        answer["passes"][0]["warnings"] = json!([long]);
        answer["passes"] = vec![answer["passes"][0].clone(); if limit < 3 { limit } else { 3 }].into();
        answer.to_string()
    };
    let world = World::of(
        api(Arc::default()),
        Router::new().route("/passes", get(answer)).route("/task", get(async || "{}")),
        "adapters: [{name: jobs, url: '{peer}'}]\n",
    )
    .await;
    for path in ["/adapters/jobs", PAGES[1]] {
        let page = world.page(path).await;
        assert!(!page.contains("is away") && page.contains("SameGeneration"), "{path}: {page}");
    }
}

/// An API that answers lists so, by the question.
fn listing(answer: impl Fn(&str) -> Value + Clone + Send + Sync + 'static, slow: Duration) -> Router {
    Router::new().fallback(get(async move |uri: Uri| {
        if uri.to_string().contains("size=50") {
            tokio::time::sleep(slow).await;
        }
        ([(CONTENT_TYPE, "application/json")], answer(&uri.to_string()).to_string())
    }))
}

#[tokio::test]
async fn list_asks_for_no_spec() {
    // What the API would send with specs is longer than the longest answer.
    let spec = "x".repeat(400_000);
    let answer = move |question: &str| {
        let mut cluster = cluster("north");
        if !question.contains("&fields=") {
            cluster["spec"] = json!({"manifest": spec});
        }
        json!({"items": vec![cluster; 50], "total": 50})
    };
    let page = World::of(listing(answer, Duration::ZERO), Router::new(), "").await.page("/").await;
    assert!(page.contains("50 resources") && page.contains("north"), "{page}");
}

#[tokio::test]
async fn list_that_the_api_makes_slowly_counts_for_longer_and_tells_its_age() {
    let (asked, count) = counter();
    let answer = move |question: &str| {
        if question.contains("size=50") {
            count();
        }
        json!({"items": [cluster("north")], "total": 1})
    };
    let world = World::of(listing(answer, Duration::from_millis(600)), Router::new(), "").await;
    let told = async || {
        let page = world.page("/?state=pending").await;
        ensure!(page.contains("it was asked for this list <time"), "{page}");
        Ok(())
    };
    await_condition("the age of a list", PATIENCE, told).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn report_beyond_the_first_hundred_counts() {
    let answer = |question: &str| {
        let report = |adapter: String| json!({"adapter": adapter, "observed_generation": 1, "conditions": [{"type": "Available", "status": "False"}]});
        let first = (0..100).map(|number| report(format!("other-{number}"))).collect();
        let reports = if question.contains("page=1&") { first } else { vec![report("jobs".to_owned())] };
        match question.contains("/statuses") {
            true => json!({"items": reports, "total": 101}),
            false if question.contains("/resources/") => cluster("north"),
            false => json!({"items": [], "total": 0}),
        }
    };
    let page = World::of(listing(answer, Duration::ZERO), Router::new(), "").await.page(PAGES[1]).await;
    assert!(page.contains("it waits on adapter jobs") && page.contains("reports Available=False"), "{page}");
}
