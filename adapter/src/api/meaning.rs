//! Decides what the answer to a call means for its pass.
//!
//! In: the event, a request, its URL as the client resolved it, and the answer. Out: success, "this resource does
//! not exist", or a failure with its text. A 404 of the API itself counts only if it is the API's own problem
//! document about the URL; so a proxy's page, or a wrong `base_url`, never ends the pass of an event in silence. A
//! success counts only if it is the document that was asked for; so what a gateway says of another resource, or
//! remembers of an older generation, neither writes nor deletes anything.

use http::StatusCode;
use lifecycle_api_client::lookup::check_absence;
use lifecycle_api_client::problem::Code;
use lifecycle_api_client::retry::is_retryable_status;
use lifecycle_core::api_call::{ApiRequest, Method};
use lifecycle_core::event::LifecycleEvent;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::origin::{Origin, document, is_api_path, origin};
use super::own::{is_report, names_owner_of, names_resource_of};
use super::{Answer, ApiFailure};
use crate::secret::redacted_url;

/// How much of a response body an error text quotes, in bytes: enough for a problem document.
const QUOTE_LIMIT: usize = 4 * 1024;

/// What the answer to a call means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// The call succeeded.
    Success,
    /// The event's own resource does not exist: the API itself says so.
    Gone(String),
    /// The resource at the URL does not exist.
    NotFound(String),
    /// The call failed.
    Failed(String),
}

/// Decides what the answer to a call means; `resolved` is the URL as the client resolved it. An answer that a person
/// prepared need not say whose document it is.
#[must_use]
pub fn meaning(
    event: &LifecycleEvent,
    request: &ApiRequest,
    resolved: &str,
    result: &Result<Answer, ApiFailure>,
    is_prepared: bool,
) -> Meaning {
    let answer = match result {
        Ok(answer) => answer,
        Err(ApiFailure { attempts, message }) => {
            let call = call(request, resolved);
            return Meaning::Failed(format!("{call} after {attempts} attempt(s): {message}"));
        }
    };
    let text = |detail: &str| failure(request, resolved, answer, detail);
    if answer.status.is_success() {
        let of_document = || if is_prepared { None } else { fault_of_document(event, request, resolved, answer) };
        return match fault_of_success(request, resolved, answer).or_else(of_document) {
            None => Meaning::Success,
            Some(fault) => Meaning::Failed(text(&fault)),
        };
    }
    let is_own = names_resource_of(event, resolved);
    let believed = match answer.status {
        StatusCode::NOT_FOUND if is_own || is_api_path(resolved) => check_absence(resolved, answer).is_ok(),
        // Another service has problem documents of its own, or none.
        StatusCode::NOT_FOUND => Code::of(&answer.body) != Some(Code::UnknownEndpoint),
        _ => false,
    };
    match (believed, is_own) {
        (true, true) => Meaning::Gone(text(&detail(answer))),
        (true, false) => Meaning::NotFound(text(&detail(answer))),
        (false, _) => Meaning::Failed(text(&match origin(resolved, answer) {
            Origin::Other(instead) if is_own || is_api_path(resolved) => stranger(&instead),
            Origin::Api | Origin::Unclear | Origin::Other(_) => detail(answer),
        })),
    }
}

/// The text of a call that failed with an answer.
#[must_use]
pub fn failure(request: &ApiRequest, resolved: &str, answer: &Answer, detail: &str) -> String {
    let reason = answer.status.canonical_reason().unwrap_or("");
    let (Answer { status, attempts, .. }, call) = (answer, call(request, resolved));
    format!("{call} returned {} {reason} after {attempts} attempt(s): {detail}", status.as_u16())
}

fn call(request: &ApiRequest, resolved: &str) -> String {
    format!("API request failed: {} {}", request.method.as_str(), redacted_url(resolved))
}

