//! Answers of the API that do not prove that a resource is gone, at each question that the sweeper asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use jiff::Timestamp;
use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::fault::{Fault, Request, When};
use serde_json::{Value, json};

use crate::program::Sweeper;
use crate::world::{CANARY, ID_PREFIX, World};

/// Every answer that proves nothing, with its name.
fn unknown() -> Vec<(&'static str, Fault)> {
    let html = "<html><body>404 Not Found</body></html>";
    let problem = |code: &str, instance: &str| {
        json!({ "type": "https://api.hyperfleet.io/errors/not-found", "title": "Not Found", "status": 404,
                "detail": "there is none", "instance": instance, "code": code })
        .to_string()
    };
    let answer = |status, media_type: &str, body: String| Fault::Answer {
        status,
        headers: vec![("content-type", media_type.to_owned())],
        body,
    };
    let redirect = Fault::Answer {
        status: 302,
        headers: vec![("location", "/api/hyperfleet/v1/resources/elsewhere".to_owned())],
        body: String::new(),
    };
    vec![
        ("a proxy's 404", answer(404, "text/html", html.to_owned())),
        ("an empty 404", answer(404, "text/plain", String::new())),
        ("a page with status 200", answer(200, "text/html", html.to_owned())),
        ("an empty body with status 200", answer(200, "application/json", String::new())),
        ("an empty document", answer(200, "application/json", "{}".to_owned())),
        ("another API's 404", answer(404, "application/json", json!({ "code": 404 }).to_string())),
        ("a path that is not served", answer(404, "application/problem+json", problem("HYPERFLEET-NTF-000", "/"))),
        ("a 404 about another resource", answer(404, "application/problem+json", problem("HYPERFLEET-NTF-001", "/x"))),
        ("a truncated answer", Fault::Truncate),
        ("a redirect", redirect),
        ("no valid token", Fault::Status(401)),
        ("no permission", Fault::Status(403)),
        ("gone for good", Fault::Status(410)),
        ("too many requests", Fault::TooManyRequests { retry_after: 1 }),
        ("an internal error", Fault::Status(500)),
        ("unavailable", Fault::Status(503)),
        ("a reset connection", Fault::ResetBefore),
        ("no answer", Fault::Silence),
    ]
}

/// An empty list: of an API that lost what it had, or whose search is broken.
fn empty_list() -> Fault {
    let body = json!({ "items": [], "page": 1, "size": 0, "total": 0 }).to_string();
    Fault::Answer { status: 200, headers: vec![("content-type", "application/json".to_owned())], body }
}

fn is_search(request: &Request) -> bool {
    request.query.contains("search=")
}

/// Whether the request looks up one of the clusters that the objects name.
fn is_lookup(request: &Request) -> bool {
    request.path.contains(&format!("/resources/{ID_PREFIX}"))
}

