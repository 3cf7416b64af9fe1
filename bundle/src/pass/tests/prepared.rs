//! What is refused or mended before anything is written.

use super::*;
use crate::draft::Draft;
use crate::prepare::Source;

#[test]
fn misspelt_annotation_is_refused_with_the_right_one() {
    let world = World::new(Vec::new());
    let faults = prepare(vec![map("a", &[("delete-polcy", "orphan"), ("note", "x")])], &world.setting()).unwrap_err();
    let expected = "ConfigMap team/a: there is no annotation `hyperfleet.io/delete-polcy`; did you mean `hyperfleet.io/delete-policy`?";
    assert_eq!(faults, [expected]);
}

#[test]
fn annotations_of_the_adapter_in_a_manifest_do_not_count() {
    let mut taken = map("a", &[("apply-order", "0")]);
    taken["metadata"]["annotations"][keys::GENERATION] = json!("7");
    taken["metadata"]["annotations"][keys::OWNERSHIP_PROOF] = json!("x");
    let mut world = World::new(vec![taken]);
    world.apply();
    assert_eq!(world.apply().stopped, None);
    let annotations = &world.store.object("a")["metadata"]["annotations"];
    assert_eq!((&annotations[keys::GENERATION], annotations.get(keys::OWNERSHIP_PROOF)), (&json!("1"), None));
}

#[test]
fn set_cannot_hold_its_own_parent_or_what_would_take_it_along() {
    let world = World::new(Vec::new());
    let parents_namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team" } });
    let faults = prepare(vec![map(PARENT.1, &[]), parents_namespace], &world.setting()).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].starts_with("ConfigMap team/monitoring: it is the bundle's own ConfigMap"), "{faults:?}");
    assert!(faults[1].starts_with("Namespace team: it would take the bundle's own ConfigMap along"), "{faults:?}");
}

#[test]
fn what_takes_others_along_is_not_recreated() {
    let mut world = World::new(Vec::new());
    let explicit = prepare(
        vec![{
            let mut definition = type_of_bars();
            definition["metadata"]["annotations"] = json!({ "hyperfleet.io/update-policy": "recreate" });
            definition
        }],
        &world.setting(),
    );
    assert!(explicit.unwrap_err()[0].contains("remove the annotation `hyperfleet.io/update-policy`"));
    // The policy of the bundle is meant for the others.
    let setting = Setting { defaults: Policies { update: Update::Recreate, ..Policies::default() }, ..world.setting() };
    let rendered = prepare(vec![type_of_bars(), map("a", &[])], &setting).unwrap();
    let updates: Vec<Update> = rendered.iter().map(|it| it.draft.settings.policies.update).collect();
    assert_eq!(updates, [Update::Apply, Update::Recreate]);
    world.writes();
}

#[test]
fn kind_that_the_set_defines_is_placed_as_it_says() {
    let world = World::new(Vec::new());
    let mut bar = object("example.io/v1", "Bar", "b", &[]);
    bar["metadata"].as_object_mut().unwrap().remove("namespace");
    let rendered = prepare(vec![bar, type_of_bars()], &world.setting()).unwrap();
    assert_eq!(rendered[0].identity.namespace.as_deref(), Some("team"));
}

#[test]
fn object_with_metadata_that_cannot_be_stamped_is_refused() {
    let world = World::new(Vec::new());
    let cases = [
        ("labels", json!(["a"]), "write `metadata.labels` as a mapping"),
        ("annotations", json!("a"), "write `metadata.annotations` as a mapping"),
        ("labels", json!({ keys::ADAPTER: "other" }), "remove the label `hyperfleet.io/adapter`"),
        ("labels", json!({ keys::RESOURCE: null }), "remove the label `hyperfleet.io/resource`"),
    ];
    for (part, value, expected) in cases {
        let mut object = map("a", &[]);
        object["metadata"][part] = value;
        let faults = prepare(vec![object], &world.setting()).unwrap_err();
        assert!(faults.len() == 1 && faults[0].starts_with("ConfigMap team/a: "), "{faults:?}");
        assert!(faults[0].contains(expected), "{faults:?}");
    }
    let mut ours = map("a", &[]);
    ours["metadata"]["labels"] = json!({ keys::ADAPTER: "tester" });
    ours["metadata"]["annotations"] = json!(null);
    let mut world = World::new(vec![ours]);
    assert_eq!(world.apply().stopped, None);
}

#[test]
fn nothing_is_written_with_a_stamp_that_the_server_would_refuse() {
    let world = World::new(Vec::new());
    let marks = OwnershipLabels::new("monitoring", world.stamp("not a label"), PARENT.0, PARENT.1);
    let setting = Setting { marks: Box::new(marks), ..world.setting() };
    let faults = prepare(vec![map("a", &[]), map("b", &[])], &setting).unwrap_err();
    assert!(faults.len() == 1 && faults[0].contains("hyperfleet.io/resource-id"), "{faults:?}");
}

#[test]
fn object_that_was_drafted_at_load_is_written_as_one_that_an_event_renders() {
    let world = World::new(Vec::new());
    let setting = world.setting();
    let objects = || [type_of_bars(), map("a", &[("delete-policy", "orphan"), ("purge-order", "3")])];
    let drafts = objects().map(|object| Draft::new(object, setting.prefix, &setting.defaults).unwrap());
    let drafted = prepare(drafts.map(|draft| Source::Drafted(Arc::new(draft))), &setting).unwrap();
    assert_eq!(drafted, prepare(objects(), &setting).unwrap());
}
