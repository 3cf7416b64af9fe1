//! Reads the pages over HTTP, with sources that answer as the API, the exporter, an adapter and the sweeper do, or that do not answer.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use hyperfleet_console::config::CONFIGURATION;
use lifecycle_config::settings::{Environment, Flags};
use serde_json::{Value, json};

mod resource;
mod sources;
mod sweeper;
mod world;

use world::{ALL, HOSTILE, ID, World, api, console, large, peer, serve};

const PAGES: [&str; 5] =
    ["/", "/resources/01a219eb-957a-7319-9ecb-fd65426d7ca0", "/adapters", "/adapters/jobs", "/sweeper"];

#[tokio::test]
async fn text_of_others_stays_text_on_every_page() {
    let world = World::all().await;
    for path in PAGES {
        let page = world.page(path).await;
        assert!(page.contains("&lt;script&gt;") || path == "/adapters", "{path} does not show the text: {page}");
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "{path}: {page}");
        assert!(page.len() < 100_000, "{path} has {} bytes", page.len());
    }
}

#[tokio::test]
async fn page_stays_small_however_much_the_sources_answer() {
    let world = World::beside(large(), ALL).await;
    for path in PAGES {
        let page = world.page(path).await;
        assert!(page.len() < 100_000, "{path} has {} bytes", page.len());
        assert!(!page.contains("class=\"away\""), "{path} shows a source as away");
    }
    let long = HOSTILE.repeat(40);
    let intake = json!({"takes_events": false, "waits_for": long, "problem": long});
    let failures: serde_json::Map<String, Value> =
        (0..500).map(|number| (format!("{number}{long}"), json!(1))).collect();
    let replica = json!({"adapter": "jobs", "replica": long, "version": long, "intake": intake, "totals": {"failures": failures}});
    let resources = vec![json!({"name": long, "kind": long}); 5_000];
    let crowd = Router::new()
        .route("/passes", get(async move || replica.to_string()))
        .route("/task", get(async move || json!({"resources": resources}).to_string()));
    let world = World::beside(crowd, "adapters: [{name: jobs, url: '{peer}'}]\n").await;
    for path in ["/adapters", "/adapters/jobs"] {
        let page = world.page(path).await;
        assert!(page.len() < 100_000 && page.contains("takes no events"), "{path} has {} bytes", page.len());
    }
    let clusters = json!({"items": vec![json!({"id": ID, "kind": long, "name": long}); 50], "total": 50});
    let list = move || ([(CONTENT_TYPE, "application/json")], clusters.to_string());
    let api = Router::new().fallback(get(async move || list()));
    let page = World::of(api, large(), ALL).await.page("/").await;
    assert!(page.len() < 100_000 && page.contains("50 resources"), "the list has {} bytes", page.len());
}

/// Answers every question by a refusal with a long message.
fn refusing(status: StatusCode) -> Router {
    let body = json!({"message": HOSTILE.repeat(6_000)}).to_string();
    Router::new().fallback(get(async move || (status, body)))
}

#[tokio::test]
async fn page_stays_small_however_much_a_source_says_about_its_refusal() {
    let adapters: Vec<String> = (0..20).map(|number| format!("{{name: jobs-{number}, url: '{{peer}}'}}")).collect();
    let adapters = format!("adapters: [{{name: jobs, url: '{{peer}}'}}, {}]", adapters.join(", "));
    let sources = format!("exporter: {{url: '{{peer}}'}}\n{adapters}\nsweeper: {{url: '{{peer}}'}}\n");
    let world = World::beside(refusing(StatusCode::INTERNAL_SERVER_ERROR), &sources).await;
    for path in PAGES {
        let page = world.page(path).await;
        assert!(page.len() < 100_000 && page.contains(" is away. "), "{path} has {} bytes", page.len());
    }
    let page = world.page("/adapters").await;
    assert!(page.contains("more sources or replicas are away, too"), "{page}");
}

#[tokio::test]
async fn source_in_trouble_is_not_asked_for_each_reader() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let refuse = async move || {
        count.fetch_add(1, Ordering::Relaxed);
        StatusCode::INTERNAL_SERVER_ERROR
    };
    let world = World::beside(Router::new().fallback(get(refuse)), "sweeper: {url: '{peer}'}\n").await;
    for _ in 0..20 {
        assert!(world.page("/sweeper").await.contains("sweeper is away. "));
    }
    // A refusal counts for a second, and 20 pages take less than ten.
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked <= 10, "asked {asked} times for 20 pages");
}

