//! Tells the HyperFleet API's own answers from those of a gateway, a web page or another service in its place.
//!
//! In: the path of a call to the API, and its answer. Out: who answered, as far as the answer shows it. Nothing
//! here decides about a pass: [`meaning`](super::meaning) and [`Identity`](super::Identity) do.

use http::StatusCode;
use lifecycle_api_client::lookup::{Unknown, check_absence};
use lifecycle_api_client::problem::{self, Code, Problem};
use serde::de::IgnoredAny;

use super::Answer;

/// How many characters of a foreign answer an error text quotes: enough to recognise a page.
const QUOTE: usize = 80;

/// Who sent an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// The HyperFleet API itself.
    Api,
    /// The answer does not show who sent it, such as a gateway's 503.
    Unclear,
    /// Something else; the text says what the answer is instead.
    Other(String),
}

/// Whether a URL, as the client resolved it, is a path of the HyperFleet API. Another path on the same host may
/// belong to another service behind the same gateway.
pub(super) fn is_api_path(resolved: &str) -> bool {
    resolved.starts_with("/api/hyperfleet/")
}

/// Finds out who sent the answer to a call of the API at `path`.
pub(super) fn origin(path: &str, answer: &Answer) -> Origin {
    let status = answer.status;
    if let Some(target) = &answer.redirect {
        return Origin::Other(format!("HTTP status {status}, a redirect to {target}"));
    }
    match status {
        StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED => match document(answer) {
            Ok(()) => Origin::Api,
            Err(fault) => Origin::Other(format!("HTTP status {status} {fault}")),
        },
        StatusCode::NO_CONTENT if answer.body.is_empty() => Origin::Unclear,
        status if status.is_success() => {
            Origin::Other(format!("HTTP status {status}, which the API never sends{}", quote(answer)))
        }
        StatusCode::NOT_FOUND => match check_absence(path, answer) {
            Ok(()) => Origin::Api,
            Err(Unknown::Cached) => Origin::Unclear,
            Err(Unknown::OtherProblem(code)) if is_own(&code) => Origin::Api,
            Err(unknown) => Origin::Other(format!("{unknown}{}", quote(answer))),
        },
        _ => match Problem::parse(&answer.body) {
            Some(problem) if answer.is_of_type(problem::MEDIA_TYPE) && is_own(&problem.code) => Origin::Api,
            Some(_) | None => Origin::Unclear,
        },
    }
}

fn is_own(code: &Code) -> bool {
    !matches!(code, Code::Other(code) if !code.starts_with("HYPERFLEET-"))
}

/// Checks that the body of an answer is a JSON object; else says what it is instead.
pub(super) fn document(answer: &Answer) -> Result<(), String> {
    if !answer.is_of_type("application/json") {
        let media_type = answer.content_type.as_deref().unwrap_or("no media type");
        return Err(format!("with {media_type} instead of JSON{}", quote(answer)));
    }
    let is_document = answer.body.trim_start().starts_with('{');
    if is_document && serde_json::from_str::<IgnoredAny>(&answer.body).is_ok() {
        return Ok(());
    }
    Err(format!("without a whole JSON object{}", quote(answer)))
}

