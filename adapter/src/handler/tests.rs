//! Tests of complete passes: which calls they make, which lines they log, and what they count.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use lifecycle_api_client::Base;
use lifecycle_core::api_call::ApiRequest;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_objects::id::Generation;
use lifecycle_transport::memory::MemoryTransport;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber as _;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::*;
use crate::api::{Answer, ApiFailure, CallContext};
use crate::metrics::MetricIdentity;

/// A fake API with a response for some paths, and an empty object for every other path.
#[derive(Debug)]
struct FakeApi {
    answers: Vec<(&'static str, u16, Value)>,
    requests: Requests,
}

/// The path and body of every call, in order.
type Requests = Arc<Mutex<Vec<(String, Option<String>)>>>;

impl Api for FakeApi {
    async fn call(&self, request: &ApiRequest, _context: &CallContext) -> Result<Answer, ApiFailure> {
        let call = format!("{} {}", request.method.as_str(), self.resolve_url(&request.url));
        let answer = self.answers.iter().find(|(of, ..)| call.ends_with(of));
        let (status, mut body) = answer.map_or((200, json!({})), |(_, status, body)| (*status, body.clone()));
        let content_type = if body.get("code").is_some() {
            body["status"] = json!(status);
            body["instance"] = json!(self.resolve_url(&request.url));
            "application/problem+json"
        } else {
            "application/json"
        };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push((call, request.body.clone()));
        Ok(Answer {
            status: StatusCode::from_u16(status).unwrap(),
            content_type: Some(content_type.to_owned()),
            body: body.to_string(),
            attempts: 1,
            ..Answer::default()
        })
    }

    fn resolve_url(&self, url: &str) -> String {
        let base = "http://api.example".parse().map(|base| Base::new(base, "v1"));
        base.map_or_else(|_| url.to_owned(), |base| base.resolve(url))
    }

    fn is_prepared(&self) -> bool {
        true
    }
}

/// Captures log lines of level info and above.
#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Level, String)>>>);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        if *event.metadata().level() <= Level::INFO {
            let mut message = Message(String::new());
            event.record(&mut message);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push((*event.metadata().level(), message.0));
        }
    }
}

/// The observable effects of one pass.
struct Effects {
    handled: Handled,
    calls: Vec<String>,
    lines: Vec<(Level, String)>,
    /// The body of the last request.
    sent: Value,
    metrics: String,
    objects: Vec<Value>,
    /// The page's text of the pass.
    kept: String,
}

impl Effects {
    /// Whether the metrics contain a series of `family` whose labels and value end in `end`.
    fn counted(&self, family: &str, end: &str) -> bool {
        self.metrics.lines().any(|line| line.starts_with(family) && line.ends_with(end))
    }
}

