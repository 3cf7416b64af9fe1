//! Tests of ownership: which labels make a resource the owner of an object.
#![expect(clippy::unwrap_used, reason = "tests")]

use jiff::Timestamp;
use lifecycle_language::scope::Scope;
use lifecycle_language::template::Tree;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::observation::satisfies;
use serde_json::{Value, json};

use super::*;
use crate::task::{Manifest, TransportKind};

fn stamp() -> Stamp {
    Stamp {
        adapter: "tester".to_owned(),
        resource_id: "c1".to_owned(),
        resource_id_fault: None,
        generation: Generation(3),
        signer: None,
    }
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("v1", "ConfigMap")
}

fn query(namespace: &str, by: QueryBy) -> Query {
    Query { destination: Destination::ThisCluster, kind: kind(), namespace: Some(namespace.to_owned()), by }
}

fn by_labels() -> Query {
    query("team", QueryBy::Labels([("app".to_owned(), "demo".to_owned())].into()))
}

fn by_name(name: &str) -> Query {
    query("team", QueryBy::Name(name.to_owned()))
}

/// An object `x` with these labels and annotations.
fn version(labels: &Value, annotations: &Value) -> Version {
    let metadata = json!({ "name": "x", "namespace": "team", "labels": labels, "annotations": annotations });
    Version::new(json!({ "metadata": metadata }))
}

fn labels(adapter: &str, id: &str, resource: &str) -> Value {
    json!({ keys::ADAPTER: adapter, keys::RESOURCE_ID: id, keys::RESOURCE: resource })
}

fn identity(name: &str, labels: Value) -> OwnershipFields {
    let object = json!({ "metadata": { "name": name, "namespace": "team", "labels": labels } });
    OwnershipFields::render(
        &Manifest::Inline(Tree::parse(&object).unwrap()),
        &TransportKind::Kubernetes,
        &Scope::new(Timestamp::UNIX_EPOCH),
    )
    .unwrap()
}

