//! Tests what an operator uses: probes, metrics, logs, the effective configuration.

use anyhow::{Context, Result};
use lifecycle_e2e::fault::{Fault, When};
use lifecycle_e2e::sentinel::Event;
use serde_json::{Value, json};

use crate::task::{SETTINGS, task};
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn metrics_of_dashboards_have_their_values() -> Result<()> {
    let world = World::new().await?;
    let gated = format!(
        "{SETTINGS}    lifecycle: {{delete: {{when: {{expression: 'cluster.?deleted_time.orValue(null) != null'}}}}}}\n"
    );
    let adapter = world.adapter(task(&gated))?.with("adapter.name", "adapter-journey").start().await?;
    let zero_before_use = [
        ("hyperfleet_adapter_events_processed_total", ("status", "failed")),
        ("hyperfleet_adapter_errors_total", ("error_type", "resources")),
        ("hyperfleet_adapter_resources_deleted_total", ("resource_type", "ConfigMap")),
        ("hyperfleet_adapter_decisions_total", ("reason", "NameTaken")),
        ("hyperfleet_broker_errors_total", ("error_type", "conversion")),
    ];
    for (name, label) in zero_before_use {
        adapter.await_metric(name, &[label], 0.0).await?;
    }

    world.reconcile("c1", 1).await?;
    world.reconcile_again("c1").await?;
    world.kubernetes.inject(When::any(), Fault::Status(500));
    world.reconcile("c1", 2).await?;
    world.kubernetes.heal();
    world.topic.publish(&Event::cluster("nobody", 1)).await?;
    adapter.await_handled(4.0).await?;
    world.api.delete("c1").await?;
    world.reconcile_again("c1").await?;
    adapter.await_handled(5.0).await?;

    let topic = world.topic.name();
    let expected = [
        ("hyperfleet_adapter_up", vec![("component", "adapter-journey")], 1.0),
        ("hyperfleet_adapter_build_info", vec![("component", "adapter-journey"), ("version", "0.0.0-dev")], 1.0),
        ("hyperfleet_adapter_events_processed_total", vec![("adapter_name", "journey"), ("status", "success")], 3.0),
        ("hyperfleet_adapter_events_processed_total", vec![("status", "failed")], 1.0),
        ("hyperfleet_adapter_events_processed_total", vec![("status", "skipped")], 1.0),
        ("hyperfleet_adapter_event_processing_duration_seconds_count", vec![], 5.0),
        ("hyperfleet_adapter_events_in_flight", vec![], 0.0),
        ("hyperfleet_adapter_errors_total", vec![("error_type", "resources")], 1.0),
        ("hyperfleet_adapter_resources_created_total", vec![("status", "success")], 1.0),
        (
            "hyperfleet_adapter_resources_deleted_total",
            vec![("resource_type", "ConfigMap"), ("status", "success")],
            1.0,
        ),
        ("hyperfleet_adapter_resource_deletion_duration_seconds_count", vec![("resource_type", "ConfigMap")], 1.0),
        ("hyperfleet_adapter_resource_deletions_in_progress", vec![("resource_type", "ConfigMap")], 0.0),
        ("hyperfleet_adapter_decisions_total", vec![("decision", "create"), ("reason", "Absent")], 1.0),
        ("hyperfleet_adapter_decisions_total", vec![("decision", "skip"), ("reason", "SameGeneration")], 1.0),
        ("hyperfleet_adapter_decisions_total", vec![("decision", "fail"), ("reason", "DiscoveryFailed")], 1.0),
        ("hyperfleet_adapter_decisions_total", vec![("decision", "delete")], 1.0),
        ("hyperfleet_adapter_api_requests_total", vec![("api", "kubernetes"), ("method", "create")], 1.0),
        ("hyperfleet_adapter_api_requests_total", vec![("api", "kubernetes"), ("status_code", "5xx")], 1.0),
        ("hyperfleet_adapter_api_requests_total", vec![("api", "hyperfleet"), ("method", "PUT")], 4.0),
        ("hyperfleet_adapter_api_requests_total", vec![("api", "hyperfleet"), ("status_code", "4xx")], 1.0),
        ("hyperfleet_broker_messages_consumed_total", vec![("topic", topic)], 5.0),
        ("hyperfleet_broker_errors_total", vec![("topic", topic)], 0.0),
        ("hyperfleet_broker_message_duration_seconds_count", vec![("topic", topic)], 5.0),
    ];
    for (name, labels, value) in expected {
        adapter.await_metric(name, &labels, value).await?;
    }
    assert!(adapter.metric("hyperfleet_adapter_last_processed_timestamp_seconds", &[]).await? > 1.7e9);
    assert!(adapter.metric("process_resident_memory_bytes", &[]).await? > 0.0);
    let (_, text) = adapter.get("metrics", "/metrics").await?;
    // Remove the topic's name first: it is random and may contain "c1".
    assert!(!text.replace(topic, "").contains("c1"), "a label contains an event's data:\n{text}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_are_json_and_carry_the_events_fields() -> Result<()> {
    let world = World::new().await?;
    let mut adapter = world.adapter(task(SETTINGS))?.start().await?;
    let event = Event::cluster("c1", 7).traced("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    world.api.put_cluster("c1", 7).await?;
    world.topic.publish(&event).await?;
    world.report("c1", 1).await?;
    world.kubernetes.inject(When::any(), Fault::Status(500));
    world.reconcile("c1", 8).await?;
    adapter.await_message("preconditions[0].api_call: is deprecated in preconditions").await?;
    adapter.stop().await?;

    let mut about_the_event = 0;
    for line in adapter.lines() {
        let entry: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
        for key in ["timestamp", "level", "message", "component", "version", "hostname"] {
            assert!(entry[key].as_str().is_some_and(|value| !value.is_empty()), "no {key}: {line}");
        }
        entry["timestamp"].as_str().unwrap_or_default().parse::<jiff::Timestamp>()?;
        assert!(["debug", "info", "warn", "error"].contains(&entry["level"].as_str().unwrap_or_default()), "{line}");
        assert_eq!(entry["component"], world.name());
        if entry["event_id"] == event.id.as_str() && entry["subscription"].is_string() {
            about_the_event += 1;
            assert_eq!(entry["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736", "{line}");
            assert_eq!(entry["resource_id"], "c1", "{line}");
            assert_eq!(entry["cluster_id"], "c1", "{line}");
        }
    }
    assert!(about_the_event > 0, "nothing was logged about the event");
    let errors: Vec<Value> = adapter
        .lines()
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|entry| entry["level"] == "error")
        .collect();
    assert_eq!(errors.len(), 1, "a failure is logged once: {errors:?}");
    assert_eq!((&errors[0]["resource"], &errors[0]["kind"]), (&json!("settings"), &json!("ConfigMap")));
    assert!(errors[0]["error"].as_str().is_some_and(|error| error.contains("injected 500")), "{errors:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_and_the_task_are_served() -> Result<()> {
    let world = World::new().await?;
    let adapter = world.adapter(task(SETTINGS))?.with("passes", json!({"anonymous": true})).start().await?;
    world.reconcile("c1", 1).await?;
    // The page lists first what ended last, and a pass ends after its report.
    adapter.await_handled(1.0).await?;
    world.kubernetes.inject(When::any(), Fault::Status(403));
    world.announce("c2", 1).await?;
    adapter.await_handled(2.0).await?;

    let get = async |path: &str| -> Result<Value> {
        let (status, text) = adapter.get("health", path).await?;
        assert_eq!(status, 200, "{text}");
        Ok(serde_json::from_str(&text)?)
    };
    let page = get("/passes").await?;
    assert_eq!(page["totals"], json!({"success": 1, "failed": 1, "skipped": 0, "failures": {"DiscoveryFailed": 1}}));
    assert_eq!(page["intake"], json!({"takes_events": true, "in_flight": 0, "waiting": 0}));
    let ids: Vec<&Value> =
        page["passes"].as_array().into_iter().flatten().map(|pass| &pass["event"]["resourceId"]).collect();
    assert_eq!(ids, ["c2", "c1"], "{page}");
    let of_c1 = get("/passes?resource_id=c1&limit=1").await?;
    let pass = &of_c1["passes"][0];
    assert_eq!((&pass["status"], &pass["decisions"][0]["decision"]), (&json!("success"), &json!("create")), "{of_c1}");
    let order = get("/task").await?;
    assert_eq!(order["resources"][0]["name"], "settings", "{order}");
    assert_eq!(adapter.get("health", "/").await?.1.matches("<li>").count(), 4, "the pages are linked");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_logged_or_served() -> Result<()> {
    const SECRET: &str = "hunter2-and-more";
    let world = World::new().await?;
    let mut setup = world
        .adapter(task(SETTINGS))?
        .with("debug_config", true)
        .with("passes", json!({"anonymous": true}))
        .with("clients.hyperfleet_api.default_headers", json!({"Authorization": format!("Basic {SECRET}")}));
    setup.environment.insert("A_TOKEN".to_owned(), SECRET.to_owned());
    let mut adapter = setup.start().await?;
    world.reconcile("c1", 1).await?;
    world.kubernetes.inject(When::any(), Fault::Status(403));
    world.api.inject(When::method("PUT"), Fault::Status(500));
    world.announce("c1", 2).await?;
    adapter.await_handled(2.0).await?;

    let sent = world.api.requests();
    let authorization = sent.last().and_then(|request| request.headers.get("authorization")).context("not sent")?;
    assert_eq!(authorization, format!("Basic {SECRET}").as_str(), "the secret is in use");
    let (status, config) = adapter.get("health", "/config").await?;
    assert_eq!(status, 200);
    assert!(config.contains(world.name()), "{config}");
    let (_, metrics) = adapter.get("metrics", "/metrics").await?;
    let (_, passes) = adapter.get("health", "/passes").await?;
    assert!(passes.contains("\"failed\":1") && passes.contains("DiscoveryFailed"), "{passes}");
    adapter.stop().await?;
    let token = world.stack.control_plane.token();
    for (place, text) in
        [("/config", config), ("/metrics", metrics), ("/passes", passes), ("the log", adapter.lines().join("\n"))]
    {
        for secret in [SECRET, token, &format!(":{}@", password(&world)?)] {
            assert!(!text.contains(secret), "{place} has {secret}");
        }
    }
    Ok(())
}

fn password(world: &World) -> Result<String> {
    let url = world.stack.broker.url();
    let (credentials, _) = url.trim_start_matches("amqp://").rsplit_once('@').context("no credentials")?;
    let (_, password) = credentials.split_once(':').context("no password")?;
    Ok(password.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn trace_context_is_passed_from_the_event_to_the_api() -> Result<()> {
    let world = World::new().await?;
    let _adapter = world.adapter(task(SETTINGS))?.start().await?;
    world.api.put_cluster("c1", 1).await?;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    world.topic.publish(&Event::cluster("c1", 1).traced(&format!("00-{trace}-00f067aa0ba902b7-01"))).await?;
    world.report("c1", 1).await?;
    // Leave out the probe at start-up, which belongs to no event.
    for request in world.api.requests().into_iter().filter(|request| request.path != "/api/hyperfleet/v1") {
        let parent = request.headers.get("traceparent").and_then(|value| value.to_str().ok()).unwrap_or_default();
        assert!(parent.contains(trace), "{request} has {parent}");
        let agent = request.headers.get("user-agent").and_then(|value| value.to_str().ok()).unwrap_or_default();
        assert_eq!(agent, "hyperfleet-adapter/0.0.0-dev", "{request}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn adapter_exits_if_a_port_is_taken() -> Result<()> {
    let world = World::new().await?;
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    for server in ["health", "metrics"] {
        let key = format!("{server}.listen");
        let mut adapter = world.adapter(task(SETTINGS))?.with(&key, taken.local_addr()?.to_string()).spawn()?;
        assert_eq!(adapter.exit().await?.code(), Some(1), "{server}");
        let printed = adapter.lines().join("\n");
        assert!(printed.contains("failed to listen") && printed.contains(server), "{printed}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn adapter_exits_and_names_what_its_configuration_lacks() -> Result<()> {
    let world = World::new().await?;
    let cases = [
        ("no API", "clients.hyperfleet_api.base_url", json!(""), "base URL"),
        ("no subscription", "clients.broker.subscription_id", json!(""), "clients.broker.subscription_id"),
        ("no topic", "clients.broker.topic", json!(""), "clients.broker.topic"),
        ("no kubeconfig", "clients.kubernetes.kube_config_path", json!("/nowhere"), "/nowhere"),
        ("an unknown key", "adapter.nickname", json!("x"), "unknown key"),
    ];
    for (name, key, value, expected) in cases {
        let mut adapter = world.adapter(task(SETTINGS))?.with(key, value).spawn()?;
        assert_eq!(adapter.exit().await?.code(), Some(1), "{name}");
        let printed = adapter.lines().join("\n");
        assert!(printed.contains(expected), "{name}: {printed}");
        assert!(!printed.contains("panicked"), "{name}: {printed}");
    }
    Ok(())
}
