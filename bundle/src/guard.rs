//! The guard before a deletion: whether something goes with it that is not of the set.
//!
//! In: an [`Inspection`], the members of the set that is to go, and each object that was found there. Out: the first object of
//! others. Nothing here fails: who reads the objects says so if one could not be read.
//!
//! The guard sees what exists when it is read. An object that somebody creates after its list, or a kind that somebody
//! installs after the discovery, goes unseen. So do objects of a custom kind that the server serves in no version.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_objects::contents::is_of_each_namespace;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Described as _;
use serde_json::Value;

/// The members of a bundle, as its guard has to know them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    /// The labels that members carry.
    pub labels: BTreeMap<String, String>,
    /// The UIDs of the members that the pass found. Another object with the label is a copy. What members control goes with them
    /// in any case.
    pub uids: BTreeSet<String>,
}

impl Members {
    fn are_labelled(&self, object: &Value) -> bool {
        self.labels.iter().all(|(key, value)| object.label(key) == Some(value))
    }
}

/// Looks at one object after the other.
#[derive(Debug)]
pub struct Guard<'a> {
    inspection: &'a Inspection,
    members: &'a Members,
    /// Objects that others control, until it is known whose these others are.
    dependents: Vec<Dependent>,
}

#[derive(Debug)]
struct Dependent {
    uid: String,
    controller: String,
    identity: Identity,
}

impl<'a> Guard<'a> {
    /// Begins to look.
    #[must_use]
    pub fn new(inspection: &'a Inspection, members: &'a Members) -> Self {
        Self { inspection, members, dependents: Vec::new() }
    }

    /// Looks at an object. Returns its identity if it is somebody else's; an object with a controller may be a member's dependent.
    pub fn look_at(&mut self, object: &Value) -> Option<Identity> {
        let identity = foreign(self.inspection, self.members, object)?;
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let controller = owners.into_iter().flatten().find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
        let controller = controller.map(|owner| owner.get("uid").and_then(Value::as_str).unwrap_or_default());
        let Some(controller) = controller.map(str::to_owned) else { return Some(identity) };
        self.dependents.push(Dependent { uid: uid(object).to_owned(), controller, identity });
        None
    }

    /// An object whose controllers lead to no member, once all were looked at: the first by its identity. What a member controls, at any number of
    /// removes, goes with it in any case.
    #[must_use]
    pub fn finish(self) -> Option<Identity> {
        let (mut kept, mut left) = (self.members.uids.clone(), self.dependents);
        loop {
            let before = left.len();
            left.retain(|dependent| {
                let is_ours = kept.contains(&dependent.controller);
                if is_ours {
                    kept.insert(dependent.uid.clone());
                }
                !is_ours
            });
            if left.len() == before {
                return left.into_iter().map(|dependent| dependent.identity).min();
            }
        }
    }
}

/// The identity of the object, if it would go although it is not of the set; `None` if it is of the set, if it would stay, or
/// if Kubernetes keeps it in every namespace.
///
/// The set's label alone makes no member: people and operators copy labels to objects of their own, also to places where no
/// member ever was. A member has the UID of one that the pass found; without the label, it was disowned meanwhile.
fn foreign(inspection: &Inspection, members: &Members, object: &Value) -> Option<Identity> {
    let object_ref = ObjectRef::of(object);
    let is_of_each_namespace = is_of_each_namespace(&object_ref);
    let identity = Identity::from(object_ref);
    let would_go = match inspection {
        Inspection::Instances(_) => true,
        Inspection::Namespace(of) => identity.namespace.as_ref() == Some(of) && !is_of_each_namespace,
    };
    let is_member = members.are_labelled(object) && members.uids.contains(uid(object));
    let is_foreign = would_go && inspection.covers(&identity.kind) && !is_member;
    is_foreign.then_some(identity)
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