#[tokio::test]
async fn answers_forbid_what_is_not_the_consoles_own() {
    let world = World::all().await;
    for path in PAGES.into_iter().chain(["/assets/style.css", "/assets/live.js", "/nowhere"]) {
        let response = world.client.get(format!("http://{}{path}", world.console.address())).send().await.unwrap();
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        let kept = if path.starts_with("/assets") { "private, max-age=300" } else { "no-store" };
        assert_eq!(response.headers()["cache-control"], kept, "{path}");
        assert_eq!(response.headers()["cross-origin-resource-policy"], "same-origin", "{path}");
        let text = response.text().await.unwrap();
        for inline in [" style=", "<style", " onclick", "javascript:"] {
            assert!(!text.contains(inline) || path.starts_with("/assets"), "{path} has {inline}");
        }
    }
}

#[tokio::test]
async fn page_of_a_stuck_resource_says_what_whose_and_what_helps() {
    let world = World::all().await;
    let page = world.page(PAGES[1]).await;
    for part in [
        "Needs somebody",
        "it waits on adapter jobs",
        "JobFailed",
        "Whose part: ",
        "What would change it",
        "For another decision, the event has to be about another generation",
        "Row 17 of the decision table",
        "https://traces/0af7651916cd43dd8448eb211c80319c",
    ] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
}

#[tokio::test]
async fn resource_that_the_api_does_not_have_is_not_found() {
    let world = World::all().await;
    let (status, page) = world.get("/resources/none").await;
    assert_eq!(status, 404);
    assert!(page.contains("The API has no resource with the id none"), "{page}");
    assert_eq!(world.get("/nowhere").await.0, 404);
    assert_eq!(world.get("/?name=a%27").await.0, 400);
}

#[tokio::test]
async fn source_that_does_not_answer_is_shown_as_away() {
    // Nothing listens on the port of a server that has stopped.
    let gone = serve(Router::new()).await;
    let address = gone.address();
    gone.stop(Duration::from_secs(1)).await;
    let away = format!("{{url: 'http://{address}'}}");
    let world = World::start(&format!(
        "exporter: {away}\nadapters: [{{name: jobs, url: 'http://{address}'}}]\nsweeper: {away}\n"
    ))
    .await;
    for (path, source) in PAGES.into_iter().zip(["exporter", "adapter jobs", "adapter jobs", "adapter jobs", "sweeper"])
    {
        let page = world.page(path).await;
        assert!(page.contains(&format!("<strong>{source} is away. </strong>")), "{path}: {page}");
        assert!(!page.contains("Nothing is stuck") && !page.contains("No object is orphaned"), "{path}: {page}");
    }
}

#[tokio::test]
async fn api_that_does_not_answer_is_shown_as_away() {
    let gone = serve(Router::new()).await;
    let text = format!("listen: '127.0.0.1:0'\napi: {{base_url: 'http://{}', kinds: [Cluster]}}", gone.address());
    gone.stop(Duration::from_secs(1)).await;
    let (config, _) = CONFIGURATION.parse("console.yaml", &text, &Environment::new(), &Flags::new()).unwrap();
    let console = console(config).await;
    for path in ["/", PAGES[1]] {
        let answer = reqwest::get(format!("http://{}{path}", console.address())).await.unwrap();
        assert_eq!(answer.status(), 503, "{path}");
        let page = answer.text().await.unwrap();
        assert!(page.contains("API is away"), "{path}: {page}");
    }
}

#[tokio::test]
async fn api_that_refuses_the_console_is_not_called_away() {
    for (status, expected) in [(401, "API refused the console: HTTP 401"), (403, "HTTP 403"), (500, "API is away")] {
        let api = refusing(StatusCode::from_u16(status).unwrap());
        let world = World::of(api, peer(), "").await;
        for path in ["/", PAGES[1]] {
            let (found, page) = world.get(path).await;
            assert_eq!(found, 503, "{path}: {page}");
            assert!(page.contains(expected), "{status}, {path}: {page}");
            assert_eq!(page.contains("API is away"), status == 500, "{status}, {path}: {page}");
        }
    }
    let world = World::beside(refusing(StatusCode::FORBIDDEN), ALL).await;
    let page = world.page("/sweeper").await;
    assert!(page.contains("sweeper refused the console: HTTP 403"), "{page}");
}

/// Seconds before now.
fn ago(seconds: i64) -> String {
    (jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds)).to_string()
}

