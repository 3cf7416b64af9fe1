//! Objects that move from one entry of a task to another: handed over in place, whatever the order of the entries.
#![expect(clippy::unwrap_used, reason = "tests")]

use lifecycle_bundle::applyset;
use serde_json::{Value, json};

use super::passes::{Pass, assert_settled, config_map, gated, pass, task, when, yes};
use super::store::Store;

fn secret(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "team" } })
}

/// A bundle with these manifests.
fn set(name: &str, manifests: &[Value]) -> Value {
    // A bundle has one manifest at least; this one renders to no object.
    let manifests = [&[json!("# nothing\n")], manifests].concat();
    json!({ "name": name, "bundle": { "namespace": "team", "name": name, "manifests": manifests } })
}

/// The giver and the receiver, in either order.
fn orders(giver: &Value, receiver: &Value) -> [Vec<Value>; 2] {
    [vec![giver.clone(), receiver.clone()], vec![receiver.clone(), giver.clone()]]
}

fn uid(store: &Store) -> Value {
    store.object("moved")["metadata"]["uid"].clone()
}

fn owner(store: &Store) -> &str {
    store.object("moved")["metadata"]["labels"]["hyperfleet.io/resource"].as_str().unwrap()
}

/// A store in which the bundle `giver` has the object.
fn given() -> Store {
    let mut store = Store::with([]);
    pass(&task(&[set("giver", &[secret("moved")]), set("receiver", &[])]), &mut store, 1, &[]);
    store
}

fn outcome<'p>(pass: &'p Pass, name: &str) -> &'p crate::outcome::Outcome {
    pass.outcomes.iter().find(|outcome| outcome.resource == name).unwrap()
}

#[test]
fn moved_object_keeps_its_uid_whatever_the_order() {
    for policy in ["if-unowned", "always"] {
        let mut receiver = set("receiver", &[secret("moved")]);
        receiver["bundle"]["policies"] = json!({ "adoption": policy });
        for entries in orders(&set("giver", &[]), &receiver) {
            let (task, mut store) = (task(&entries), given());
            let before = uid(&store);
            let moved = pass(&task, &mut store, 1, &[]);
            assert_eq!((uid(&store), owner(&store)), (before, "receiver"), "{policy}: {:?}", moved.calls);
            let set = applyset::id("team", "receiver");
            assert_eq!(store.object("moved")["metadata"]["labels"][applyset::PART_OF], set);
            for entry in ["giver", "receiver"] {
                let report = outcome(&moved, entry).bundle.as_ref().unwrap();
                assert!(report.is_complete(), "{policy}, {entry}: {:?}", report.stopped);
            }
            // The giver's parent forgets the kind after two complete passes.
            (0..2).for_each(|_| drop(pass(&task, &mut store, 1, &[])));
            assert_settled(&task, &mut store, 1, &[]);
        }
    }
}

#[test]
fn object_stays_where_it_is_while_its_receiver_cannot_take_it() {
    let receiver = set("receiver", &[secret("moved")]);
    let idle = {
        let mut receiver = receiver.clone();
        receiver["when"] = json!({ "expression": "deleting" });
        receiver
    };
    let unwilling = {
        let mut receiver = receiver.clone();
        receiver["bundle"]["policies"] = json!({ "adoption": "never" });
        receiver
    };
    for (receiver, refused) in [(idle, vec![]), (unwilling, vec![]), (receiver, vec!["update moved"])] {
        for entries in orders(&set("giver", &[]), &receiver) {
            let (task, mut store) = (task(&entries), given());
            let before = uid(&store);
            store.refuse.extend(refused.iter().map(|call| (*call).to_owned()));
            for _ in 0..3 {
                let held = pass(&task, &mut store, 1, &[]);
                assert_eq!((uid(&store), owner(&store)), (before.clone(), "giver"), "{entries:?}");
                let giver = outcome(&held, "giver").bundle.as_ref().unwrap();
                assert!(giver.is_complete(), "nobody waits for the receiver: {:?}", giver.stopped);
            }
        }
    }
}

#[test]
fn refusal_of_a_receiver_that_adopts_nothing_names_the_giver_and_the_cure() {
    let mut receiver = set("receiver", &[secret("moved")]);
    receiver["bundle"]["policies"] = json!({ "adoption": "never" });
    let failed = pass(&task(&[set("giver", &[]), receiver]), &mut given(), 1, &[]);
    let failure = outcome(&failed, "receiver").failure().unwrap();
    let expected = "Secret team/moved belongs to the entry giver of this task; it is left alone; its manifests render it no longer; \
                    give the object the adoption policy `if-unowned` to have it handed over";
    assert!(failure.message.ends_with(expected), "{failure}");
}

