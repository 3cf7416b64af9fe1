//! The guard before a deletion: whether something goes with it that is not of the set.
//!
//! In: an [`Inspection`], and the set that is to go. Out: the first object of others. Fails: if a group or a kind
//! that could hold such an object cannot be read, because an unread object may exist.
//!
//! The guard sees what exists at the time of its lists. An object that somebody creates after its list, or a kind that
//! somebody installs after the discovery, goes unseen. So do objects of a custom kind that the server serves in no version.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use lifecycle_core::bundle::applyset::PART_OF;
use lifecycle_core::bundle::session::{Inspection, Members};
use lifecycle_core::sweep::contents::is_of_each_namespace;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Described as _;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::{Error, ErrorKind};
use crate::form::Form;
use crate::kinds::UnreadGroup;
use crate::selector::Selector;
use crate::served_kind::ServedKind;

/// How many lists of one inspection are read concurrently. An inspection of a namespace lists some 60 kinds: 16 at a time
/// hide the round trips, and leave the API server's fair queuing room for others.
const AT_ONCE: usize = 16;

/// Objects per page. One object of others is enough, and members come in the same lists.
const PAGE_SIZE: u32 = 250;

/// The group whose objects are measurements of others, and whose server is often away.
const METRICS: &str = "metrics.k8s.io";

/// The kinds whose objects are no content of a namespace: Kubernetes derives them from other objects, or they are locks.
const DERIVED: [(&str, &str); 5] = [
    ("", "Endpoints"),
    ("", "Event"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("events.k8s.io", "Event"),
];

/// The identity of the object, if it would go although it is not of the set; `None` if it is of the set, if it would stay, or
/// if Kubernetes keeps it in every namespace.
///
/// The set's label alone makes no member: people and operators copy labels to objects of their own, also to places where no
/// member ever was. A member has the UID of one that the pass found; without the label, it was disowned meanwhile.
#[must_use]
pub fn foreign(inspection: &Inspection, members: &Members, object: &Value) -> Option<Identity> {
    let object_ref = ObjectRef::of(object);
    let is_of_each_namespace = is_of_each_namespace(&object_ref);
    let identity = Identity::from(object_ref);
    let would_go = match inspection {
        Inspection::Instances(_) => true,
        Inspection::Namespace(of) => identity.namespace.as_ref() == Some(of) && !is_of_each_namespace,
    };
    let is_member = object.label(PART_OF) == Some(&*members.set) && members.uids.contains(uid(object));
    let is_foreign = would_go && covers(inspection, &identity.kind) && !is_member;
    is_foreign.then_some(identity)
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

/// Objects that others control, until it is known whose these others are.
#[derive(Debug, Default)]
pub struct Dependents(Vec<Dependent>);

#[derive(Debug)]
struct Dependent {
    uid: String,
    controller: String,
    identity: Identity,
}

impl Dependents {
    /// Takes an object. Returns its identity if it is somebody else's; an object with a controller may be a member's dependent.
    pub fn take(&mut self, inspection: &Inspection, members: &Members, object: &Value) -> Option<Identity> {
        let identity = foreign(inspection, members, object)?;
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let controller = owners.into_iter().flatten().find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
        let controller = controller.map(|owner| owner.get("uid").and_then(Value::as_str).unwrap_or_default());
        let Some(controller) = controller.map(str::to_owned) else { return Some(identity) };
        self.0.push(Dependent { uid: uid(object).to_owned(), controller, identity });
        None
    }

    /// Adds those that another list found.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The first object whose controllers lead to no member. What a member controls, at any number of removes, goes with it in
    /// any case.
    #[must_use]
    pub fn foreign(self, members: &Members) -> Option<Identity> {
        let (mut kept, mut left) = (members.uids.clone(), self.0);
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
                return left.into_iter().next().map(|dependent| dependent.identity);
            }
        }
    }
}

/// The inspection in words, such as `inspect namespace team`.
#[must_use]
pub fn call(inspection: &Inspection) -> String {
    match inspection {
        Inspection::Instances(types) => format!("inspect the instances of {types}"),
        Inspection::Namespace(name) => format!("inspect namespace {name}"),
    }
}

