#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::fault::{Fault, When};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::client::tests::settings;
use crate::failure::CallError;

const ID: &str = "0199c0de-0000-7000-8000-000000000001";
const PATH: &str = "/api/hyperfleet/v1/resources/0199c0de-0000-7000-8000-000000000001";

/// The answer of the API for a resource that does not exist.
fn gone() -> Answer {
    let problem = json!({
        "type": "https://api.hyperfleet.io/errors/not-found",
        "title": "Not Found",
        "status": 404,
        "detail": format!("Resource with id='{ID}' not found"),
        "instance": PATH,
        "code": "HYPERFLEET-NTF-001",
        "timestamp": "2026-03-01T12:00:00Z",
        "trace_id": "0199c0de-0000-7000-8000-00000000abcd",
    });
    Answer {
        status: StatusCode::NOT_FOUND,
        content_type: Some("application/problem+json".to_owned()),
        redirect: None,
        cached: false,
        body: problem.to_string(),
        attempts: 1,
    }
}

/// The same answer with one member of its problem document replaced.
fn problem_with(member: &str, value: Value) -> Answer {
    let mut problem: Value = serde_json::from_str(&gone().body).unwrap();
    problem[member] = value;
    Answer { body: problem.to_string(), ..gone() }
}

fn text(lookup: &Lookup) -> String {
    match lookup {
        Lookup::Found(_) => "found".to_owned(),
        Lookup::NotFound => "not found".to_owned(),
        Lookup::Unknown(reason) => reason.to_string(),
    }
}

