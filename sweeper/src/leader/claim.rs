//! What the election tells the rest of the program: whether this replica leads, and since when.
//!
//! In: the term of the election's loop. Out: [`Claim`]s, of which whoever deletes asks a [`Permit`] before each call.
//! Fails: [`TermOver`]. One idea with [`machine`](super::machine), which ends terms for the reasons that are named here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use lifecycle_objects::object_ref::ObjectRef;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::term::Term;

/// Why a term ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// No renewal succeeded in time.
    Deadline,
    /// The Lease names another holder, or another term.
    TakenOver {
        /// The holder that the Lease names; empty if none.
        holder: String,
    },
    /// The Lease was deleted, or deleted and created again.
    Deleted,
    /// The program stops.
    Stopped,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline => f.write_str("no renewal of the Lease succeeded in time"),
            Self::TakenOver { holder } => write!(f, "the Lease was changed, its holder is now {holder:?}"),
            Self::Deleted => f.write_str("the Lease was deleted"),
            Self::Stopped => f.write_str("the program stops"),
        }
    }
}

/// The term of a claim has ended, so nothing may be deleted under it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("term {term} is over: {end}")]
pub struct TermOver {
    /// The number of the term.
    pub term: u32,
    /// Why the term ended.
    pub end: End,
}

/// The Lease as this replica last read or wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The kind, namespace and name of the Lease.
    pub object: ObjectRef,
    /// The annotations of the Lease.
    pub annotations: BTreeMap<String, String>,
    /// The replica that holds the Lease, if it is another one.
    pub other_holder: Option<String>,
}

/// What the loop publishes.
#[derive(Default)]
pub(super) struct State {
    pub(super) open: Option<Open>,
    pub(super) lease: Option<Lease>,
    /// Why the last request got no answer about the Lease, if it got none.
    pub(super) trouble: Option<String>,
}

/// The term that this replica claims.
#[derive(Clone)]
pub(super) struct Open {
    pub(super) term: u32,
    pub(super) began: Instant,
    pub(super) until: Instant,
    /// Set when the loop ends the term.
    pub(super) end: Arc<OnceLock<End>>,
    pub(super) over: CancellationToken,
    pub(super) permits: TaskTracker,
}

impl Open {
    pub(super) fn new(term: &Term, permits: TaskTracker) -> Self {
        let &Term { number, until, .. } = term;
        let began = Instant::now();
        Self { term: number, began, until, end: Arc::default(), over: CancellationToken::new(), permits }
    }
}

/// The election, seen from the rest of the program.
#[derive(Clone)]
pub struct Leadership(pub(super) watch::Receiver<State>);

impl Leadership {
    /// Waits until this replica leads, and returns the claim of the term; the same claim while the term lasts. Returns
    /// `None` once the election has ended.
    pub async fn claim(&self) -> Option<Claim> {
        let mut states = self.0.clone();
        let open = states.wait_for(|state| state.open.is_some()).await.ok()?.open.clone()?;
        Some(Claim { open, states: self.0.clone() })
    }

    /// Waits until another replica holds the Lease, and returns that Lease. Returns `None` once the election has ended.
    pub async fn other_holder(&self) -> Option<Lease> {
        let is_other = |state: &State| state.lease.as_ref().is_some_and(|lease| lease.other_holder.is_some());
        let mut states = self.0.clone();
        states.wait_for(is_other).await.ok()?.lease.clone()
    }

    /// The term in which this replica leads, if it does.
    #[must_use]
    pub fn term(&self) -> Option<u32> {
        self.0.borrow().open.as_ref().map(|open| open.term)
    }

    /// Why the last request about the Lease failed; none if it succeeded.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.0.borrow().trouble.clone()
    }

    /// The Lease as last seen; none before the first answer, and while the Lease does not exist.
    #[must_use]
    pub fn lease(&self) -> Option<Lease> {
        self.0.borrow().lease.clone()
    }
}

/// One term of this replica.
///
/// A later term of the same replica has a claim of its own, so that nothing that was begun in one term is ended in
/// another.
#[derive(Clone)]
pub struct Claim {
    open: Open,
    states: watch::Receiver<State>,
}

#[cfg(test)]
impl Leadership {
    /// An election in which this replica leads, or the other one.
    pub(crate) fn of(led: Result<Claim, Lease>) -> Self {
        let (open, lease) = led.map_or_else(|lease| (None, Some(lease)), |claim| (Some(claim.open), None));
        Self(watch::channel(State { open, lease, trouble: None }).1)
    }
}

#[cfg(test)]
impl Claim {
    /// A claim of a term that lasts for an hour.
    pub(crate) fn of(term: u32) -> Self {
        let began = Instant::now();
        let until = began + std::time::Duration::from_secs(3600);
        let (end, over, permits) = (Arc::default(), CancellationToken::new(), TaskTracker::new());
        let open = Open { term, began, until, end, over, permits };
        let state = State { open: Some(open.clone()), ..State::default() };
        Self { open, states: watch::channel(state).1 }
    }
}

impl Claim {
    /// The fencing number, which rises from term to term: `leaseTransitions` of the Lease.
    #[must_use]
    pub fn term(&self) -> u32 {
        self.open.term
    }

    /// Cancelled when the term ends.
    #[must_use]
    pub fn over(&self) -> &CancellationToken {
        &self.open.over
    }

    /// Permits one call, if this replica leads now. Keep the permit until the call has ended.
    ///
    /// # Errors
    ///
    /// The term is over, and stays so.
    pub fn permit(&self) -> Result<Permit, TermOver> {
        // The loop cannot end the term while this borrow lasts, so it waits for every permit that was given.
        let state = self.states.borrow();
        let term = self.open.term;
        match &state.open {
            Some(open) if open.term == term && Instant::now() < open.until => Ok(Permit(open.permits.token())),
            Some(_) | None => Err(TermOver { term, end: self.open.end.get().cloned().unwrap_or(End::Deadline) }),
        }
    }
}

/// Permission for one call. While it exists, the Lease is not given back.
#[must_use = "the call must end before the permit is dropped"]
#[derive(Debug)]
pub struct Permit(#[expect(dead_code, reason = "the permit is held, and not read")] TaskTrackerToken);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn over(claim: &Claim) -> Option<(u32, End)> {
        claim.permit().err().map(|over| (over.term, over.end))
    }

    #[tokio::test(start_paused = true)]
    async fn permit_ends_with_the_deadline_even_if_the_loop_is_late() {
        let claim = Claim::of(7);
        assert_eq!(over(&claim), None);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(over(&claim), Some((7, End::Deadline)));
        assert!(!claim.over().is_cancelled(), "the loop has not ended the term");
    }

    #[tokio::test(start_paused = true)]
    async fn claim_gets_no_permit_in_a_later_term() {
        let former = Claim { states: Claim::of(8).states, ..Claim::of(7) };
        assert_eq!(over(&former), Some((7, End::Deadline)));
    }
}
