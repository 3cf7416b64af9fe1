//! The error text of a failed call, and the 404 that is no failure.

use http::StatusCode;
use lifecycle_api_client::problem::Code;
use lifecycle_api_client::retry::is_retryable_status;
use lifecycle_core::api_call::{ApiFailure, ApiRequest, ApiResponse};

/// How much of a response body an error text quotes, in bytes: enough for a problem document.
const QUOTE_LIMIT: usize = 4 * 1024;

/// Whether a response says that the resource does not exist.
///
/// Every 404 does, as in the Go adapter, except one whose body has the API's code for an unknown URL, which is
/// a mistake in the task. A proxy's 404 counts too. That does no harm here, where it ends one pass; a sweeper
/// must not delete by this function.
#[must_use]
pub fn is_resource_not_found(status: u16, body: &str) -> bool {
    status == 404 && Code::of(body) != Some(Code::UnknownEndpoint)
}

/// The error text of a failed call; `None` if the call succeeded. `url` is the resolved URL.
#[must_use]
pub fn failure_text(request: &ApiRequest, url: &str, result: &Result<ApiResponse, ApiFailure>) -> Option<String> {
    let call = format!("API request failed: {} {url}", request.method.as_str());
    match result {
        Ok(response) if response.is_success() => None,
        Ok(ApiResponse { status, body, attempts }) => {
            let code = StatusCode::from_u16(*status).ok();
            let reason = code.and_then(|code| code.canonical_reason()).unwrap_or("");
            let detail = if code.is_some_and(is_retryable_status) || body.trim().is_empty() {
                "the server did not accept the request".to_owned()
            } else {
                quoted_body(body.trim())
            };
            Some(format!("{call} returned {status} {reason} after {attempts} attempt(s): {detail}"))
        }
        Err(ApiFailure { attempts, message }) => Some(format!("{call} after {attempts} attempt(s): {message}")),
    }
}

fn quoted_body(body: &str) -> String {
    let end = body.floor_char_boundary(QUOTE_LIMIT);
    if end < body.len() { format!("{}…", &body[..end]) } else { body.to_owned() }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "tests")]

    use lifecycle_core::api_call::Method;

    use super::*;

    #[test]
    fn missing_resource_differs_from_unknown_url() {
        let cases = [
            ("no body", 404, "", true),
            ("no JSON", 404, "<html>", true),
            ("JSON without a code", 404, r#"{"detail":"gone"}"#, true),
            ("JSON that is no object", 404, "[]", true),
            ("the code of a missing resource", 404, r#"{"code":"HYPERFLEET-NTF-001"}"#, true),
            ("the code of a wrong URL", 404, r#"{"code":"HYPERFLEET-NTF-000"}"#, false),
            ("another status", 410, r#"{"code":"HYPERFLEET-NTF-001"}"#, false),
            ("success", 200, "", false),
        ];
        for (name, status, body, expected) in cases {
            assert_eq!(is_resource_not_found(status, body), expected, "{name}");
        }
    }

    #[test]
    fn failure_text_names_request_status_and_reason() {
        let request = ApiRequest {
            method: Method::Get,
            url: "x".to_owned(),
            timeout: None,
            retry_attempts: None,
            retry_backoff: None,
            body: None,
            headers: Vec::new(),
        };
        let answer = |status, body: &str| Ok(ApiResponse { status, body: body.to_owned(), attempts: 3 });
        let cases = [
            ("success", answer(204, ""), None),
            (
                "refused",
                answer(409, " taken "),
                Some("API request failed: GET /x returned 409 Conflict after 3 attempt(s): taken"),
            ),
            (
                "given up",
                answer(503, "<html>"),
                Some(
                    "API request failed: GET /x returned 503 Service Unavailable after 3 attempt(s): the server did not accept the request",
                ),
            ),
            (
                "no answer",
                Err(ApiFailure { attempts: 2, message: "connection refused".to_owned() }),
                Some("API request failed: GET /x after 2 attempt(s): connection refused"),
            ),
        ];
        for (name, result, expected) in cases {
            assert_eq!(failure_text(&request, "/x", &result).as_deref(), expected, "{name}");
        }
        let long = failure_text(&request, "/x", &answer(400, &"ä".repeat(QUOTE_LIMIT))).expect("a text");
        assert!(long.len() < QUOTE_LIMIT + 200 && long.ends_with('…'), "{}", long.len());
    }
}
