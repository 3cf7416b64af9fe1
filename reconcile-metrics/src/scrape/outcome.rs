//! What a scrape found out, as plain values.

use std::collections::BTreeMap;

use crate::diagnosis::Waits;
use crate::figures::Types;
use crate::store::{Layout, Lingering, Missing, Snapshot};

/// What one scrape found out.
#[derive(Debug, Clone, Default)]
pub struct Scrape {
    /// The reading of this scrape, if it was good.
    pub snapshot: Option<Snapshot>,
    /// The schema that was read last.
    pub layout: Option<Layout>,
    /// Transitions to False, by kind as written and whether it was a deletion.
    pub transitions: BTreeMap<(String, bool), u64>,
    /// Missing conditions, if they are known.
    pub missing: Option<Vec<Missing>>,
    /// Details, if they are recent.
    pub details: Option<Details>,
    /// Deletions that go on although nothing is pending, if that is known lately.
    pub lingering: Option<Vec<Lingering>>,
    /// How wrong our record is, if there is one.
    pub drift: Drift,
    /// How each kind of reading went last.
    pub attempts: BTreeMap<&'static str, Attempt>,
    /// Scrapes that another one's reading has answered.
    pub shared: u64,
    /// The configured kinds as written.
    pub known_kinds: Vec<String>,
    /// What kinds are called in labels.
    pub types: Types,
}

/// What takes more than a scrape has time for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// Who is waited on.
    pub waits: Waits,
    /// Whether there were more stuck resources than were looked into.
    pub truncated: bool,
}

/// On how many resources our record and the conditions disagree, as far as that is known lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drift {
    /// About what is pending.
    pub pending: Option<u64>,
    /// About what lacks the condition.
    pub missing: Option<u64>,
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
