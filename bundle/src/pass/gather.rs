//! Sorts what the lists of a bundle's kinds found: members, wanted or not. Copies that others made are left out.
//!
//! In: what the bundle is to become, the rendered objects, and the live objects with the set's label. Out: [`Gathered`]. Nothing
//! here fails.

use std::collections::HashMap;

use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;

use crate::marks::{Kinship, Marks};
use crate::member::{Live, Member, Rendered};
use crate::table::Intent;

/// What a pass begins with.
pub(super) struct Gathered {
    /// The rendered objects, and the members that are no longer rendered.
    pub(super) members: Vec<Member>,
    /// A member that lost one of the marks by which it is found again, in words; none if all are disowned, which takes nothing away.
    pub(super) lost: Option<String>,
}

/// Sorts what was found.
pub(super) fn gather(marks: &dyn Marks, intent: Intent, rendered: Vec<Rendered>, found: Vec<Version>) -> Gathered {
    let mut unmatched: HashMap<Identity, (usize, GroupVersionKind, Version)> = HashMap::with_capacity(found.len());
    for (place, version) in found.into_iter().enumerate() {
        let object = ObjectRef::of(version.object());
        let kind = object.kind.clone();
        unmatched.insert(Identity::from(object), (place, kind, version));
    }
    let mut members: Vec<Member> = rendered.into_iter().map(Member::wanted).collect();
    for member in &mut members {
        // The API server drops the namespace that the manifest of a cluster-scoped object may write.
        let unplaced = || Identity { namespace: None, ..member.identity.clone() };
        if let Some((_, _, version)) = unmatched.remove(&member.identity).or_else(|| unmatched.remove(&unplaced())) {
            member.live = Live::of(version, marks, None);
        }
    }
    let mut unmatched: Vec<_> = unmatched.into_iter().collect();
    unmatched.sort_by_key(|(_, (place, ..))| *place);
    let mut lost = None;
    for (identity, (_, kind, version)) in unmatched {
        match marks.kinship(&version, &identity) {
            Kinship::Lost(mark) if intent != Intent::Disown => {
                lost = Some(format!(
                    "{identity} has lost `{mark}`, by which it is a member; restore it, or remove the label `{}` if the object is \
                     to stay",
                    marks.selector().keys().next().map_or("", String::as_str)
                ));
            }
            // What is disowned must not keep the marks that it has left: the sweeper would take it for the adapter's.
            Kinship::Member | Kinship::Lost(_) => {
                members.push(Member::unwanted(identity, kind, Live::Member(version)));
            }
            Kinship::Copy => {}
        }
    }
    Gathered { members, lost }
}
