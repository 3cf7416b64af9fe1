//! Reads the page of the sweeper, for what its replicas answer.

use hyperfleet_console::page::Moment;
use hyperfleet_console::page::sweeper::page;
use hyperfleet_console::source::Replica;
use serde_json::{Value, json};

use crate::{ago, sweeper_page};

#[tokio::test]
async fn leader_sweeps_only_if_a_recent_pass_did_not_fail() {
    let pass = |age: i64, result: &str| json!({"time": ago(age), "result": result});
    let (old, failed) = ("leads, but its last pass is long ago", "leads, but its last pass failed");
    let cases = [
        ("done", pass(60, "done"), json!({}), ("good", "sweeps<")),
        ("a dry run", pass(60, "dry_run"), json!({}), ("good", "sweeps<")),
        ("old", pass(1300, "done"), json!({}), ("bad", old)),
        ("failed", pass(60, "failed"), json!({}), ("bad", failed)),
        ("a first pass", Value::Null, json!({"history_since": ago(60)}), ("busy", "its first pass has not ended")),
        ("no pass since it started", Value::Null, json!({"history_since": ago(7200)}), ("bad", old)),
    ];
    for (name, pass, more, (class, word)) in cases {
        let page = sweeper_page(pass, more).await;
        let state = page.split("<span class=\"mark ").find(|mark| mark.contains(word)).unwrap_or_default();
        assert!(state.starts_with(class), "{name}: {page}");
        assert_eq!(page.contains("sweeps<"), class == "good", "{name}: {page}");
    }
}

#[test]
fn history_is_of_all_replicas_by_time() {
    let deed = |name: &str, age: i64| json!({"kind": "Job", "name": name, "time": ago(age), "result": "deleted"});
    let replica = |leads: bool, history: Value| {
        let plan = json!({"leads": leads, "history": history, "history_since": ago(60)});
        Replica { address: None, answer: Ok(serde_json::from_value(plan).unwrap()) }
    };
    // The former leader stands by, after the pass that deleted `second`.
    let former = replica(false, json!([deed("second", 300), deed("first", 600)]));
    let replicas = [replica(true, json!([deed("third", 30)])), former];
    let page = page(Some(&replicas), Moment { now: jiff::Timestamp::now() }).content.into_string();
    let places = ["Job third", "Job second", "Job first"].map(|deed| page.find(deed));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{page}");
}

#[tokio::test]
async fn history_is_told_without_a_leader() {
    let history = json!([{"kind": "Job", "name": "a", "result": "deleted"}]);
    let page = sweeper_page(json!({}), json!({"leads": false, "history": history})).await;
    assert!(page.contains("Job a") && page.contains("No replica that answers is the leader"), "{page}");
}
