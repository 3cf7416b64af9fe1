//! What a parent keeps, and what of it survives those who edit it.
#![expect(clippy::unwrap_used, reason = "tests")]

use jiff::{SignedDuration, Timestamp};
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::keys;

use super::*;
use crate::memory::Remembering;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const ONE: Generation = Generation(1);

/// A parent with a Deployment in each of two namespaces and a `ClusterRole`, as the cluster has it.
fn stored() -> Value {
    let mut parent = Remembering::new(None, "team", ONE);
    parent.grow(&GroupVersionKind::new("apps/v1", "Deployment"), Some("team"));
    parent.grow(&GroupVersionKind::new("apps/v1", "Deployment"), Some("other"));
    parent.grow(&GroupVersionKind::new("rbac.authorization.k8s.io/v1", "ClusterRole"), None);
    let annotations = json!({ keys::GENERATION: "1" });
    let mut object = json!({ "metadata": { "name": "p", "namespace": "team", "annotations": annotations } });
    write(parent.memory(), &mut object, "1");
    object
}

fn read(object: Value) -> Result<Remembering, Failure> {
    Ok(Remembering::new(Some(super::read(&Version::new(object))?), "team", ONE))
}

fn identity(name: &str) -> Identity {
    Identity { kind: GroupKind::new("batch", "Job"), namespace: Some("team".to_owned()), name: name.to_owned() }
}

#[test]
fn places_are_a_list_for_each_kind_and_namespace() {
    let places = read(stored()).unwrap().places();
    let places: Vec<(String, Option<String>)> = places
        .into_iter()
        .map(|(kind, namespace)| (format!("{} {}", kind.api_version(), kind.kind), namespace))
        .collect();
    let deployment = |namespace: &str| ("apps/v1 Deployment".to_owned(), Some(namespace.to_owned()));
    let role = ("rbac.authorization.k8s.io/v1 ClusterRole".to_owned(), None);
    assert_eq!(places, [deployment("other"), deployment("team"), role]);
}

#[test]
fn parent_that_somebody_changed_is_refused() {
    let changed = |change: fn(&mut Value)| {
        let mut object = stored();
        change(&mut object);
        read(object).unwrap_err().to_string()
    };
    let text = changed(|object| object["data"]["memory"] = json!("{"));
    assert!(text.contains("ConfigMap team/p: its data `memory` was changed by somebody else"), "{text}");
    let text = changed(|object| object["metadata"]["annotations"][applyset::TOOLING] = json!("kubectl/v1"));
    assert!(text.contains("kept by another tool, `kubectl/v1`"), "{text}");
}

#[test]
fn memory_that_somebody_emptied_loses_no_place() {
    let custom = |object: &mut Value| {
        let kinds = &mut object["metadata"]["annotations"][applyset::GROUP_KINDS];
        *kinds = json!(format!("{},Foo.example.io", kinds.as_str().unwrap()));
    };
    for data in [json!({}), json!({ "memory": "{}" })] {
        let mut object = stored();
        custom(&mut object);
        object["data"] = data;
        let found: Vec<_> = read(object).unwrap().places();
        let found: Vec<_> = found.iter().map(|(kind, namespace)| (&*kind.kind, namespace.as_deref())).collect();
        // Kubernetes' own kinds are where they are; a custom one may be in any namespace.
        let expected =
            [("Foo", None), ("ClusterRole", None), ("Deployment", Some("other")), ("Deployment", Some("team"))];
        let sorted = |mut places: Vec<_>| {
            places.sort_unstable();
            places
        };
        assert_eq!(sorted(found), sorted(expected.to_vec()));
    }
}

