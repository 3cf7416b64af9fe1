//! The REST interface, `/api/maestro/v1`.
//!
//! In: requests. Out: answers from the tables, or from frozen ones. Fails: with error documents. Nobody is asked who
//! they are, as in the real server.

mod bundles;
mod consumers;
mod problem;
mod query;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::database::Database;
use crate::refusal::ServiceError;
use crate::state::Shared;

use problem::Problem;
pub(crate) use query::Columns;

/// The path of every resource.
pub(crate) const BASE: &str = "/api/maestro/v1";

/// Builds the routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let resources = Router::new()
        .route("/resource-bundles", get(bundles::list))
        .route("/resource-bundles/{id}", get(bundles::read).delete(bundles::delete))
        .route("/consumers", get(consumers::list).post(consumers::create))
        .route("/consumers/{id}", get(consumers::read).patch(consumers::patch).delete(consumers::delete));
    Router::new()
        .nest(BASE, resources)
        .fallback(async |request: Request| unknown_path(&request))
        .method_not_allowed_fallback(async || Problem(ServiceError::new(10, "the method is not supported")))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), fail))
        .layer(middleware::from_fn(problem::complete))
        .with_state(shared)
}

fn unknown_path(request: &Request) -> Problem {
    Problem(ServiceError::new(7, format!("The requested resource '{}' doesn't exist", request.uri().path())))
}

/// Writes a request down, and fails it if the test demands that.
async fn fail(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let line = format!("{} {}", request.method(), request.uri());
    shared.with(|state| state.rest_requests.push(line));
    if shared.faults.takes_failing_request() {
        return Problem(ServiceError::general("Unspecified error")).into_response();
    }
    next.run(request).await
}

/// Reads from the tables that REST shows.
fn look<T>(shared: &Shared, look: impl FnOnce(&Database) -> T) -> T {
    shared.with(|state| look(state.frozen.as_ref().unwrap_or(&state.database)))
}
