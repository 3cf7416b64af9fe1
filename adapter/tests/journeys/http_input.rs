//! Events arrive by HTTP, without a broker.

use anyhow::{Context, Result};
use lifecycle_e2e::fault::When;
use lifecycle_e2e::sentinel::Event;
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::adapter::Adapter;
use crate::task::{SETTINGS, task};
use crate::world::World;

struct Sender {
    client: Client,
    url: String,
}

impl Sender {
    async fn to(adapter: &Adapter) -> Result<Self> {
        lifecycle_e2e::init();
        Ok(Self { client: Client::new(), url: adapter.url("events").await? })
    }

    async fn structured(&self, body: Vec<u8>) -> Result<Response> {
        let request = self.client.post(&self.url).header("content-type", "application/cloudevents+json");
        Ok(request.body(body).send().await?)
    }

    async fn binary(&self, event: &Event) -> Result<Response> {
        let request = self.client.post(&self.url).header("content-type", "application/json");
        let attributes =
            [("specversion", &event.specversion), ("id", &event.id), ("source", &event.source), ("type", &event.kind)];
        let request = attributes
            .iter()
            .fold(request, |request, (name, value)| request.header(format!("ce-{name}"), value.as_str()));
        Ok(request.json(&event.data).send().await?)
    }
}

async fn start(world: &World) -> Result<Adapter> {
    let setup = world.adapter(task(SETTINGS))?.without_broker();
    setup.with("inputs", json!({"http": {"listen": "127.0.0.1:0"}})).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn event_is_answered_after_its_pass() -> Result<()> {
    let world = World::new().await?;
    let adapter = start(&world).await?;
    let sender = Sender::to(&adapter).await?;
    world.api.put_cluster("c1", 2).await?;

    let answer = sender.structured(Event::cluster("c1", 1).to_bytes()?).await?;
    assert_eq!(answer.status(), 204);
    assert_eq!(world.reports("c1").len(), 1, "the answer came after the report");
    let answer = sender.binary(&Event::cluster("c1", 2)).await?;
    assert_eq!(answer.status(), 204);
    assert_eq!(world.reports("c1").last().context("no report")?.outcome("settings"), "update GenerationChanged");

    // 204 after a failed pass as well: the Sentinel repeats the event anyway, so the sender need not.
    world.kubernetes.inject(When::any(), lifecycle_e2e::fault::Fault::Status(500));
    assert_eq!(sender.structured(Event::cluster("c1", 2).to_bytes()?).await?.status(), 204);
    assert_eq!(world.reports("c1").last().context("no report")?.status("Available"), "False");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_event_is_refused_with_the_reason() -> Result<()> {
    let world = World::new().await?;
    let adapter = start(&world).await?;
    let sender = Sender::to(&adapter).await?;
    let event = String::from_utf8(Event::cluster("c1", 1).to_bytes()?)?;
    let cases = [
        ("no JSON", "{".to_owned(), "JSON"),
        ("no object", "[]".to_owned(), "object"),
        ("an unknown version", event.replace(r#""specversion":"1.0""#, r#""specversion":"7.0""#), "7.0"),
        ("a generation that is none", event.replace(r#""generation":1"#, r#""generation":"one""#), "generation"),
        ("nothing that the task can use", event.replace(r#""id":"c1","#, ""), "clusterId"),
    ];
    for (name, body, reason) in cases {
        let answer = sender.structured(body.into_bytes()).await?;
        assert_eq!(answer.status(), 400, "{name}");
        let text = answer.text().await?;
        assert!(text.contains(reason), "{name}: {text}");
    }
    let answer = sender.client.post(&sender.url).body("text").send().await?;
    assert_eq!(answer.status(), 415);
    let large = vec![b' '; 1024 * 1024 + 1];
    assert_eq!(sender.structured(large).await?.status(), 413);
    for status in ["415", "413"] {
        let is_refusal = |entry: &Value| {
            entry["message"] == "event refused, not to be tried again"
                && entry["reason"].as_str().is_some_and(|reason| reason.contains(status))
        };
        adapter.await_log(status, is_refusal).await?;
    }
    let unreadable = [("reason", "unreadable")];
    adapter.await_metric("hyperfleet_adapter_events_invalid_total", &unreadable, 6.0).await?;
    assert_eq!(world.calls_since(0), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_answers_running_events_and_accepts_no_more() -> Result<()> {
    let world = World::new().await?;
    let mut adapter = start(&world).await?;
    let sender = Sender::to(&adapter).await?;
    let gate = world.kubernetes.hold(When::method("POST"));
    world.api.put_cluster("c1", 1).await?;
    let (running, ended) = tokio::join!(sender.structured(Event::cluster("c1", 1).to_bytes()?), async {
        gate.reached().await;
        adapter.signal("TERM").await?;
        adapter.await_message("shutting down, letting running events finish").await?;
        gate.release();
        adapter.exit().await
    });
    assert_eq!(running?.status(), 204);
    assert_eq!(ended?.code(), Some(0));
    assert_eq!(world.reports("c1").len(), 1);
    assert!(sender.structured(Event::cluster("c1", 1).to_bytes()?).await.is_err(), "the listener is closed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn adapter_without_broker_or_http_input_exits() -> Result<()> {
    let world = World::new().await?;
    let mut adapter = world.adapter(task(SETTINGS))?.without_broker().spawn()?;
    assert_eq!(adapter.exit().await?.code(), Some(1));
    assert!(adapter.lines().iter().any(|line| line.contains("broker")), "{:?}", adapter.lines());
    Ok(())
}