/// Says why an answer with a status of success is none: the API answers a GET and a report with JSON, and a
/// report that it discards with no body at all.
fn fault_of_success(request: &ApiRequest, resolved: &str, answer: &Answer) -> Option<String> {
    let is_get = request.method == Method::Get;
    if !is_api_path(resolved) || !(is_get || is_report(resolved)) {
        return None;
    }
    match origin(resolved, answer) {
        Origin::Other(instead) => Some(stranger(&instead)),
        Origin::Unclear if is_get => document(answer).err().map(|fault| format!("an answer {fault}")),
        Origin::Api | Origin::Unclear => None,
    }
}

/// What an answer of the API has of a resource, or of a report.
#[derive(Deserialize)]
struct Document {
    id: Option<Value>,
    generation: Option<Value>,
    adapter: Option<Value>,
    /// Named here so that a document which has it twice is refused: it decides about deletions.
    #[serde(rename = "deleted_time")]
    _deleted_time: Option<IgnoredAny>,
}

/// Says why a JSON object is not the document that was asked for: that of the event's own resource or of its owner, or the
/// report that was sent.
fn fault_of_document(event: &LifecycleEvent, request: &ApiRequest, resolved: &str, answer: &Answer) -> Option<String> {
    if !is_api_path(resolved) || answer.body.is_empty() {
        return None;
    }
    // The body is JSON; what fails is a field that it has twice.
    let document = || serde_json::from_str::<Document>(&answer.body);
    let twice = |error: serde_json::Error| format!("the answer is no document of the API: {error}");
    let shown = |value: Option<Value>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
    if is_report(resolved) && request.method != Method::Get {
        let sent = serde_json::from_str::<Document>(request.body.as_deref()?).ok()?.adapter?;
        let stored = match document() {
            Ok(stored) => stored.adapter,
            Err(error) => return Some(twice(error)),
        };
        return (stored.as_ref() != Some(&sent)).then(|| {
            format!("the answer is not the report that was sent: its `adapter` is {}, not {sent}", shown(stored))
        });
    }
    if request.method != Method::Get || is_report(resolved) {
        return None;
    }
    let id = if names_resource_of(event, resolved) {
        &event.resource_id
    } else {
        &event.owner.as_ref().filter(|owner| names_owner_of(owner, resolved))?.id
    };
    if answer.status != StatusCode::OK {
        return Some("the API never answers a read with this status".to_owned());
    }
    let Document { id: named, generation, .. } = match document() {
        Ok(document) => document,
        Err(error) => return Some(twice(error)),
    };
    if named.as_ref().and_then(Value::as_str) != Some(id) {
        return Some(format!("the answer is not the document of {id}: its `id` is {}", shown(named)));
    }
    let generation = generation.as_ref().and_then(Value::as_i64)?;
    (*id == event.resource_id && generation < event.generation.0).then(|| {
        format!(
            "the answer is out of date: its `generation` is {generation}, and the event is about {}; a cache or a copy \
             of the API answers",
            event.generation.0
        )
    })
}

fn stranger(instead: &str) -> String {
    format!("this is not the HyperFleet API's answer, but {instead}; is `clients.hyperfleet_api.base_url` right?")
}

