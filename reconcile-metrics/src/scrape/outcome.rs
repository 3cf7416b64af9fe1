//! What a scrape found out, as plain values.

use std::collections::BTreeMap;

use crate::diagnosis::Waits;
use crate::figures::Types;
use crate::store::{Snapshot, Stalled};

/// What one scrape found out.
#[derive(Debug, Clone, Default)]
pub struct Scrape {
    /// The reading of this scrape, if it was good.
    pub snapshot: Option<Snapshot>,
    /// Details, if they are recent.
    pub details: Option<Details>,
    /// How each kind of reading went last.
    pub attempts: BTreeMap<&'static str, Attempt>,
    /// What kinds are called in labels.
    pub types: Types,
}

/// What takes more than a scrape has time for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// Whom stuck resources wait on.
    pub waits: Waits,
    /// Whether there were more stuck resources than were looked into.
    pub truncated: bool,
    /// Deletions that are stalled.
    pub stalled: Vec<Stalled>,
}

/// How readings of one kind went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempt {
    /// Whether the last one was good; none yet if there was none.
    pub success: Option<bool>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// When the last good one began, in seconds since the epoch; 0 for none.
    pub last_success: f64,
    /// How many failed, by reason.
    pub errors: BTreeMap<&'static str, u64>,
}
