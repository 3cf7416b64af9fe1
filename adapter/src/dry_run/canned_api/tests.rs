#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use serde_json::json;

use super::*;

fn api(file: Value) -> CannedApi {
    let answers = Answers::compile(serde_json::from_value(file).unwrap()).unwrap();
    CannedApi::new(Some(Base::new("http://api:8000".parse().unwrap(), "v1")), answers, Unmatched::AsTheGoAdapter)
}

#[test]
fn first_matching_entry_answers() {
    let api = api(json!({ "responses": [
        { "match": { "method": "GET", "urlPattern": "/clusters/a$" }, "responses": [{ "body": { "by": 0 } }] },
        { "match": { "method": "*", "urlPattern": "/clusters/" }, "responses": [{ "statusCode": 202, "body": [1] }] },
        { "match": { "method": "get", "urlPattern": "." }, "responses": [{ "body": "never: methods are exact" }] },
        { "match": { "method": "PUT", "urlPattern": "^/other" }, "responses": [{ "statusCode": 0 }] },
    ] }));
    let cases = [
        ("method and pattern match", "GET", "/clusters/a", 200, r#"{"by":0}"#, Some(0)),
        ("a pattern is looked for anywhere", "GET", "/api/v1/clusters/a", 200, r#"{"by":0}"#, Some(0)),
        ("an anchor is honoured", "GET", "/clusters/ab", 202, "[1]", Some(1)),
        ("a star is every method", "DELETE", "/clusters/a", 202, "[1]", Some(1)),
        ("no status is 200, no body is an empty object", "PUT", "/other", 200, "{}", Some(3)),
        ("nothing matches", "GET", "/elsewhere", 200, "{}", None),
    ];
    for (name, method, url, status, body, entry) in cases {
        let answer = api.answer(method, url, None);
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (status, body), "{name}");
        assert_eq!(api.answered_by().last(), Some(&entry), "{name}");
    }
}

#[test]
fn call_without_an_entry_is_answered_as_by_the_api_or_as_in_the_go_adapter() {
    const REPORT: &str = r#"{"adapter":"a"}"#;
    let base = || Some(Base::new("http://api:8000".parse().unwrap(), "v1"));
    let api = |unmatched| CannedApi::new(base(), Answers::default(), unmatched);
    let (own, go) = (api(Unmatched::AsTheApi), api(Unmatched::AsTheGoAdapter));
    let (cluster, statuses) = ("/api/hyperfleet/v1/clusters/a", "/api/hyperfleet/v1/clusters/a/statuses");
    let cases = [
        ("a read", "GET", cluster, 404, true),
        ("a read of reports", "GET", statuses, 404, true),
        ("a write that is no report", "PATCH", cluster, 404, true),
        ("a call of another host", "POST", "https://else.example/hook", 404, true),
        ("a report", "PUT", statuses, 201, false),
        ("a report as of older APIs", "POST", statuses, 201, false),
    ];
    for (name, method, url, status, is_warned) in cases {
        let answer = own.answer(method, url, Some(REPORT));
        assert_eq!((answer.status.as_u16(), own.warning(method, url).is_some()), (status, is_warned), "{name}");
        assert_eq!(answer.body == REPORT, status == 201, "{name}: {}", answer.body);
        assert_eq!(
            (go.answer(method, url, None).status.as_u16(), go.answer(method, url, None).body.as_str()),
            (200, "{}")
        );
        assert!(go.warning(method, url).is_some() || url == statuses, "{name}");
    }
    let refused = own.answer("GET", cluster, None);
    let sentence = format!("no entry of api-responses.json matches GET {cluster}");
    assert!(refused.body.contains(&sentence), "{}", refused.body);
    assert!(own.warning("GET", cluster).unwrap().contains(&sentence));
    let absence = lifecycle_api_client::lookup::check_absence(cluster, &refused);
    assert!(absence.is_err(), "a missing entry does not say that the resource is gone");
}

#[test]
fn answers_of_an_entry_come_in_order_and_the_last_repeats() {
    let api = api(json!({ "responses": [
        { "match": { "method": "GET", "urlPattern": "/a" }, "responses": [{ "statusCode": 503 }, { "statusCode": 404 }] },
        { "match": { "method": "GET", "urlPattern": "/b" }, "responses": [{ "statusCode": 500 }] },
    ] }));
    let given = ["/a", "/b", "/a", "/a"].map(|url| api.answer("GET", url, None).status.as_u16());
    assert_eq!(given, [503, 500, 404, 404]);
}

#[test]
fn canned_404_is_the_apis_own_unless_its_author_says_otherwise() {
    let path = "/api/hyperfleet/v1/clusters/a";
    let is_own = |response: Value| {
        let file = json!({ "responses": [{ "match": { "method": "*", "urlPattern": "." }, "responses": [response] }] });
        let answer = api(file).answer("GET", &format!("{path}?fields=id"), None);
        (lifecycle_api_client::lookup::check_absence(path, &answer).is_ok(), answer.body)
    };
    let page = json!({ "statusCode": 404, "body": "<html>", "headers": { "content-type": ["text/html"] } });
    let cases = [
        ("nothing but the status", json!({ "statusCode": 404 }), true),
        ("a text of its own", json!({ "statusCode": 404, "body": { "detail": "gone" } }), true),
        ("a wrong URL", json!({ "statusCode": 404, "body": { "code": "HYPERFLEET-NTF-000" } }), false),
        ("another resource", json!({ "statusCode": 404, "body": { "instance": "/clusters/b" } }), false),
        ("another media type", json!({ "statusCode": 404, "headers": { "Content-Type": "application/json" } }), false),
        ("a page", page.clone(), false),
    ];
    for (name, response, expected) in cases {
        assert_eq!(is_own(response).0, expected, "{name}");
    }
    assert_eq!(is_own(page).1, "<html>", "text is sent as it is written");
}

#[test]
fn url_patterns_are_regular_expressions() {
    let entry = |pattern: &str| json!({ "match": { "method": "*", "urlPattern": pattern }, "responses": [{}] });
    let api = api(json!({ "responses": [entry(r"^/\w+$"), entry(r"^/é\?a=\{b$"), entry(r"^/\{id}$")] }));
    let by = ["/a_1", "/é", "/é?a={b", "/{id}"].map(|url| {
        api.answer("GET", url, None);
        api.answered_by().last().copied().flatten()
    });
    assert_eq!(by, [Some(0), None, Some(1), Some(2)]);
}

#[test]
fn url_patterns_match_resolved_urls() {
    let api = api(json!({}));
    assert_eq!(api.resolve_url("clusters/a?full=1"), "/api/hyperfleet/v1/clusters/a?full=1");
}

#[test]
fn entry_without_answers_or_with_a_bad_pattern_is_an_error() {
    let cases = [
        ("no answers", json!({ "match": { "method": "GET", "urlPattern": "/" }, "responses": [] }), "has no answers"),
        ("no pattern", json!({ "match": { "method": "GET" }, "responses": [{}] }), "urlPattern is empty"),
        (
            "no HTTP status",
            json!({ "match": { "urlPattern": "." }, "responses": [{ "statusCode": 4040 }] }),
            "has an answer with the statusCode 4040",
        ),
        (
            "no regular expression",
            json!({ "match": { "urlPattern": "(" }, "responses": [{}] }),
            "not a regular expression",
        ),
    ];
    for (name, entry, expected) in cases {
        let good = json!({ "match": { "method": "*", "urlPattern": "." }, "responses": [{}] });
        let file = serde_json::from_value(json!({ "responses": [good, entry] })).unwrap();
        let error = Answers::compile(file).expect_err(name).to_string();
        assert!(error.starts_with("responses[1]") && error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn unknown_keys_of_an_answers_file_are_warnings() {
    let written = json!({
        "response": [],
        "responses": [{
            "match": { "method": "GET", "urlpattern": "/a" },
            "delay": "1s",
            "responses": [{ "status": 404, "statusCode": 200, "headers": {}, "body": { "anything": 1 } }],
        }],
    });
    let text: Vec<String> = unknown_keys("answers.json", &written).all().iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "answers.json: warning: response: is an unknown key and is ignored\n  help: write `responses`",
            "answers.json: warning: responses[0].delay: is an unknown key and is ignored\n  help: remove it; the keys here are match, responses",
            "answers.json: warning: responses[0].match.urlpattern: is an unknown key and is ignored\n  help: write `urlPattern`",
            "answers.json: warning: responses[0].responses[0].status: is an unknown key and is ignored\n  help: remove it; the keys here are body, headers, statusCode",
        ]
    );
}

#[test]
fn urls_are_not_resolved_without_a_base() {
    let api = CannedApi::new(None, Answers::default(), Unmatched::AsTheApi);
    for url in ["clusters/a?b=c", "http://api/x", ""] {
        assert_eq!(api.resolve_url(url), url);
    }
}
