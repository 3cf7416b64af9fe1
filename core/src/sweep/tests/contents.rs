use super::*;
use crate::object_ref::ObjectRef;

/// An object without a namespace.
fn cluster_scoped(api_version: &str, kind_name: &str, name: &str) -> Candidate {
    let object = ObjectRef { kind: kind(api_version, kind_name), namespace: None, name: name.to_owned() };
    Candidate { object, uid: "scoped".to_owned(), ..candidate() }
}

fn contents(candidates: &[Candidate]) -> Contents {
    let mut contents = Contents::of(["configmaps.".to_owned()]);
    for candidate in candidates {
        contents.add(0, candidate, true);
    }
    contents
}

#[test]
fn labelled_objects_of_any_adapter_go_with_their_namespace() {
    let foreign = Candidate { adapter: "other".to_owned(), ..candidate() };
    let disowned = Candidate { adapter: String::new(), is_disowned: true, ..candidate() };
    let team = cluster_scoped("v1", "Namespace", "team");
    for (name, candidates, expected) in [
        ("an object of this installation", vec![candidate()], true),
        ("an object of another", vec![foreign], true),
        ("a disowned object", vec![disowned], true),
        ("nothing", Vec::new(), false),
        ("itself", vec![team.clone()], false),
    ] {
        let contents = contents(&candidates);
        assert_eq!(contents.must_outlive(&team), expected, "{name}");
        let project = cluster_scoped("project.openshift.io/v1", "Project", "team");
        assert_eq!(contents.must_outlive(&project), expected, "{name}: a Project is the Namespace by another name");
        assert!(!contents.must_outlive(&cluster_scoped("v1", "Namespace", "other")), "{name}");
        assert!(!contents.must_outlive(&cluster_scoped("v1", "Node", "team")), "{name}");
        assert!(!contents.must_outlive(&cluster_scoped("x.io/v1", "Namespace", "team")), "{name}");
    }
}

#[test]
fn objects_of_a_custom_kind_go_with_its_definition() {
    let definition = |name: &str| cluster_scoped("apiextensions.k8s.io/v1", "CustomResourceDefinition", name);
    let mut contents = Contents::of(["gadgets.x.io", "widgets.x.io", "widgets.x.io", "gizmos.x.io"].map(str::to_owned));
    contents.add(2, &candidate(), true);
    let cases = [
        ("objects of a second version", "widgets.x.io", true),
        ("no objects", "gadgets.x.io", false),
        ("a kind that was not listed may have objects", "doodads.x.io", true),
        ("a kind of another group", "gadgets.y.io", true),
    ];
    for (name, definition_name, expected) in cases {
        assert_eq!(contents.must_outlive(&definition(definition_name)), expected, "{name}");
    }
    assert!(!contents.must_outlive(&cluster_scoped("x.io/v1", "CustomResourceDefinition", "widgets.x.io")));
    assert!(!contents.must_outlive(&cluster_scoped("apiextensions.k8s.io/v1", "Other", "widgets.x.io")));
}

#[test]
fn owner_takes_only_orphans_of_its_own_resource_along() {
    let owned = |uid: &str, id: &str| Candidate {
        owners: vec!["u1".to_owned(), "u2".to_owned()],
        resource_id: id.to_owned(),
        ..named("owned", uid)
    };
    let cases = [
        ("an orphan of the same resource", owned("u3", ID), true, false),
        ("an orphan of another resource has a grace of its own", owned("u3", OTHER_ID), true, true),
        ("an object of the same resource that is no orphan", owned("u3", ID), false, true),
    ];
    for (name, object, is_orphan, stays) in cases {
        let mut contents = Contents::of(["configmaps.".to_owned()]);
        contents.add(0, &object, is_orphan);
        for uid in ["u1", "u2"] {
            assert_eq!(contents.must_outlive(&named("owner", uid)), stays, "{name}: {uid}");
        }
        assert!(!contents.must_outlive(&object), "{name}");
    }
}

#[test]
fn owned_orphans_are_counted_by_their_owner() {
    let owned = |uid: &str| Candidate { owners: vec!["u1".to_owned()], ..named("owned", uid) };
    let contents = contents(&[owned("u2"), owned("u3"), Candidate { resource_id: OTHER_ID.to_owned(), ..owned("u4") }]);
    assert_eq!(contents.owned_by(&named("owner", "u1")), 2);
    assert_eq!(contents.owned_by(&named("owner", "u2")), 0);
}