/// Runs a pass for an event of a cluster.
async fn handle(task: &Value, objects: &[Value], answers: Vec<(&'static str, u16, Value)>) -> Effects {
    handle_in(task, &json!({}), objects, answers).await
}

/// Runs a pass with these environment variables.
async fn handle_in(
    task: &Value,
    environment: &Value,
    objects: &[Value],
    answers: Vec<(&'static str, u16, Value)>,
) -> Effects {
    let variable = |name: &str| environment[name].as_str().map(str::to_owned);
    let surroundings = Surroundings { read: &|path| Err(format!("{path} is not there")), environment: &variable };
    let compiled = compile("task.yaml", &task.to_string(), &surroundings);
    let task = compiled.task.unwrap_or_else(|| panic!("{}", compiled.diagnostics));
    let start: Timestamp = "2026-09-14T08:00:00Z".parse().unwrap();
    let requests = Requests::default();
    let pipeline = Pipeline {
        task: Arc::new(task),
        host: lifecycle_core::process_variables::Host {
            name: "tester".to_owned(),
            environment: environment.clone().into(),
            ..Default::default()
        },
        resource_id: None,
        signer: None,
        transport: MemoryTransport::new(start).with_objects(objects.iter().cloned()).unwrap(),
        api: FakeApi { answers, requests: Arc::clone(&requests) },
        keep_account: false,
        keep_readings: false,
    };
    let identity = MetricIdentity { adapter: "tester".to_owned(), version: String::new(), commit: String::new() };
    let metrics = Arc::new(Metrics::new(&identity));
    let passes = Arc::new(Passes::new(10, 1 << 20));
    let handler = PassHandler::new(pipeline, Arc::clone(&metrics), "tests".to_owned(), Timestamp::now);
    let handler = handler.keeping(Arc::clone(&passes));
    let event = LifecycleEvent {
        event_id: "e-1".to_owned(),
        source: "tests".to_owned(),
        event_type: "reconcile".to_owned(),
        time: None,
        traceparent: None,
        tracestate: None,
        resource_id: "c-1".to_owned(),
        kind: "Cluster".to_owned(),
        href: "/api/hyperfleet/v1/clusters/c-1".to_owned(),
        generation: Generation(3),
        owner: None,
        data: json!({ "id": "c-1", "kind": "Cluster", "generation": 3.0 }),
    };
    let lines = Lines::default();
    let deadline = Instant::now() + Duration::from_secs(60);
    let subscriber = tracing_subscriber::registry().with(lines.clone());
    let handled = handler.handle(event, deadline).with_subscriber(subscriber).await;
    let requests = requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let body = requests.iter().rev().find_map(|(_, body)| body.as_deref());
    Effects {
        handled,
        sent: body.map_or(Value::Null, |body| serde_json::from_str(body).unwrap()),
        calls: requests.into_iter().map(|(call, _)| call).collect(),
        lines: lines.0.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        metrics: metrics.expose(lifecycle_service::metrics::Exposition::Classic),
        objects: handler.pipeline.transport.objects(),
        kept: String::from_utf8(passes.find(Some("c-1"), 1).texts[0].to_vec()).unwrap(),
    }
}

const CLUSTER: &str = "/api/hyperfleet/v1/clusters/c-1";

fn get(url: &str) -> Value {
    json!({ "api_call": { "method": "GET", "url": url } })
}

/// A task with a namespace, and with a report that says whether the namespace exists; `more` adds keys to the
/// task.
fn task(more: &Value) -> Value {
    let condition = |kind: &str| json!({ "type": kind, "status": { "expression": "resources.?space.hasValue() ? 'True' : 'False'" } });
    let gone =
        json!({ "type": "Finalized", "status": { "expression": "resources.?space.hasValue() ? 'False' : 'True'" } });
    let build = json!({
        "adapter": "tester",
        "observed_generation": { "expression": "event.generation" },
        "conditions": [condition("Applied"), condition("Available"), gone],
    });
    let call = json!({ "method": "PUT", "url": "/clusters/c-1/statuses", "body": "{{ .status }}" });
    let mut task = json!({
        "resources": [{
            "name": "space",
            "manifest": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "c-1" } },
            "discovery": { "by_name": "c-1" },
        }],
        "post": {
            "payloads": [{ "name": "status", "build": build }],
            "post_actions": [{ "name": "report", "api_call": call }],
        },
    });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

fn namespace() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": "c-1", "annotations": { "hyperfleet.io/generation": "3" } },
    })
}

