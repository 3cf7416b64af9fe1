//! One line of the audit file. Pure.

use jiff::Timestamp;
use lifecycle_core::sweep::Candidate;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::keys::LAST_APPLIED;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The value of the key `audit`, by which a line is recognised; another form of records needs another one.
pub const FORMAT: &str = "hyperfleet.io/sweep-audit/v1";

/// What the sweeper was about to do, or did, to one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT`].
    pub audit: String,
    /// When the record was written.
    pub time: Timestamp,
    /// The leader's term.
    pub term: u32,
    /// The hash of the plan that contained the object.
    pub plan: String,
    /// The adapter that made the object.
    pub adapter: String,
    /// The API resource that the object was made for.
    pub resource_id: String,
    /// Since when the API resource is known not to exist.
    pub gone_since: Option<Timestamp>,
    /// The object.
    pub object: Identity,
    /// What the sweeper was about to do, or did.
    pub action: Action,
}

/// What the sweeper was about to do, or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The sweeper is about to delete the object.
    Delete {
        /// The object as it was read for the last time, without the omitted fields.
        manifest: Value,
        /// The fields that the manifest lacks, though the object had them.
        omitted: Vec<String>,
    },
    /// The attempt ended.
    Result {
        /// The label of the [`Outcome`](crate::act::Outcome).
        outcome: String,
        /// Whether the object is deleted, or may be.
        may_be_deleted: bool,
        /// The outcome for people.
        message: String,
    },
}

/// The identity of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The consumer of Maestro to whose cluster the object is sent; `None` for an object of this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer: Option<String>,
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
}

impl Identity {
    /// Where the object lives, or lived.
    #[must_use]
    pub fn destination(&self) -> Destination {
        self.consumer.clone().map_or(Destination::ThisCluster, Destination::Consumer)
    }

    /// Returns the identity of a judged object.
    #[must_use]
    pub fn of(candidate: &Candidate) -> Self {
        let object = &candidate.object;
        Self {
            consumer: match &candidate.destination {
                Destination::ThisCluster => None,
                Destination::Consumer(name) => Some(name.clone()),
            },
            api_version: object.kind.api_version(),
            kind: object.kind.kind.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uid: candidate.uid.clone(),
        }
    }
}

/// The fields with the data of a Secret.
pub const SECRET_DATA: [&str; 2] = ["data", "stringData"];

/// Where an object is a Secret, or a `ManifestWork` has one in it: as a JSON pointer, and as the beginning of a field's name.
fn secrets(live: &Value) -> Vec<(String, String)> {
    const MANIFESTS: &str = "/spec/workload/manifests";
    let inside = live.pointer(MANIFESTS).and_then(Value::as_array).map_or(0, Vec::len);
    let inside = (0..inside).map(|at| (format!("{MANIFESTS}/{at}"), format!("spec.workload.manifests[{at}].")));
    let is =
        |place: &str, key: &str, value: &str| live.pointer(&format!("{place}/{key}")).is_some_and(|it| it == value);
    let all = std::iter::once((String::new(), String::new())).chain(inside);
    all.filter(|(place, _)| is(place, "apiVersion", "v1") && is(place, "kind", "Secret")).collect()
}

/// Takes the fields out of a manifest that a record must not have, or need not have; returns their names.
///
/// `managedFields` say who set which field; they are often longer than the rest of the object, and an object that is
/// created anew gets its own.
pub(super) fn manifest(live: &Value, with_secrets: bool) -> (Value, Vec<String>) {
    let mut manifest = live.clone();
    let mut omitted = Vec::new();
    let mut omit = |at: &str, key: &str, name: String| {
        let fields = manifest.pointer_mut(at).and_then(Value::as_object_mut);
        if fields.and_then(|fields| fields.remove(key)).is_some() {
            omitted.push(name);
        }
    };
    omit("/metadata", "managedFields", "metadata.managedFields".to_owned());
    let secrets = if with_secrets { Vec::new() } else { secrets(live) };
    for (place, name) in &secrets {
        for key in SECRET_DATA {
            omit(place, key, format!("{name}{key}"));
        }
        let annotation = format!("{name}metadata.annotations[{LAST_APPLIED}]");
        omit(&format!("{place}/metadata/annotations"), LAST_APPLIED, annotation);
    }
    if !secrets.is_empty() {
        // A work's own has the Secrets in it.
        omit("/metadata/annotations", LAST_APPLIED, format!("metadata.annotations[{LAST_APPLIED}]"));
    }
    (manifest, omitted)
}
