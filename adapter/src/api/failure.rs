//! What a failed call is called, and the one failure that is none.

use http::StatusCode;
use lifecycle_api_client::problem::Code;
use lifecycle_api_client::retry::is_retryable_status;
use lifecycle_core::api_call::{ApiFailure, ApiRequest, ApiResponse};

/// Bodies are quoted up to here: enough for a problem document.
const QUOTE_LIMIT: usize = 4 * 1024;

/// Whether an answer says that the resource does not exist.
///
/// A 404 does, as for the Go adapter, unless its body carries the API's code for a URL that it does not serve: that is a
/// mistake in the task. The sweeper must not go by this: a proxy's 404 passes, while it only ends an event here.
#[must_use]
pub fn is_resource_not_found(status: u16, body: &str) -> bool {
    status == 404 && Code::of(body) != Some(Code::UnknownEndpoint)
}

/// The failure of a call in words; none if it succeeded. `url` is the resolved one.
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
                quote(body.trim())
            };
            Some(format!("{call} returned {status} {reason} after {attempts} attempt(s): {detail}"))
        }
        Err(ApiFailure { attempts, message }) => Some(format!("{call} after {attempts} attempt(s): {message}")),
    }
}

fn quote(body: &str) -> String {
    let end = body.floor_char_boundary(QUOTE_LIMIT);
    if end < body.len() { format!("{}…", &body[..end]) } else { body.to_owned() }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "tests")]

    use lifecycle_core::api_call::Method;

    use super::*;

    #[test]
    fn tells_a_missing_resource_from_a_wrong_url() {
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
    fn says_what_failed() {
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
