//! What the sweeper reads from the metadata of an object.

use std::collections::BTreeSet;

use jiff::Timestamp;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::Generation;
use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::proof::Claim;
use serde_json::Value;

use lifecycle_bundle::applyset;

/// An object that carries the label `hyperfleet.io/adapter`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where the object lives.
    pub destination: Destination,
    /// The object's kind, namespace and name.
    pub object: ObjectRef,
    /// The UID, by which a later object of the same name is told apart.
    pub uid: String,
    /// The label `hyperfleet.io/adapter`; empty if missing.
    pub adapter: String,
    /// The label `hyperfleet.io/resource-id`; empty if missing.
    pub resource_id: String,
    /// The annotation `hyperfleet.io/generation`; zero if missing or not a number.
    pub generation: Generation,
    /// When the API server created the object; `None` if that is unreadable.
    pub created: Option<Timestamp>,
    /// Whether the object is being deleted.
    pub is_terminating: bool,
    /// The UIDs of the Kubernetes objects that own it; an owner that cannot be read counts with an empty UID.
    pub owners: Vec<String>,
    /// Whether an adapter disowned it.
    pub is_disowned: bool,
    /// The kinds of a bundle's members, if the object is the bundle's parent, by which its members are found. Empty if
    /// somebody changed what the parent says about them.
    pub member_kinds: Option<BTreeSet<GroupKind>>,
    /// The annotation `hyperfleet.io/ownership-proof`.
    pub proof: Option<String>,
}

impl Candidate {
    /// Reads an object, of which the metadata is enough. Missing fields are read so that the object is kept.
    #[must_use]
    pub fn of(object: &Value, destination: Destination) -> Self {
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        let text = |place: &str, key: &str| metadata.get(place).and_then(|all| all.get(key)).and_then(Value::as_str);
        let label = |key| text("labels", key).unwrap_or_default().to_owned();
        let annotation = |key| text("annotations", key);
        let is_set = |key: &str| metadata.get(key).is_some_and(|value| !value.is_null());
        Self {
            destination,
            object: ObjectRef::of(object),
            uid: metadata.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
            adapter: label(keys::ADAPTER),
            resource_id: label(keys::RESOURCE_ID),
            generation: annotation(keys::GENERATION)
                .and_then(|text| text.trim().parse().ok())
                .map(Generation)
                .unwrap_or_default(),
            created: metadata.get("creationTimestamp").and_then(Value::as_str).and_then(|created| created.parse().ok()),
            is_terminating: is_set("deletionTimestamp"),
            owners: match metadata.get("ownerReferences") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(owners)) => {
                    let uid = |owner: &Value| owner.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned();
                    owners.iter().map(uid).collect()
                }
                Some(_) => vec![String::new()],
            },
            is_disowned: metadata.get("labels").is_some_and(|labels| labels.get(keys::DISOWNED).is_some()),
            member_kinds: metadata
                .get("labels")
                .and_then(|labels| labels.get(applyset::ID))
                .map(|_| applyset::Contents::read(object).map(|contents| contents.group_kinds).unwrap_or_default()),
            proof: annotation(keys::OWNERSHIP_PROOF).map(str::to_owned),
        }
    }

    /// Whether the object is the parent of a bundle.
    #[must_use]
    pub fn is_parent(&self) -> bool {
        self.member_kinds.is_some()
    }

    /// The statement that this object's proof must sign.
    #[must_use]
    pub fn claim(&self) -> Claim<'_> {
        Claim {
            adapter: &self.adapter,
            resource_id: &self.resource_id,
            group: &self.object.kind.group,
            kind: &self.object.kind.kind,
            namespace: self.object.namespace.as_deref().unwrap_or_default(),
            name: &self.object.name,
        }
    }
}
