//! Tests of the limits `historyLimit` and `ttl`: which former versions are kept.

use serde_json::{Value, json};

use super::passes::{assert_settled, gated, pass, selecting, task, version, with, yes};
use super::store::Store;

/// Returns an entry of `resources` that finds its objects by labels and has this `retention`.
pub(super) fn keeping(retention: Value) -> Value {
    with(selecting("job"), json!({ "retention": retention }))
}

/// Returns the former versions that are left after a pass whose current version is up to date.
#[track_caller]
fn left(retention: Value, former: &[Value]) -> Vec<String> {
    let task = task(&[keeping(retention)]);
    let mut store = Store::with(former.iter().cloned().chain([version("job", "job-3", 3, 31)]));
    let settled = pass(&task, &mut store, 3, &[]);
    assert_eq!(settled.result(), ("skip", "SameGeneration", "skipped", "17"));
    assert_eq!(settled.outcomes[0].pruned.len(), store.log.len());
    assert_settled(&task, &mut store, 3, &[]);
    store.names().into_iter().filter(|name| *name != "job-3").map(str::to_owned).collect()
}

/// Returns former versions named after the day of December on which they were created; the clock is at the
/// end of the 31st.
fn of_days(days: &[u32]) -> Vec<Value> {
    days.iter().map(|&day| version("job", &format!("d{day:02}"), 1, day)).collect()
}

#[test]
fn the_newest_former_versions_are_kept() {
    let former = of_days(&[5, 1, 20, 10]);
    assert_eq!(left(json!({ "historyLimit": 9 }), &former), ["d01", "d05", "d10", "d20"]);
    assert_eq!(left(json!({ "historyLimit": 2 }), &former), ["d10", "d20"]);
    assert_eq!(left(json!({ "historyLimit": 0 }), &former), Vec::<String>::new());
}

#[test]
fn name_orders_versions_created_at_the_same_time() {
    let former = [version("job", "b", 1, 1), version("job", "c", 1, 1), version("job", "a", 1, 1)];
    assert_eq!(left(json!({ "historyLimit": 1 }), &former), ["c"]);
}

#[test]
fn ttl_prunes_only_versions_older_than_the_limit() {
    // The version of the 30th is exactly 48 hours old.
    assert_eq!(left(json!({ "ttl": "48h" }), &of_days(&[29, 30, 31])), ["d30", "d31"]);
    assert_eq!(left(json!({ "ttl": "47h59m59s" }), &of_days(&[29, 30, 31])), ["d31"]);
}

#[test]
fn version_beyond_either_limit_is_pruned() {
    let former = of_days(&[1, 29, 30, 31]);
    assert_eq!(left(json!({ "historyLimit": 2, "ttl": "72h" }), &former), ["d30", "d31"]);
    assert_eq!(left(json!({ "historyLimit": 9, "ttl": "72h" }), &former), ["d29", "d30", "d31"]);
    assert_eq!(left(json!({ "historyLimit": 1, "ttl": "9999h" }), &former), ["d31"]);
}

#[test]
fn ttl_ignores_versions_without_a_creation_time() {
    let nameless = with(version("job", "x", 1, 1), json!({ "metadata": { "creationTimestamp": "long ago" } }));
    let former = [of_days(&[31]), vec![nameless]].concat();
    assert_eq!(left(json!({ "ttl": "48h" }), &former), ["d31", "x"]);
    assert_eq!(left(json!({ "historyLimit": 1 }), &former), ["d31"]);
}

#[test]
fn terminating_version_is_neither_pruned_nor_counted() {
    let dying =
        with(version("job", "x", 1, 31), json!({ "metadata": { "deletionTimestamp": "2025-12-31T00:00:00Z" } }));
    let former = [of_days(&[20, 30]), vec![dying]].concat();
    assert_eq!(left(json!({ "historyLimit": 1 }), &former), ["d30", "x"]);
}

#[test]
fn foreign_version_is_neither_pruned_nor_counted() {
    let theirs = version("other", "x", 1, 31);
    let former = [of_days(&[20, 30]), vec![theirs]].concat();
    assert_eq!(left(json!({ "historyLimit": 1 }), &former), ["d30", "x"]);
}

#[test]
fn older_versions_of_the_desired_generation_are_former() {
    let former = [version("job", "a", 3, 1), version("job", "b", 3, 2), version("job", "c", 2, 3)];
    assert_eq!(left(json!({ "historyLimit": 1 }), &former), ["c"]);
}

#[test]
fn version_with_an_unreadable_generation_counts_as_former() {
    let unread = with(
        version("job", "x", 1, 1),
        json!({ "metadata": { "annotations": { "hyperfleet.io/generation": "soon" } } }),
    );
    assert_eq!(left(json!({ "historyLimit": 0 }), &[unread]), Vec::<String>::new());
}

#[test]
fn current_version_is_kept_beyond_every_limit() {
    let task =
        task(&[with(keeping(json!({ "historyLimit": 0, "ttl": "1h" })), json!({ "when": { "expression": "false" } }))]);
    let mut store = Store::with([version("job", "a", 1, 1), version("job", "b", 2, 2)]);
    assert_eq!(pass(&task, &mut store, 3, &[]).result().1, "WhenFalse");
    assert_eq!(store.names(), ["b"], "the newest, as none is of the desired generation");
}

#[test]
fn version_just_created_is_current_and_others_are_former() {
    let entry = gated(keeping(json!({ "historyLimit": 1 })), "recreate", "replacing");
    let task = task(&[with(entry, json!({ "manifest": { "metadata": { "name": "job-{{ .stage }}" } } }))]);
    let mut store = Store::with([version("job", "a", 3, 1), version("job", "b", 2, 2)]);
    let created = pass(&task, &mut store, 3, &yes("replacing"));
    assert_eq!(created.result(), ("create_version", "RecreateGateHolds", "created", "14"));
    assert_eq!(created.outcomes[0].pruned.len(), 1);
    assert_eq!(store.names(), ["b", "job-one"]);
}

#[test]
fn updated_version_and_current_version_are_both_kept() {
    // The owner is new, so the version with the rendered name is updated although another version is current.
    let owner = json!({
        "name": "space", "manifest": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "space" } },
        "discovery": { "by_name": "space" },
    });
    let task = task(&[owner, with(keeping(json!({ "historyLimit": 0 })), json!({ "owner": { "resource": "space" } }))]);
    let mut store = Store::with([version("job", "job-3", 3, 1), version("job", "z", 3, 2), version("job", "a", 2, 3)]);
    let updated = pass(&task, &mut store, 3, &[]);
    assert_eq!(updated.results()[1].1, "OwnerChanged");
    assert_eq!(store.names(), ["job-3", "z", "space"]);
}

#[test]
fn outcome_names_pruned_versions_and_the_exceeded_limits() {
    let former = of_days(&[1, 29, 30, 31]).into_iter().chain([version("job", "job-3", 3, 31)]);
    let task = task(&[keeping(json!({ "historyLimit": 2, "ttl": "48h" }))]);
    let pruned = pass(&task, &mut Store::with(former), 3, &[]);
    let texts: Vec<String> =
        pruned.outcomes[0].pruned.iter().map(|pruned| format!("{}: {}", pruned.name, pruned.because)).collect();
    let expected = [
        "d29: beyond the newest 2; 72h old, beyond the ttl of 48h",
        "d01: beyond the newest 2; 744h old, beyond the ttl of 48h",
    ];
    assert_eq!(texts, expected);
    assert_eq!(pruned.outcomes[0].versions, 5);
}
