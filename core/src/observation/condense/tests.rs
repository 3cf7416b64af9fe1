use proptest::prelude::*;
use serde_json::{Value, json};

use super::condense;
use crate::id::Generation;
use crate::keys;
use crate::observation::Version;
use crate::plan::decide::current;

fn object(place: usize, generation: Option<i64>, day: u32, terminating: bool) -> Value {
    let mut metadata = json!({
        "name": format!("v{place}"), "namespace": "team", "uid": format!("u{place}"), "resourceVersion": place.to_string(),
        "labels": { "app": "demo", keys::RESOURCE: "job" },
        "annotations": { "kubectl.kubernetes.io/last-applied-configuration": "long" },
        "ownerReferences": [{ "uid": "owner" }],
        "creationTimestamp": format!("2026-01-{day:02}T00:00:00Z"),
        "managedFields": [{ "manager": "tester" }],
    });
    if let Some(generation) = generation {
        metadata["annotations"][keys::GENERATION] = json!(generation.to_string());
    }
    if terminating {
        metadata["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
    }
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "a": "b" } })
}

fn versions() -> impl Strategy<Value = Vec<Version>> {
    let one = (proptest::option::of(1..5_i64), 1..28_u32, proptest::bool::weighted(0.3));
    let build =
        |(place, (generation, day, terminating)): (usize, _)| Version::new(object(place, generation, day, terminating));
    proptest::collection::vec(one, 0..40).prop_map(move |all| all.into_iter().enumerate().map(build).collect())
}

/// Everything that plans ask of a version that is not current.
fn asked(version: &Version) -> impl PartialEq + std::fmt::Debug + use<> {
    let labels = ["app", keys::RESOURCE, keys::DISOWNED].map(|key| version.label(key).map(str::to_owned));
    let annotations = [keys::GENERATION, keys::DISOWNED_BY].map(|key| version.annotation(key).map(str::to_owned));
    let identity = [version.name(), version.namespace(), version.uid(), version.resource_version()].map(str::to_owned);
    let references = version.owner_references().to_vec();
    let times = (version.created_at(), version.is_terminating(), version.generation(), version.is_disowned());
    (identity, labels, annotations, references, times)
}

fn whole(versions: &[Version]) -> Vec<&str> {
    versions.iter().filter(|version| version.is_whole()).map(Version::name).collect()
}

proptest! {
    #[test]
    fn what_plans_ask_of_a_former_version_stays(mut versions in versions(), kept in 0..4_usize) {
        let before: Vec<_> = versions.iter().map(asked).collect();
        condense(&mut versions, kept);
        prop_assert_eq!(versions.iter().map(asked).collect::<Vec<_>>(), before);
    }

    #[test]
    fn few_stay_whole_and_those_that_are_current_are_among_them(mut versions in versions(), kept in 1..4_usize) {
        condense(&mut versions, kept);
        prop_assert!(whole(&versions).len() <= 4 * kept);
        let highest = versions.iter().filter_map(Version::generation).max().unwrap_or(Generation(0));
        for desired in [highest, Generation(highest.0 + 1)] {
            prop_assert!(current(&versions, desired).is_none_or(Version::is_whole));
        }
        let leaving = versions.iter().filter(|version| version.is_terminating());
        prop_assert!(current(leaving, highest).is_none_or(Version::is_whole));
    }

    #[test]
    fn page_by_page_is_as_all_at_once(versions in versions(), kept in 0..4_usize, page in 1..9_usize) {
        let mut at_once = versions.clone();
        condense(&mut at_once, kept);
        let mut paged = Vec::new();
        for page in versions.chunks(page) {
            paged.extend_from_slice(page);
            condense(&mut paged, kept);
        }
        condense(&mut paged, kept);
        // The last page may leave less to choose from than there is place for.
        prop_assert!(whole(&at_once).iter().all(|name| whole(&paged).contains(name)));
        prop_assert!(whole(&paged).len() <= 4 * kept);
    }
}

#[test]
fn what_is_left_of_an_object_can_be_shown() {
    let mut object = object(1, Some(3), 4, true);
    let mut version = Version::new(object.clone());
    version.condense();
    let Value::Object(metadata) = &mut object["metadata"] else { unreachable!("it is an object") };
    metadata.remove("managedFields");
    metadata.insert("annotations".to_owned(), json!({ keys::GENERATION: "3" }));
    assert_eq!(version.into_object(), json!({ "metadata": object["metadata"] }));
}
