//! Omnia's workspaces in memory: a server for adapters that deploy through the workspace API.
//!
//! In: which of the two APIs it has, and [`Fault`]s. Out: objects with UIDs, versions, generations and the status that a controller
//! would write; a record of all requests. Fails: if no port is free.
//!
//! Tests of programs start it beside a process, so it needs no runtime of theirs. What is not a test in Rust drives it by HTTP:
//! `POST /control/faults` (a [`Fault`] as JSON), `DELETE /control/faults`, `DELETE /control/objects` (faults and counts too),
//! `DELETE /control/objects/<workspace>/<collection>/<name>`, `GET /control/objects` and `GET /control/writes`.

mod control;
mod store;

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use self::store::Store;

/// The API of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `/api/v1/workspaces/<workspace>`, as it was designed.
    Versioned,
    /// `/api/workspaces/<workspace>`, as servers have it today.
    Current,
}

/// What goes wrong. The first fault that a request meets decides.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// Requests are answered with a status, and not done.
    Answer {
        /// The method.
        method: String,
        /// The end of the path, or a whole segment of it.
        path: String,
        /// The status.
        status: u16,
        /// The body.
        #[serde(default)]
        body: String,
        /// How many requests; unlimited if it is left out.
        times: Option<usize>,
    },
    /// The write of this number is done and not answered; later ones are neither.
    HangAfter(usize),
    /// What the controller says of an agent; of each agent if the name is empty.
    Agent {
        /// The agent's name.
        name: String,
        /// What the controller says.
        says: Says,
    },
}

/// What the controller says of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// It is pending, and stays so.
    Never,
    /// It failed.
    Failed,
    /// So many reads after a write still show that the generation before was ready.
    Behind(usize),
}

/// A request as the server received it.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The method.
    pub method: Method,
    /// The path below the workspaces, such as `team/promptpacks/p`, or the whole path of a question about health.
    pub path: String,
    /// The query, as sent.
    pub query: String,
    /// The body; null if there is none.
    pub body: Value,
    /// The status of the answer; none if it was never answered.
    pub status: Option<u16>,
}

impl Asked {
    /// Whether the request asks for a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        [Method::POST, Method::PUT, Method::DELETE].contains(&self.method)
    }
}

/// A running server; dropping it stops it.
#[derive(Debug)]
pub struct Workspaces {
    url: String,
    store: Arc<Mutex<Store>>,
    _runtime: Runtime,
}

impl Workspaces {
    /// Starts a server whose workspaces have nothing but the provider `claude`.
    pub fn start(api: Api) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let url = format!("http://{}", listener.local_addr()?);
        let store = Arc::new(Mutex::new(Store::new(api)));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&store));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, store, _runtime: runtime })
    }

    /// The server's base URL, without a path.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    /// Adds a fault.
    pub fn fault(&self, fault: Fault) {
        self.store().faults.push(fault);
    }

    /// Ends all faults.
    pub fn clear(&self) {
        self.store().faults.clear();
    }

    /// Removes all objects and faults, and the record.
    pub fn reset(&self) {
        self.store().reset();
    }

    /// The requests about workspaces so far, in the order of arrival.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.store().asked.clone()
    }

    /// What exists, as `workspace/collection/name`.
    #[must_use]
    pub fn objects(&self) -> Vec<String> {
        self.store().list()
    }

    /// An object by its `workspace/collection/name`.
    #[must_use]
    pub fn object(&self, path: &str) -> Option<Value> {
        self.store().object(path)
    }

    /// Writes an object as somebody else, by its `workspace/collection/name`.
    pub fn put(&self, path: &str, object: Value) {
        self.store().put(path, object);
    }
}

/// How a request ends.
struct Outcome {
    answer: Option<(u16, String)>,
}

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(store): State<Arc<Mutex<Store>>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let outcome = match parts.uri.path().strip_prefix("/control/") {
        Some(path) => control::answer(&mut lock(&store), &parts.method, path, &body),
        None => lock(&store).answer(&parts, &body),
    };
    let Some((status, body)) = outcome.answer else { return pending().await };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}
