//! Serves the pages.
//!
//! In: requests. Out: pages, the same pages as a stream of server-sent events, and three assets. Fails: if it cannot listen at the
//! address. Only GET is answered; nothing that the console serves changes anything.
//!
//! Every answer forbids scripts, styles and pictures from elsewhere, frames, and use by other sites. Only the assets may be kept in a
//! browser's cache.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, Query, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;
use lifecycle_service::access::problem;
use lifecycle_service::http::{Limits, ListenError, Listener, Peer, Server};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::page::{Part, missing};
use crate::source::Sources;
use crate::viewer::open::{self, OpenPages};
use crate::viewer::{Door, Viewer};

mod live;
mod view;

use live::Contents;
use view::View;

/// What a page may load: its own style, script and picture, and nothing from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/live.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// What all requests share.
#[derive(Clone)]
struct Shared {
    config: Arc<Config>,
    sources: Arc<Sources>,
    door: Arc<Door>,
    open: OpenPages,
    contents: Contents,
    stop: CancellationToken,
}

/// Serves the pages; their streams end when `stop` is cancelled.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve(config: Arc<Config>, sources: Arc<Sources>, stop: CancellationToken) -> Result<Server, ListenError> {
    let listener = Listener::bind(config.listen, "pages").await?;
    tracing::info!(url = format!("http://{}/", listener.address()), "The pages are served");
    let door = Arc::new(Door::new(config.access.clone()));
    let shared = Shared { config, sources, door, open: OpenPages::default(), contents: Contents::new(), stop };
    // A stream takes a connection for as long as its page is open.
    let limits = Limits { connections: Limits::default().connections + open::MOST, ..Limits::default() };
    Ok(listener.serve(router(shared), limits))
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/assets/style.css", get(async || asset("text/css; charset=utf-8", STYLE)))
        .route("/assets/live.js", get(async || asset("text/javascript; charset=utf-8", SCRIPT)))
        .route("/assets/icon.svg", get(async || asset("image/svg+xml", ICON)))
        .route("/live", get(stream))
        .fallback(get(page))
        .layer(middleware::from_fn_with_state(shared.clone(), admit))
        .layer(middleware::map_response(secured))
        .with_state(shared)
}

fn asset(media_type: &'static str, text: &'static str) -> Response {
    // Else each page would cost its reader three more requests. An upgraded console has its new script soon.
    ([(CONTENT_TYPE, media_type), (CACHE_CONTROL, "private, max-age=300")], text).into_response()
}

/// Lets viewers in, and nobody else.
async fn admit(State(shared): State<Shared>, mut request: Request, next: Next) -> Response {
    let Some(Peer(address)) = request.extensions().get::<Peer>().copied() else {
        return problem(StatusCode::INTERNAL_SERVER_ERROR, "the connection has no address");
    };
    match shared.door.admit(address, request.headers()).await {
        Ok(viewer) => {
            tracing::debug!(?viewer, path = request.uri().path(), "A page is read");
            request.extensions_mut().insert(viewer);
            next.run(request).await
        }
        Err(refusal) => refusal,
    }
}

async fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let values: [(HeaderName, &'static str); 5] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in values {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn page(State(shared): State<Shared>, uri: Uri) -> Response {
    let view = match View::parse(&uri) {
        Ok(Some(view)) => view,
        Ok(None) => {
            let page = missing(Part::Fleet, "There is no such page", "The address may be misspelt.");
            return (StatusCode::NOT_FOUND, Html(page.document(None))).into_response();
        }
        Err(message) => {
            let page = missing(Part::Fleet, "The address cannot be read", &message);
            return (StatusCode::BAD_REQUEST, Html(page.document(None))).into_response();
        }
    };
    let (status, page) = view.answer(&shared.config, &shared.sources).await;
    let live = format!(
        "/live?of={}",
        percent_encoding::utf8_percent_encode(&uri.to_string(), percent_encoding::NON_ALPHANUMERIC)
    );
    (status, Html(page.document(Some(&live)))).into_response()
}

/// The page that a stream is of, by its path and query.
#[derive(Deserialize)]
struct Of {
    of: String,
}

async fn stream(
    State(shared): State<Shared>,
    Extension(viewer): Extension<Viewer>,
    Extension(Peer(peer)): Extension<Peer>,
    headers: HeaderMap,
    Query(Of { of }): Query<Of>,
) -> Response {
    let view = of.parse::<Uri>().map_err(|error| error.to_string()).and_then(|uri| View::parse(&uri));
    let view = match view {
        Ok(Some(view)) => view,
        Ok(None) => return problem(StatusCode::NOT_FOUND, "there is no such page"),
        Err(message) => return problem(StatusCode::BAD_REQUEST, &message),
    };
    let Some(open) = shared.open.open(viewer) else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open; this one shows one moment");
    };
    live::stream(view, shared, live::Reader { peer, headers, _open: open })
}
