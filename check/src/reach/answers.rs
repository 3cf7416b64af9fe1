//! The results that a gate can have when the decision table asks for it.

use crate::gate_values::Own;
use lifecycle_core::task::DiscoverBy;
use lifecycle_language::cel::{Expression, Possible, Presence};
use lifecycle_language::resource_reads::ResourceReads;

/// The results that a gate can have while the resource has an object, or has none. With `is_lenient`, a missing
/// status counts as "does not hold".
pub(super) fn answers(own: &Own<'_>, is_present: bool, expression: &Expression, is_lenient: bool) -> Possible {
    let presence = match (is_present, &own.resource.discovery.by) {
        (true, _) => Presence::Present,
        (false, DiscoverBy::Name(_)) => Presence::Absent,
        // `resources.<name>` then shows an object that the selector finds and the resource does not own.
        (false, DiscoverBy::Labels(_)) => Presence::Unknown,
    };
    let possible = own.possible(expression, presence);
    let fails = possible.fails || possible.has_no_value;
    // A gate fails if it reads a resource that is unread on this event, and any other resource can be unread.
    let reads_others = match expression.resource_reads() {
        ResourceReads::Any => true,
        ResourceReads::Only(names) => names.iter().any(|name| *name != own.resource.name),
    };
    Possible { does_not_hold: possible.does_not_hold || is_lenient && fails, fails: fails || reads_others, ..possible }
}