fn status_of(effects: &Effects, kind: &str) -> String {
    let conditions = effects.sent["conditions"].as_array().into_iter().flatten();
    let condition = conditions.into_iter().find(|condition| condition["type"] == json!(kind));
    condition.map_or_else(String::new, |condition| condition["status"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn missing_resource_ends_the_pass_with_one_log_line() {
    let param = |more: Value| {
        let mut param = json!({ "name": "cluster", "source": get("/clusters/c-1") });
        param.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "params": [param], "preconditions": [{ "name": "ready", "expression": "cluster.ready" }] })
    };
    let precondition =
        json!({ "preconditions": [{ "name": "cluster", "api_call": get("/clusters/c-1")["api_call"] }] });
    let gone = || (404, json!({ "code": "HYPERFLEET-NTF-001" }));
    let of_report = "PUT /api/hyperfleet/v1/clusters/c-1/statuses";
    let placement =
        json!({ "preconditions": [{ "name": "placement", "api_call": get("/placements/c-1")["api_call"] }] });
    for (name, more, at, calls) in [
        ("in a param", param(json!({})), CLUSTER, 1),
        ("in a required param", param(json!({ "required": true })), CLUSTER, 1),
        ("in a param with a default", param(json!({ "default": {} })), CLUSTER, 1),
        ("in a precondition", precondition, CLUSTER, 1),
        ("of another resource in a precondition", placement, "/placements/c-1", 1),
        ("on the report", json!({ "resources": [] }), of_report, 1),
    ] {
        let (status, body) = gone();
        let effects = handle(&task(&more), &[], vec![(at, status, body)]).await;
        assert_eq!((&effects.handled, effects.calls.len()), (&Handled::Done, calls), "{name}: {:?}", effects.calls);
        let line = match name.contains("precondition") {
            true => "the API resource of a precondition does not exist",
            false => "the API resource is gone",
        };
        assert_eq!(effects.lines, [(Level::INFO, line.to_owned())], "{name}");
        assert!(effects.counted("hyperfleet_adapter_events_processed_total", "status=\"skipped\"} 1"), "{name}");
        assert_eq!(effects.objects, Vec::<Value>::new(), "{name}");
    }
}

#[tokio::test]
async fn missing_foreign_resource_makes_the_param_absent() {
    let zone = json!({ "name": "zone", "source": get("/zones/c-1") });
    let missing = || vec![("/zones/c-1", 404, json!({ "code": "HYPERFLEET-NTF-001" }))];
    let effects = handle(&task(&json!({ "params": [zone] })), &[], missing()).await;
    assert_eq!((effects.calls.len(), effects.objects.len()), (2, 1), "{:?}", effects.calls);
    let wrong_url = vec![(CLUSTER, 404, json!({ "code": "HYPERFLEET-NTF-000" }))];
    let cluster = json!({ "name": "cluster", "source": get("/clusters/c-1") });
    let effects = handle(&task(&json!({ "params": [cluster] })), &[], wrong_url).await;
    assert_eq!((effects.calls.len(), effects.objects.len()), (1, 0), "a wrong URL says nothing of the cluster");
}

#[tokio::test]
async fn foreign_404_of_the_own_resource_fails_the_event_aloud() {
    let param = |more: Value| {
        let mut param = json!({ "name": "cluster", "source": get("/clusters/c-1") });
        param.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "params": [param] })
    };
    let precondition =
        json!({ "preconditions": [{ "name": "cluster", "api_call": get("/clusters/c-1")["api_call"] }] });
    let page = || json!("<html>Not Found</html>");
    for (name, more, at, phase, reports) in [
        ("in a param", param(json!({})), CLUSTER, "param_extraction", 0),
        ("in a required param", param(json!({ "required": true })), CLUSTER, "param_extraction", 0),
        ("in a param with a default", param(json!({ "default": {} })), CLUSTER, "param_extraction", 0),
        ("in a precondition", precondition, CLUSTER, "preconditions", 1),
        ("on the report", json!({}), "PUT /api/hyperfleet/v1/clusters/c-1/statuses", "post_actions", 1),
    ] {
        let effects = handle(&task(&more), &[], vec![(at, 404, page())]).await;
        assert!(effects.lines.iter().any(|(level, _)| *level == Level::ERROR), "{name}: {:?}", effects.lines);
        assert!(effects.counted("hyperfleet_adapter_events_processed_total", "status=\"failed\"} 1"), "{name}");
        assert!(effects.counted("hyperfleet_adapter_errors_total", &format!("error_type=\"{phase}\"}} 1")), "{name}");
        let sent = effects.calls.iter().filter(|call| call.starts_with("PUT")).count();
        assert_eq!((sent, effects.handled), (reports, Handled::Done), "{name}: a report is sent where one can be");
    }
}

#[tokio::test]
async fn status_without_generation_is_counted_and_logged() {
    let mut task = task(&json!({}));
    task["post"]["payloads"][0]["build"].as_object_mut().unwrap().remove("observed_generation");
    let effects = handle(&task, &[namespace()], Vec::new()).await;
    assert_eq!(effects.calls, Vec::<String>::new());
    assert!(effects.lines.contains(&(Level::ERROR, "post action failed".to_owned())), "{:?}", effects.lines);
    assert!(
        effects.counted("hyperfleet_adapter_errors_total", "error_type=\"post_actions\"} 1"),
        "{}",
        effects.metrics
    );
}

#[tokio::test]
async fn live_objects_are_reported_if_a_precondition_is_not_met() {
    for (precondition, discover, available) in [
        ("false", json!({}), "False"),
        ("false", json!({ "discover": "when_met" }), "False"),
        ("false", json!({ "discover": "always" }), "True"),
        ("event.nope.nope == 1", json!({ "discover": "always" }), "True"),
    ] {
        let mut more = json!({ "preconditions": [{ "name": "stale", "expression": precondition }] });
        more.as_object_mut().unwrap().extend(discover.as_object().unwrap().clone());
        let effects = handle(&task(&more), &[namespace()], Vec::new()).await;
        assert_eq!(status_of(&effects, "Available"), available, "{more}: {}", effects.sent);
        let empty = handle(&task(&more), &[], Vec::new()).await;
        assert_eq!((status_of(&empty, "Available").as_str(), empty.objects.len()), ("False", 0), "nothing is written");
    }
}