#[test]
fn edit_of_annotations_loses_no_place() {
    let all = read(stored()).unwrap().places();
    let edits: [fn(&mut Value); 3] = [
        |object| {
            let text = object["data"]["memory"].as_str().unwrap();
            object["data"]["memory"] = json!(text.replace("\"other\",", ""));
        },
        |object| object["metadata"]["annotations"][applyset::GROUP_KINDS] = json!(""),
        |object| object["metadata"]["annotations"][applyset::NAMESPACES] = json!(""),
    ];
    for edit in edits {
        let mut object = stored();
        edit(&mut object);
        let parent = read(object).unwrap();
        assert_eq!(parent.places(), all);
        assert!(parent.precedes_members());
    }
}

#[test]
fn parent_that_lost_the_name_of_its_tool_is_written_again() {
    let mut object = stored();
    object["metadata"]["annotations"].as_object_mut().unwrap().remove(applyset::TOOLING);
    assert!(read(object).unwrap().precedes_members());
}

#[test]
fn parent_is_written_before_members_for_a_new_generation_and_for_a_claim() {
    let stored_for_one = super::read(&Version::new(stored())).unwrap();
    let parent = Remembering::new(Some(stored_for_one), "team", Generation(2));
    assert!(parent.precedes_members());
    let mut parent = read(stored()).unwrap();
    parent.claim();
    assert!(parent.precedes_members());
}

#[test]
fn parent_is_written_before_members_only_for_places_and_objects_that_served() {
    let mut parent = read(stored()).unwrap();
    parent.grow(&GroupVersionKind::new("apps/v1", "Deployment"), Some("team"));
    assert!(!parent.precedes_members() && !parent.is_changed());
    parent.applied("wave 0", SignedDuration::from_mins(60), NOW);
    assert!(!parent.precedes_members() && parent.is_changed());
    parent.complete(&identity("a"), "0123456789abcdef0123");
    assert!(parent.precedes_members());
}

#[test]
fn served_objects_are_told_apart_by_the_beginning_of_their_digest_and_by_generation() {
    let mut parent = read(stored()).unwrap();
    parent.complete(&identity("a"), "0123456789abcdef0123@5");
    assert!(parent.is_completed(&identity("a"), "0123456789abcdef9999@5"));
    assert!(!parent.is_completed(&identity("a"), "0123456789abcdef0123@6"));
    assert!(!parent.is_completed(&identity("a"), "9123456789abcdef0123@5"));
    assert!(!parent.is_completed(&identity("b"), "0123456789abcdef0123@5"));
}

#[test]
fn served_object_whose_policies_changed_has_served() {
    let mut parent = read(stored()).unwrap();
    parent.complete(&identity("a"), "0123~c0ffee@5");
    assert!(parent.is_completed(&identity("a"), "9876~c0ffee@5"));
    assert!(
        !parent.is_completed(&identity("a"), "0123~decaf@5") && !parent.is_completed(&identity("a"), "0123~c0ffee@6")
    );
}

#[test]
fn objects_are_due_after_their_interval_which_begins_when_it_is_first_asked_for() {
    let mut parent = read(stored()).unwrap();
    let hour = SignedDuration::from_hours(1);
    assert!(!parent.is_due("wave 0", hour, NOW));
    assert!(!parent.is_due("wave 0", hour, NOW + SignedDuration::from_mins(59)));
    assert!(parent.is_due("wave 0", hour, NOW + hour));
    assert!(!parent.is_due("wave 0", SignedDuration::from_hours(2), NOW + hour));
    parent.applied("wave 0", hour, NOW + hour);
    assert!(!parent.is_due("wave 0", hour, NOW + hour + hour - SignedDuration::from_secs(1)));
}

#[test]
fn memory_of_1000_objects_that_served_fits_into_64_kib() {
    let mut parent = read(stored()).unwrap();
    for number in 0..1000 {
        parent.complete(&identity(&format!("job-{number}")), &"0123456789abcdef".repeat(4));
    }
    let mut object = json!({ "metadata": { "name": "p", "namespace": "team" } });
    write(parent.memory(), &mut object, "1");
    let bytes = object["data"]["memory"].as_str().unwrap().len();
    assert!(bytes < 64 * 1024, "{bytes}");
}
