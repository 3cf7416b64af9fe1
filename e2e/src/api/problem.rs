//! Errors in the API's format: problem documents (RFC 9457).

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

/// Builds a problem document with the usual code of a status; `fields` are the (field, message) pairs of a validation failure.
pub(super) fn problem(status: u16, detail: &str, instance: &str, fields: &[(String, String)]) -> Response<Body> {
    let (code, slug) = match status {
        400 | 422 => ("VAL-000", "validation-error"),
        401 => ("AUT-001", "authentication-error"),
        403 => ("AUZ-001", "permission-denied"),
        404 => ("NTF-001", "not-found"),
        409 => ("CNF-003", "conflict"),
        429 => ("LMT-001", "rate-limit"),
        501 => ("INT-003", "not-implemented"),
        503 => ("SVC-001", "service-unavailable"),
        504 => ("SVC-002", "service-unavailable"),
        _ => ("INT-001", "internal-error"),
    };
    coded(status, (code, slug), detail, instance, fields)
}

/// The answer to a path that the API does not serve.
pub(super) fn unknown_endpoint(instance: &str) -> Response<Body> {
    coded(404, ("NTF-000", "not-found"), "the requested endpoint does not exist", instance, &[])
}

/// The answer to a query that the API cannot evaluate.
pub(super) fn bad_query(detail: &str, instance: &str) -> Response<Body> {
    coded(400, ("VAL-005", "bad-request"), detail, instance, &[])
}

fn coded(
    status: u16,
    (code, slug): (&str, &str),
    detail: &str,
    instance: &str,
    fields: &[(String, String)],
) -> Response<Body> {
    // An invalid status is a mistake in the test; 500 makes the mistake visible.
    let http = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut document = json!({
        "type": format!("https://api.hyperfleet.io/errors/{slug}"),
        "title": http.canonical_reason().unwrap_or_default(),
        "status": status,
        "detail": detail,
        "instance": instance,
        "code": format!("HYPERFLEET-{code}"),
        "timestamp": jiff::Timestamp::now(),
        "trace_id": Uuid::now_v7().to_string(),
    });
    if !fields.is_empty() {
        document["errors"] =
            fields.iter().map(|(field, message)| json!({"field": field, "message": message})).collect();
    }
    json_response(http, "application/problem+json", &document)
}

pub(super) fn json_response(status: StatusCode, content_type: &'static str, document: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(document.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