/// What a server says about its refusal.
fn detail(answer: &Answer) -> String {
    if let Some(target) = &answer.redirect {
        return format!("it redirects to {target}, and redirects are not followed; correct the URL");
    }
    let body = answer.body.trim();
    if is_retryable_status(answer.status) || body.is_empty() {
        return "the server did not accept the request".to_owned();
    }
    let end = body.floor_char_boundary(QUOTE_LIMIT);
    if end < body.len() { format!("{}…", &body[..end]) } else { body.to_owned() }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests")]

    use super::super::origin::tests::{PATH, answer, problem};
    use super::super::own::tests::event;
    use super::*;

    fn request(method: Method) -> ApiRequest {
        let url = "x".to_owned();
        let (timeout, retry_attempts, retry_backoff) = (None, None, None);
        ApiRequest {
            method,
            url_template: url.clone(),
            url,
            timeout,
            retry_attempts,
            retry_backoff,
            body: (method == Method::Put).then(|| r#"{"adapter":"a"}"#.to_owned()),
            headers: Vec::new(),
        }
    }

    fn of(method: Method, url: &str, answer: Answer) -> (&'static str, String) {
        match meaning(&event("c-1", "Cluster", PATH), &request(method), url, &Ok(answer), false) {
            Meaning::Success => ("success", String::new()),
            Meaning::Gone(text) => ("gone", text),
            Meaning::NotFound(text) => ("not found", text),
            Meaning::Failed(text) => ("failed", text),
        }
    }

    const REPORTS: &str = "/api/hyperfleet/v1/clusters/c-1/statuses";
    const PLACEMENT: &str = "/api/hyperfleet/v1/placements/c-1";
    const OTHER: &str = "/other/clusters/c-1";
    const FOREIGN: &str = "https://else.example/zones/c-1";

    #[test]
    fn only_the_apis_own_404_says_that_the_events_resource_is_gone() {
        let own = |path: &str| problem(404, "HYPERFLEET-NTF-001", path);
        let page = || answer(404, "text/html", "<html>");
        let coded = || answer(404, "application/json", r#"{"code":"HYPERFLEET-NTF-001"}"#);
        let cases = [
            ("the API's own", PATH, own(PATH), "gone"),
            ("the API's own, on a report", REPORTS, own(REPORTS), "gone"),
            ("the API's own, behind a proxy that cuts the prefix", PATH, own("/clusters/c-1"), "gone"),
            ("about another cluster", PATH, own("/api/hyperfleet/v1/clusters/c-2"), "failed"),
            ("about another collection", PATH, own("/api/hyperfleet/v1/resources/c-1"), "failed"),
            ("about another service's resource", PATH, own("/foo/bar/clusters/c-1"), "failed"),
            ("the code of a wrong URL", PATH, problem(404, "HYPERFLEET-NTF-000", PATH), "failed"),
            ("out of a cache", PATH, Answer { cached: true, ..own(PATH) }, "failed"),
            ("a page", PATH, page(), "failed"),
            ("plain JSON with the API's code", PATH, coded(), "failed"),
            ("no body", PATH, answer(404, "", ""), "failed"),
            ("a page, on a report", REPORTS, page(), "failed"),
            ("another status", PATH, problem(410, "HYPERFLEET-NTF-001", PATH), "failed"),
            ("another resource of the API", PLACEMENT, own(PLACEMENT), "not found"),
            ("a page for another resource of the API", PLACEMENT, page(), "failed"),
            ("the event's resource outside of the API's paths", OTHER, page(), "failed"),
            ("another service on the API's host", "/hooks/x", page(), "not found"),
            ("another host", FOREIGN, page(), "not found"),
            (
                "another host with the API's code of a wrong URL",
                FOREIGN,
                problem(404, "HYPERFLEET-NTF-000", ""),
                "failed",
            ),
        ];
        for (name, url, answer, expected) in cases {
            let (meaning, text) = of(Method::Get, url, answer);
            assert_eq!(meaning, expected, "{name}: {text}");
        }
    }

    #[test]
    fn success_of_a_read_or_report_has_the_apis_document() {
        let json = |body| answer(200, "application/json", body);
        let page = || answer(200, "text/html", "<html>");
        let cases = [
            ("the resource", Method::Get, PATH, json(r#"{"id":"c-1","generation":1}"#), "success"),
            ("the resource, which is newer", Method::Get, PATH, json(r#"{"id":"c-1","generation":2}"#), "success"),
            ("the resource, without its generation", Method::Get, PATH, json(r#"{"id":"c-1"}"#), "success"),
            ("the resource, out of a cache", Method::Get, PATH, json(r#"{"id":"c-1","generation":0}"#), "failed"),
            ("another resource", Method::Get, PATH, json(r#"{"id":"c-2","deleted_time":"x"}"#), "failed"),
            ("an error", Method::Get, PATH, json(r#"{"error":"timed out"}"#), "failed"),
            (
                "a field twice",
                Method::Get,
                PATH,
                json(r#"{"id":"c-1","deleted_time":null,"deleted_time":"x"}"#),
                "failed",
            ),
            ("nobody's document", Method::Get, PATH, json("{}"), "failed"),
            (
                "a status that no read has",
                Method::Get,
                PATH,
                answer(202, "application/json", r#"{"id":"c-1"}"#),
                "failed",
            ),
            ("another resource of the API", Method::Get, PLACEMENT, json("{}"), "success"),
            ("a page", Method::Get, PATH, page(), "failed"),
            ("no content", Method::Get, PATH, answer(204, "", ""), "failed"),
            ("a stored report", Method::Put, REPORTS, answer(201, "application/json", r#"{"adapter":"a"}"#), "success"),
            (
                "another adapter's report",
                Method::Put,
                REPORTS,
                answer(201, "application/json", r#"{"adapter":"b"}"#),
                "failed",
            ),
            ("an error in place of the report", Method::Put, REPORTS, json(r#"{"error":"down"}"#), "failed"),
            ("a discarded report", Method::Put, REPORTS, answer(204, "", ""), "success"),
            ("a report that a page answers", Method::Put, REPORTS, page(), "failed"),
            ("a report that nothing answers", Method::Put, REPORTS, answer(200, "", ""), "failed"),
            ("a report, with a query", Method::Put, &format!("{REPORTS}?x=y"), page(), "failed"),
            (
                "another post action",
                Method::Post,
                "/api/hyperfleet/v1/hooks",
                answer(200, "text/plain", "ok"),
                "success",
            ),
            ("a page of another host", Method::Get, FOREIGN, page(), "success"),
        ];
        for (name, method, url, answer, expected) in cases {
            let (meaning, text) = of(method, url, answer);
            assert_eq!(meaning, expected, "{name}: {text}");
        }
    }

    #[test]
    fn failure_text_names_request_status_and_reason() {
        let (call, returned) = (format!("API request failed: GET {PATH}"), "after 1 attempt(s):");
        let right = "is `clients.hyperfleet_api.base_url` right?";
        let cases = [
            (
                "refused",
                PATH,
                answer(409, "text/plain", " taken "),
                format!("{call} returned 409 Conflict {returned} taken"),
            ),
            (
                "given up",
                PATH,
                answer(503, "text/html", "<html>"),
                format!("{call} returned 503 Service Unavailable {returned} the server did not accept the request"),
            ),
            (
                "somebody else",
                PATH,
                answer(404, "text/html", "<html>"),
                format!(
                    "{call} returned 404 Not Found {returned} this is not the HyperFleet API's answer, but HTTP status 404 without a problem document of the API: `<html>`; {right}"
                ),
            ),
            (
                "a redirect of the API",
                PATH,
                answer(302, "", ""),
                format!(
                    "{call} returned 302 Found {returned} this is not the HyperFleet API's answer, but HTTP status 302 Found, a redirect to http://login.example/; {right}"
                ),
            ),
            (
                "a redirect of another host",
                FOREIGN,
                answer(302, "", ""),
                format!(
                    "API request failed: GET {FOREIGN} returned 302 Found {returned} it redirects to http://login.example/, and redirects are not followed; correct the URL"
                ),
            ),
        ];
        for (name, url, answer, expected) in cases {
            assert_eq!(of(Method::Get, url, answer).1, expected, "{name}");
        }
        let unanswered = Err(ApiFailure { attempts: 2, message: "connection refused".to_owned() });
        let event = event("c-1", "Cluster", PATH);
        let Meaning::Failed(text) = meaning(&event, &request(Method::Get), "/x", &unanswered, false) else {
            panic!("failed")
        };
        assert_eq!(text, "API request failed: GET /x after 2 attempt(s): connection refused");
        let long = of(Method::Get, "/x", answer(400, "", &"ä".repeat(QUOTE_LIMIT))).1;
        assert!(long.len() < QUOTE_LIMIT + 200 && long.ends_with('…'), "{}", long.len());
    }
}