/// The first words of an answer's body.
fn quote(answer: &Answer) -> String {
    let words: String = answer.body.split_whitespace().collect::<Vec<_>>().join(" ");
    let quoted: String = words.chars().take(QUOTE).collect();
    match (quoted.is_empty(), quoted.len() < words.len()) {
        (true, _) => ", with an empty body".to_owned(),
        (false, true) => format!(", which begins with `{quoted}…`"),
        (false, false) => format!(": `{quoted}`"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![expect(clippy::expect_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    pub(in crate::api) const PATH: &str = "/api/hyperfleet/v1/clusters/c-1";

    pub(in crate::api) fn answer(status: u16, content_type: &str, body: &str) -> Answer {
        let status = StatusCode::from_u16(status).expect("a status");
        let redirect = status.is_redirection().then(|| "http://login.example/".to_owned());
        let content_type = (!content_type.is_empty()).then(|| content_type.to_owned());
        Answer { status, content_type, redirect, body: body.to_owned(), attempts: 1, ..Answer::default() }
    }

    /// The API's problem document about a path.
    pub(in crate::api) fn problem(status: u16, code: &str, path: &str) -> Answer {
        let body = json!({ "status": status, "code": code, "instance": path, "title": "t", "detail": "d" });
        answer(status, "application/problem+json", &body.to_string())
    }

    #[test]
    fn only_the_apis_own_documents_are_its_own() {
        let json = "application/json; charset=utf-8";
        let page = "<html>\n  <title>Sign in</title>";
        let other = |text: &str| Origin::Other(text.to_owned());
        let cached = Answer { cached: true, ..problem(404, "HYPERFLEET-NTF-001", PATH) };
        let cases = [
            ("a resource", answer(200, json, r#"{"id":"c-1"}"#), Origin::Api),
            ("a stored report", answer(201, json, "{}"), Origin::Api),
            ("a discarded report", answer(204, "", ""), Origin::Unclear),
            ("a missing resource", problem(404, "HYPERFLEET-NTF-001", PATH), Origin::Api),
            ("a wrong URL", problem(404, "HYPERFLEET-NTF-000", PATH), Origin::Api),
            ("a conflict", problem(409, "HYPERFLEET-CNF-003", PATH), Origin::Api),
            ("a problem that this client does not know", problem(404, "HYPERFLEET-NTF-007", PATH), Origin::Api),
            ("a missing resource, out of a cache", cached, Origin::Unclear),
            ("a gateway without a server", answer(503, "text/html", page), Origin::Unclear),
            ("a gateway that asks for a token", answer(401, "", ""), Origin::Unclear),
            ("a method that the path does not have", answer(405, "text/plain", "no"), Origin::Unclear),
            ("another API's conflict", problem(409, "CLUSTERS-MGMT-9", PATH), Origin::Unclear),
            (
                "a page for people",
                answer(200, "text/html", page),
                other("HTTP status 200 OK with text/html instead of JSON: `<html> <title>Sign in</title>`"),
            ),
            (
                "a page under the API's media type",
                answer(200, json, page),
                other("HTTP status 200 OK without a whole JSON object: `<html> <title>Sign in</title>`"),
            ),
            ("a list", answer(200, json, "[]"), other("HTTP status 200 OK without a whole JSON object: `[]`")),
            (
                "half a document",
                answer(200, json, r#"{"id":"c"#),
                other(r#"HTTP status 200 OK without a whole JSON object: `{"id":"c`"#),
            ),
            (
                "nothing",
                answer(200, "", ""),
                other("HTTP status 200 OK with no media type instead of JSON, with an empty body"),
            ),
            (
                "a part",
                answer(206, json, "{}"),
                other("HTTP status 206 Partial Content, which the API never sends: `{}`"),
            ),
            ("a redirect", answer(302, "", ""), other("HTTP status 302 Found, a redirect to http://login.example/")),
            (
                "a page that is not there",
                answer(404, "text/html", &"äb ".repeat(60)),
                other(&format!(
                    "HTTP status 404 without a problem document of the API, which begins with `{}äb…`",
                    "äb ".repeat(26)
                )),
            ),
            (
                "the API's 404 about another path",
                problem(404, "HYPERFLEET-NTF-001", "/api/hyperfleet/v1/clusters/c-2"),
                other(&format!(
                    "HTTP status 404 about another path, which begins with `{}…`",
                    r#"{"code":"HYPERFLEET-NTF-001","detail":"d","instance":"/api/hyperfleet/v1/clusters/c-2""#
                        .chars()
                        .take(QUOTE)
                        .collect::<String>()
                )),
            ),
        ];
        for (name, answer, expected) in cases {
            assert_eq!(origin(PATH, &answer), expected, "{name}");
        }
    }
}
