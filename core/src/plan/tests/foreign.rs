//! Tests of objects that no adapter wrote, over whole passes and more than one.

use lifecycle_objects::keys;
use serde_json::{Value, json};

use super::passes::{assert_settled, config_map, gated, labels, live, pass, selecting, task, version, with, yes};
use super::store::Store;
use crate::report_overlay;

/// An object of somebody else.
fn theirs(name: &str) -> Value {
    let object = live("ConfigMap", name, json!({ "app": "demo" }), None);
    let owner = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u" }]);
    with(object, json!({ "data": { "whose": "theirs" }, "metadata": { "ownerReferences": owner } }))
}

/// An entry for `job` that patches a label while the live value differs.
fn patching() -> Value {
    let differs = "dig(resources.job, \"data.tier\") != \"gold\"";
    let patch = json!([{ "when": { "expression": differs }, "document": { "data": { "tier": "gold" } } }]);
    with(gated(config_map("job"), "delete", "deleting"), json!({ "lifecycle": { "patch": patch } }))
}

/// Whether the object has nothing that the adapter stamps.
fn is_unstamped(object: &Value) -> bool {
    let metadata = &object["metadata"];
    metadata["labels"] == json!({ "app": "demo" }) && metadata["annotations"].get(keys::GENERATION).is_none()
}

#[test]
fn patched_foreign_object_is_never_stamped_updated_or_deleted() {
    for entry in
        [patching(), with(patching(), json!({ "lifecycle": { "apply": { "when": { "expression": "false" } } } }))]
    {
        let applies = entry["lifecycle"].get("apply").is_none();
        let task = task(&[entry]);
        let mut store = Store::with([theirs("job")]);
        assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("patch", "PatchGateHolds", "patched", "15"));
        let patched = store.objects();
        let second = pass(&task, &mut store, 3, &[]);
        let expected =
            if applies { ("fail", "NotOurs", "failed", "19") } else { ("skip", "ApplyGateFalse", "skipped", "16") };
        assert_eq!(second.result(), expected, "it was updated with force, and stamped");
        let gone = pass(&task, &mut store, 3, &yes("deleting"));
        assert_eq!(gone.result(), ("skip", "NotOurs", "skipped", "5"));
        assert!(gone.outcomes[0].finalized);
        assert_eq!((store.log.as_slice(), store.objects()), (&["patch job".to_owned()][..], patched));
        assert!(is_unstamped(store.object("job")) && store.object("job")["data"]["tier"] == json!("gold"));
    }
}

#[test]
fn foreign_object_is_not_disowned_and_delays_no_deletion() {
    let kept = gated(config_map("kept"), "orphan", "deleting");
    let task = task(&[gated(config_map("dropped"), "delete", "deleting"), kept]);
    let mut store = Store::with([live("ConfigMap", "dropped", json!({}), Some(3)), theirs("kept")]);
    let pass = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(pass.results(), [("delete", "DeleteGateHolds", "deleted", "5"), ("skip", "NotOurs", "skipped", "3")]);
    assert!(store.object("kept")["metadata"].get("ownerReferences").is_some(), "its references are somebody else's");
}

#[test]
fn adopting_entry_takes_a_foreign_object_over_by_an_update() {
    let adopting = with(gated(config_map("job"), "delete", "deleting"), json!({ "adopt": true }));
    let task = task(&[adopting]);
    let mut store = Store::with([theirs("job")]);
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).result(), ("skip", "NotOurs", "skipped", "5"));
    assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("update", "GenerationChanged", "updated", "19"));
    assert_eq!(store.object("job")["metadata"]["labels"][keys::ADAPTER], json!("tester"));
    assert_settled(&task, &mut store, 3, &[]);
    assert_eq!(pass(&task, &mut store, 3, &yes("deleting")).result(), ("delete", "DeleteGateHolds", "deleted", "5"));
}

#[test]
fn recreate_gate_deletes_no_foreign_object() {
    for adopt in [false, true] {
        let entry = with(gated(config_map("job"), "recreate", "replacing"), json!({ "adopt": adopt }));
        let mut store = Store::with([theirs("job")]);
        let pass = pass(&task(&[entry]), &mut store, 3, &yes("replacing"));
        assert_eq!(pass.result(), ("fail", "NotOurs", "failed", "14"));
        assert_eq!(store.log, Vec::<String>::new());
    }
}

