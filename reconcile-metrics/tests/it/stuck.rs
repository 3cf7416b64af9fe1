//! The adapters that stuck resources wait on, blocked parents, and the page `/stuck`.

use std::collections::BTreeSet;
use std::io::Write as _;

use reconcile_metrics::store::{Resource, Selection, Store};
use serde_json::Value;

use crate::world::{API_SCHEMA, Exporter, KINDS, Samples, World};

const GOOD: &str = r#"[{"type": "Available", "status": "True"}, {"type": "Finalized", "status": "True"}]"#;
const BAD: &str = r#"[{"type": "Available", "status": "False", "reason": "JobFailed", "message": "<b>quota</b>"},
                      {"type": "Finalized", "status": "False", "reason": "CleanupInProgress", "message": null}]"#;

const STALLED: &str = "hyperfleet_api_resource_deletion_stalled{resource_type=\"cluster\"}";

/// Inserts stuck resources of every cause, and a stalled deletion.
pub(crate) async fn troubled(world: &mut World) {
    // c1 waits on dns, which never reported, and on hypershift, which is not available.
    world.resource("c1", "Cluster", Some("False"), "2 hours").await;
    world.report("Cluster", "c1", "hypershift", 1, BAD).await;
    // c2 waits on dns, whose report is about an older generation.
    world.resource("c2", "Cluster", Some("False"), "1 hour").await;
    world.sql("UPDATE resources SET generation = 2 WHERE id = 'c2'").await;
    world.report("Cluster", "c2", "dns", 1, GOOD).await;
    world.report("Cluster", "c2", "hypershift", 2, GOOD).await;
    // c3 is a stalled deletion: it is reconciled, and its node pools n1 and n2 still exist.
    world.resource("c3", "Cluster", Some("True"), "1 hour").await;
    world.resource("n1", "NodePool", Some("False"), "50 minutes").await;
    world.resource("n2", "NodePool", Some("False"), "40 minutes").await;
    world.sql("UPDATE resources SET owner_id = 'c3' WHERE kind = 'NodePool'").await;
    world.sql("UPDATE resources SET deleted_time = now() - interval '1 hour' WHERE id IN ('c3', 'n1', 'n2')").await;
    world.report("NodePool", "n1", "hypershift", 1, BAD).await;
    world.report("NodePool", "n2", "hypershift", 1, BAD).await;
    // c4 is pending, but not for long; c5 has no condition at all.
    world.resource("c4", "Cluster", Some("False"), "1 minute").await;
    world.resource("c5", "Cluster", None, "").await;
}

fn waiting(samples: &Samples, resource_type: &str, is_delete: bool, adapter: &str, reason: &str) -> f64 {
    let name = "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on";
    samples.get(&format!(
        "{name}{{adapter=\"{adapter}\",is_delete=\"{is_delete}\",reason=\"{reason}\",resource_type=\"{resource_type}\"}}"
    ))
}

#[tokio::test]
async fn stuck_resource_counts_at_each_adapter_it_waits_on() {
    for mut world in [World::migrated().await, World::with_schema(API_SCHEMA).await] {
        troubled(&mut world).await;
        let exporter = world.exporter(KINDS).await;
        assert!(!exporter.scrape().await.has("hyperfleet_api_resource_deletion_stalled"), "not known yet");
        exporter.scraper.renew_details().await;
        let samples = exporter.scrape().await;
        let cases = [
            ("cluster", false, "dns", "never_reported", 1.0),
            ("cluster", false, "dns", "older_generation", 1.0),
            ("cluster", false, "dns", "not_available", 0.0),
            ("cluster", false, "hypershift", "not_available", 1.0),
            ("nodepool", true, "hypershift", "not_finalized", 2.0),
            ("nodepool", false, "hypershift", "not_available", 0.0),
        ];
        for (resource_type, is_delete, adapter, reason, count) in cases {
            assert_eq!(waiting(&samples, resource_type, is_delete, adapter, reason), count, "{adapter} {reason}");
        }
        assert_eq!(samples.get(STALLED), 1.0, "one parent, although two of its children exist");
        assert_eq!(samples.flow("cluster", true).0, 0.0, "the stalled deletion is not pending");
        assert_eq!(samples.get("hyperfleet_reconcile_metrics_details_truncated{}"), 0.0);
    }
}

