//! The result of a scrape, as plain values.

use std::collections::BTreeMap;

use crate::diagnosis::Waits;
use crate::figures::Types;
use crate::store::{Snapshot, Stalled};

/// The result of one scrape.
#[derive(Debug, Clone, Default)]
pub struct Scrape {
    /// The reading of this scrape, unless it failed.
    pub snapshot: Option<Snapshot>,
    /// Details, if they are recent.
    pub details: Option<Details>,
    /// The results of readings, by collector.
    pub attempts: BTreeMap<&'static str, Attempt>,
    /// The mapping from kinds to values of the label `resource_type`.
    pub types: Types,
}

/// The result of a background reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// How many stuck resources wait on each adapter.
    pub waits: Waits,
    /// Whether more resources are stuck than were read.
    pub truncated: bool,
    /// The number of stalled deletions by kind.
    pub stalled: Vec<Stalled>,
}

/// The results of one collector's readings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempt {
    /// Whether the last reading succeeded; `None` before the first.
    pub success: Option<bool>,
    /// The duration of the last reading, in seconds.
    pub seconds: f64,
    /// When the last successful reading began, in seconds since the epoch; 0 if none succeeded.
    pub last_success: f64,
    /// The number of failed readings by reason.
    pub errors: BTreeMap<&'static str, u64>,
}