#[test]
fn not_found_requires_the_apis_own_problem_document() {
    let typed = |content_type: &str| Answer { content_type: Some(content_type.to_owned()), ..gone() };
    let with_body = |body: &str| Answer { body: body.to_owned(), ..gone() };
    let with_status = |status: u16| Answer { status: StatusCode::from_u16(status).unwrap(), ..gone() };
    let instance = |path: &str| problem_with("instance", json!(path.replace("{ID}", ID)));
    let half = &gone().body[..gone().body.len() / 2];
    let no_problem = "HTTP status 404 without a problem document of the API";
    let other_path = "HTTP status 404 about another path";
    let cases = [
        ("the API's own", gone(), "not found"),
        ("with a character set", typed("Application/Problem+JSON; charset=utf-8"), "not found"),
        ("behind a proxy that cuts the prefix", instance("/resources/{ID}"), "not found"),
        ("behind a proxy that adds a prefix", instance("/fleet/api/hyperfleet/v1/resources/{ID}"), "not found"),
        ("plain JSON", typed("application/json"), no_problem),
        ("a page for people", typed("text/html"), no_problem),
        ("no type", Answer { content_type: None, ..gone() }, no_problem),
        ("empty", with_body(""), no_problem),
        ("cut off", with_body(half), no_problem),
        ("a page under the right type", with_body("<html>"), no_problem),
        ("two documents", with_body(&format!("{0}{0}", gone().body)), no_problem),
        ("a proxy's problem", with_body(r#"{"type":"about:blank","title":"Not Found","status":404}"#), no_problem),
        ("without a code", problem_with("code", Value::Null), no_problem),
        ("a document about another status", problem_with("status", json!(500)), no_problem),
        (
            "a URL that the API does not serve",
            problem_with("code", json!("HYPERFLEET-NTF-000")),
            "HTTP status 404 for another reason: UnknownEndpoint",
        ),
        (
            "another API's code",
            problem_with("code", json!("CLUSTERS-MGMT-404")),
            r#"HTTP status 404 for another reason: Other("CLUSTERS-MGMT-404")"#,
        ),
        ("about another resource", problem_with("instance", json!("/api/hyperfleet/v1/resources/x")), other_path),
        ("about no path", problem_with("instance", json!("")), other_path),
        ("about the id alone", problem_with("instance", json!(ID)), other_path),
        ("about another collection", instance("/api/hyperfleet/v1/clusters/{ID}"), other_path),
        ("about another service's collection", instance("/foo/bar/clusters/{ID}"), other_path),
        ("about another service's collection of the same name", instance("/foo/bar/resources/{ID}"), other_path),
        ("about another version", instance("/api/hyperfleet/v2/resources/{ID}"), other_path),
        ("about a part of the resource", instance("/api/hyperfleet/v1/resources/{ID}/statuses"), other_path),
        ("about a resource below the id", instance("/api/hyperfleet/v1/resources/x/{ID}"), other_path),
        ("with a slash at the end", instance("/api/hyperfleet/v1/resources/{ID}/"), other_path),
        ("cached", Answer { cached: true, ..gone() }, "the answer comes from a cache"),
        ("gone for ever", with_status(410), "HTTP status 410 Gone"),
        ("unauthorized", with_status(401), "HTTP status 401 Unauthorized"),
        ("forbidden", with_status(403), "HTTP status 403 Forbidden"),
        ("a failing API", with_status(500), "HTTP status 500 Internal Server Error"),
        (
            "redirected",
            Answer { redirect: Some("http://x/login".to_owned()), ..with_status(302) },
            "HTTP status 302 Found, a redirect to http://x/login, which is not followed",
        ),
        ("success with the document of a failure", with_status(200), "HTTP status 200 without the resource"),
        ("no content", with_status(204), "HTTP status 204 No Content"),
    ];
    for (name, answer, expected) in cases {
        assert_eq!(text(&judge(PATH, &answer)), expected, "{name}");
    }
}

#[test]
fn found_requires_a_resource_with_the_id() {
    let cases = [
        ("the resource", json!({ "id": ID, "generation": 3 }).to_string(), true),
        ("another resource", json!({ "id": "x" }).to_string(), false),
        ("a resource without an id", "{}".to_owned(), false),
        ("a page for people", "<html>".to_owned(), false),
        ("empty", String::new(), false),
    ];
    for (name, body, expected) in cases {
        let content_type = Some("application/json".to_owned());
        let answer = Answer { status: StatusCode::OK, content_type, body, ..gone() };
        assert_eq!(matches!(judge(PATH, &answer), Lookup::Found(_)), expected, "{name}");
        let cached = Answer { cached: true, ..answer };
        assert_eq!(text(&judge(PATH, &cached)), "the answer comes from a cache", "{name}");
    }
}

#[test]
fn labels_name_every_reason() {
    let too_late = Failure { attempts: 0, error: CallError::NoTime };
    let reasons = [
        Unknown::Id,
        Unknown::NoAnswer(too_late),
        Unknown::Redirected(StatusCode::FOUND, String::new()),
        Unknown::Cached,
        Unknown::Status(StatusCode::GONE),
        Unknown::NoResource,
        Unknown::NoProblem,
        Unknown::OtherProblem(Code::UnknownEndpoint),
        Unknown::OtherPath,
    ];
    assert_eq!(reasons.map(|reason| reason.label()), Unknown::LABELS);
}

proptest! {
    #[test]
    fn truncated_problem_document_is_unknown(end in 0..gone().body.len()) {
        let answer = Answer { body: gone().body[..end].to_owned(), ..gone() };
        prop_assert_eq!(text(&judge(PATH, &answer)), "HTTP status 404 without a problem document of the API");
    }
}

#[test]
fn absence_is_checked_for_status_and_source() {
    let cases = [
        ("the API's own", gone(), "nothing"),
        ("another status", Answer { status: StatusCode::OK, ..gone() }, "HTTP status 200 OK"),
        ("cached", Answer { cached: true, ..gone() }, "the answer comes from a cache"),
    ];
    for (name, answer, expected) in cases {
        let wrong = check_absence(PATH, &answer).map_or_else(|unknown| unknown.to_string(), |()| "nothing".to_owned());
        assert_eq!(wrong, expected, "{name}");
    }
    let nested = "/api/hyperfleet/v1/clusters/c-1/nodepools/n-1";
    let about = |path: &str| check_absence(nested, &problem_with("instance", json!(path))).is_ok();
    assert!(about(nested) && !about("/api/hyperfleet/v1/clusters/c-2/nodepools/n-1"), "the parent is part of the path");
}

fn client(base_url: String) -> Client {
    Client::new(settings(base_url)).unwrap()
}

#[tokio::test]
async fn look_up_finds_resources_by_escaped_ids() -> anyhow::Result<()> {
    let api = LocalApi::start().await?;
    api.put_cluster("c-1", 3).await?;
    let headers = vec![("content-type", "application/json".to_owned())];
    let body = json!({ "code": "HYPERFLEET-NTF-001" }).to_string();
    api.inject(When::any().path_ends("/clusters/listed"), Fault::Answer { status: 404, headers, body });
    let client = client(api.url());
    let cases = [
        ("a resource", "c-1", "found"),
        ("none", "c-2", "not found"),
        ("none, with an id that has to be escaped", "a/b?c=%20 ", "not found"),
        ("an id that no path can hold", "..", "the id cannot stand in a path"),
        ("plain JSON with the code", "listed", "HTTP status 404 without a problem document of the API"),
    ];
    for (name, id, expected) in cases {
        assert_eq!(text(&client.look_up("clusters", id, None, &()).await), expected, "{name}");
    }
    api.inject(When::any().first(3), Fault::ResetBefore);
    let unreachable = client.look_up("clusters", "c-2", None, &()).await;
    assert!(matches!(unreachable, Lookup::Unknown(Unknown::NoAnswer(_))), "{unreachable:?}");
    api.heal();
    assert_eq!(text(&client.look_up("clusters", "c-2", None, &()).await), "not found", "back again");
    Ok(())
}