#[tokio::test]
async fn details_beyond_the_limit_cover_the_oldest_and_are_flagged() {
    let mut world = World::migrated().await;
    troubled(&mut world).await;
    let exporter = world.exporter(&format!("details: {{max_resources: 1}}\n{KINDS}")).await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    assert_eq!(samples.get("hyperfleet_reconcile_metrics_details_truncated{}"), 1.0);
    assert_eq!(samples.flow("cluster", false).1, 2.0, "the figures themselves are complete");
    assert_eq!(
        waiting(&samples, "cluster", false, "hypershift", "not_available"),
        1.0,
        "of c1, which is older than c2"
    );
    assert_eq!(samples.get(STALLED), 1.0, "stalled deletions are counted without a limit");
    let waiting_on = "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on{";
    let zeros = samples.0.iter().filter(|(series, value)| series.starts_with(waiting_on) && **value == 0.0);
    assert_eq!(zeros.count(), 0, "an unknown count must not be zero");
}

/// The API ignores a report whose Available is Unknown, so its `Finalized=True` does not count.
#[tokio::test]
async fn resource_waits_on_an_adapter_whose_report_the_api_ignores() {
    let mut world = World::migrated().await;
    world.resource("n", "NodePool", Some("False"), "1 hour").await;
    world.sql("UPDATE resources SET deleted_time = now() - interval '1 hour'").await;
    let unknown = r#"[{"type": "Available", "status": "Unknown", "reason": "NotLookedYet", "message": null},
                      {"type": "Finalized", "status": "True", "reason": "AllGone", "message": null}]"#;
    world.report("NodePool", "n", "hypershift", 1, unknown).await;
    let exporter = world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    assert_eq!(waiting(&samples, "nodepool", true, "hypershift", "not_finalized"), 1.0);
    let (_, body) = exporter.get("/stuck", &[]).await;
    assert!(body.contains("NotLookedYet") && !body.contains("AllGone"), "the reason must be that of Available: {body}");
}

#[tokio::test]
async fn unknown_kind_counts_at_configured_adapters_only() {
    let mut world = World::migrated().await;
    world.resource("s", "Stranger", Some("False"), "1 hour").await;
    world.report("Stranger", "s", "hypershift", 1, BAD).await;
    world.report("Stranger", "s", "nobody-knows-me", 1, BAD).await;
    let exporter = world.exporter(KINDS).await;
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    assert_eq!(waiting(&samples, "stranger", false, "hypershift", "not_available"), 1.0);
    assert!(
        !samples.0.keys().any(|series| series.contains("nobody-knows-me")),
        "a name from the database became a label"
    );
}

/// Only twenty kinds that are not configured get a type of their own: the details must show the same twenty
/// as the snapshot.
#[tokio::test]
async fn snapshot_and_details_use_the_same_type_for_a_kind() {
    let mut world = World::migrated().await;
    for number in 0..20 {
        world.resource(&format!("k{number:02}"), &format!("K{number:02}"), Some("False"), "1 hour").await;
    }
    world.resource("a1", "Aardvark", Some("True"), "1 hour").await;
    world.sql("UPDATE resources SET deleted_time = now() - interval '1 hour' WHERE id IN ('a1', 'k19')").await;
    let exporter = world.exporter(KINDS).await;
    assert_eq!(exporter.scrape().await.flow("k19", true).1, 1.0);
    exporter.scraper.renew_details().await;
    let stalled = "hyperfleet_api_resource_deletion_stalled{resource_type=\"other\"}";
    assert_eq!(exporter.scrape().await.get(stalled), 1.0);
}

