//! A term of leadership: the time for which a replica may delete.
//!
//! In: nothing. Out: the [`Term`], which the state machine makes and the claim shows. Nothing here fails.

use jiff::Timestamp;
use tokio::time::Instant;

/// A time in which this replica leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    /// The fencing number: `leaseTransitions`.
    pub(super) number: u32,
    /// When the term ends, unless the Lease is renewed before.
    pub(super) until: Instant,
    /// The UID of the Lease that it was claimed with.
    pub(super) uid: String,
    /// When the replica took the Lease.
    pub(super) acquired: Timestamp,
}
