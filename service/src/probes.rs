//! The answers to a kubelet's probes, in the JSON of the health standard.
//!
//! In: the result of the program's own checks. Out: a status and a JSON body. Fails: never.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Whether a process can do its work, for the answer to `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readiness {
    /// The checked dependencies, and whether each is fine.
    pub checks: BTreeMap<&'static str, bool>,
    /// Why the process is not ready; none if it is ready.
    pub problem: Option<String>,
    /// What a person should know although the process is ready.
    pub note: Option<String>,
}

impl Readiness {
    /// The readiness of a process that received a signal.
    pub(crate) fn stopping() -> Self {
        Self { problem: Some("server is shutting down".to_owned()), ..Self::default() }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    checks: BTreeMap<&'a str, &'a str>,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl IntoResponse for Readiness {
    fn into_response(self) -> Response {
        let word = |well| if well { "ok" } else { "error" };
        let body = Body {
            checks: self.checks.iter().map(|(name, well)| (*name, word(*well))).collect(),
            status: word(self.problem.is_none()),
            message: self.problem.as_deref().or(self.note.as_deref()),
        };
        let status = if self.problem.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        // Cannot fail: the body holds only texts.
        let text = serde_json::to_string(&body).unwrap_or_default();
        (status, [(CONTENT_TYPE, "application/json")], text).into_response()
    }
}

/// The answer to `/healthz`: always 200, because a process that answers is alive.
pub async fn alive() -> Response {
    Readiness::default().into_response()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn readiness_body_lists_checks_and_problem() {
        let (well, ill) = ([("broker", true), ("config", true)].into(), [("broker", false), ("config", true)].into());
        let cases = [
            (Readiness::default(), 200, r#"{"status":"ok"}"#),
            (
                Readiness { note: Some("held".to_owned()), ..Readiness::default() },
                200,
                r#"{"status":"ok","message":"held"}"#,
            ),
            (
                Readiness { checks: well, ..Readiness::default() },
                200,
                r#"{"checks":{"broker":"ok","config":"ok"},"status":"ok"}"#,
            ),
            (
                Readiness { checks: ill, problem: Some("not \"ready\"".to_owned()), note: Some("held".to_owned()) },
                503,
                r#"{"checks":{"broker":"error","config":"ok"},"status":"error","message":"not \"ready\""}"#,
            ),
        ];
        for (readiness, status, text) in cases {
            let response = readiness.into_response();
            assert_eq!(
                (response.status().as_u16(), &response.headers()[CONTENT_TYPE]),
                (status, &"application/json".parse().unwrap())
            );
            assert_eq!(axum::body::to_bytes(response.into_body(), 1024).await.unwrap(), text);
        }
    }
}
