#![expect(clippy::expect_used, reason = "tests")]

use serde_json::json;

use super::*;

fn object(uid: &str, revision: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {
            "name": "a", "namespace": "n", "uid": uid, "resourceVersion": revision,
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [],
        },
    })
}

#[test]
fn diff_classifies_the_change_of_an_object() {
    let plain = object("1", "1", json!({ "k": "v" }));
    let changed = object("1", "2", json!({ "k": "w" }));
    let other = object("2", "3", json!({ "k": "v" }));
    let mut leaving = object("1", "4", json!({ "k": "v" }));
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:01:00Z");
    let cases = [
        ("new", None, Some(&plain), Some(Change::Created)),
        ("gone", Some(&plain), None, Some(Change::Deleted)),
        ("differs", Some(&plain), Some(&changed), Some(Change::Updated)),
        ("another UID", Some(&plain), Some(&other), Some(Change::Replaced)),
        ("on its way out", Some(&plain), Some(&leaving), Some(Change::Terminating)),
        ("the same", Some(&plain), Some(&plain), None),
    ];
    for (name, before, after, expected) in cases {
        let side = |object: Option<&Value>| object.cloned().into_iter().collect::<Vec<_>>();
        let diffs = compare(&side(before), &side(after), &Redactor::default());
        assert_eq!(diffs.first().map(|diff| diff.change), expected, "{name}");
    }
}

#[test]
fn diff_ignores_fields_that_the_server_sets() {
    let before = object("1", "1", json!({ "k": "v" }));
    let after = object("1", "2", json!({ "k": "v" }));
    assert_eq!(compare(&[before], &[after], &Redactor::default()), []);
}

#[test]
fn diff_shows_changed_lines_with_context() {
    let data = |last: &str| json!({ "a": "1", "b": "2", "c": "3", "d": "4", "e": last });
    let diffs = compare(&[object("1", "1", data("5"))], &[object("1", "2", data("6"))], &Redactor::default());
    let diff = &diffs.first().expect("a difference").diff;
    assert!(diff.contains("\n   d: \"4\"\n-  e: \"5\"\n+  e: \"6\"\n"), "{diff}");
    assert!(!diff.contains("apiVersion"), "{diff}");
}

#[test]
fn diff_treats_api_versions_of_a_group_as_one_object() {
    let mut before = object("1", "1", json!({}));
    before["apiVersion"] = json!("apps/v1beta1");
    let mut after = before.clone();
    after["apiVersion"] = json!("apps/v1");
    let changes: Vec<_> =
        compare(&[before], &[after], &Redactor::default()).into_iter().map(|diff| diff.change).collect();
    assert_eq!(changes, [Change::Updated]);
}
