#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::applyset::PART_OF;

fn instances(pattern: &str) -> Inspection {
    Inspection::Instances(pattern.parse().unwrap())
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, set: Option<&str>) -> Value {
    let labels = set.map(|set| json!({ PART_OF: set }));
    let metadata = json!({ "name": name, "namespace": namespace, "labels": labels, "uid": name });
    json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
}

/// A set with one member.
fn members(uid: &str) -> Members {
    Members { labels: [(PART_OF.to_owned(), "set".to_owned())].into(), uids: [uid.to_owned()].into() }
}

#[test]
fn objects_of_others_that_would_go_are_foreign() {
    let widgets = instances("example.com/Widget");
    let namespace = Inspection::Namespace("team".to_owned());
    let widget = |set| object("example.com/v1", "Widget", "other", "one", set);
    let core = |kind: &str, name: &str| object("v1", kind, "team", name, None);
    let of_group = |api_version: &str, kind: &str| object(api_version, kind, "team", "one", None);
    let cases = [
        (&widgets, widget(None), Some("Widget.example.com other/one")),
        (&widgets, widget(Some("another")), Some("Widget.example.com other/one")),
        (&widgets, widget(Some("set")), None),
        // Of a copy, and of a member that was disowned meanwhile.
        (
            &widgets,
            object("example.com/v1", "Widget", "team", "copy", Some("set")),
            Some("Widget.example.com team/copy"),
        ),
        (&namespace, object("v1", "Secret", "team", "copy", Some("set")), Some("Secret team/copy")),
        (&widgets, object("example.com/v1", "Gadget", "team", "one", None), None),
        (&widgets, object("example.com/v1", "Widget", "", "one", None), Some("Widget.example.com one")),
        (&namespace, widget(None), None),
        (&namespace, core("ConfigMap", "one"), Some("ConfigMap team/one")),
        (&namespace, object("v1", "ConfigMap", "team", "one", Some("set")), None),
        (&namespace, object("v1", "ConfigMap", "team", "one", Some("another")), Some("ConfigMap team/one")),
        (&namespace, core("ConfigMap", "kube-root-ca.crt"), None),
        (&namespace, core("Secret", "kube-root-ca.crt"), Some("Secret team/kube-root-ca.crt")),
        (&namespace, core("ServiceAccount", "default"), None),
        (&namespace, core("Endpoints", "one"), None),
        (&namespace, core("Event", "one"), None),
        (&namespace, of_group("events.k8s.io/v1", "Event"), None),
        (&namespace, of_group("discovery.k8s.io/v1", "EndpointSlice"), None),
        (&namespace, of_group("coordination.k8s.io/v1", "Lease"), None),
        (&namespace, of_group("metrics.k8s.io/v1beta1", "PodMetrics"), None),
        (&namespace, of_group("example.com/v1", "Event"), Some("Event.example.com team/one")),
        (&namespace, of_group("example.com/v1", "ServiceAccount"), Some("ServiceAccount.example.com team/one")),
    ];
    for (inspection, object, expected) in cases {
        let found = foreign(inspection, &members("one"), &object).map(|it| it.to_string());
        assert_eq!(found.as_deref(), expected, "{inspection}: {object}");
    }
}

#[test]
fn what_a_member_controls_is_not_foreign_at_any_number_of_removes() {
    let widgets = instances("example.com/*");
    let members = members("member");
    let owned = |name: &str, owners: &[(&str, bool)]| {
        let mut object = object("example.com/v1", "Widget", "team", name, None);
        let reference = |(uid, controller): &(&str, bool)| json!({ "uid": uid, "controller": controller });
        object["metadata"]["ownerReferences"] = owners.iter().map(reference).collect();
        object
    };
    let (child, grandchild) = (owned("child", &[("member", true)]), owned("grandchild", &[("child", true)]));
    let cases = [
        // Whatever the order of the lists.
        (vec![grandchild.clone(), child.clone()], None),
        (vec![child.clone(), grandchild.clone()], None),
        (vec![grandchild.clone()], Some("grandchild")),
        (vec![owned("referring", &[("member", false)])], Some("referring")),
        (vec![child.clone(), owned("theirs", &[("somebody", true)])], Some("theirs")),
        (vec![owned("a", &[("b", true)]), owned("b", &[("a", true)])], Some("a")),
        (vec![child, object("example.com/v1", "Widget", "team", "free", None)], Some("free")),
    ];
    for (objects, expected) in cases {
        let mut guard = Guard::new(&widgets, &members);
        let found = objects.iter().find_map(|object| guard.look_at(object)).or_else(|| guard.finish());
        assert_eq!(found.as_ref().map(|it| &*it.name), expected, "{objects:?}");
    }
}