#[test]
fn nothing_is_removed_while_it_is_unknown_what_another_entry_renders() {
    let mut unknown = secret("moved");
    unknown["data"] = json!({ "a": "{{ .stage.field }}" });
    for entries in orders(&set("giver", &[]), &set("receiver", &[unknown])) {
        let (task, mut store) = (task(&entries), given());
        let before = uid(&store);
        let waiting = pass(&task, &mut store, 1, &[]);
        assert_eq!((uid(&store), owner(&store)), (before, "giver"));
        // An entry that failed before holds the giver back as a whole.
        let Some(report) = &outcome(&waiting, "giver").bundle else { continue };
        let why = report.why_stopped().unwrap();
        let expected = "Secret team/moved: it is not known which objects the entry `receiver` renders: ";
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn object_that_no_entry_renders_or_only_one_that_goes_is_removed() {
    let going = gated(set("receiver", &[secret("moved")]), "delete", "deleting");
    for receiver in [going, set("receiver", &[secret("other")])] {
        for entries in orders(&set("giver", &[]), &receiver) {
            let (task, mut store) = (task(&entries), given());
            pass(&task, &mut store, 1, &yes("deleting"));
            assert!(!store.names().contains(&"moved"), "{:?}", store.names());
        }
    }
}

#[test]
fn bundle_that_is_deleted_hands_over_what_another_one_renders() {
    let giver = set("giver", &[secret("moved")]);
    let giver = gated(giver, "delete", "deleting");
    for entries in orders(&giver, &set("receiver", &[secret("moved")])) {
        let (task, mut store) = (task(&entries), given());
        let before = uid(&store);
        for _ in 0..2 {
            pass(&task, &mut store, 1, &yes("deleting"));
        }
        assert_eq!((uid(&store), owner(&store)), (before, "receiver"));
        assert!(!store.names().contains(&"giver"), "the parent is gone: {:?}", store.names());
    }
}

#[test]
fn bundle_that_is_deleted_waits_for_no_entry_that_does_not_apply() {
    let giver = gated(set("giver", &[]), "delete", "deleting");
    let idle = json!({ "when": { "expression": "!deleting" } });
    for more in [idle, json!({ "lifecycle": { "delete": when("deleting && !has(resources.giver)") } })] {
        let mut receiver = set("receiver", &[secret("moved")]);
        receiver.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        for entries in orders(&giver, &receiver) {
            let (task, mut store) = (task(&entries), given());
            for _ in 0..4 {
                pass(&task, &mut store, 1, &yes("deleting"));
            }
            assert!(!store.names().contains(&"moved") && !store.names().contains(&"giver"), "{:?}", store.names());
        }
    }
}

#[test]
fn older_event_takes_nothing_back() {
    let mut store = given();
    let now = task(&[set("giver", &[]), set("receiver", &[secret("moved")])]);
    pass(&now, &mut store, 2, &[]);
    let before = task(&[set("giver", &[secret("moved")])]);
    store.remove("giver");
    let late = task(&[set("giver", &[secret("moved")]), set("receiver", &[])]);
    pass(&late, &mut store, 1, &[]);
    pass(&before, &mut store, 1, &[]);
    assert_eq!(owner(&store), "receiver");
}

#[test]
fn object_of_a_bundle_that_an_entry_renders_is_handed_to_that_entry() {
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "moved", "namespace": "team" } });
    for is_first in [true, false] {
        let entry = config_map("moved");
        let mut entries = vec![set("giver", &[]), entry];
        if is_first {
            entries.reverse();
        }
        let mut store = Store::with([]);
        pass(&task(&[set("giver", std::slice::from_ref(&map))]), &mut store, 1, &[]);
        let before = uid(&store);
        pass(&task(&entries), &mut store, 1, &[]);
        assert_eq!(
            (uid(&store), owner(&store)),
            (before.clone(), "giver"),
            "the entry writes it with the next generation"
        );
        pass(&task(&entries), &mut store, 2, &[]);
        assert_eq!((uid(&store), owner(&store)), (before, "moved"));
    }
}

#[test]
fn entry_that_only_reads_an_object_does_not_keep_it() {
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "moved", "namespace": "team" } });
    let reader = gated(config_map("moved"), "apply", "false");
    let mut store = Store::with([]);
    pass(&task(&[set("giver", &[map]), reader.clone()]), &mut store, 1, &[]);
    pass(&task(&[set("giver", &[]), reader]), &mut store, 1, &[]);
    assert!(!store.names().contains(&"moved"), "{:?}", store.names());
}

#[test]
fn type_that_moves_does_not_go_and_a_namespace_waits_for_what_moves() {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "content" } });
    let mut inside = secret("moved");
    inside["metadata"]["namespace"] = json!("content");
    let first = task(&[set("giver", &[namespace.clone(), inside.clone()]), set("receiver", &[])]);
    // The namespace leaves, and what was in it moves: it must not go along.
    let mut idle = set("receiver", &[inside.clone()]);
    idle["when"] = json!({ "expression": "deleting" });
    let mut store = Store::with([]);
    pass(&first, &mut store, 1, &[]);
    let kept = pass(&task(&[set("giver", &[]), idle]), &mut store, 1, &[]);
    assert!(store.names().contains(&"moved") && store.names().contains(&"content"), "{:?}", kept.calls);
    let why = outcome(&kept, "giver").bundle.as_ref().unwrap().why_stopped().unwrap();
    assert!(why.contains("Secret content/moved is not of this bundle"), "{why}");
    // The namespace moves, and its content stays.
    let moved = task(&[set("giver", &[inside]), set("receiver", &[namespace])]);
    let mut store = Store::with([]);
    pass(&first, &mut store, 1, &[]);
    let before = store.object("content")["metadata"]["uid"].clone();
    let done = pass(&moved, &mut store, 1, &[]);
    assert_eq!(store.object("content")["metadata"]["uid"], before, "{:?}", done.calls);
    assert!(outcome(&done, "giver").bundle.as_ref().unwrap().is_complete());
}
