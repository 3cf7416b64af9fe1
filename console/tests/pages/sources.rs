//! Reads pages whose sources hang, are busy, have died, or answer too much.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::PAGES;
use crate::world::{World, api, passes};

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
