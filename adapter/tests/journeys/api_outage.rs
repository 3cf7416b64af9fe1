//! The HyperFleet API is down or slow: no object is written without it, and the adapter reports once it is back.

use std::fs;

use anyhow::Result;
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::sentinel::Event;
use serde_json::json;

use crate::task::{SETTINGS, task};
use crate::world::World;

fn reads() -> When {
    When::method("GET").path_ends("/clusters/c1")
}

fn reports() -> When {
    When::method("PUT").path_ends("/clusters/c1/statuses")
}

#[tokio::test(flavor = "multi_thread")]
async fn api_outage_shorter_than_the_retries_has_no_effect() -> Result<()> {
    for (name, fault) in [
        ("it fails", Fault::Status(500)),
        ("it is overloaded", Fault::Status(503)),
        ("it wants a pause", Fault::TooManyRequests { retry_after: 1 }),
        ("it hangs up", Fault::ResetBefore),
    ] {
        let world = World::new().await?;
        world.api.inject(reads().first(2), fault.clone());
        world.api.inject(reports().first(2), fault);
        let _adapter = world.adapter(task(SETTINGS))?.start().await?;
        let report = world.reconcile("c1", 1).await?;
        assert_eq!(report.statuses(), ["True", "True", "True", "False"], "{name}");
        assert_eq!((world.api.count(&reads()), world.api.count(&reports())), (3, 3), "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn api_outage_longer_than_the_retries_fails_the_event_without_a_write() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.api.inject(When::any(), Fault::Status(503));
    world.announce("c1", 1).await?;
    adapter.await_metric("hyperfleet_adapter_events_processed_total", &[("status", "failed")], 1.0).await?;
    assert_eq!((world.api.count(&reads()), world.api.count(&reports())), (3, 3), "three attempts each");
    assert_eq!(world.calls_since(0), Vec::<String>::new());
    for phase in ["preconditions", "post_actions"] {
        adapter.await_metric("hyperfleet_adapter_errors_total", &[("error_type", phase)], 1.0).await?;
    }

    world.api.heal();
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.statuses(), ["True", "True", "True", "False"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_read_of_a_precondition_is_reported() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.api.inject(reads().first(3), Fault::Status(500));
    let report = world.reconcile("c1", 1).await?;
    assert_eq!(report.statuses(), ["False", "False", "False", "False"]);
    let health = report.condition("Health");
    assert_eq!(health["reason"], "ExecutionFailed:preconditions");
    let message = health["message"].as_str().unwrap_or_default();
    for part in ["GET", "/clusters/c1", "500", "3 attempt"] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert_eq!(world.calls_since(0), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unanswered_api_calls_end_with_their_timeouts() -> Result<()> {
    let world = World::new().await?;
    let setup = world.adapter(task(SETTINGS))?.with("clients.hyperfleet_api.timeout", "1s");
    let adapter = setup.start().await?;
    world.api.inject(When::any(), Fault::Silence);
    world.announce("c1", 1).await?;
    adapter.await_metric("hyperfleet_adapter_events_processed_total", &[("status", "failed")], 1.0).await?;
    assert_eq!((world.api.count(&reads()), world.api.count(&reports())), (3, 3));
    world.api.heal();
    assert_eq!(world.reconcile("c1", 1).await?.status("Available"), "True");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn token_is_reread_and_sent_with_every_call() -> Result<()> {
    let world = World::new().await?;
    let directory = tempfile::tempdir()?;
    let token = directory.path().join("token");
    fs::write(&token, "first\n")?;
    let setup = world.adapter(task(SETTINGS))?.with("clients.hyperfleet_api.auth", json!({"token_path": token}));
    let adapter = setup.start().await?;
    world.reconcile("c1", 1).await?;
    fs::write(&token, "second")?;
    world.reconcile("c1", 2).await?;
    // `filter_map` leaves out the requests of the test itself, which have no token.
    let authorizations: Vec<String> = world
        .api
        .requests()
        .iter()
        .filter_map(|request| Some(request.headers.get("authorization")?.to_str().ok()?.to_owned()))
        .collect();
    assert_eq!(authorizations, ["Bearer first", "Bearer first", "Bearer second", "Bearer second"]);
    for secret in ["first", "second"] {
        let leaks: Vec<String> = adapter.lines().into_iter().filter(|line| line.contains(secret)).collect();
        assert_eq!(leaks, Vec::<String>::new());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn token_has_the_configured_scheme_and_its_refusals_are_counted() -> Result<()> {
    let world = World::new().await?;
    let directory = tempfile::tempdir()?;
    let token = directory.path().join("token");
    fs::write(&token, "t0ken")?;
    let auth = json!({"token_path": token, "scheme": "ServiceAccount"});
    let adapter = world.adapter(task(SETTINGS))?.with("clients.hyperfleet_api.auth", auth).start().await?;
    let refused = "hyperfleet_adapter_api_auth_failures_total";
    for status_code in ["401", "403"] {
        adapter.await_metric(refused, &[("status_code", status_code)], 0.0).await?;
    }
    world.reconcile("c1", 1).await?;
    let sent = world.api.requests();
    let authorizations: Vec<_> = sent.iter().filter_map(|request| request.headers.get("authorization")).collect();
    assert_eq!(authorizations, ["ServiceAccount t0ken", "ServiceAccount t0ken"]);

    world.api.inject(When::method("PUT").path_ends("/statuses"), Fault::Status(403));
    world.announce("c1", 2).await?;
    adapter.await_handled(2.0).await?;
    adapter.await_metric(refused, &[("status_code", "403")], 1.0).await?;
    adapter.await_metric(refused, &[("status_code", "401")], 0.0).await
}

/// A task that reads the cluster in a param instead of a precondition.
fn with_a_param() -> String {
    let call =
        r#"  - {name: cluster, source: {api_call: {method: GET, url: "/clusters/{{ .clusterId }}"}}, required: true}"#;
    let text = task(SETTINGS);
    let (before, rest) = text.split_once("preconditions:").unwrap_or_default();
    let (_, after) = rest.split_once("resources:").unwrap_or_default();
    format!("{before}{call}\nresources:{after}")
}

#[tokio::test(flavor = "multi_thread")]
async fn api_outage_during_params_does_not_invalidate_the_message() -> Result<()> {
    let world = World::new().await?;
    let setup = world.adapter(with_a_param())?.with("inputs", json!({"http": {"listen": "127.0.0.1:0"}}));
    let adapter = setup.start().await?;
    world.api.put_cluster("c1", 1).await?;
    world.api.inject(reads(), Fault::Status(503));
    let send = async || -> Result<u16> {
        let request = reqwest::Client::new().post(adapter.url("events").await?);
        let request = request.header("content-type", "application/cloudevents+json");
        Ok(request.body(Event::cluster("c1", 1).to_bytes()?).send().await?.status().as_u16())
    };
    // 400 would tell the sender that the message itself is invalid.
    assert_eq!(send().await?, 204);
    adapter.await_metric("hyperfleet_adapter_events_invalid_total", &[], 0.0).await?;
    adapter.await_metric("hyperfleet_adapter_errors_total", &[("error_type", "param_extraction")], 1.0).await?;
    assert_eq!(world.calls_since(0), Vec::<String>::new());

    world.api.heal();
    assert_eq!(send().await?, 204);
    assert_eq!(world.report("c1", 1).await?.statuses(), ["True", "True", "True", "False"]);
    Ok(())
}

/// The page of a proxy that answers in the API's place.
fn page(status: u16) -> Fault {
    let headers = vec![("content-type", "text/html".to_owned())];
    Fault::Answer { status, headers, body: "<html>no such page</html>".to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_a_proxy_fail_the_event_and_then_readiness() -> Result<()> {
    let redirect = Fault::Answer {
        status: 302,
        headers: vec![("location", "https://login.example/?token=hunter2".to_owned())],
        body: String::new(),
    };
    let cases = [
        ("no such page", page(404), "404", "<html>no such page"),
        ("a page for everything", page(200), "200", "<html>no such page"),
        ("nothing", Fault::Answer { status: 404, headers: Vec::new(), body: String::new() }, "404", "404"),
        ("a login", redirect, "302", "https://login.example/"),
    ];
    for (name, fault, status, quoted) in cases {
        let world = World::new().await?;
        let adapter = world.adapter(task(SETTINGS))?.start().await?;
        world.api.inject(reads().first(1), fault.clone());
        let report = world.reconcile("c1", 1).await?;
        assert_eq!(report.statuses(), ["False", "False", "False", "False"], "{name}");
        let message = report.condition("Health")["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(status) && message.contains(quoted), "{name}: {message}");
        assert!(!message.contains("hunter2"), "{name}: {message}");
        assert_eq!(world.calls_since(0), Vec::<String>::new(), "{name}");

        world.api.inject(When::any(), fault);
        for failed in [2.0, 3.0, 4.0] {
            world.announce("c1", 1).await?;
            adapter.await_metric("hyperfleet_adapter_events_processed_total", &[("status", "failed")], failed).await?;
        }
        adapter.await_readiness(503).await?;
        let (_, body) = adapter.get("health", "/readyz").await?;
        assert!(body.contains("this does not look like the HyperFleet API"), "{name}: {body}");
        assert_eq!(world.calls_since(0), Vec::<String>::new(), "{name}");
        world.api.heal();
        assert_eq!(world.reconcile_again("c1").await?.status("Available"), "True", "{name}");
        adapter.await_readiness(200).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn report_that_a_proxy_accepts_is_a_failed_report() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.api.inject(reports().first(1), page(200));
    world.announce("c1", 1).await?;
    adapter.await_metric("hyperfleet_adapter_errors_total", &[("error_type", "post_actions")], 1.0).await?;
    adapter.await_metric("hyperfleet_adapter_events_processed_total", &[("status", "failed")], 1.0).await?;
    assert_eq!(world.reports("c1").len(), 0);
    assert_eq!(world.reconcile_again("c1").await?.status("Available"), "True");
    Ok(())
}
