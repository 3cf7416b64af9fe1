//! Remembers the objects whose deletion the API server refused, so that each pass need not record them anew.
//!
//! In: the outcome of each attempt. Out: whether to ask the server by a dry run first, before the Event and the audit
//! record that precede a real deletion. Fails: never. Held in memory: a new process records each object once more.

use std::cell::RefCell;
use std::collections::BTreeSet;

use lifecycle_core::sweep::{Candidate, SweepPlan};

use super::Outcome;

/// The objects whose last deletion was refused, by UID.
#[derive(Debug, Default)]
pub struct Refused(RefCell<BTreeSet<String>>);

impl Refused {
    /// Forgets the objects that are not due any more.
    pub(super) fn begin_pass(&self, plan: &SweepPlan) {
        let due: BTreeSet<_> = plan.objects().iter().map(|object| object.uid.as_str()).collect();
        self.0.borrow_mut().retain(|uid| due.contains(uid.as_str()));
    }

    pub(super) fn contains(&self, object: &Candidate) -> bool {
        self.0.borrow().contains(&object.uid)
    }

    pub(super) fn note(&self, object: &Candidate, outcome: &Outcome) {
        let mut refused = self.0.borrow_mut();
        match outcome {
            // A webhook that does not answer looks like a server that fails.
            Outcome::Refused(_) | Outcome::Uncertain(_) => drop(refused.insert(object.uid.clone())),
            Outcome::Deleted | Outcome::Terminating { .. } => drop(refused.remove(&object.uid)),
            // These attempts ended before the server was asked, or because the object changed.
            Outcome::AlreadyGone
            | Outcome::Kept(_)
            | Outcome::Changed
            | Outcome::Unread(_)
            | Outcome::NotLeader(_)
            | Outcome::Withdrawn(_)
            | Outcome::AuditFailed => {}
        }
    }
}
