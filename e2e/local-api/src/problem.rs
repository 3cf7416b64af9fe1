//! The API's errors: problem documents (RFC 9457) with a code.
//!
//! In: what is wrong with a request. Out: a response without the members that only the request knows; [`complete`]
//! adds those.

use axum::Json;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

/// The reason why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    slug: &'static str,
    detail: String,
    fields: Vec<Field>,
}

/// What is wrong with one field of a request's body.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Field {
    /// The path of the field.
    pub field: String,
    /// What the field must be.
    pub message: String,
}

impl Field {
    /// Says what is wrong with a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl Problem {
    fn new(status: StatusCode, code: &'static str, slug: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, slug, detail: detail.into(), fields: Vec::new() }
    }

    /// 400 `VAL-000`: fields of the body are invalid.
    #[must_use]
    pub fn invalid(fields: Vec<Field>) -> Self {
        let first = fields.first().map_or(String::new(), |field| format!(": {} {}", field.field, field.message));
        let detail = format!("the request has {} invalid field(s){first}", fields.len());
        Self { fields, ..Self::new(StatusCode::BAD_REQUEST, "VAL-000", "validation-error", detail) }
    }

    /// 422 `VAL-000`: a resource with a parent is created at the path of its parent.
    pub fn needs_parent(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "VAL-000", "validation-error", detail)
    }

    /// 400 `VAL-005`: the request makes no sense, or its query cannot be evaluated.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "VAL-005", "bad-request", detail)
    }

    /// 400 `VAL-006`: the body is not the JSON that it must be.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "VAL-006", "malformed-request", detail)
    }

    /// 404 `NTF-000`: the API does not serve this path.
    #[must_use]
    pub fn unknown_endpoint() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NTF-000", "not-found", "the API does not serve this path")
    }

    /// 404 `NTF-001`: the resource does not exist, or is not a child of the parent in the path.
    #[must_use]
    pub fn not_found(kind: &str, id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NTF-001", "not-found", format!("{kind} with id='{id}' not found"))
    }

    /// 409 `CNF-001`: another resource has the name.
    pub fn exists(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CNF-001", "conflict", detail)
    }

    /// 409 `CNF-003`: the state of the resource, or of another one, forbids the change.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CNF-003", "conflict", detail)
    }

    /// 412 `CNF-003`: the resource has changed since the caller read it.
    #[must_use]
    pub fn outdated(expected: i64, generation: i64) -> Self {
        let detail =
            format!("the resource has generation {generation}, and `If-Match` expects {expected}: read it again");
        Self::new(StatusCode::PRECONDITION_FAILED, "CNF-003", "conflict", detail)
    }

    /// 500 `INT-001`: the API failed. The cause goes to the log, as it may name tables and hosts.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INT-001", "internal-error", "an internal error occurred")
    }

    /// 503 `SVC-001`: the database cannot be reached.
    #[must_use]
    pub fn unavailable() -> Self {
        let detail = "the database cannot be reached";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "SVC-001", "service-unavailable", detail)
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong, for people.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        tracing::error!("The database failed: {}", lifecycle_errors::Chain(&error));
        match error {
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => {
                Self::unavailable()
            }
            _ => Self::internal(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Gives every response its request id, and every problem its document, which names the path and the id.
pub async fn complete(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let id = Uuid::now_v7().to_string();
    let mut response = next.run(request).await;
    if let Some(Problem { status, code, slug, detail, fields }) = response.extensions_mut().remove::<Problem>() {
        let mut document = json!({
            "type": format!("https://api.hyperfleet.io/errors/{slug}"),
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": detail,
            "instance": path,
            "code": format!("HYPERFLEET-{code}"),
            "timestamp": Timestamp::now(),
            "trace_id": id,
        });
        if !fields.is_empty() {
            document["errors"] = json!(fields);
        }
        response = (status, Json(document)).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("X-Request-ID", id);
    }
    response
}
