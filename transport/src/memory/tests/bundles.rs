//! What bundles read: members in any version, and the guard before a deletion.

use std::collections::BTreeMap;

use lifecycle_bundle::applyset::PART_OF;

use super::*;

const SET: &str = "applyset-mine-v1";

fn of(api_version: &str, kind: &str, namespace: &str, name: &str, set: Option<&str>) -> Value {
    let labels = set.map_or_else(|| json!({}), |set| json!({ PART_OF: set }));
    let metadata = json!({ "name": name, "namespace": namespace, "labels": labels });
    json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
}

#[tokio::test]
async fn members_are_found_in_any_version_as_they_were_written() {
    let member = of("example.io/v1", "Widget", "a", "x", Some(SET));
    let store = store().with_objects([member, of("example.io/v1", "Widget", "a", "y", None)]).unwrap();
    let labels = BTreeMap::from([(PART_OF.to_owned(), SET.to_owned())]);
    for (api_version, expected) in [("example.io/v1", 1), ("example.io/v1beta1", 1), ("example.com/v1", 0)] {
        let query = Query {
            destination: Destination::ThisCluster,
            kind: GroupVersionKind::new(api_version, "Widget"),
            namespace: None,
            by: QueryBy::Labels(labels.clone()),
        };
        let found = store.find(&query).await.unwrap();
        assert_eq!(found.len(), expected, "{api_version}");
        assert!(found.iter().all(|object| object["apiVersion"] == "example.io/v1"), "{api_version}");
    }
}

#[tokio::test]
async fn inspection_finds_what_is_not_of_the_set() {
    let types = |pattern: &str| Inspection::Instances(pattern.parse().unwrap());
    let namespace = || Inspection::Namespace("a".to_owned());
    let own = || {
        vec![
            of("v1", "ConfigMap", "a", "kube-root-ca.crt", None),
            of("v1", "ServiceAccount", "a", "default", None),
            of("v1", "Event", "a", "happened", None),
            of("v1", "Endpoints", "a", "web", None),
            of("discovery.k8s.io/v1", "EndpointSlice", "a", "web", None),
            of("coordination.k8s.io/v1", "Lease", "a", "lock", None),
            of("metrics.k8s.io/v1beta1", "PodMetrics", "a", "web", None),
        ]
    };
    let member = |mut object: Value| {
        object["metadata"]["uid"] = json!("member");
        object
    };
    let widget = |namespace: &str, set| vec![of("example.io/v1", "Widget", namespace, "x", set)];
    let with_own = |object: Value| own().into_iter().chain([object]).collect::<Vec<_>>();
    let cases = [
        ("a foreign instance", types("example.io/Widget"), widget("b", None), Some("Widget.example.io b/x")),
        (
            "an instance of another set",
            types("example.io/*"),
            widget("b", Some("other")),
            Some("Widget.example.io b/x"),
        ),
        ("a member", types("*/*"), vec![member(of("example.io/v1", "Widget", "b", "x", Some(SET)))], None),
        ("a copy of one", types("*/*"), widget("b", Some(SET)), Some("Widget.example.io b/x")),
        ("another kind", types("example.io/Gadget"), widget("b", None), None),
        ("another group", types("*.example.io/*"), widget("b", None), None),
        ("only Kubernetes' own objects", namespace(), own(), None),
        (
            "a foreign object beside them",
            namespace(),
            with_own(of("v1", "ConfigMap", "a", "x", None)),
            Some("ConfigMap a/x"),
        ),
        ("a member beside them", namespace(), with_own(member(of("v1", "ConfigMap", "a", "x", Some(SET)))), None),
        ("an object of another namespace", namespace(), with_own(of("v1", "ConfigMap", "b", "x", None)), None),
        ("a foreign custom object", namespace(), widget("a", None), Some("Widget.example.io a/x")),
    ];
    for (name, inspection, objects, expected) in cases {
        let store = store().with_objects(objects).unwrap();
        let members =
            Members { labels: [(PART_OF.to_owned(), SET.to_owned())].into(), uids: ["member".to_owned()].into() };
        let found = store.inspect(&inspection, &members).await.unwrap().map(|it| it.to_string());
        assert_eq!(found.as_deref(), expected, "{name}");
        assert_eq!(store.operations(), [], "{name}");
    }
}
