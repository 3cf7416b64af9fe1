//! Owner references: which object is the owner in this pass, and whether dependents may name it.
//!
//! In: the outcome of an earlier resource. Out: the reference for its dependents, or why there is none
//! (`OwnerUnavailable`): an object is never written without its reference, as nothing would collect it.
//!
//! Kubernetes collects an object whose owner is gone, and takes an owner that it cannot see from the object's namespace
//! for gone. So an owner is either cluster-scoped or in the namespace of what it owns.

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::observation::Version;
use serde_json::{Value, json};

use crate::decision::{Decision, SkipReason, WaitReason};
use crate::outcome::OutcomeResult;

/// Whether the object of a resource can be named as an owner.
#[derive(Debug, Clone)]
pub(super) struct OwnerStatus {
    /// The object, if it is known. A terminating one is kept: dependents may name it already.
    object: Option<Owner>,
    /// Why no dependent may be written now; none if the owner is available.
    away: Option<String>,
    /// The namespace that has to be gone before the owner can be created.
    waits_for: Option<String>,
}

/// An object that others name as their owner.
#[derive(Debug, Clone)]
struct Owner {
    api_version: String,
    kind: String,
    /// Empty for a cluster-scoped object.
    namespace: String,
    name: String,
    uid: String,
}

impl OwnerStatus {
    /// The status of resource `name` of `kind`, given the server's answer to its write, or else what was observed.
    pub(super) fn of(
        (name, kind): (&str, &GroupVersionKind),
        (decision, result): (&Decision, &OutcomeResult),
        object: Option<&Version>,
    ) -> Self {
        let why = match result {
            OutcomeResult::Deleted | OutcomeResult::Deleting => Some("is being deleted"),
            OutcomeResult::Disowned => Some("was disowned"),
            OutcomeResult::Waiting if matches!(decision, Decision::Wait(WaitReason::DisownPending(_))) => {
                Some("is to be deleted")
            }
            OutcomeResult::Waiting if matches!(decision, Decision::Wait(WaitReason::NamespaceTerminating(_))) => {
                Some("waits until its namespace is gone")
            }
            OutcomeResult::Waiting if !matches!(decision, Decision::Wait(WaitReason::NotYet(_))) => {
                Some("is on its way out")
            }
            OutcomeResult::Failed(_) => Some("failed"),
            OutcomeResult::Skipped if *decision == Decision::Skip(SkipReason::Disowned) => Some("was disowned"),
            OutcomeResult::Skipped if *decision == Decision::Skip(SkipReason::EarlierFailure) => {
                Some("was left alone after an earlier failure")
            }
            OutcomeResult::Created
            | OutcomeResult::Updated
            | OutcomeResult::Patched
            | OutcomeResult::Recreated
            | OutcomeResult::Waiting
            | OutcomeResult::Skipped => match object {
                None => Some("is absent"),
                Some(object) if object.is_terminating() => Some("is on its way out"),
                Some(_) => None,
            },
        };
        let away = why.map(|why| format!("its owner, resource {name}, {why}"));
        let waits_for =
            if let Decision::Wait(WaitReason::NamespaceTerminating(it)) = decision { Some(it.clone()) } else { None };
        Self { object: object.map(|object| Owner::of(kind, object)), away, waits_for }
    }

    /// The status of a resource at another destination: an owner reference cannot name its object.
    pub(super) fn elsewhere(name: &str) -> Self {
        Self::away(format!("its owner, resource {name}, is at another destination"))
    }

    /// The status of a resource that the plan has not decided yet.
    pub(super) fn unknown(name: &str) -> Self {
        Self::away(format!("its owner, resource {name}, was not reached"))
    }

    fn away(why: String) -> Self {
        Self { object: None, away: Some(why), waits_for: None }
    }

    /// The namespace for whose end a dependent waits with its owner: the one in which both are.
    pub(super) fn waits_for_namespace(&self) -> Option<&str> {
        self.waits_for.as_deref()
    }

    /// Whether a live object names this owner. A terminating owner counts as named, so that its dependents need no write.
    pub(super) fn owns(&self, version: &Version) -> Result<bool, Failure> {
        match (&self.object, &self.away) {
            (Some(owner), _) => {
                Ok(version.owner_references().iter().any(|reference| uid(reference) == Some(&owner.uid)))
            }
            (None, away) => Err(Failure::new(FailReason::OwnerUnavailable, away.clone().unwrap_or_default())),
        }
    }

    /// The `ownerReferences` entry for an object in `namespace`.
    pub(super) fn reference(&self, namespace: &str) -> Result<Value, String> {
        match (&self.object, &self.away) {
            (Some(owner), None) => owner.reference(namespace),
            (_, away) => Err(away.clone().unwrap_or_default()),
        }
    }
}

impl Owner {
    fn of(kind: &GroupVersionKind, version: &Version) -> Self {
        Self {
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            namespace: version.namespace().to_owned(),
            name: version.name().to_owned(),
            uid: version.uid().to_owned(),
        }
    }

    fn reference(&self, namespace: &str) -> Result<Value, String> {
        if !self.namespace.is_empty() && self.namespace != namespace {
            let place = if namespace.is_empty() { "cluster-scoped".to_owned() } else { format!("in {namespace}") };
            return Err(format!(
                "the owner, {} {}/{}, cannot own an object that is {place}: Kubernetes would collect it at once",
                self.kind, self.namespace, self.name
            ));
        }
        Ok(json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": false,
            "blockOwnerDeletion": false,
        }))
    }
}

/// Adds the reference to an object, unless the object has it already.
pub(super) fn add_reference(object: &mut Value, reference: Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let references = metadata.entry("ownerReferences").or_insert_with(|| Value::Array(Vec::new()));
    if !references.is_array() {
        *references = Value::Array(Vec::new());
    }
    let Some(references) = references.as_array_mut() else { return };
    if !references.iter().any(|present| uid(present) == uid(&reference)) {
        references.push(reference);
    }
}

fn uid(reference: &Value) -> Option<&str> {
    reference.get("uid").and_then(Value::as_str)
}