/// Whether objects of a kind would go with what is to be deleted.
fn covers(inspection: &Inspection, kind: &GroupKind) -> bool {
    match inspection {
        Inspection::Instances(types) => types.matches(kind),
        Inspection::Namespace(_) => {
            kind.group != METRICS && !DERIVED.iter().any(|(group, name)| *kind == GroupKind::new(group, name))
        }
    }
}

/// Whether a group could have a kind that the inspection covers.
fn could_cover(inspection: &Inspection, group: &str) -> bool {
    match inspection {
        Inspection::Instances(types) => types.covers_group(group),
        Inspection::Namespace(_) => group != METRICS,
    }
}

/// The only group that the inspection covers; `None` if it covers several.
fn only_group(inspection: &Inspection) -> Option<&str> {
    match inspection {
        Inspection::Instances(types) => types.only_group(),
        Inspection::Namespace(_) => None,
    }
}

fn failed(inspection: &Inspection, error: Error, cure: &str) -> Error {
    Error { call: call(inspection), message: format!("{error}{cure}"), ..error }
}

impl Cluster {
    /// Looks for an object that would go with what is to be deleted, and that is not of the set; returns the first one.
    ///
    /// Discovers the kinds, and lists the metadata of those that matter.
    ///
    /// # Errors
    ///
    /// It is unknown whether there is such an object: a group, or a list, could not be read.
    pub async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, Error> {
        let discovery = match only_group(inspection) {
            Some(group) => self.discover_group(group).await,
            None => self.discover().await,
        };
        let discovery = discovery.map_err(|error| failed(inspection, error, ""))?;
        let could_hide = |unread: &&UnreadGroup| could_cover(inspection, &unread.group);
        if let Some(unread) = discovery.unread.iter().find(could_hide) {
            return Err(failed(inspection, unread.error.clone(), unread.cure()));
        }
        let is_covered = |served: &&ServedKind| {
            let is_placed = served.namespaced || matches!(inspection, Inspection::Instances(_));
            let kind = GroupKind::new(&served.kind.group, &served.kind.kind);
            is_placed && served.has_verbs(&["list"]) && covers(inspection, &kind)
        };
        // Collected, because the compiler cannot prove that a future with the closure in it is `Send`. None starts yet.
        let covered = discovery.kinds.iter().filter(is_covered);
        let lists: Vec<_> = covered.map(|served| self.look_through(served, inspection, members)).collect();
        let mut lists = stream::iter(lists).buffered(AT_ONCE);
        let mut dependents = Dependents::default();
        while let Some(found) = lists.try_next().await? {
            match found {
                Ok(found) => dependents.extend(found),
                Err(foreign) => return Ok(Some(foreign)),
            }
        }
        Ok(dependents.foreign(members))
    }

    async fn look_through(
        &self,
        served: &ServedKind,
        inspection: &Inspection,
        members: &Members,
    ) -> Result<Result<Dependents, Identity>, Error> {
        self.list_foreign(served, inspection, members).await.map_err(|error| {
            let is_forbidden = error.kind == ErrorKind::Forbidden;
            let cure = format!("; allow to list {} of API group `{}`", served.plural, served.kind.group);
            failed(inspection, error, if is_forbidden { &cure } else { "" })
        })
    }

    /// The objects of a kind that others control; or the first one of somebody else.
    async fn list_foreign(
        &self,
        served: &ServedKind,
        inspection: &Inspection,
        members: &Members,
    ) -> Result<Result<Dependents, Identity>, Error> {
        let namespace = match inspection {
            Inspection::Instances(_) => None,
            Inspection::Namespace(name) => Some(name.as_str()),
        };
        let mut dependents = Dependents::default();
        let mut pages =
            self.list(&served.kind, namespace, Selector::Everything, Form::MetadataOnly)?.with_page_size(PAGE_SIZE);
        loop {
            match pages.next().await {
                Ok(Some(page)) => {
                    if let Some(found) = page.iter().find_map(|object| dependents.take(inspection, members, object)) {
                        return Ok(Err(found));
                    }
                }
                Ok(None) => return Ok(Ok(dependents)),
                // The kind has no objects if it vanished since the discovery, and not if only its version did.
                Err(error) if error.kind == ErrorKind::NotFound => {
                    return self.served_version(&served.kind).await?.map_or(Ok(Ok(dependents)), |_| Err(error));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
