//! The scenarios, by name.
//!
//! In: a stage. Out: what was seen. A row ends early with an `End`: the adapter failed it, or the profile cannot play it.

mod calls;
mod faults;
mod kept;
mod wire;

use crate::stage::Stage;

/// A scenario.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What it plays.
    pub what: &'static str,
    pub(crate) play: fn(&Stage<'_>) -> Result<String, End>,
}

/// Why a row ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    NotPlayed(String),
}

impl End {
    pub(crate) fn failed(text: &str) -> Self {
        Self::Failed(text.to_owned())
    }
}

/// Fails with a text unless a condition holds.
fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), End> {
    if holds { Ok(()) } else { Err(End::Failed(otherwise())) }
}

const fn row(name: &'static str, what: &'static str, play: fn(&Stage<'_>) -> Result<String, End>) -> Row {
    Row { name, what, play }
}

/// All rows, in order.
pub const ROWS: [Row; 28] = [
    row("P1", "get_provider_info has a name, a version, and a schema that refuses unknown keys", wire::info),
    row("P2", "validate_config judges a good, a mistaken and an unreadable configuration", wire::validate),
    row("P3", "plan lists changes and a summary", calls::plan),
    row("P4", "apply returns a state and events in order", calls::apply),
    row("P5", "apply that fails is an error", faults::fails),
    row("P6", "destroy, status and import answer", calls::others),
    row("P7", "unknown methods are not found, and logins without the capability", wire::unknown),
    row("P8", "garbage is a parse error, and the next line is served", wire::garbage),
    row("P9", "missing and wrong params are refused, null is the empty request", wire::params),
    row("P10", "requests in one write are answered in order, with their ids", wire::ids),
    row("P11", "blank lines are skipped, a last line needs no line feed, the end of input ends it", wire::ends),
    row("P12", "a request of 12 MiB is served, and no answer is over 10 MiB", calls::large),
    row("P13", "empty members are omitted", calls::omitted),
    row("P14", "unknown members are ignored, and nothing is written unasked", wire::unasked),
    row("P15", "without a state, nothing is deployed", calls::nothing),
    row("P16", "a state that is no JSON is an error", calls::broken_state),
    row("P17", "plan after apply has no CREATE and no DELETE", calls::settled),
    row("P18", "what leaves the pack is deleted, and kept in the state while that fails", faults::dropped),
    row("P19", "a dry run writes nothing, and keeps what is real", kept::dry_run),
    row("P20", "one resource that fails keeps no other from being tried, and the state has all", faults::one_fails),
    row("P21", "destroy deletes what it can, fails with the rest, and ends it the second time", faults::destroy),
    row("P22", "status is degraded if a resource cannot be read", faults::unreadable),
    row("P23", "plan recreates what is gone, and keeps what is unhealthy or cannot be read", faults::drift),
    row("P24", "apply after a failure whose state was lost makes no duplicates", faults::lost_state),
    row("P25", "a state works in another process, and is ignored in another scope", kept::scope),
    row("P26", "lifecycle.stream writes each event before the answer", kept::stream),
    row("P27", "kill -9 after any write leaves nothing that apply and destroy do not find", kept::killed),
    row("P28", "SIGTERM ends a waiting apply within 4 s, with its state", kept::terminated),
];
