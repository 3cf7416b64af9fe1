//! The two servers that every program has: one for health probes, one for metrics.
//!
//! In: addresses, functions that return the program's readiness and metrics, and further pages. Out:
//! `/healthz`, `/readyz` and the program's pages on one port, `/metrics` on the other, and at `/` of each a
//! page of links. Fails: if an address cannot be bound, because a process that nobody can probe must not run.
//!
//! The servers do not authenticate clients, so neither port belongs outside the cluster.

use std::future::{Future, ready};
use std::net::SocketAddr;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::Html;
use axum::routing::{MethodRouter, any, get};
use maud::{DOCTYPE, html};
use tokio_util::sync::CancellationToken;

use crate::http::{Limits, ListenError, Listener, Server};
use crate::metrics::Exposition;
use crate::probes::{self, Readiness};
use crate::version::THIS;

/// A page of a server.
#[derive(Debug, Clone)]
pub struct Page {
    /// The path at which the server answers.
    pub path: &'static str,
    /// What a person finds there, for the links at `/`.
    pub about: &'static str,
    /// The methods that the page answers, and how.
    pub methods: MethodRouter,
}

/// Serves `/healthz`, `/readyz` and `pages`. From the moment `stop` is cancelled, `/readyz` answers 503.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve_health(
    program: &str,
    address: SocketAddr,
    stop: CancellationToken,
    readiness: impl Fn() -> Readiness + Clone + Send + Sync + 'static,
    pages: impl IntoIterator<Item = Page>,
) -> Result<Server, ListenError> {
    let ready = any(move || ready(if stop.is_cancelled() { Readiness::stopping() } else { readiness() }));
    let probes = [
        Page { path: "/healthz", about: "whether the process runs", methods: any(probes::alive) },
        Page { path: "/readyz", about: "whether the process can do its work", methods: ready },
    ];
    let router = router(program, probes.into_iter().chain(pages));
    Ok(Listener::bind(address, "health").await?.serve(router, Limits::default()))
}

/// Serves `/metrics`, with the text that `expose` returns.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve_metrics<T: Future<Output = String> + Send>(
    program: &str,
    address: SocketAddr,
    expose: impl Fn(Exposition) -> T + Clone + Send + Sync + 'static,
) -> Result<Server, ListenError> {
    let methods = any(async move |format: Exposition| ([(CONTENT_TYPE, format.content_type())], expose(format).await));
    let router = router(program, [Page { path: "/metrics", about: "metrics for Prometheus", methods }]);
    Ok(Listener::bind(address, "metrics").await?.serve(router, Limits::default()))
}

fn router(program: &str, pages: impl IntoIterator<Item = Page>) -> Router {
    let mut router = Router::new();
    let mut links = Vec::new();
    for Page { path, about, methods } in pages {
        router = router.route(path, methods);
        links.push((path, about));
    }
    let page = html! {
        (DOCTYPE)
        title { (program) }
        h1 { (program) " " (THIS.number) }
        ul { @for (path, about) in links { li { a href=(path) { (path) } ": " (about) } } }
    };
    let page = page.into_string();
    router.route("/", get(move || ready(Html(page.clone()))))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::net::{IpAddr, Ipv4Addr};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    /// Lets the system choose a free port.
    const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    async fn health(stop: &CancellationToken) -> Server {
        let page = Page { path: "/config", about: "the configuration", methods: get(async || "a: 1") };
        serve_health("tester", ANY, stop.clone(), Readiness::default, [page]).await.unwrap()
    }

    async fn metrics() -> Server {
        serve_metrics("tester", ANY, async |format| format!("{format:?}")).await.unwrap()
    }

    async fn fetch(server: &Server, path: &str) -> String {
        let mut client = TcpStream::connect(server.address()).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn root_page_links_to_every_page_of_its_server() {
        let health = health(&CancellationToken::new()).await;
        let page = fetch(&health, "/").await;
        for link in ["<h1>tester ", r#"<a href="/healthz">"#, r#"<a href="/readyz">"#, ": the configuration</li>"] {
            assert!(page.contains(link), "{link}: {page}");
        }
        assert!(fetch(&health, "/config").await.ends_with("a: 1"));
        let metrics = metrics().await;
        assert!(fetch(&metrics, "/").await.contains(r#"<a href="/metrics">"#));
        let text = fetch(&metrics, "/metrics").await;
        assert!(text.contains("content-type: text/plain; version=0.0.4") && text.ends_with("Classic"), "{text}");
    }

    #[tokio::test]
    async fn readyz_is_503_once_the_process_stops() {
        let stop = CancellationToken::new();
        let health = health(&stop).await;
        assert!(fetch(&health, "/readyz").await.starts_with("HTTP/1.1 200 "));
        stop.cancel();
        let answer = fetch(&health, "/readyz").await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("server is shutting down"), "{answer}");
        assert!(fetch(&health, "/healthz").await.starts_with("HTTP/1.1 200 "), "it is still alive");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_client_is_disconnected() {
        for server in [health(&CancellationToken::new()).await, metrics().await] {
            let mut client = TcpStream::connect(server.address()).await.unwrap();
            client.write_all(b"GET /metrics HTTP/1.1\r\nhost: ").await.unwrap();
            assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
        }
    }
}