#[tokio::test]
async fn cycle_of_owners_ends_and_blocks_no_resource_by_itself() {
    let mut world = World::migrated().await;
    for (id, owner) in [("a", "b"), ("b", "a")] {
        world.resource(id, "NodePool", Some("False"), "1 hour").await;
        world.sql(&format!("UPDATE resources SET owner_id = '{owner}', deleted_time = now() WHERE id = '{id}'")).await;
    }
    let exporter = world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await;
    let (_, body) = exporter.get("/stuck", &[]).await;
    assert!(
        body.contains(r#""blocks":["b"]"#) && body.contains(r#""blocks":["a"]"#),
        "a resource blocks itself: {body}"
    );
}

fn ids(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    body["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn stuck_page_lists_filters_and_pages_resources() {
    for mut world in [World::migrated().await, World::with_schema(API_SCHEMA).await] {
        troubled(&mut world).await;
        let exporter = world.exporter(&format!("stuck: {{anonymous: true}}\n{KINDS}")).await;
        let (status, body) = exporter.get("/stuck", &[]).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(ids(&body), ["c1", "c2", "n1", "n2"], "the oldest first");
        let items = serde_json::from_str::<Value>(&body).unwrap()["items"].clone();
        let c1 = &items[0];
        assert_eq!((c1["kind"].as_str(), c1["generation"].as_i64()), (Some("Cluster"), Some(1)));
        assert!(c1["age_seconds"].as_u64().unwrap() >= 7_200);
        let waits: Vec<_> =
            c1["waits_on"].as_array().unwrap().iter().map(|w| (w["adapter"].clone(), w["cause"].clone())).collect();
        assert_eq!(waits, [("dns".into(), "never_reported".into()), ("hypershift".into(), "not_available".into())]);
        assert_eq!(c1["waits_on"][1]["message"], "<b>quota</b>");
        assert_eq!(items[2]["blocks"], serde_json::json!(["c3"]));
        assert_eq!(items[2]["waits_on"][0]["reason"], "CleanupInProgress");
        let (_, body) = exporter.get("/stuck?stalled=true", &[]).await;
        assert_eq!(
            serde_json::from_str::<Value>(&body).unwrap()["items"][0]["children"],
            serde_json::json!(["n1", "n2"])
        );

        let cases = [
            ("/stuck?stalled=true", vec!["c3"]),
            ("/stuck?kind=nodepool", vec!["n1", "n2"]),
            ("/stuck?deleting=true", vec!["n1", "n2"]),
            ("/stuck?adapter=dns", vec!["c1", "c2"]),
            ("/stuck?kind=NodePool&page=2&size=1", vec!["n2"]),
            ("/stuck?kind=NodePool&page=3&size=1", vec![]),
            ("/stuck?page=10000&size=500", vec![]),
            // The page's form sends empty parameters for fields that are not filled in.
            ("/stuck?kind=nodepool&adapter=&deleting=&size=1", vec!["n1"]),
        ];
        for (path, expected) in cases {
            assert_eq!(ids(&exporter.get(path, &[]).await.1), expected, "{path}");
        }
        let browser = [("accept", "text/html,*/*")];
        let (status, body) = exporter.get("/stuck?kind=NodePool&size=1&format=json", &browser).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(ids(&body), ["n1"]);
        let (_, page) = exporter.get("/stuck?format=html", &[]).await;
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
        let wrong = [
            "format=xml",
            "page=0",
            "size=501",
            "kindred=x",
            "deleting=perhaps",
            "page=18446744073709551615&size=500",
            "kind=a%00b",
            "adapter=%00",
        ];
        for query in wrong {
            let (status, body) = exporter.get(&format!("/stuck?{query}"), &browser).await;
            assert!(status == 400 && body.contains("message"), "{query}: {status} {body}");
        }
        let (_, page) = exporter.get("/stuck", &browser).await;
        assert!(page.contains("&lt;b&gt;quota&lt;/b&gt;") && !page.contains("<b>"), "{page}");
        assert!(page.contains("blocks the deletion of c3"), "{page}");
        let (_, page) = exporter.get("/stuck?page=2&size=2", &browser).await;
        assert!(page.contains("3–4 of 4, the oldest first."), "{page}");
        let (_, page) = exporter.get("/stuck?page=3&size=2", &browser).await;
        assert!(page.contains("None of 4 is on this page."), "{page}");
        let (_, page) = exporter.get("/stuck?stalled=true", &browser).await;
        assert!(page.contains("1–1 of 1,") && page.contains("has children that still exist: n1, n2"), "{page}");
        let (_, page) = exporter.get("/stuck?stalled=true&kind=NodePool", &browser).await;
        assert!(page.contains("No stalled deletion matches."), "{page}");
        let (_, body) = exporter.get("/stuck?kind=Clutser", &[]).await;
        assert!(body.contains("did you mean `Cluster`?"), "{body}");
    }
}

/// An adapter may write megabytes into a message, so reading all messages of thousands of resources would fill the memory.
#[tokio::test]
async fn texts_are_cut_and_read_for_shown_resources_only() {
    let long = "é".repeat(100_000);
    let bad = BAD.replace("<b>quota</b>", &long).replace("CleanupInProgress", &long);
    for mut world in [World::migrated().await, World::with_schema(API_SCHEMA).await] {
        troubled(&mut world).await;
        let reports = format!("UPDATE adapter_statuses SET conditions = '{bad}' WHERE conditions = '{BAD}'");
        world.sql(&reports).await;
        world.sql(&format!("UPDATE resource_conditions SET message = '{long}'")).await;
        let config = world.config(&format!("stuck: {{anonymous: true}}\n{KINDS}"));
        let store = Store::new(&config.database, &config.kinds);
        let details = store.details(10, config.scrape_timeout).await.unwrap();
        assert!(details.stuck.iter().any(|stuck| !stuck.reports.is_empty()));
        for stuck in &details.stuck {
            let texts = stuck.reports.iter().flat_map(|report| [&report.reason, &report.message]);
            assert!(texts.chain([&stuck.reason, &stuck.message]).all(Option::is_none), "{}", stuck.id);
        }
        let selection = Selection { limit: 10, ..Selection::default() };
        let found = store.list(&selection, config.scrape_timeout, |_| BTreeSet::from([0])).await.unwrap();
        let has_texts =
            |found: &Resource| found.message.is_some() || found.reports.iter().any(|said| said.message.is_some());
        let (first, others) = found.split_first().unwrap();
        assert!(has_texts(first) && !others.iter().any(has_texts), "texts were read for resources that are not shown");
        let exporter = Exporter::start(config).await;
        let begins = |text: &Value| assert_eq!(text.as_str(), Some("é".repeat(1000).as_str()));
        let first = async |query: &str| {
            let (status, body) = exporter.get(&format!("/stuck{query}"), &[]).await;
            assert_eq!(status, 200, "{body}");
            serde_json::from_str::<Value>(&body).unwrap()["items"][0].clone()
        };
        let pending = first("?kind=Cluster").await;
        begins(&pending["message"]);
        begins(&pending["waits_on"][1]["message"]);
        begins(&first("?stalled=true").await["message"]);
        begins(&first("?kind=NodePool").await["waits_on"][0]["reason"]);
    }
}

#[tokio::test]
async fn stuck_page_is_off_without_a_token_or_anonymous() {
    let mut world = World::migrated().await;
    troubled(&mut world).await;
    let (status, body) = world.exporter(KINDS).await.get("/stuck", &[]).await;
    assert_eq!(status, 403);
    assert!(body.contains("stuck.token_file"), "{body}");

    let mut token = tempfile::NamedTempFile::new().unwrap();
    writeln!(token, "s3cret").unwrap();
    let exporter = world.exporter(&format!("stuck: {{token_file: '{}'}}\n{KINDS}", token.path().display())).await;
    assert_eq!(exporter.get("/stuck", &[]).await.0, 401);
    assert_eq!(exporter.get("/stuck", &[("authorization", "Bearer wrong")]).await.0, 401);
    assert_eq!(exporter.get("/stuck", &[("authorization", "Bearer s3cret")]).await.0, 200);
    std::fs::write(token.path(), "renewed").unwrap();
    assert_eq!(exporter.get("/stuck", &[("authorization", "Bearer s3cret")]).await.0, 401);
    assert_eq!(exporter.get("/stuck", &[("authorization", "Bearer renewed")]).await.0, 200);
}
