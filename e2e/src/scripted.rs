//! An HTTP server with scripted answers, for tests of HTTP clients.
//!
//! In: answers, in order. Out: these answers, then always 200 with the body `again`; and a record of all
//! requests. For the API's behaviour, use [`api`](crate::api).

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, State};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use tokio::net::TcpListener;

/// A running server; it stops with the runtime that started it.
#[derive(Debug, Clone)]
pub struct Scripted {
    address: SocketAddr,
    script: Arc<Mutex<VecDeque<Response<Body>>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A request that the server received and recorded.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The method, target and headers.
    pub parts: Parts,
    /// The body of the request.
    pub body: Bytes,
    /// The address from which the client connected.
    pub peer: SocketAddr,
}

impl Scripted {
    /// Starts a server in the current runtime.
    pub async fn start(answers: impl IntoIterator<Item = Response<Body>>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let script = Arc::new(Mutex::new(answers.into_iter().collect()));
        let server = Self { address: listener.local_addr()?, script, asked: Arc::default() };
        let router = Router::new().fallback(answer).with_state(server.clone());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Ok(server)
    }

    /// The server's base URL, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The recorded requests, in the order of arrival.
    pub fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A header of a recorded request, by the request's index.
    #[must_use]
    pub fn header(&self, request: usize, name: &str) -> Option<String> {
        let asked = self.asked();
        let value = asked.get(request)?.parts.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    }
}

/// An answer with this status, and a body that contains it.
#[must_use]
pub fn status(code: u16) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("answer {code}")));
    // An invalid status is a mistake in the test; 500 makes the mistake visible.
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

async fn answer(
    State(server): State<Scripted>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    server.asked().push(Asked { parts, body, peer });
    let next = server.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    next.unwrap_or_else(|| Response::new(Body::from("again")))
}