#[test]
fn foreign_object_beside_a_written_one_is_no_version() {
    let entry = with(gated(selecting("job"), "delete", "deleting"), json!({ "retention": { "historyLimit": 0 } }));
    let task = task(&[entry]);
    let mut store = Store::with([version("job", "job-2", 2, 1), theirs("theirs")]);
    let created = pass(&task, &mut store, 3, &[]);
    assert_eq!(created.result(), ("create_version", "NewName", "created", "18"));
    assert_eq!(store.names(), ["job-3", "theirs"], "retention prunes the former version alone");
    let deleted = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(deleted.result(), ("delete", "DeleteGateHolds", "deleted", "5"));
    let last = pass(&task, &mut store, 3, &yes("deleting"));
    assert_eq!(last.result(), ("skip", "NotOurs", "skipped", "5"));
    assert!(last.outcomes[0].finalized && is_unstamped(store.object("theirs")));
}

#[test]
fn retention_prunes_no_foreign_object() {
    let waiting = json!({ "retention": { "historyLimit": 0 }, "when": { "expression": "false" } });
    let task = task(&[with(selecting("job"), waiting)]);
    let mut store = Store::with([theirs("one"), theirs("two")]);
    assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("skip", "WhenFalse", "skipped", "8"));
    assert_eq!(store.names(), ["one", "two"]);
}

#[test]
fn objects_of_either_adapter_are_not_foreign() {
    let cases = [
        ("the Go adapter's", live("ConfigMap", "job", json!({}), Some(2))),
        ("one whose annotation a person removed", live("ConfigMap", "job", labels("job"), None)),
    ];
    for (name, object) in cases {
        let mut store = Store::with([object]);
        let task = task(&[config_map("job")]);
        assert_eq!(pass(&task, &mut store, 3, &[]).result().2, "updated", "{name}");
    }
}

#[test]
fn name_taken_by_a_foreign_object_fails_every_event_alike() {
    let task = task(&[selecting("job")]);
    let mut store = Store::with([version("job", "job-2", 2, 1), theirs("job-3")]);
    for _ in 0..2 {
        assert_eq!(pass(&task, &mut store, 3, &[]).result(), ("create_version", "NameTaken", "failed", "18"));
        assert!(is_unstamped(store.object("job-3")));
    }
}

#[test]
fn object_that_a_controller_writes_is_adopted_by_no_entry() {
    let adopting = with(gated(config_map("job"), "delete", "deleting"), json!({ "adopt": true }));
    let controller =
        json!({ "metadata": { "ownerReferences": [{ "kind": "Certificate", "name": "web", "controller": true }] } });
    let mut store = Store::with([with(theirs("job"), controller)]);
    let refused = pass(&task(&[adopting]), &mut store, 3, &[]);
    assert_eq!((refused.result(), store.log.len()), (("fail", "NotOurs", "failed", "19"), 0));
    let told = refused.outcomes[0].reason();
    assert!(told.contains("Certificate web controls ConfigMap team/job"), "{told}");
}

#[test]
fn deletion_beside_another_owners_object_says_whose_it_is() {
    let owned =
        json!({ "hyperfleet.io/adapter": "first", "hyperfleet.io/resource-id": "c9", "hyperfleet.io/resource": "map" });
    let theirs = || live("ConfigMap", "job", owned.clone(), Some(3));
    let beside = "ConfigMap team/job belongs to adapter first, entry map, for the resource c9; it is left alone";
    let cases = [
        ("delete", Some(theirs()), format!("resource already deleted or never existed; {beside}")),
        ("delete", None, "resource already deleted or never existed".to_owned()),
        ("orphan", Some(theirs()), format!("nothing is there to disown; {beside}")),
    ];
    for (gate, object, reason) in cases {
        let is_beside = object.is_some();
        let mut store = Store::with(object);
        let gone = pass(&task(&[gated(config_map("job"), gate, "deleting")]), &mut store, 3, &yes("deleting"));
        assert_eq!(
            (gone.outcomes[0].reason(), gone.outcomes[0].finalized, store.log.len()),
            (reason, true, 0),
            "{gate}"
        );
        let condition = json!({ "type": "Finalized", "status": "True", "reason": "Mine", "message": "mine" });
        let payload = json!({ "adapter": "tester", "conditions": [condition] }).to_string();
        let account = report_overlay::Account { outcomes: &gone.outcomes, unread: None, is_deleting: Some(true) };
        let told = report_overlay::apply(payload, account).text;
        assert_eq!(told.contains(&format!("resource job: {beside}")), is_beside, "{gate}: {told}");
        assert!(told.contains(r#""status":"True""#), "{gate}: {told}");
    }
}
