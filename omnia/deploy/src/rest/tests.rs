#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Mutex;

use axum::body::Body;
use http::Response;
use lifecycle_e2e::scripted::{Scripted, status};
use promptkit_deploy::error::Category;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::*;
use crate::errors::deploy_error;
use crate::labels;

/// A clock that does not wait, and remembers for how long it was asked to.
#[derive(Default)]
struct Recorded(Mutex<Vec<Duration>>);

impl Pause for Recorded {
    async fn pause(&self, time: Duration) {
        self.0.lock().unwrap().push(time);
    }
}

fn category(failure: &Failure) -> Category {
    deploy_error("", &failure.write_error(String::new())).category
}

impl Recorded {
    fn pauses(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

fn answer(code: u16, body: &Value) -> Response<Body> {
    Response::builder()
        .status(code)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

fn page() -> Response<Body> {
    Response::builder().header(CONTENT_TYPE, "text/html").body(Body::from("<html>")).unwrap()
}

async fn connect(server: &Scripted) -> Result<Workspace, Failure> {
    Workspace::connect(&server.url(), "team", &Token::from("secret")).await.unwrap()
}

/// A workspace of the designed API, with these answers after the probe.
async fn versioned(answers: impl IntoIterator<Item = Response<Body>>) -> (Scripted, Workspace) {
    let answers: Vec<_> = [answer(200, &json!({}))].into_iter().chain(answers).collect();
    let server = Scripted::start(answers).await.unwrap();
    let workspace = connect(&server).await.unwrap();
    server.asked().clear();
    (server, workspace)
}

fn requests(server: &Scripted) -> Vec<String> {
    server.asked().iter().map(|asked| format!("{} {}", asked.parts.method, asked.parts.uri)).collect()
}

#[tokio::test]
async fn probe_finds_out_which_api_the_server_has() {
    let (v1, current) = ("GET /api/v1/workspaces/team/health", "GET /api/health");
    let ok = || answer(200, &json!({ "status": "ok" }));
    let cases = [
        ("the designed API", vec![ok()], Ok(Surface::Versioned), vec![v1]),
        ("today's API", vec![status(404), ok()], Ok(Surface::Current), vec![v1, current]),
        ("today's API behind a console", vec![page(), ok()], Ok(Surface::Current), vec![v1, current]),
        ("an API whose health is a word", vec![Response::new(Body::from("ok"))], Ok(Surface::Versioned), vec![v1]),
        ("a bad token", vec![status(401)], Err(Category::Permission), vec![v1]),
        ("a broken server", vec![status(503)], Err(Category::Network), vec![v1]),
        ("another server", vec![status(404), page()], Err(Category::Resource), vec![v1, current]),
    ];
    for (name, answers, expected, asked) in cases {
        let server = Scripted::start(answers).await.unwrap();
        let found = connect(&server).await;
        assert_eq!(found.as_ref().map(Workspace::surface).map_err(category), expected, "{name}");
        assert_eq!(requests(&server), asked, "{name}");
        assert_eq!(server.header(0, "authorization").unwrap(), "Bearer secret", "{name}");
    }
    let server = Scripted::start([status(404), page()]).await.unwrap();
    assert_eq!(
        connect(&server).await.unwrap_err().to_string(),
        "the server has neither of Omnia's APIs: /api/v1/workspaces/team/health answered 404, /api/health answered a page; check \
         api_endpoint"
    );
}

#[tokio::test]
async fn objects_are_written_below_the_workspace() {
    let object = json!({ "metadata": { "name": "a" } });
    let (server, workspace) = versioned([
        answer(200, &json!([object])),
        answer(200, &object),
        answer(201, &object),
        answer(200, &object),
        status(204),
    ])
    .await;
    let clock = Recorded::default();
    assert_eq!(
        workspace
            .list(Kind::AgentRuntime, &format!("{}={}", labels::PACK_ID, labels::of_pack("my-pack")))
            .await
            .unwrap(),
        std::slice::from_ref(&object)
    );
    assert_eq!(workspace.get(Kind::ConfigMap, "a").await.unwrap(), object);
    assert_eq!(workspace.create(Kind::PromptPack, &object).await.unwrap(), object);
    assert_eq!(workspace.update(Kind::ToolRegistry, "a.b", &object, &clock).await.unwrap(), object);
    let base = "/api/v1/workspaces/team";
    assert_eq!(
        requests(&server),
        [
            format!("GET {base}/agentruntimes?labelSelector=promptkit.altairalabs.ai%2Fpack-id%3Dmy-pack"),
            format!("GET {base}/configmaps/a"),
            format!("POST {base}/promptpacks"),
            format!("PUT {base}/toolregistries/a.b"),
        ]
    );
    assert_eq!(server.asked()[2].body, object.to_string());
    assert_eq!(server.header(2, "content-type").unwrap(), "application/json");
}

#[tokio::test]
async fn current_api_has_other_collections_and_no_config_maps() {
    let server =
        Scripted::start([status(404), answer(200, &json!({})), answer(200, &json!([])), answer(200, &json!({}))])
            .await
            .unwrap();
    let workspace = connect(&server).await.unwrap();
    server.asked().clear();
    assert_eq!(workspace.list(Kind::ConfigMap, "a=b").await, Ok(vec![]));
    assert_eq!(workspace.list(Kind::AgentPolicy, "a=b").await, Ok(vec![]));
    workspace.get(Kind::AgentRuntime, "a").await.unwrap();
    assert!(workspace.create(Kind::ConfigMap, &json!({})).await.is_err());
    assert_eq!(
        requests(&server),
        ["GET /api/workspaces/team/agentpolicies?labelSelector=a%3Db", "GET /api/workspaces/team/agents/a"]
    );
}

#[tokio::test]
async fn whole_deployment_is_sent_to_a_server_that_takes_it() {
    let profile = answer(200, &json!({ "supportedDeployIntentVersions": [intent::API_VERSION] }));
    let done = answer(
        207,
        &json!({ "succeeded": false, "results": [{ "kind": "AgentRuntime", "name": "a", "action": "created" }] }),
    );
    let unknown = answer(400, &json!({ "error": "unknown apiVersion" }));
    let server =
        Scripted::start([status(404), answer(200, &json!({})), status(404), profile, done, unknown, status(403)])
            .await
            .unwrap();
    let workspace = connect(&server).await.unwrap();
    server.asked().clear();
    assert_eq!(workspace.takes_one_request().await, Ok(false));
    assert_eq!(workspace.takes_one_request().await, Ok(true));
    let done = workspace.deploy(&json!({})).await.unwrap().unwrap();
    assert_eq!((done.len(), &done[0].action), (1, &intent::Action::Created));
    assert_eq!(workspace.deploy(&json!({})).await, Ok(None));
    assert_eq!(category(&workspace.deploy(&json!({})).await.unwrap_err()), Category::Permission);
    let base = "/api/workspaces/team";
    let (profile, deploy) = (format!("GET {base}/deploy-profile"), format!("POST {base}/deployments"));
    assert_eq!(requests(&server), [profile.clone(), profile, deploy.clone(), deploy.clone(), deploy]);
}

#[tokio::test]
async fn what_a_configuration_refers_to_is_read() {
    let (server, workspace) = versioned([answer(200, &json!({ "status": { "phase": "Ready" } })), status(404)]).await;
    assert_eq!(workspace.provider("claude").await.unwrap()["status"]["phase"], "Ready");
    assert!(workspace.skill_source("s").await.unwrap_err().is_missing());
    let base = "/api/v1/workspaces/team";
    assert_eq!(requests(&server), [format!("GET {base}/providers/claude"), format!("GET {base}/skills/s")]);
}

#[tokio::test]
async fn write_that_meets_a_change_is_sent_again() {
    let conflict = || answer(409, &json!({ "reason": "Conflict", "message": "the object has been modified" }));
    let pause = Duration::from_millis(300);
    let exists = || answer(409, &json!({ "reason": "AlreadyExists" }));
    let cases = [
        ("twice", vec![conflict(), conflict(), answer(200, &json!({}))], None, 3, vec![pause; 2]),
        (
            "too often",
            vec![conflict(), conflict(), conflict(), conflict(), answer(200, &json!({}))],
            Some(Category::Conflict),
            4,
            vec![pause; 3],
        ),
        ("another conflict", vec![exists()], Some(Category::Conflict), 1, vec![]),
        ("a broken server", vec![status(500)], Some(Category::Network), 1, vec![]),
    ];
    for (name, answers, expected, sent, pauses) in cases {
        let (server, workspace) = versioned(answers).await;
        let clock = Recorded::default();
        let outcome = workspace.update(Kind::PromptPack, "a", &json!({}), &clock).await;
        assert_eq!(outcome.err().map(|failure| category(&failure)), expected, "{name}");
        assert_eq!((server.asked().len(), clock.pauses()), (sent, pauses), "{name}");
    }
}

#[tokio::test]
async fn deletion_of_what_is_gone_is_no_failure() {
    let (_server, workspace) = versioned([status(404), answer(200, &json!({})), status(403)]).await;
    assert_eq!(workspace.delete(Kind::AgentRuntime, "a").await, Ok(false));
    assert_eq!(workspace.delete(Kind::AgentRuntime, "a").await, Ok(true));
    assert_eq!(category(&workspace.delete(Kind::AgentRuntime, "a").await.unwrap_err()), Category::Permission);
}

#[tokio::test]
async fn answers_are_bounded_and_have_to_be_what_the_api_promises() {
    let large = || Response::new(Body::from(" ".repeat(BODY_LIMIT + 1)));
    let cases = [
        ("too large", large(), "the answer has more than 16777216 bytes"),
        ("no JSON", page(), "the server answered no JSON"),
        ("no list", answer(200, &json!({ "items": [] })), "the server answered no list of promptpacks"),
        ("a redirect", status(302), "the server answered 302: answer 302"),
    ];
    for (name, answer, expected) in cases {
        let (server, workspace) = versioned([answer]).await;
        let failure = workspace.list(Kind::PromptPack, "a=b").await.unwrap_err();
        assert_eq!((failure.to_string().as_str(), server.asked().len()), (expected, 1), "{name}");
    }
}

#[tokio::test]
async fn name_that_is_a_path_is_never_sent() {
    let (server, workspace) = versioned([]).await;
    for name in ["", ".", ".."] {
        assert!(workspace.delete(Kind::PromptPack, name).await.is_err());
    }
    assert_eq!(requests(&server), Vec::<String>::new());
    let _ = workspace.delete(Kind::PromptPack, "../a?b").await;
    assert_eq!(requests(&server), ["DELETE /api/v1/workspaces/team/promptpacks/..%2Fa%3Fb"]);
}

#[tokio::test]
async fn server_that_is_not_there_is_a_fault_of_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let failure = Workspace::connect(&url, "team", &Token::from("secret")).await.unwrap().unwrap_err();
    assert_eq!(category(&failure), Category::Network);
    assert!(!failure.to_string().contains("127.0.0.1"), "an address may hold credentials: {failure}");
}

#[tokio::test(start_paused = true)]
async fn server_that_does_not_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let started = Instant::now();
    let failure = Workspace::connect(&url, "team", &Token::from("secret")).await.unwrap().unwrap_err();
    assert_eq!((category(&failure), failure.to_string().as_str()), (Category::Timeout, "no answer within 30s"));
    assert_eq!(started.elapsed().as_secs(), 30);
}
