//! What a gate can answer in the moment in which the table asks it.

use crate::cel::{Expression, Possible, Presence, ResourceReads};
use crate::task::DiscoverBy;
use crate::task::prospects::Own;

/// What is there when a gate is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Absent,
    Live,
    Terminating,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::Live => "something live",
            Self::Terminating => "only what is terminating",
        }
    }
}

/// What a gate of a resource can answer. With `is_lenient`, a missing status counts as "does not hold".
pub(super) fn answers(own: &Own<'_>, state: State, expression: &Expression, is_lenient: bool) -> Possible {
    let presence = match (state, &own.resource.discovery.by) {
        (State::Live | State::Terminating, _) => Presence::Present,
        (State::Absent, DiscoverBy::Name(_)) => Presence::Absent,
        // What a selector finds is visible even if it is another one's.
        (State::Absent, DiscoverBy::Labels(_)) => Presence::Unknown,
    };
    let possible = own.possible(expression, presence);
    // What cannot be read makes a gate fail that reads it, whatever it would say.
    let reads_others = match expression.resource_reads() {
        ResourceReads::Any => true,
        ResourceReads::Only(names) => names.iter().any(|name| *name != own.resource.name),
    };
    Possible {
        does_not_hold: possible.does_not_hold || is_lenient && possible.fails,
        fails: possible.fails || reads_others,
        ..possible
    }
}
