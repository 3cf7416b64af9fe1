//! When the record of unsettled resources is not used, but the conditions themselves: not compared yet, found wrong, or not kept.

use std::time::Duration;

use reconcile_metrics::figures::Edges;
use reconcile_metrics::migrations;
use reconcile_metrics::store::{Layout, Store};
use sqlx::Connection as _;

use crate::record::{DRIFT, EXACT, past_the_triggers};
use crate::world::{Exporter, KINDS, World, config_of, resource, rewrite};

/// A new process knows nothing of a record that was wrong before it came.
#[tokio::test]
async fn a_record_that_nobody_has_compared_is_not_used() {
    let mut world = World::ours().await;
    world.resource("lost", "Cluster", Some("True"), "1 hour").await;
    past_the_triggers(&mut world, &(resource("c1", "Cluster") + &rewrite("c1", "False", "1 hour"))).await;
    world.sql("DELETE FROM resource_conditions WHERE resource_id = 'lost'").await;
    let exporter = Exporter::fresh(world.config(KINDS)).await;
    let missing = "hyperfleet_api_resource_without_reconciled_condition{is_delete=\"false\",resource_type=\"cluster\"}";
    let samples = exporter.scrape().await;
    assert_eq!((samples.flow("cluster", false).1, samples.get(EXACT)), (1.0, 0.0));
    assert!(!samples.0.contains_key(missing) && !samples.0.contains_key(DRIFT), "not known yet is not zero");
    for (repaired, exact) in [(false, 0.0), (true, 1.0)] {
        if repaired {
            assert_eq!(migrations::repair(&mut world.connection).await.unwrap(), 2);
        }
        exporter.scraper.renew_details().await;
        assert!(exporter.scraper.renew_pass().await);
        let samples = exporter.scrape().await;
        let figures = (samples.flow("cluster", false).1, samples.get(missing), samples.get(EXACT), samples.get(DRIFT));
        assert_eq!(figures, (1.0, 1.0, exact, 1.0 - exact), "repaired: {repaired}");
    }
}

