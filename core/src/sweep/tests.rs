#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::LazyLock;

use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::keys;
use serde_json::{Value, json};

use super::*;

mod candidate;
mod census;
mod contents;
mod judgement;
mod kinds;
mod plan;
mod properties;
mod recheck;
mod release;
mod strikes;
mod verdict;

/// Makes one difference to a candidate.
type Change = fn(&mut Candidate);

/// The id of the API resource that [`config_map`] names.
const ID: &str = "0198c0de-0000-7000-8000-000000000001";
/// The id of another API resource.
const OTHER_ID: &str = "0198c0de-0000-7000-8000-000000000002";
const GRACE: u64 = 3600;
const MIN_AGE: u64 = 600;

/// The time `seconds` after the creation of every object.
fn at(seconds: u64) -> Timestamp {
    "2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap() + Duration::from_secs(seconds)
}

/// A pass whose questions and answers took no time.
fn asked(seconds: u64) -> Asked {
    Asked { from: at(seconds), until: at(seconds) }
}

static UUID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$").unwrap());

/// Asks for no proof, and allows nothing that is cluster-scoped.
fn policy() -> Policy {
    Policy {
        adapters: BTreeSet::from(["infra".to_owned(), "dns".to_owned()]),
        resource_id: UUID.clone(),
        grace: Duration::from_secs(GRACE),
        min_age: Duration::from_secs(MIN_AGE),
        cluster_scoped: Vec::new(),
        goes_along: Vec::new(),
        signers: Vec::new(),
        limits: Limits { objects: 10, share: Share::Percent(50) },
    }
}

/// An object that goes if its API resource is gone.
fn config_map() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "settings",
            "namespace": "team",
            "uid": "u1",
            "creationTimestamp": "2026-03-01T12:00:00Z",
            "labels": { keys::ADAPTER: "infra", keys::RESOURCE_ID: ID },
            "annotations": { keys::GENERATION: "3" },
        },
    })
}

fn candidate() -> Candidate {
    Candidate::of(&config_map(), Destination::ThisCluster)
}

/// [`candidate`] with another name and UID.
fn named(name: &str, uid: &str) -> Candidate {
    let mut candidate = candidate();
    candidate.object.name = name.to_owned();
    candidate.uid = uid.to_owned();
    candidate
}

/// A plan that nothing speaks against.
fn plan(objects: Vec<Candidate>) -> SweepPlan {
    SweepPlan::new(objects, Vec::new())
}

fn kind(api_version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::new(api_version, kind)
}

fn patterns(texts: &[&str]) -> Vec<KindPattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}
