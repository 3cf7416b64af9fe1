//! Error documents.

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use super::BASE;
use crate::refusal::ServiceError;

/// The header that identifies an operation; a request without it gets an id.
const OPERATION: &str = "x-operation-id";

/// A failure as an answer.
pub(super) struct Problem(pub(super) ServiceError);

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        Self(error)
    }
}

/// Marks an answer whose document still lacks the operation's id.
#[derive(Clone)]
struct Unfinished(Value);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let document = json!({
            "kind": "Error",
            "id": error.code.to_string(),
            "href": format!("{BASE}/errors/{}", error.code),
            "code": format!("maestro-{}", error.code),
            "reason": error.reason,
        });
        let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Body::empty()).into_response();
        response.extensions_mut().insert(Unfinished(document));
        response
    }
}

/// Puts the operation's id into the answer: into its header, and into an error's document.
pub(super) async fn complete(request: Request, next: Next) -> Response {
    let given = request.headers().get(OPERATION).and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let operation = given.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
    let mut response = next.run(request).await;
    if let Some(Unfinished(mut document)) = response.extensions_mut().remove::<Unfinished>() {
        document["operation_id"] = operation.as_str().into();
        response = (response.status(), Json(document)).into_response();
    }
    if let Ok(operation) = HeaderValue::from_str(&operation) {
        response.headers_mut().insert(OPERATION, operation);
    }
    response
}

/// Reads the body of a request as a JSON object.
pub(super) async fn body(request: Request) -> Result<serde_json::Map<String, Value>, Problem> {
    let malformed = || Problem(ServiceError::new(17, "Unable to read request body"));
    let bytes = to_bytes(request.into_body(), 4 << 20).await.map_err(|_| malformed())?;
    serde_json::from_slice(&bytes).map_err(|_| malformed())
}
