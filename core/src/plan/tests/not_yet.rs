//! Tests of a `when` that reads the clock, and of the report while it is false.
#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::passes::{Pass, config_map, gated, live, pass, task, with};
use super::store::Store;
use crate::report_overlay::{self, Account};

const DUE: &str = "timestamp(now()) > timestamp('2026-02-01T00:00:00Z')";

/// The condition `Available` of a report that calls everything available.
pub(super) fn available(pass: &Pass) -> (String, String, String) {
    let told = json!({ "type": "Available", "status": "True", "reason": "Mine", "message": "" });
    let payload = json!({ "adapter": "tester", "conditions": [told] }).to_string();
    let account = Account { outcomes: &pass.outcomes, unread: None, is_deleting: Some(false) };
    let payload: Value = serde_json::from_str(&report_overlay::apply(payload, account).text).unwrap();
    let text = |key: &str| payload["conditions"][0][key].as_str().unwrap().to_owned();
    (text("status"), text("reason"), text("message"))
}

fn waiting() -> Value {
    with(config_map("job"), json!({ "when": { "expression": DUE } }))
}

#[test]
fn generation_that_waits_for_the_clock_is_not_available() {
    let mine = ("True".to_owned(), "Mine".to_owned(), String::new());
    let message = format!("resource job waits until its gate `when` holds: {DUE}");
    let waits = ("False".to_owned(), "Waiting".to_owned(), message);
    let live_at = |generation: i64| Store::with([live("ConfigMap", "job", json!({}), Some(generation))]);
    let theirs = || Store::with([live("ConfigMap", "job", json!({}), None)]);
    let never_applied = gated(waiting(), "apply", "false");
    let dated =
        with(waiting(), json!({ "manifest": { "metadata": { "annotations": { "hyperfleet.io/generation": "2" } } } }));
    let adopting = with(waiting(), json!({ "adopt": true }));
    let cases = [
        ("an object of an older generation", waiting(), live_at(2), &waits),
        ("no object", waiting(), Store::new(), &waits),
        ("an object of this generation", waiting(), live_at(3), &mine),
        ("an object of a later generation", waiting(), live_at(4), &mine),
        ("a generation of the author's", dated, live_at(2), &mine),
        ("an object that is never updated", never_applied, live_at(2), &mine),
        ("a foreign object", waiting(), theirs(), &mine),
        ("a foreign object to adopt", adopting, theirs(), &waits),
    ];
    for (name, entry, mut store, expected) in cases {
        let pass = pass(&task(&[entry]), &mut store, 3, &[]);
        assert_eq!(pass.result(), ("wait", "NotYet", "waiting", "8"), "{name}");
        assert_eq!(&available(&pass), expected, "{name}");
        assert_eq!(store.log, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn false_gate_without_a_clock_says_that_the_entry_does_not_apply() {
    let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(2))]);
    let entry = with(config_map("job"), json!({ "when": { "expression": "deleting" } }));
    let skipped = pass(&task(&[entry]), &mut store, 3, &[]);
    assert_eq!(skipped.result(), ("skip", "WhenFalse", "skipped", "8"));
    assert_eq!(available(&skipped).1, "Mine");
}

#[test]
fn waiting_owner_can_be_named_by_its_dependents() {
    let dependent = with(config_map("dependent"), json!({ "owner": { "resource": "job" } }));
    let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(2))]);
    let pass = pass(&task(&[waiting(), dependent]), &mut store, 3, &[]);
    assert_eq!(pass.results()[1], ("create", "Absent", "created", "12"));
}

#[test]
fn object_that_is_on_its_way_out_is_not_available() {
    let recreated = task(&[with(config_map("job"), json!({ "recreate_on_change": true }))]);
    let mut store = Store::with([live("ConfigMap", "job", json!({}), Some(2))]);
    store.hold("job");
    let deleting = pass(&recreated, &mut store, 3, &[]);
    assert_eq!(deleting.result().2, "deleting");
    let waits = pass(&recreated, &mut store, 3, &[]);
    assert_eq!(waits.result(), ("wait", "Terminating", "waiting", "9"));
    for pass in [deleting, waits] {
        let (status, reason, message) = available(&pass);
        assert_eq!((status.as_str(), reason.as_str()), ("False", "Waiting"));
        assert_eq!(
            message,
            "resource job waits until ConfigMap team/job is gone, which is terminating, held by the finalizer example.io/hold"
        );
    }
}
