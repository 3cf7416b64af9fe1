//! Sorts what the lists of a bundle's kinds found: members, wanted or not. Copies that others made are left out.
//!
//! In: the rendered objects, and the live objects with the set's label. Out: [`Gathered`]. Nothing here fails.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::bundle::applyset;
use crate::bundle::identity::Identity;
use crate::bundle::member::{Live, Member, Rendered};
use crate::bundle::setting::{Kinship, Setting};
use crate::object_ref::ObjectRef;
use crate::observation::Version;

/// What a pass begins with.
pub(super) struct Gathered {
    /// The rendered objects, and the members that are no longer rendered.
    pub(super) members: Vec<Member>,
    /// A member that lost one of the marks by which it is found again, in words.
    pub(super) lost: Option<String>,
}

/// Sorts what was found.
pub(super) fn gather(setting: &Setting<'_>, rendered: Vec<Rendered>, found: Vec<Version>) -> Gathered {
    let mut members: Vec<Member> = rendered.into_iter().map(Member::wanted).collect();
    let mut lost = None;
    let mut indexes: HashMap<Identity, usize> = HashMap::new();
    for (index, member) in members.iter().enumerate() {
        indexes.insert(member.identity.clone(), index);
    }
    for version in found {
        let object = ObjectRef::of(version.object());
        let (kind, identity) = (object.kind.clone(), Identity::from(object));
        // The API server dropped the namespace that the manifest of a cluster-scoped object wrote.
        if identity.namespace.is_none() {
            let is_same = |member: &&mut Member| {
                (&member.identity.kind, &member.identity.name) == (&identity.kind, &identity.name)
            };
            if let Some(member) = members.iter_mut().filter(|member| member.wanted.is_some()).find(is_same) {
                member.live = setting.owner_of(version);
                continue;
            }
        }
        match indexes.entry(identity) {
            Entry::Occupied(index) => members[*index.get()].live = setting.owner_of(version),
            Entry::Vacant(index) => match setting.kinship(&version, index.key()) {
                Kinship::Member => {
                    members.push(Member::unwanted(index.key().clone(), kind, Live::Member(version)));
                    index.insert(members.len() - 1);
                }
                Kinship::Lost(mark) => {
                    lost = Some(format!(
                        "{} has lost `{mark}`, by which it is a member; restore it, or remove the label `{}` if the object is to stay",
                        index.key(),
                        applyset::PART_OF
                    ));
                }
                Kinship::Copy => {}
            },
        }
    }
    Gathered { members, lost }
}