/// In an outage of a large fleet a new process must not be blind for want of time to compare.
#[tokio::test]
async fn a_record_that_takes_too_long_to_compare_is_used_unless_it_was_found_wrong() {
    for found_wrong in [false, true] {
        let mut world = World::ours().await;
        world.resource("c1", "Cluster", Some("False"), "1 hour").await;
        let mut config = world.config(KINDS);
        config.scrape_timeout = Duration::from_millis(300);
        let exporter = Exporter::fresh(config).await;
        if found_wrong {
            past_the_triggers(&mut world, &rewrite("c1", "False", "2 hours")).await;
            exporter.scraper.renew_details().await;
        }
        // No reading of the record alone wants it.
        let mut holder = world.another_connection().await;
        sqlx::raw_sql("BEGIN; LOCK TABLE resources IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
        assert_eq!(exporter.scrape().await.success(), 0.0, "the conditions");
        exporter.scraper.renew_details().await;
        let samples = exporter.scrape().await;
        assert_eq!(samples.success(), if found_wrong { 0.0 } else { 1.0 });
        if !found_wrong {
            assert_eq!((samples.flow("cluster", false).1, samples.get(EXACT)), (1.0, 1.0));
            assert!(!samples.0.contains_key(DRIFT), "nobody knows");
            let missing = "hyperfleet_api_resource_without_reconciled_condition";
            assert!(!samples.has(missing), "no pass has compared that");
        }
        holder.close().await.unwrap();
    }
}

/// Somebody enables the triggers by hand: what went past them meanwhile is not on record, whoever has looked.
#[tokio::test]
async fn a_record_that_is_kept_again_is_compared_before_it_is_used() {
    let mut world = World::ours().await;
    let config = world.config(KINDS);
    let edges = Edges::new(&config.exposure.age_buckets, &config.kinds);
    let limit = Duration::from_secs(5);
    let switch = "ALTER TABLE resource_conditions {} TRIGGER ALL; ALTER TABLE resources {} TRIGGER ALL";
    for looked in ["by a scrape", "by a comparison", "by a pass"] {
        let store = Store::new(&config.database, &config.kinds);
        store.trust_record();
        let trusted = store.snapshot(&edges, None, limit).await.unwrap();
        assert!(trusted.layout == Layout::Tracked && trusted.missing.is_some(), "{trusted:?}");
        world.sql(&switch.replace("{}", "DISABLE")).await;
        // The two agree by chance, as nothing was written yet.
        match looked {
            "by a scrape" => assert_eq!(store.snapshot(&edges, None, limit).await.unwrap().layout.label(), "rows"),
            "by a comparison" => assert_eq!(store.drift(limit).await.unwrap(), Some(0)),
            _ => assert_eq!(store.pass(limit).await.unwrap().drift, Some(0)),
        }
        world.sql(&switch.replace("{}", "ENABLE")).await;
        let again = store.snapshot(&edges, None, limit).await.unwrap();
        assert_eq!((again.layout == Layout::Tracked, again.missing), (false, None), "{looked}");
        assert_eq!(store.drift(limit).await.unwrap(), Some(0));
        let half = store.snapshot(&edges, None, limit).await.unwrap();
        assert_eq!((half.layout == Layout::Tracked, half.missing), (true, None), "{looked}");
        assert_eq!(store.pass(limit).await.unwrap().drift, Some(0));
        assert!(store.snapshot(&edges, None, limit).await.unwrap().missing.is_some(), "{looked}");
    }
}

/// Its alert must not end before what it tells of does.
#[tokio::test]
async fn drift_is_told_while_no_later_comparison_succeeds() {
    let mut world = World::ours().await;
    world.resource("lost", "Cluster", Some("True"), "1 hour").await;
    world.sql("DELETE FROM resource_conditions").await;
    past_the_triggers(&mut world, &(resource("c1", "Cluster") + &rewrite("c1", "False", "1 hour"))).await;
    let mut config = world.config(KINDS);
    config.details.interval = Duration::from_millis(1);
    config.details.missing_interval = Duration::from_millis(1);
    config.scrape_timeout = Duration::from_millis(300);
    let exporter = Exporter::start(config).await;
    exporter.scraper.renew_details().await;
    assert!(exporter.scraper.renew_pass().await);
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE resources IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    exporter.scraper.renew_details().await;
    assert!(!exporter.scraper.renew_pass().await, "no comparison succeeds");
    let samples = exporter.scrape().await;
    let missing = "hyperfleet_reconcile_metrics_record_drift{state=\"missing\"}";
    assert!(!samples.has("hyperfleet_reconcile_metrics_details_truncated"), "details are old");
    assert_eq!((samples.get(DRIFT), samples.get(missing)), (1.0, 1.0));
    holder.close().await.unwrap();
}

/// A comparison that takes too long is put off, for longer each time.
#[tokio::test]
async fn a_comparison_for_which_there_is_no_time_is_not_made_again_at_once() {
    let world = World::ours().await;
    let mut config = world.config(KINDS);
    config.details.interval = Duration::from_hours(1);
    config.scrape_timeout = Duration::from_millis(100);
    let exporter = Exporter::fresh(config).await;
    let mut holder = world.another_connection().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE unsettled_resources IN ACCESS EXCLUSIVE MODE").execute(&mut holder).await.unwrap();
    for _ in 0..3 {
        exporter.scraper.renew_details().await;
    }
    let errors = "hyperfleet_reconcile_metrics_scrape_errors_total{collector=\"drift\",reason=\"timeout\"}";
    assert_eq!(exporter.scrape().await.get(errors), 1.0);
    holder.close().await.unwrap();
}

/// A database that is away for a while has nothing to spare, and is compared as soon as it is back.
#[tokio::test]
async fn a_comparison_that_found_no_database_is_made_again_in_its_turn() {
    let world = World::ours().await;
    let proxy = world.database.proxy().await.unwrap();
    proxy.refuse();
    let mut config = config_of(&world.database.through(&proxy).unwrap(), KINDS);
    config.details.interval = Duration::from_hours(1);
    let exporter = Exporter::fresh(config).await;
    for _ in 0..2 {
        exporter.scraper.renew_details().await;
    }
    proxy.restore();
    exporter.scraper.renew_details().await;
    let samples = exporter.scrape().await;
    let errors = "hyperfleet_reconcile_metrics_scrape_errors_total{collector=\"drift\",reason=\"connection\"}";
    assert_eq!((samples.get(errors), samples.get(DRIFT), samples.get(EXACT)), (2.0, 0.0, 1.0));
}
