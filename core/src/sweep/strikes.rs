//! What one pass remembers for the next: since when each object's owner is known to be gone, and what spoke against
//! the API's memory.
//!
//! In: the objects whose owner the API said not to exist, pass by pass. Out: for each, the time of the first
//! such pass. Fails: never. The strikes are held in memory only, so after a restart they begin anew.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::census::Newer;
use super::{Candidate, OwnerAnswer};

/// The strikes against objects, by UID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strikes {
    by_uid: BTreeMap<String, Strike>,
    /// By API resource, the evidence of [`newer`](Self::newer).
    newer: BTreeMap<String, Newer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Strike {
    /// The API resource that was gone. An object that was labelled anew names another one, and begins anew.
    resource_id: String,
    since: Timestamp,
}

impl Strikes {
    /// Takes over a strike that another process found at `since`.
    pub fn restore(&mut self, uid: String, resource_id: String, since: Timestamp) {
        self.by_uid.insert(uid, Strike { resource_id, since });
    }

    /// Notes that the API said in this pass that the candidate's owner does not exist. Returns since when.
    pub(super) fn strike(&mut self, candidate: &Candidate, now: Timestamp) -> Timestamp {
        self.drop_of_former_owner(candidate);
        let first = || Strike { resource_id: candidate.resource_id.clone(), since: now };
        self.by_uid.entry(candidate.uid.clone()).or_insert_with(first).since
    }

    /// Drops the candidate's strike if it was found while the labels named another API resource.
    pub(super) fn drop_of_former_owner(&mut self, candidate: &Candidate) {
        if self.by_uid.get(&candidate.uid).is_some_and(|strike| strike.resource_id != candidate.resource_id) {
            self.drop_of(candidate);
        }
    }

    /// Drops the strike of a candidate that something else claims; another one begins when nothing does any more.
    pub(super) fn drop_of(&mut self, candidate: &Candidate) {
        self.by_uid.remove(&candidate.uid);
    }

    /// Drops the strikes that this pass disproved. `answer` is what the API said about a resource, `None` if no object
    /// names it; `judged` has the UID of every object that was judged.
    ///
    /// A resource that exists drops the strikes against its objects. An unknown answer keeps them, as it proves nothing.
    /// An object that a complete inventory does not have is gone. [`newer`](Self::newer) forgets what this pass disproved.
    pub fn end_pass(
        &mut self,
        answer: impl Fn(&str) -> Option<OwnerAnswer>,
        judged: &BTreeSet<String>,
        is_complete: bool,
    ) {
        self.by_uid.retain(|uid, strike| match answer(&strike.resource_id) {
            Some(OwnerAnswer::Exists(_)) => false,
            Some(OwnerAnswer::Unknown) => true,
            Some(OwnerAnswer::Gone) => judged.contains(uid) || !is_complete,
            None => !is_complete,
        });
        self.newer.retain(|id, _| match answer(id) {
            Some(OwnerAnswer::Exists(_)) => false,
            Some(OwnerAnswer::Unknown | OwnerAnswer::Gone) => true,
            None => !is_complete,
        });
    }

    /// Adds this pass's [`Census::newer_than_owner`](super::Census::newer_than_owner) to the evidence of earlier passes
    /// that still stands, and returns all of it. Call it after [`end_pass`](Self::end_pass).
    ///
    /// An API that went back in time did so for good: evidence must not lapse in the pass in which the one resource
    /// that shows it does not answer.
    #[must_use]
    pub fn newer(&mut self, found: Vec<Newer>) -> Vec<Newer> {
        self.newer.extend(found.into_iter().map(|newer| (newer.resource_id.clone(), newer)));
        self.newer.values().cloned().collect()
    }

    /// Since when the owner of this object is known to be gone; `None` without a strike.
    #[must_use]
    pub fn since(&self, candidate: &Candidate) -> Option<Timestamp> {
        let strike = self.by_uid.get(&candidate.uid)?;
        (strike.resource_id == candidate.resource_id).then_some(strike.since)
    }

    /// How many objects have a strike: the orphans, as far as known.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.by_uid.len() as u64
    }

    /// The time of the oldest strike.
    #[must_use]
    pub fn oldest(&self) -> Option<Timestamp> {
        self.by_uid.values().map(|strike| strike.since).min()
    }
}