#[tokio::test]
async fn failed_precondition_prevents_finalized_unless_objects_were_read() {
    let failing = json!({ "preconditions": [{ "name": "cluster", "api_call": get("/clusters/c-1")["api_call"] }] });
    for (discover, finalized, objects) in
        [(None, "False", 0), (Some("always"), "True", 0), (Some("always"), "False", 1)]
    {
        let mut more = failing.clone();
        if let Some(discover) = discover {
            more["discover"] = json!(discover);
        }
        let objects = if objects == 0 { Vec::new() } else { vec![namespace()] };
        let effects = handle(&task(&more), &objects, vec![(CLUSTER, 500, json!({}))]).await;
        assert_eq!(status_of(&effects, "Finalized"), finalized, "{discover:?}: {}", effects.sent);
    }
    let unmet = json!({ "preconditions": [{ "name": "ours", "expression": "false" }] });
    let effects = handle(&task(&unmet), &[], Vec::new()).await;
    assert_eq!(
        status_of(&effects, "Finalized"),
        "True",
        "a task without lifecycle may skip resources of another adapter"
    );
}

#[tokio::test]
async fn unmet_precondition_of_a_lifecycle_task_prevents_finalized() {
    let params = json!([{ "name": "cluster", "source": get("/clusters/c-1") }]);
    for precondition in ["cluster.spec.region == 'x'", "false"] {
        for (discover, objects, finalized) in
            [("when_met", 1, "False"), ("when_met", 0, "False"), ("always", 1, "False"), ("always", 0, "True")]
        {
            let mut task = task(&json!({
                "params": params, "discover": discover,
                "preconditions": [{ "name": "ours", "expression": precondition }],
            }));
            task["resources"][0]["lifecycle"] = json!({ "delete": { "when": { "expression": "true" } } });
            let cluster = json!({ "deleted_time": "2026-09-14T08:00:00Z", "spec": {} });
            let live = vec![namespace(); objects];
            let effects = handle(&task, &live, vec![(CLUSTER, 200, cluster)]).await;
            let reported = (status_of(&effects, "Finalized"), effects.objects.len());
            assert_eq!(reported, (finalized.to_owned(), objects), "{precondition}, {discover}: {}", effects.sent);
            let is_corrected = effects.sent.to_string().contains("PreconditionNotMet");
            assert_eq!(is_corrected, discover == "when_met", "{precondition}, {discover}: {}", effects.sent);
        }
    }
}

#[tokio::test]
async fn payload_claims_no_finalized_while_an_object_is_left_beside_an_unmet_precondition() {
    let mut task = task(&json!({
        "discover": "always", "preconditions": [{ "name": "ours", "expression": "false" }],
    }));
    task["resources"][0]["lifecycle"] = json!({ "delete": { "when": { "expression": "true" } } });
    task["post"]["payloads"][0]["build"]["conditions"][2]["status"] = json!("True");
    let mut foreign = namespace();
    foreign["metadata"]["annotations"] = json!({});
    let cases =
        [("no object", vec![], ""), ("one", vec![namespace()], "ObjectsRemain"), ("a foreign one", vec![foreign], "")];
    for (name, objects, reason) in cases {
        let sent = handle(&task, &objects, Vec::new()).await.sent;
        assert_eq!(sent["conditions"][2]["reason"].as_str().unwrap_or_default(), reason, "{name}: {sent}");
        let expected = if reason.is_empty() { "True" } else { "False" };
        assert_eq!(sent["conditions"][2]["status"], expected, "{name}: {sent}");
    }
}