/// The page of the sweeper, for a leader's plan.
async fn sweeper_page(pass: Value, more: Value) -> String {
    let mut plan = json!({"replica": "sweeper-0", "leads": true, "interval_seconds": 600, "pass": pass});
    plan.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let router = Router::new().route("/plan", get(async move || plan.to_string()));
    World::beside(router, "sweeper: {url: '{peer}'}").await.page("/sweeper").await
}

#[tokio::test]
async fn sweeper_page_says_what_a_pass_did() {
    let orphan = json!({"kind": "Job", "name": "a", "resource_id": ID, "verdict": "delete", "outcome": "deleted"});
    let pass = |released: bool, result: &str| json!({"time": ago(60), "released": released, "result": result, "holds": ["too many"], "objects": [orphan]});
    let page = sweeper_page(pass(true, "done"), json!({})).await;
    assert!(page.contains("A person approved the plan despite:") && page.contains("<strong>done</strong>"), "{page}");
    assert!(!page.contains("deleted nothing") && page.contains("<td>deleted</td>"), "{page}");
    let page = sweeper_page(pass(false, "held"), json!({})).await;
    assert!(page.contains("held, and deleted nothing") && !page.contains("despite"), "{page}");
}

#[tokio::test]
async fn sweeper_page_calls_nothing_orphaned_only_if_a_recent_pass_could_look() {
    let pass = |age: i64| json!({"time": ago(age), "released": true, "result": "done"});
    let with = |age: i64, key: &str, value: Value| {
        let mut pass = pass(age);
        pass[key] = value;
        pass
    };
    let held = with(60, "holds", json!(["1 list(s) of objects could not be read"]));
    let cases = [
        ("recent", pass(60), json!({}), true),
        ("old", pass(7200), json!({}), false),
        ("held", held, json!({}), false),
        ("living owners", with(60, "kept", json!({"owner_exists": 3})), json!({}), true),
        ("unknown owners", with(60, "kept", json!({"owner_unknown": 3})), json!({}), false),
        ("not listed", with(60, "objects_total", json!(3)), json!({}), false),
        ("no interval, recent", pass(3000), json!({"interval_seconds": 0}), true),
        ("no interval, old", pass(4000), json!({"interval_seconds": 0}), false),
    ];
    for (name, pass, more, expected) in cases {
        let page = sweeper_page(pass, more).await;
        assert_eq!(page.contains("No object is orphaned"), expected, "{name}: {page}");
        assert_eq!(page.contains("3: owner unknown"), name == "unknown owners", "{name}: {page}");
    }
}

#[tokio::test]
async fn sweeper_page_names_the_holder_its_trouble_and_failed_attempts() {
    let message = "the API server refused the deletion: no right";
    let history = json!([{"kind": "Job", "name": "a", "result": "refused", "message": message}]);
    let more = json!({"holder": "sweeper-0_1", "trouble": "the Lease cannot be written", "history": history});
    let page = sweeper_page(json!({}), more).await;
    for part in ["sweeper-0_1 leads", "The Lease cannot be written.", "refused", "no right."] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
}

#[tokio::test]
async fn approval_names_the_objects_that_the_page_does_not_show() {
    let orphan =
        |name: &str, verdict: &str| json!({"kind": "Job", "name": name, "resource_id": ID, "verdict": verdict});
    let objects = json!([orphan("young", "grace"), orphan("old", "delete")]);
    let approve = json!({"approve": "sweeper approve abc"});
    let pass = |total: u64| json!({"holds": ["too many"], "objects": objects, "objects_total": total});
    let page = sweeper_page(pass(510), approve.clone()).await;
    assert!(page.contains("508 objects of this plan are not shown here"), "{page}");
    assert!(page.contains("<code>sweeper plan</code> before you approve"), "{page}");
    let (due, others) = (page.find("Objects that are due").unwrap(), page.find("Objects that are not due").unwrap());
    let (old, young) = (page.find("Job old").unwrap(), page.find("Job young").unwrap());
    assert!(due < old && old < others && others < young, "{page}");
    let page = sweeper_page(pass(2), approve).await;
    assert!(page.contains("sweeper approve abc") && !page.contains("not shown here"), "{page}");
}

