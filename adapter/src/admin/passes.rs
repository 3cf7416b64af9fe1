//! Serves `/passes`, the last passes of this process, and `/task`, what the resources of its task wait for.
//!
//! In: a token, a resource id and a limit. Out: JSON. Fails: 403 if the pages are off, 401 without the right token, 400 for wrong
//! parameters. Nothing is read from the API, the broker or the cluster, so the pages answer while those do not.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures::stream;
use jiff::Timestamp;
use lifecycle_service::access::{Access, Guarded, problem};
use lifecycle_service::logging::Identity;
use lifecycle_service::servers::Page;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::passes::{Extent, Found, Passes, Totals};
use crate::readiness::Readiness;

const CURE: &str = "set passes.token_file, or passes.anonymous to open it to all";
const PASSES: Guarded = Guarded { path: "/passes", realm: "passes", cure: CURE };
const TASK: Guarded = Guarded { path: "/task", realm: "task", cure: CURE };
const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
const JSON: [(axum::http::HeaderName, &str); 2] = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];

/// What the pages are made of.
#[derive(Debug)]
pub struct Source {
    /// The adapter, its version and its host.
    pub identity: Identity,
    /// The clients that may read the pages.
    pub access: Access,
    /// The start of the process.
    pub started: Timestamp,
    /// The passes that are kept.
    pub passes: Arc<Passes>,
    /// The answer of `/task`.
    pub task: Bytes,
    /// Whether the adapter takes events.
    pub readiness: Readiness,
    /// The numbers of running passes and waiting events.
    pub metrics: Arc<Metrics>,
    /// Whether the process stops.
    pub stop: CancellationToken,
}

/// The pages `/passes` and `/task`.
#[must_use]
pub fn pages(source: Source) -> [Page; 2] {
    let source = Arc::new(source);
    let passes = get(passes).with_state(Arc::clone(&source));
    [
        Page { path: PASSES.path, about: "the last events, and what became of each", methods: passes },
        Page {
            path: TASK.path,
            about: "what the resources of the task wait for",
            methods: get(task).with_state(source),
        },
    ]
}

/// The parameters of `/passes`. An empty one counts as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    resource_id: String,
    #[serde(default)]
    limit: String,
}

impl Parameters {
    fn limit(&self) -> Option<usize> {
        match &*self.limit {
            "" => Some(DEFAULT_LIMIT),
            limit => limit.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit)),
        }
    }
}

/// The answer of `/passes`, up to its last member, the passes.
#[derive(Serialize)]
struct Head<'s> {
    adapter: &'s str,
    version: &'s str,
    replica: &'s str,
    started: Timestamp,
    now: Timestamp,
    intake: IntakeState,
    totals: Totals,
    kept: Extent,
}

/// Whether the adapter takes events.
#[derive(Serialize)]
struct IntakeState {
    takes_events: bool,
    /// The dependency that does not answer, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    /// Why the process is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    in_flight: i64,
    waiting: i64,
}

async fn passes(
    State(source): State<Arc<Source>>,
    headers: HeaderMap,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Response {
    if let Err(refusal) = source.access.admit(PASSES, &headers).await {
        return refusal;
    }
    let parameters = match parameters {
        Ok(Query(parameters)) => parameters,
        Err(rejection) => return problem(StatusCode::BAD_REQUEST, &rejection.body_text()),
    };
    let Some(limit) = parameters.limit() else {
        return problem(StatusCode::BAD_REQUEST, &format!("limit is from 1 to {MAX_LIMIT}"));
    };
    let resource_id = Some(&*parameters.resource_id).filter(|id| !id.is_empty());
    let Found { totals, extent, texts } = source.passes.find(resource_id, limit);
    let head = Head {
        adapter: &source.identity.component,
        version: &source.identity.version,
        replica: &source.identity.hostname,
        started: source.started,
        now: Timestamp::now(),
        intake: source.intake(),
        totals,
        kept: extent,
    };
    // Chunks of the kept texts, not a copy of them: so a client that reads slowly costs no memory.
    let chunks = body(&head, texts).into_iter().map(Ok::<_, Infallible>);
    (JSON, Body::from_stream(stream::iter(chunks))).into_response()
}

/// The chunks of an answer: the head without its closing brace, and the passes as its last member.
fn body(head: &Head<'_>, texts: Vec<Bytes>) -> Vec<Bytes> {
    // Serializing cannot fail: every member is plain data with text keys.
    let mut start = serde_json::to_string(head).unwrap_or_default();
    start.truncate(start.len().saturating_sub(1));
    start.push_str(",\"passes\":[");
    let mut chunks = vec![Bytes::from(start)];
    for text in texts {
        if chunks.len() > 1 {
            chunks.push(Bytes::from_static(b","));
        }
        chunks.push(text);
    }
    chunks.push(Bytes::from_static(b"]}\n"));
    chunks
}

impl Source {
    fn intake(&self) -> IntakeState {
        let (in_flight, waiting) = self.metrics.in_flight();
        let stops = self.stop.is_cancelled();
        IntakeState {
            takes_events: self.readiness.takes_events() && !stops,
            waits_for: self.readiness.unavailable(),
            problem: if stops { Some("the process stops".to_owned()) } else { self.readiness.report().problem },
            in_flight,
            waiting,
        }
    }
}

async fn task(State(source): State<Arc<Source>>, headers: HeaderMap) -> Response {
    match source.access.admit(TASK, &headers).await {
        Ok(()) => (JSON, source.task.clone()).into_response(),
        Err(refusal) => refusal,
    }
}