/// Whether the resource `job` owns the object: before its manifest is rendered, and with the rendered
/// `identity`.
fn classified(
    labels: &Value,
    annotations: &Value,
    competing: &[CompetingSelector<'_>],
    identity: &OwnershipFields,
) -> (Owned, Owned) {
    let (stamp, version) = (stamp(), version(labels, annotations));
    let criteria = |identity| Criteria {
        resource: "job",
        stamp: &stamp,
        is_guarded: true,
        identity,
        competing: competing.to_vec(),
    };
    (criteria(None).classify(&by_labels(), &version), criteria(Some(identity)).classify(&by_labels(), &version))
}

#[test]
fn ownership_labels_decide_with_the_authors_values() {
    use Owned::{Ambiguous, No, Yes};
    let plain = identity("y", labels("tester", "c1", "job"));
    let own = identity("y", labels("mine", "shared", "job"));
    for (name, labels, expected, of_its_own) in [
        ("all ours", labels("tester", "c1", "job"), (Yes, Yes), Yes),
        ("as the manifest writes them", labels("mine", "shared", "job"), (Ambiguous, No), Yes),
        ("one as stamped, one as written", labels("tester", "shared", "job"), (Ambiguous, No), Yes),
        ("another adapter's", labels("somebody", "c1", "job"), (Ambiguous, No), No),
        ("another id's", labels("tester", "c2", "job"), (Ambiguous, No), No),
        ("another entry's", labels("tester", "c1", "other"), (No, No), No),
        ("without an adapter", json!({ keys::RESOURCE_ID: "c1", keys::RESOURCE: "job" }), (Ambiguous, No), No),
        ("without an id", json!({ keys::ADAPTER: "tester", keys::RESOURCE: "job" }), (Ambiguous, No), No),
    ] {
        assert_eq!(classified(&labels, &json!({}), &[], &plain), expected, "{name}");
        assert_eq!(
            classified(&labels, &json!({}), &[CompetingSelector::Unknown], &plain),
            expected,
            "{name}: competing do not matter"
        );
        assert_eq!(
            classified(&labels, &json!({}), &[], &own).1,
            of_its_own,
            "{name}: in a manifest with labels of its own"
        );
    }
}

#[test]
fn object_of_another_resource_is_not_owned_by_its_name_where_it_could_be_deleted() {
    use Owned::{Ambiguous, No, Yes};
    let (plain, shared) = (identity("x", json!({})), identity("x", json!({ keys::RESOURCE_ID: "c2" })));
    let stamp = stamp();
    for (name, labels, guarded, of_its_manifest) in [
        ("ours", labels("tester", "c1", "job"), (Yes, Yes), Yes),
        ("without labels", json!({}), (Yes, Yes), Yes),
        ("another cluster's", labels("tester", "c2", "job"), (Ambiguous, No), Yes),
        ("another adapter's", labels("somebody", "c1", "job"), (Ambiguous, No), No),
        ("of a former name of the entry", labels("tester", "c1", "other"), (Yes, Yes), Yes),
    ] {
        let version = version(&labels, &json!({}));
        let classify = |is_guarded, identity| {
            let criteria = Criteria { resource: "job", stamp: &stamp, is_guarded, identity, competing: Vec::new() };
            criteria.classify(&by_name("x"), &version)
        };
        assert_eq!((classify(true, None), classify(true, Some(&plain))), guarded, "{name}");
        assert_eq!(classify(true, Some(&shared)), of_its_manifest, "{name}: as the manifest writes it");
        assert_eq!(classify(false, None), Yes, "{name}: nothing can delete it");
    }
}

#[test]
fn unlabelled_object_is_owned_by_name_or_by_its_only_selector() {
    use Owned::{Ambiguous, No, Yes};
    let (named, elsewhere) = (by_name("x"), by_name("z"));
    let in_another_namespace = query("other", QueryBy::Name("x".to_owned()));
    let same_labels = by_labels();
    let other_labels = query("team", QueryBy::Labels([("app".to_owned(), "other".to_owned())].into()));
    for (name, competing, expected, of_its_name) in [
        ("no other entry of the kind", vec![], (Yes, Yes), Yes),
        ("one whose query is not known", vec![CompetingSelector::Unknown], (Ambiguous, No), Yes),
        ("one that selects it", vec![CompetingSelector::Finds(&same_labels)], (Ambiguous, No), Yes),
        ("one that selects others", vec![CompetingSelector::Finds(&other_labels)], (Yes, Yes), Yes),
        ("one that names it", vec![CompetingSelector::Finds(&named)], (Ambiguous, No), Yes),
        ("one that names another", vec![CompetingSelector::Finds(&elsewhere)], (Yes, Yes), Yes),
        ("one that names one elsewhere", vec![CompetingSelector::Finds(&in_another_namespace)], (Yes, Yes), Yes),
        ("several", vec![CompetingSelector::Finds(&elsewhere), CompetingSelector::Finds(&named)], (Ambiguous, No), Yes),
    ] {
        for labels in [json!({ "app": "demo" }), json!({ "app": "demo", keys::ADAPTER: "tester" })] {
            assert_eq!(classified(&labels, &json!({}), &competing, &identity("y", json!({}))), expected, "{name}");
            assert_eq!(classified(&labels, &json!({}), &competing, &identity("x", json!({}))).1, of_its_name, "{name}");
        }
    }
}

#[test]
fn unlabelled_object_may_name_another_adapter_or_resource() {
    use Owned::{Ambiguous, No, Yes};
    let plain = identity("x", json!({}));
    let shared = identity("x", json!({ keys::RESOURCE_ID: "c2" }));
    for (name, labels, expected, of_its_manifest) in [
        ("another cluster's", json!({ keys::RESOURCE_ID: "c2" }), (Ambiguous, No), Yes),
        ("another adapter's", json!({ keys::ADAPTER: "somebody" }), (Ambiguous, No), No),
        ("ours", json!({ keys::ADAPTER: "tester", keys::RESOURCE_ID: "c1" }), (Yes, Yes), Yes),
    ] {
        assert_eq!(classified(&labels, &json!({}), &[], &plain), expected, "{name}");
        assert_eq!(
            classified(&labels, &json!({}), &[], &shared).1,
            of_its_manifest,
            "{name}: the manifest writes that id"
        );
    }
}

#[test]
fn disowned_object_counts_as_its_former_owners() {
    use Owned::{No, Yes};
    let by = |by: &str| json!({ keys::DISOWNED_BY: by });
    for (name, id, annotations, expected) in [
        ("by this entry", "c1", by("tester/job"), Yes),
        ("by another entry", "c1", by("tester/other"), No),
        ("by another adapter", "c1", by("somebody/job"), No),
        ("of another cluster", "c2", by("tester/job"), No),
    ] {
        let marked = json!({ keys::DISOWNED: id });
        let same_name = identity("x", json!({}));
        assert_eq!(classified(&marked, &annotations, &[], &same_name), (expected, expected), "{name}");
        assert_eq!(
            classified(&marked, &annotations, &[CompetingSelector::Unknown], &same_name),
            (expected, expected),
            "{name}"
        );
    }
}

#[test]
fn object_found_by_name_is_owned_without_labels() {
    let stamp = stamp();
    let criteria = Criteria {
        resource: "job",
        stamp: &stamp,
        is_guarded: false,
        identity: None,
        competing: vec![CompetingSelector::Unknown],
    };
    for labels in [json!({}), labels("somebody", "c2", "other"), json!({ keys::DISOWNED: "c2" })] {
        assert_eq!(criteria.classify(&by_name("x"), &version(&labels, &json!({}))), Owned::Yes);
    }
}

#[test]
fn cluster_scoped_object_matches_a_query_with_a_namespace() {
    let is_in = |query: &Query, object: &Value| satisfies(query.namespace.as_deref(), &query.by, object);
    let scoped = json!({ "metadata": { "name": "x" } });
    assert!(could_find(&by_name("x"), &scoped) && !is_in(&by_name("x"), &scoped));
    assert!(!could_find(&by_name("y"), &scoped));
    let elsewhere = json!({ "metadata": { "name": "x", "namespace": "other" } });
    assert!(!could_find(&by_name("x"), &elsewhere) && !is_in(&by_name("x"), &elsewhere));
    let everywhere = Query { namespace: None, ..by_labels() };
    let labelled = json!({ "metadata": { "namespace": "any", "labels": { "app": "demo", "b": "c" } } });
    assert!(could_find(&everywhere, &labelled) && is_in(&everywhere, &labelled));
}