#[tokio::test]
async fn fleet_is_well_without_stuck_resources_and_stalled_deletions_only() {
    let none = json!({"items": [], "total": 0});
    let stuck = json!({"items": [{"id": ID, "name": "north", "age_seconds": 700}], "total": 1});
    let stalled =
        json!({"items": [{"id": ID, "name": "south", "deleting": true, "children": ["child-1"]}], "total": 1});
    let cases = [
        ("neither", none.clone(), none.clone(), "Nothing is stuck"),
        ("stuck", stuck, none.clone(), "1 is stuck"),
        ("stalled", none.clone(), stalled, "1 deletion is stalled"),
        ("unknown", none, json!("nonsense"), "exporter is away"),
    ];
    for (name, stuck, stalled, expected) in cases {
        let answer = move |query: Option<String>| match query.is_some_and(|query| query.contains("stalled=true")) {
            true => stalled.to_string(),
            false => stuck.to_string(),
        };
        let route = get(async move |axum::extract::RawQuery(query): axum::extract::RawQuery| answer(query));
        let world = World::beside(Router::new().route("/stuck", route), "exporter: {url: '{peer}'}").await;
        let page = world.page("/").await;
        assert!(page.contains(expected), "{name}: {page}");
        assert_eq!(page.contains("Nothing is stuck"), name == "neither", "{name}: {page}");
        assert_eq!(page.contains("child-1"), name == "stalled", "{name}: {page}");
    }
}

#[tokio::test]
async fn fleet_page_says_how_to_list_the_others_that_are_stuck() {
    let answer = |query: Option<String>| {
        let items = vec![json!({"id": ID, "kind": "Cluster", "name": "north", "age_seconds": 700}); 500];
        let total = if query.is_some_and(|query| query.contains("stalled")) { 3 } else { 1200 };
        json!({"items": items[..total.min(500)], "total": total}).to_string()
    };
    let route = get(async move |axum::extract::RawQuery(query): axum::extract::RawQuery| answer(query));
    let page = World::beside(Router::new().route("/stuck", route), "exporter: {url: '{peer}'}").await.page("/").await;
    assert!(page.contains("1190 more: <code>reconcile-metrics stuck</code> lists them"), "{page}");
    assert!(!page.contains("--stalled"), "each stalled deletion is shown: {page}");
}