/// Starts a sweeper and injects one fault after the other into the requests that `chosen` accepts, without a moment
/// between two of them in which the API is healthy. `check` gets a pass that began and ended during each.
async fn during_each(
    world: &World,
    chosen: impl Fn(&Request) -> bool + Clone + Send + Sync + 'static,
    check: impl AsyncFn(&Value) -> Result<()>,
) -> Result<Sweeper> {
    let faults = unknown();
    let current = Arc::new(AtomicUsize::new(0));
    for (number, (_, fault)) in faults.iter().enumerate() {
        let (current, chosen) = (Arc::clone(&current), chosen.clone());
        let is_current = move |request: &Request| current.load(Ordering::SeqCst) == number && chosen(request);
        world.api.inject(When::any().and(is_current), fault.clone());
    }
    let setup = world.sweeper()?.with("grace", "1ms").with("interval", "1ms").with("api.timeout", "2s");
    let sweeper = setup.run()?;
    for (number, (name, _)) in faults.iter().enumerate() {
        current.store(number, Ordering::SeqCst);
        let pass = sweeper.await_passes(1).await?;
        check(&pass).await.with_context(|| format!("during {name}: {pass}"))?;
    }
    Ok(sweeper)
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_answer_about_a_resource_keeps_its_objects() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    // The search lists nothing, so that the sweeper asks for the living resource alone, too.
    world.api.inject(When::any().and(is_search), empty_list());
    let sweeper = during_each(&world, is_lookup, async |pass| {
        ensure!(pass["orphans"] == 0 && pass["owners"] == 2, "no answer is a strike");
        world.assert_names(&["living", "orphan"]).await
    })
    .await?;
    let metrics = sweeper.metrics().await?;
    for reason in ["no_answer", "redirected", "status", "no_resource", "no_problem", "other_problem", "other_path"] {
        let none = format!("hyperfleet_sweeper_unknown_answers_total{{reason=\"{reason}\"}} 0");
        ensure!(!metrics.contains(&none), "{none}");
    }
    world.api.heal();
    world.await_names(&["living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_answer_at_the_second_look_keeps_the_object_and_its_strike() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    let looks = Arc::new(AtomicUsize::new(0));
    let is_later = move |request: &Request| is_lookup(request) && looks.fetch_add(1, Ordering::SeqCst) > 0;
    let sweeper = during_each(&world, is_later, async |pass| {
        ensure!(pass["orphans"] == 0 && pass["owners"] == 2, "the answer proves nothing");
        world.assert_names(&["living", "orphan"]).await
    })
    .await?;
    let passes = sweeper.entries(|entry| entry["message"] == "Pass ended");
    let [first, second] = [0, 1].map(|number| &passes[number]);
    ensure!(first["orphans"] == 1 && second["orphans"] == 0, "{first} {second}");
    world.api.heal();
    world.await_names(&["living"]).await?;
    let time =
        |entry: &Value, key| Ok::<_, anyhow::Error>(entry[key].as_str().context("a time")?.parse::<Timestamp>()?);
    let record = world.records("orphan")?.into_iter().next().context("a record")?;
    ensure!(time(&record, "gone_since")? <= time(first, "timestamp")?, "the strike was dropped: {record}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_search_deletes_nothing_that_lives() -> Result<()> {
    let world = World::new().await?;
    let id = world.living("living").await?;
    world.orphan("orphan").await?;
    let _sweeper = during_each(&world, is_search, async |pass| {
        ensure!(pass["result"] == "done", "each resource is looked up instead");
        ensure!(world.names().await?.contains("living"));
        Ok(())
    })
    .await?;
    let lookup = When::method("GET").path(format!("/api/hyperfleet/v1/resources/{id}"));
    ensure!(world.api.count(&lookup) >= unknown().len(), "{}", world.api.count(&lookup));
    world.await_names(&["living"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn api_that_answers_nothing_right_keeps_every_object() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    let is_any = |_: &Request| true;
    let _sweeper = during_each(&world, is_any, async |pass| {
        ensure!(pass["orphans"] == 0 && pass["inventory"] == 2, "no answer is a strike");
        world.assert_names(&["living", "orphan"]).await
    })
    .await?;
    world.api.heal();
    world.await_names(&["living"]).await
}

/// The three requests by which a pass tests the API: the list of one resource, that resource, and one that nobody made.
fn canaries() -> [fn(&Request) -> bool; 3] {
    [
        |request| request.path.ends_with("/resources") && !is_search(request),
        |request| request.path.ends_with(CANARY),
        |request| request.path.contains("/resources/") && !request.path.ends_with(CANARY) && !is_lookup(request),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn api_that_fails_a_canary_deletes_nothing() -> Result<()> {
    try_join_all(canaries().map(async |chosen| {
        let world = World::new().await?;
        world.living("living").await?;
        world.orphan("orphan").await?;
        let sweeper = during_each(&world, chosen, async |pass| {
            ensure!(pass["orphans"] == 0, "no answer is a strike");
            world.assert_names(&["living", "orphan"]).await
        })
        .await?;
        sweeper.await_hold("no_canary").await?;
        sweeper.await_metric("held{reason=\"no_canary\"} 1").await?;
        world.api.heal();
        world.await_names(&["living"]).await
    }))
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn api_that_fails_after_its_answers_deletes_nothing() -> Result<()> {
    try_join_all(canaries().map(async |chosen| {
        let world = World::new().await?;
        world.living("living").await?;
        world.orphan("orphan").await?;
        // Each pass makes this request before it asks for resources, and again after the answers, which then fails.
        let requests = AtomicUsize::new(0);
        let is_second = move |request: &Request| chosen(request) && requests.fetch_add(1, Ordering::SeqCst) % 2 == 1;
        world.api.inject(When::any().and(is_second), Fault::Status(403));
        let sweeper = world.sweeper()?.with("grace", "1ms").run()?;
        sweeper.await_hold("no_canary").await?;
        let pass = sweeper.await_passes(3).await?;
        ensure!(pass["orphans"] == 0 && pass["due"] == 0, "{pass}");
        world.assert_names(&["living", "orphan"]).await?;
        world.api.heal();
        world.await_names(&["living"]).await
    }))
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn resource_id_that_is_no_uuid_is_never_asked_for() -> Result<()> {
    let world = World::new().await?;
    world.create(world.config_map("named", "my-cluster")).await?;
    world.orphan("orphan").await?;
    let sweeper = world.sweeper()?.run()?;
    world.await_names(&["named"]).await?;
    sweeper.await_passes(2).await?;
    world.assert_names(&["named"]).await?;
    ensure!(!world.api.lines().iter().any(|line| line.contains("my-cluster")), "{:?}", world.api.lines());
    sweeper.await_metric("candidates{kind=\"core/ConfigMap\",verdict=\"odd_resource_id\"} 1").await
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_base_url_keeps_every_object() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    world.orphan("orphan").await?;
    for (key, value) in [("api.base_url", format!("{}/elsewhere", world.api.url())), ("api.version", "v2".to_owned())] {
        let mut sweeper = world.sweeper()?.with("grace", "1ms").with(key, value).run()?;
        sweeper.await_hold("no_canary").await?;
        let pass = sweeper.await_passes(2).await?;
        ensure!(pass["orphans"] == 0 && pass["inventory"] == 2, "{key}: {pass}");
        world.assert_names(&["living", "orphan"]).await?;
        sweeper.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn api_of_another_installation_is_held_by_the_default_limits() -> Result<()> {
    let world = World::new().await?;
    world.living("living").await?;
    let other = LocalApi::start().await?;
    other.put_cluster(CANARY, 1).await?;
    let setup = world.sweeper()?.with("grace", "1ms").with("limits", json!({}));
    let sweeper = setup.with("api.base_url", other.url()).run()?;
    sweeper.await_hold("too_many_orphans").await?;
    let pass = sweeper.await_passes(2).await?;
    ensure!(pass["due"] == 1 && pass["result"] == "held", "{pass}");
    world.assert_names(&["living"]).await
}
