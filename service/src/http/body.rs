//! Reads the whole body of a request.

use std::error::Error;
use std::iter::successors;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tower_http::timeout::TimeoutError;

/// Reads the whole body; the limit of its size is the route's `DefaultBodyLimit`.
///
/// # Errors
/// The answer for a body that is late (408), too large (413) or truncated (400).
pub async fn whole_body(request: Request) -> Result<Bytes, Response> {
    Bytes::from_request(request, &()).await.map_err(|rejection| {
        if is_late(&rejection) {
            (StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time").into_response()
        } else {
            rejection.into_response()
        }
    })
}

fn is_late(error: &(dyn Error + 'static)) -> bool {
    successors(Some(error), |&error| error.source()).any(|error| error.is::<TimeoutError>())
}