#[tokio::test]
async fn exporter_gets_one_question_at_a_time() {
    // What the pages ask the API, which they do at the same time as they ask the exporter.
    let asked = Arc::<Mutex<String>>::default();
    let noted = Arc::clone(&asked);
    let note = axum::middleware::map_request(move |request: axum::extract::Request| {
        noted.lock().unwrap().push_str(&request.uri().to_string());
        async move { request }
    });
    let have_begun = move || ["page=1", "page=2", "/statuses"].iter().all(|part| asked.lock().unwrap().contains(part));
    let reading = Arc::<AtomicUsize>::default();
    let answer = async move || {
        let others = reading.fetch_add(1, Ordering::SeqCst);
        while !have_begun() {
            tokio::task::yield_now().await;
        }
        reading.fetch_sub(1, Ordering::SeqCst);
        let status = if others == 0 { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        (status, json!({"items": [], "total": 0}).to_string())
    };
    let router = Router::new().route("/stuck", get(answer));
    let world = World::of(api(Arc::default()).layer(note), router, "exporter: {url: '{peer}'}").await;
    for page in futures::future::join_all([world.page("/"), world.page(PAGES[1]), world.page("/?page=2")]).await {
        assert!(!page.contains("exporter is away"), "{page}");
    }
}

#[tokio::test]
async fn item_that_cannot_be_read_hides_no_other_item() {
    let odd = json!({"id": "odd", "labels": {"a": ["not", "a", "text"]}});
    let list = json!({"items": [odd, {"id": ID, "kind": "Cluster", "name": "north"}], "total": 2});
    let list = move || ([(CONTENT_TYPE, "application/json")], list.to_string());
    let world = World::of(Router::new().fallback(get(async move || list())), peer(), "").await;
    let page = world.page("/").await;
    assert!(page.contains("north") && page.contains("1 items of this page could not be read"), "{page}");
}

#[tokio::test]
async fn lists_say_how_much_they_leave_out() {
    let long = "x".repeat(300);
    let decision = json!({"resource": "job", "decision": "skip", "reason": "SameGeneration"});
    let errors: serde_json::Map<String, Value> = (0..5).map(|number| (number.to_string(), json!("failed"))).collect();
    let pass = json!({"event": {"resourceId": long}, "decisions": vec![decision; 10], "errors": errors});
    let waits: Vec<Value> =
        (0..200).map(|number| json!({"adapter": format!("{number}{long}"), "cause": "not_available"})).collect();
    let deeds = vec![json!({"kind": "Job", "name": long, "message": long}); 500];
    let of = |body: Value| get(async move || body.to_string());
    let router = Router::new()
        .route("/passes", of(json!({"adapter": "jobs", "passes": [pass]})))
        .route("/task", of(json!({})))
        .route("/stuck", of(json!({"items": [{"id": ID, "waits_on": waits}], "total": 1})))
        .route("/plan", of(json!({"leads": true, "history": deeds})));
    let world = World::beside(router, ALL).await;
    let page = world.page("/adapters/jobs").await;
    assert_eq!(page.matches("job: skip SameGeneration").count(), 8, "{page}");
    assert!(page.contains("<small>2 more</small>"), "{page}");
    // A link that is cut would lead nowhere.
    assert!(page.contains("xxx…") && !page.contains("href=\"/resources/xxx"), "{page}");
    let page = world.page("/").await;
    assert!(page.contains("more such causes are not shown here"), "{page}");
    assert!(!page.contains("%E2%80%A6"), "{page}");
    let page = world.page("/sweeper").await;
    assert!(page.contains("more attempts are not shown here"), "{page}");
}

#[tokio::test]
async fn adapter_that_takes_no_events_is_marked() {
    let intake = json!({"takes_events": false, "waits_for": "the broker: refused", "in_flight": 2, "waiting": 1});
    let passes = json!({"adapter": "jobs", "intake": intake}).to_string();
    let world = World::beside(Router::new().route("/passes", get(async move || passes)), ALL).await;
    for path in ["/adapters", "/adapters/jobs"] {
        let page = world.page(path).await;
        for part in ["takes no events", "waits for the broker: refused", "2 in flight, 1 waiting"] {
            assert!(page.contains(part), "{path}: no `{part}` in {page}");
        }
        assert!(!page.contains("answers"), "{path}: {page}");
    }
}

#[tokio::test]
async fn names_in_sentences_are_shown_as_code() {
    let world = World::all().await;
    let (status, page) = world.get("/adapters/none").await;
    assert!(status == 404 && page.contains("Add <code>none</code> to <code>adapters</code>"), "{page}");
    let (status, page) = world.get("/?state=odd").await;
    assert!(status == 400 && page.contains("There is no state <code>odd</code>"), "{page}");
    assert_eq!(world.get(&format!("/?name={}", "a".repeat(3000))).await.0, 400);
}

#[tokio::test]
async fn pages_need_the_token_if_one_is_configured() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "s3cret\n").unwrap();
    let world = World::start(&format!("access: {{token_file: '{}'}}", file.path().display())).await;
    for path in PAGES.into_iter().chain(["/live?of=%2F", "/assets/live.js"]) {
        let (status, text) = world.get(path).await;
        assert_eq!(status, 401, "{path}: {text}");
        assert!(!text.contains("Fleet"), "{path}: {text}");
    }
    let url = format!("http://{}/", world.console.address());
    let allowed = world.client.get(url).basic_auth("anybody", Some("s3cret")).send().await.unwrap();
    assert_eq!(allowed.status(), 200);
}

#[tokio::test]
async fn readers_who_ask_at_once_share_the_questions() {
    let world = World::all().await;
    let pages = futures::future::join_all((0..50).map(|_| world.page("/"))).await;
    assert_eq!(pages.len(), 50);
    // Four counts and a list, in each second that the pages took.
    let asked = world.questions.load(Ordering::Relaxed);
    assert!(asked <= 25, "{asked} questions");
}

#[tokio::test]
async fn stream_sends_the_content_of_its_page() {
    let world = World::all().await;
    let url = format!("http://{}/live?of=%2Fsweeper", world.console.address());
    let mut response = world.client.get(url).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    while text.matches("\n\n").count() < 3 {
        text.push_str(&String::from_utf8_lossy(&response.chunk().await.unwrap().unwrap()));
    }
    let events: Vec<_> = text.split("\n\n").collect();
    assert!(events[0].starts_with("event: patience\ndata: 1"), "{text}");
    assert!(events[1].starts_with("event: content\ndata: <h1>Sweeper</h1>"), "{text}");
    assert!(events[2].starts_with("event: content") || events[2].starts_with("event: same"), "{text}");
    assert_eq!(world.get("/live?of=%2Fnowhere").await.0, 404);
}

#[tokio::test]
async fn stream_ends_when_its_token_is_changed() {
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "first").unwrap();
    let more = format!("access: {{token_file: '{}'}}\nrefresh: 1s", token.path().display());
    let world = World::start(&more).await;
    let url = format!("http://{}/live?of=%2Fsweeper", world.console.address());
    let mut response = world.client.get(url).bearer_auth("first").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    std::fs::write(token.path(), "second").unwrap();
    while response.chunk().await.unwrap().is_some() {}
}
