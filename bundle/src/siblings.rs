//! The other entries of the task, as a bundle has to know them: an object that moves from one entry to another is handed over, and
//! neither deleted nor refused.
//!
//! In: what each of them renders, as far as the caller could find out. Out: who wants an object that this bundle renders no longer
//! ([`Claim`]), and which of them renders a live object no longer. Nothing here fails: what is unknown keeps an object where it is.

use std::collections::HashSet;

use lifecycle_objects::identity::Identity;

/// Another entry of the task, for the same API resource.
#[derive(Debug)]
pub struct Sibling {
    /// The entry's name.
    pub entry: String,
    /// Whether it is a bundle. Only a bundle gives objects away: an entry may have former versions of its object.
    pub is_bundle: bool,
    /// The objects that it renders, none of them if it is to be deleted; or why that is unknown.
    pub wants: Result<HashSet<Identity>, String>,
}

/// Why an object stays although the bundle renders it no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// This entry renders it.
    By(String),
    /// Nobody knows whether another entry renders it, for this reason.
    Unknown(String),
}

/// The other entries of the task.
#[derive(Debug, Default)]
pub struct Siblings(Vec<Sibling>);

impl Siblings {
    /// Who wants an object that the bundle has no use for: an entry that renders it, before one of which nothing is known.
    pub(super) fn claim(&self, identity: &Identity) -> Option<Claim> {
        let wants = |sibling: &&Sibling| sibling.wants.as_ref().is_ok_and(|wanted| wanted.contains(identity));
        let unknown = || self.0.iter().find_map(|sibling| sibling.wants.as_ref().err());
        let by = self.0.iter().find(wants).map(|sibling| Claim::By(sibling.entry.clone()));
        by.or_else(|| Some(Claim::Unknown(unknown()?.clone())))
    }

    /// Whether the bundle of this name renders an object no longer, or why that is unknown; none if there is no such bundle.
    pub(super) fn has_given_up(&self, entry: &str, identity: &Identity) -> Option<Result<bool, &str>> {
        let sibling = self.0.iter().find(|sibling| sibling.is_bundle && sibling.entry == entry)?;
        Some(sibling.wants.as_ref().map(|wanted| !wanted.contains(identity)).map_err(String::as_str))
    }
}

impl FromIterator<Sibling> for Siblings {
    fn from_iter<I: IntoIterator<Item = Sibling>>(siblings: I) -> Self {
        Self(siblings.into_iter().collect())
    }
}
