//! The Kubernetes Event that tells of a deletion to people who look at the object or its namespace. Pure.

use jiff::Timestamp;
use lifecycle_core::sweep::Candidate;
use serde_json::{Value, json};

use super::Outcome;

/// The program's name in events.
const COMPONENT: &str = "hyperfleet-sweeper";

/// The namespace of events about cluster-scoped objects: the API server accepts `default` and `kube-system`, and
/// `kubectl describe` finds both.
const OF_CLUSTER_SCOPED: &str = "default";

/// Builds the Event about an object whose deletion the API server accepted, with this outcome.
///
/// It has the older of the two forms of an Event, with `firstTimestamp` and `source`, as Kubernetes' own controllers
/// write it: `kubectl describe` prints age and sender from these fields.
pub(super) fn announcement(judged: &Candidate, live: &Value, outcome: &Outcome, term: u32, now: Timestamp) -> Value {
    let object = &judged.object;
    let namespace = object.namespace.as_deref().unwrap_or(OF_CLUSTER_SCOPED);
    let Candidate { adapter, resource_id, .. } = judged;
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        // The object's name cannot begin the Event's: names such as `system:reader` are none that an Event may have.
        "metadata": { "generateName": "orphan-deleted-", "namespace": namespace },
        "involvedObject": {
            "apiVersion": object.kind.api_version(),
            "kind": object.kind.kind,
            "namespace": object.namespace,
            "name": object.name,
            "uid": judged.uid,
            "resourceVersion": live.pointer("/metadata/resourceVersion"),
        },
        // Normal, as Kubernetes' own controllers announce deletions: nothing is wrong with the object.
        "type": "Normal",
        "reason": "OrphanDeleted",
        "message": format!(
            "{outcome}: API resource {resource_id} of adapter {adapter} does not exist any more (leader's term {term})"
        ),
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "source": { "component": COMPONENT },
        "reportingComponent": COMPONENT,
    })
}
