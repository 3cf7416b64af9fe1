use lifecycle_objects::object_ref::ObjectRef;

use super::*;

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
    for name in ["team", "other"] {
        contents.look_into(Container::Namespace(name.to_owned()));
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
fn namespace_of_this_cluster_has_nothing_of_another_ones() {
    let remote = Candidate { destination: Destination::Consumer("team".to_owned()), ..candidate() };
    assert!(!contents(&[remote]).must_outlive(&cluster_scoped("v1", "Namespace", "team")));
}

#[test]
fn objects_of_a_custom_kind_go_with_its_definition() {
    let definition = |name: &str| cluster_scoped("apiextensions.k8s.io/v1", "CustomResourceDefinition", name);
    let mut contents = Contents::of(["gadgets.x.io", "widgets.x.io", "widgets.x.io", "gizmos.x.io"].map(str::to_owned));
    contents.add(2, &candidate(), true);
    for name in ["gadgets.x.io", "widgets.x.io", "doodads.x.io", "gadgets.y.io"] {
        contents.look_into(Container::Definition(name.to_owned()));
    }
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

/// An object without labels.
fn unlabelled(api_version: &str, kind_name: &str, name: &str) -> Candidate {
    let object =
        ObjectRef { kind: kind(api_version, kind_name), namespace: Some("team".to_owned()), name: name.to_owned() };
    Candidate { object, adapter: String::new(), resource_id: String::new(), ..candidate() }
}

#[test]
fn content_that_nobody_labelled_keeps_its_container_unless_its_kind_is_named() {
    let role_binding = |name| unlabelled("rbac.authorization.k8s.io/v1", "RoleBinding", name);
    let cases = [
        ("a person's object", unlabelled("v1", "ConfigMap", "shop"), true, 1),
        ("an object of a kind that may go along", unlabelled("example.com/v1", "Widget", "w"), false, 1),
        ("the same kind of another group", unlabelled("example.org/v1", "Widget", "w"), true, 1),
        (
            "a labelled object of a kind that may go along",
            Candidate { adapter: "a".to_owned(), ..unlabelled("example.com/v1", "Widget", "w") },
            true,
            1,
        ),
        ("a disowned one", Candidate { is_disowned: true, ..unlabelled("example.com/v1", "Widget", "w") }, true, 1),
        ("the default service account", unlabelled("v1", "ServiceAccount", "default"), false, 0),
        ("a person's service account", unlabelled("v1", "ServiceAccount", "shop"), true, 1),
        ("an object by the name of a default of another kind", unlabelled("v1", "Secret", "default"), true, 1),
        ("the cluster's certificate", unlabelled("v1", "ConfigMap", "kube-root-ca.crt"), false, 0),
        (
            "a default, labelled",
            Candidate { adapter: "a".to_owned(), ..unlabelled("v1", "ConfigMap", "kube-root-ca.crt") },
            true,
            1,
        ),
        ("a default of OpenShift", role_binding("system:deployers"), false, 0),
        ("a person's role binding", role_binding("admins"), true, 1),
        ("an event", unlabelled("v1", "Event", "e"), false, 0),
        ("an event in its other group", unlabelled("events.k8s.io/v1", "Event", "e"), false, 0),
        ("a kind by the name of events", unlabelled("example.org/v1", "Event", "e"), true, 1),
    ];
    let policy = Policy { goes_along: patterns(&["example.com/Widget"]), ..policy() };
    let team = cluster_scoped("v1", "Namespace", "team");
    for (name, object, stays, counted) in cases {
        let container = Container::of(&team.object).unwrap();
        let mut contents = contents(&[]);
        assert!(!contents.must_outlive(&team), "nothing is in it");
        contents.add_content(&container, &object, &policy);
        assert_eq!(contents.must_outlive(&team), stays, "{name}");
        assert_eq!(contents.inside(&team).values().sum::<u64>(), counted, "{name}");
        assert!(!contents.must_outlive(&cluster_scoped("v1", "Namespace", "other")), "{name}");
    }
}

#[test]
fn container_that_was_not_looked_into_may_be_full() {
    let contents = Contents::of(["widgets.x.io".to_owned()]);
    assert!(contents.must_outlive(&cluster_scoped("v1", "Namespace", "team")));
    assert!(contents.must_outlive(&cluster_scoped(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "widgets.x.io"
    )));
    assert!(!contents.must_outlive(&cluster_scoped("v1", "Node", "team")), "nothing lives in a node");
}
