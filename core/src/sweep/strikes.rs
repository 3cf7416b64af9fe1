//! What one pass remembers for the next: since when each object's owner is known to be gone, and what spoke against
//! the API's memory.
//!
//! In: the objects whose owner the API said not to exist, and the reasons to hold, pass by pass. Out: for each object, the
//! time of the first such pass; and the reasons that still count. Fails: never. The strikes are held in memory only, so
//! that each term begins them anew. Doubts outlast a term: its leader hands them to the next one as text ([`Doubt`]).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Candidate, Doubt, Hold, OwnerAnswer, Release, SweepPlan};

/// The strikes against objects, by UID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strikes {
    by_uid: BTreeMap<String, Strike>,
    /// The reasons to distrust the API's memory that no person has ended.
    doubts: Vec<Doubt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Strike {
    /// The API resource that was gone. An object that was labelled anew names another one, and begins anew.
    resource_id: String,
    since: Timestamp,
}

impl Strikes {
    /// Takes over the doubts of earlier terms.
    pub fn restore_doubts(&mut self, doubts: Vec<Doubt>) {
        self.doubts = doubts;
    }

    /// The doubts that count in the next pass.
    #[must_use]
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// Takes over a strike that another process found at `since`.
    pub fn restore(&mut self, uid: String, resource_id: String, since: Timestamp) {
        self.by_uid.insert(uid, Strike { resource_id, since });
    }

    /// Notes that the API said before `now` that the candidate's owner does not exist. Returns since when it is gone.
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
    /// An object that a complete inventory does not have is gone.
    pub(super) fn end_pass(
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
    }

    /// Returns the reasons of this pass, and those doubts of earlier passes that still count.
    ///
    /// A doubt does not end by itself: while a lost database is restored, its strikes grow old, and what is restored last
    /// falls below the limits. It ends when no orphan is left in a pass that was certain and swept the same as the pass in
    /// which the doubt arose; or when a person approved a plan ([`end_doubts`](Self::end_doubts)).
    pub(super) fn hold(&mut self, found: Vec<Hold>, is_certain: bool, sweeps: &str) -> Vec<Hold> {
        if is_certain && self.by_uid.is_empty() {
            self.doubts.retain(|doubt| !doubt.is_about(sweeps));
        }
        let is_found = |doubt: &Doubt| doubt.is_about(sweeps) && found.iter().any(|hold| hold.label() == doubt.label());
        let earlier: Vec<_> = self.doubts.drain(..).filter(|doubt| !is_found(doubt)).collect();
        let new = found.iter().filter_map(|hold| Doubt::of(hold, sweeps));
        self.doubts = new.chain(earlier.iter().cloned()).collect();
        let mut holds = found;
        holds.extend(earlier.into_iter().map(Hold::Earlier));
        holds
    }

    /// Ends the doubts if a person approved this plan despite them. What the plan does not name begins anew; the doubts
    /// that arose in the same pass still count for it, as the person cannot have seen it.
    pub fn end_doubts(&mut self, plan: &SweepPlan, release: Release) {
        if release != Release::Approved {
            return;
        }
        let planned: BTreeSet<_> = plan.objects().iter().map(|candidate| &candidate.uid).collect();
        let before = self.by_uid.len();
        self.by_uid.retain(|uid, _| planned.contains(uid));
        let arose = |doubt: &Doubt| plan.holds().iter().any(|hold| doubt.is_of(hold));
        self.doubts.retain(|doubt| self.by_uid.len() < before && arose(doubt));
    }

    /// Lets every grace begin anew.
    pub(super) fn begin_anew(&mut self, now: Timestamp) {
        self.by_uid.values_mut().for_each(|strike| strike.since = now);
    }

    /// The API resources of the objects with a strike.
    pub(super) fn resources(&self) -> BTreeSet<&str> {
        self.by_uid.values().map(|strike| strike.resource_id.as_str()).collect()
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