#[tokio::test]
async fn kept_pass_tells_what_the_log_tells() {
    let with = |gate: &str| {
        let mut task = task(&json!({ "preconditions": [{ "name": "ready", "expression": "true" }] }));
        task["resources"][0]["lifecycle"] = json!({ "create": { "when": { "expression": gate } } });
        task
    };
    let unmet = task(&json!({ "preconditions": [{ "name": "ready", "expression": "false" }] }));
    let param = task(&json!({ "params": [{ "name": "size", "source": "event.nope", "required": true }] }));
    let cluster = json!({ "name": "cluster", "source": get("/clusters/c-1") });
    let gone = vec![(CLUSTER, 404, json!({ "code": "HYPERFLEET-NTF-001" }))];
    let decision = |result: &str, decision: &str, answer: &str| {
        vec![
            ("/preconditions/0/matched", json!(true)),
            ("/resources/0/name", json!("space")),
            ("/resources/0/result", json!(result)),
            ("/decisions/0/decision", json!(decision)),
            ("/decisions/0/settled", json!(false)),
            ("/decisions/0/unwritten", json!(false)),
            ("/decisions/0/gates/0/gate", json!("create")),
            ("/decisions/0/gates/0/answer", json!(answer)),
            ("/decisions/0/gates/0/expression", json!("event.generation == 3")),
            ("/decisions/0/gates/0/readings/0", json!({ "path": "event.generation", "value": "3.0" })),
            ("/postActions/0/name", json!("report")),
        ]
    };
    type Case = (&'static str, Value, Vec<(&'static str, u16, Value)>, &'static str, Vec<(&'static str, Value)>);
    let closed = [("/decisions/0/settled", json!(false)), ("/decisions/0/unwritten", json!(true))];
    let cases: [Case; 6] = [
        ("a gate that does not hold", with("event.generation == 4"), vec![], "success", closed.to_vec()),
        ("a creation", with("event.generation == 3"), vec![], "success", decision("created", "create", "holds")),
        (
            "a gate that fails",
            with("event.nope == 3"),
            vec![],
            "failed",
            vec![("/decisions/0/reason", json!("GateFailed")), ("/resources/0/status", json!("failed"))],
        ),
        ("a precondition that is not met", unmet, vec![], "skipped", vec![("/preconditions/0/matched", json!(false))]),
        ("a param that fails", param, vec![], "failed", vec![("/failedParam", json!("size"))]),
        ("a resource that is gone", task(&json!({ "params": [cluster] })), gone, "skipped", vec![]),
    ];
    for (name, task, answers, status, expected) in cases {
        let kept: Value = serde_json::from_str(&handle(&task, &[], answers).await.kept).unwrap();
        assert_eq!(kept["status"], status, "{name}: {kept}");
        for (pointer, value) in expected {
            assert_eq!(kept.pointer(pointer), Some(&value), "{name}: {pointer} in {kept}");
        }
        assert_eq!(kept.get("gone").is_some(), name.ends_with("gone"), "{name}: {kept}");
        assert_eq!(kept.get("errors").is_some(), status == "failed", "{name}: {kept}");
    }
}

#[tokio::test]
async fn kept_pass_contains_no_secret() {
    const SECRET: &str = "hunter2-and-more";
    let encoded = "aHVudGVyMi1hbmQtbW9yZQ==";
    let mut task = task(&json!({ "params": [
        { "name": "token", "source": "env.A_TOKEN" },
        { "name": "derived", "source": { "expression": "token + '-derived'" } },
    ] }));
    let secret = json!({
        "name": "credentials",
        "manifest": {
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "credentials", "namespace": "c-1" },
            "stringData": { "token": "{{ .token }}" },
        },
        "discovery": { "by_name": "credentials", "namespace": "c-1" },
        "lifecycle": { "create": { "when": {
            "expression": "token == 'other' || derived.size() > 3 || env.A_TOKEN == ''",
        } } },
    });
    task["resources"].as_array_mut().unwrap().insert(0, secret);
    task["resources"][1]["lifecycle"] = json!({ "create": { "when": {
        "expression": "resources.?credentials.?data.?token.orValue('') != '' || int(token) == 3",
    } } });
    let live = json!({
        "apiVersion": "v1", "kind": "Secret", "data": { "token": encoded },
        "metadata": { "name": "credentials", "namespace": "c-1", "annotations": { "hyperfleet.io/generation": "2" } },
    });
    for objects in [vec![], vec![live]] {
        let effects = handle_in(&task, &json!({ "A_TOKEN": SECRET }), &objects, Vec::new()).await;
        let written = effects.objects.iter().map(Value::to_string).collect::<String>();
        assert!(written.contains(SECRET) || written.contains(encoded), "the secret is in use: {written}");
        assert!(effects.kept.contains("derived.size()") || !objects.is_empty(), "{}", effects.kept);
        for secret in [SECRET, encoded] {
            assert!(!effects.kept.contains(secret), "{}", effects.kept);
        }
    }
}

#[tokio::test]
async fn decision_that_quotes_a_secret_is_told_without_it() {
    const SECRET: &str = "hunter2-and-more";
    let mut task = task(&json!({ "params": [{ "name": "token", "source": "env.A_TOKEN" }] }));
    let space = &mut task["resources"][0];
    space["manifest"]["metadata"]["labels"] = json!({ "hyperfleet.io/resource-id": "{{ .token }}" });
    space["lifecycle"] = json!({ "delete": { "when": { "expression": "false" } } });
    let effects = handle_in(&task, &json!({ "A_TOKEN": SECRET }), &[], Vec::new()).await;
    let told = format!("{}{:?}{}", effects.kept, effects.lines, effects.sent);
    assert!(told.contains("as the label `hyperfleet.io/resource-id`") && told.contains("[redacted]"), "{told}");
    assert!(!told.contains(SECRET), "{told}");
}
