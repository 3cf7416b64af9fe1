#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::time::Duration;

use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::QueryBy;
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError, WriteErrorKind};
use serde_json::{Value, json};

use super::*;
use crate::memory::MemoryTransport;

/// An in-memory store in which reads of one name fail, and reads of another one hang.
struct Flaky(MemoryTransport);

impl Transport for Flaky {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let found = self.0.find(query).await;
        match &query.by {
            QueryBy::Name(name) if name == "unread" => Err(WriteError {
                kind: WriteErrorKind::Forbidden,
                call: "get ConfigMap a/unread".to_owned(),
                status: Some(403),
                message: "no".to_owned(),
            }),
            QueryBy::Name(name) if name == "hangs" => std::future::pending().await,
            QueryBy::Name(_) | QueryBy::Labels(_) => found,
        }
    }
    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        self.0.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        self.0.create(desired, destination).await
    }
    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        self.0.dry_run_create(desired, destination).await
    }
    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        self.0.update(desired, target, live, mode).await
    }
    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.0.patch(document, target).await
    }
    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        self.0.delete(target, propagation).await
    }
}

fn query(by: QueryBy) -> Query {
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    Query { destination: Destination::ThisCluster, kind, namespace: Some("a".to_owned()), by }
}

fn named(name: &str) -> Query {
    query(QueryBy::Name(name.to_owned()))
}

fn summary(observation: &Observation) -> String {
    match observation {
        Observation::Unknown(why) | Observation::Forbidden(why) => format!("unknown: {why}"),
        Observation::Found(versions) => versions.iter().map(Version::name).collect::<Vec<_>>().join(" "),
    }
}

#[tokio::test(start_paused = true)]
async fn equal_queries_are_read_once_and_all_are_answered() {
    let map = |name: &str| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": name, "namespace": "a", "labels": { "team": "x" } } })
    };
    let store = MemoryTransport::new("2026-01-01T00:00:00Z".parse().unwrap());
    let transport = Flaky(store.with_objects([map("one"), map("two")]).unwrap());
    let selector = query(QueryBy::Labels(BTreeMap::from([("team".to_owned(), "x".to_owned())])));
    let queries =
        vec![named("one"), named("none"), selector.clone(), named("unread"), named("one"), named("hangs"), selector];

    let observations = find_all(&transport, queries, Instant::now() + Duration::from_secs(5)).await;
    let observations: Vec<String> = observations.iter().map(summary).collect();
    assert_eq!(
        observations,
        [
            "one",
            "",
            "one two",
            "unknown: failed to get ConfigMap a/unread: no (HTTP 403); give the adapter this right, or look at its credentials",
            "one",
            "unknown: failed to find ConfigMap a/hangs: the event's deadline passed; look which server is slow; give an event more time only if none is",
            "one two",
        ]
    );
    assert_eq!(transport.0.operations().len(), 5, "{:?}", transport.0.operations());
}
