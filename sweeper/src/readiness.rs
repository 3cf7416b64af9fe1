//! Whether this replica can do its work, for the kubelet's probe, so that a rollout does not replace a sweeper that works
//! by one that cannot read.
//!
//! In: what each look at the cluster and the API showed. Out: not ready, with the reason, until a first look could read
//! everything; from then on ready, with a note if passes hold or another installation has the Lease. Fails: never. A
//! replica that does not lead makes no passes, so it looks by itself ([`look`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lifecycle_core::sweep::{Hold, Policy, SweepPlan};
use lifecycle_service::probes::Readiness;

use crate::api::Api;
use crate::canary::check_canaries;
use crate::inventory::{Inventory, KindFilter};
use crate::objects::Objects;

/// What is known about this replica; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Status(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    has_read: bool,
    /// Why no look could read everything so far.
    unread: Option<String>,
    /// Why the last pass of this replica deleted nothing.
    holds: Option<String>,
    /// Which other installation holds the Lease.
    other: Option<String>,
}

impl Status {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a look could read everything.
    #[must_use]
    pub fn has_read(&self) -> bool {
        self.known().has_read
    }

    /// Notes the result of a look.
    pub fn looked(&self, result: Result<(), String>) {
        let mut known = self.known();
        match result {
            Ok(()) => known.has_read = true,
            Err(unread) => known.unread = Some(unread),
        }
    }

    /// Notes what a pass found.
    pub fn passed(&self, plan: &SweepPlan) {
        self.looked(plan.holds().iter().find(|hold| is_unread(hold)).map_or(Ok(()), |hold| Err(hold.to_string())));
        let holds: Vec<_> = plan.holds().iter().map(Hold::to_string).collect();
        self.known().holds = (!holds.is_empty()).then(|| holds.join("; "));
    }

    /// Notes the end of a term: another replica knows better by now.
    pub fn term_ended(&self) {
        self.known().holds = None;
    }

    /// Notes which other installation holds the Lease, if one does.
    pub fn other_installation(&self, other: Option<String>) {
        self.known().other = other;
    }

    /// The answer to the probe. `election` says why the Lease could not be read or written lately.
    #[must_use]
    pub fn readiness(&self, election: Option<String>) -> Readiness {
        let known = self.known();
        let holds = known.holds.as_ref().map(|holds| format!("nothing is deleted: {holds}"));
        let problem = (!known.has_read).then(|| {
            let why = known.unread.clone().or(election);
            why.map_or_else(
                || "the cluster and the API have not been read yet".to_owned(),
                |why| format!("the cluster and the API could not be read yet: {why}"),
            )
        });
        Readiness { problem, note: holds.or_else(|| known.other.clone()), ..Readiness::default() }
    }
}

/// Whether a hold says that something could not be read.
fn is_unread(hold: &Hold) -> bool {
    matches!(hold, Hold::IncompleteInventory { .. } | Hold::NoCanary { .. })
}

/// Looks whether the cluster and the API can be read, as a pass would; decides nothing.
///
/// # Errors
///
/// A pass would be held for this reason.
pub async fn look(objects: &impl Objects, api: &impl Api, filter: &KindFilter, policy: &Policy) -> Result<(), String> {
    if let Some(hold) = check_canaries(api).await.filter(is_unread) {
        return Err(hold.to_string());
    }
    match Inventory::take(objects, filter, policy).await.unread() {
        unread if unread.is_empty() => Ok(()),
        unread => Err(Hold::IncompleteInventory { unread }.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(status: &Status, election: Option<&str>) -> (Option<String>, Option<String>) {
        let Readiness { problem, note, .. } = status.readiness(election.map(str::to_owned));
        (problem, note)
    }

    fn plan(holds: Vec<Hold>) -> SweepPlan {
        SweepPlan::new(Vec::new(), holds)
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn replica_is_not_ready_before_it_could_read() {
        let status = Status::default();
        assert_eq!(body(&status, None).0, text("the cluster and the API have not been read yet"));
        let why = text("the cluster and the API could not be read yet: refused");
        assert_eq!(body(&status, Some("refused")).0, why);
        let unread = Hold::IncompleteInventory { unread: vec!["Job: forbidden".to_owned()] };
        for hold in [unread.clone(), Hold::NoCanary { why: "a proxy answers".to_owned() }] {
            status.passed(&plan(vec![hold.clone()]));
            assert_eq!(
                body(&status, Some("refused")).0,
                text(&format!("the cluster and the API could not be read yet: {hold}"))
            );
        }
        status.passed(&plan(Vec::new()));
        assert_eq!(body(&status, Some("refused")), (None, None));
        status.passed(&plan(vec![unread]));
        assert!(body(&status, None).0.is_none(), "it was able to read before, and its hold is no reason to replace it");
    }

    #[test]
    fn hold_is_said_in_the_body_of_a_ready_replica() {
        let status = Status::default();
        status.passed(&plan(vec![Hold::NoResources]));
        let note = format!("nothing is deleted: {}", Hold::NoResources);
        assert_eq!(body(&status, None), (None, Some(note)));
        status.term_ended();
        assert_eq!(body(&status, None), (None, None));
        status.other_installation(text("another one"));
        assert_eq!(body(&status, None), (None, text("another one")));
    }
}
