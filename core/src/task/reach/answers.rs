//! What a gate can answer in the moment in which the table asks it.

use crate::cel::{Expression, Possible, Presence, ResourceReads};
use crate::task::DiscoverBy;
use crate::task::gate_values::Own;

/// What a gate of a resource can answer while the resource has an object, or has none. With `is_lenient`, a missing status
/// counts as "does not hold".
pub(super) fn answers(own: &Own<'_>, is_present: bool, expression: &Expression, is_lenient: bool) -> Possible {
    let presence = match (is_present, &own.resource.discovery.by) {
        (true, _) => Presence::Present,
        (false, DiscoverBy::Name(_)) => Presence::Absent,
        // A selector makes an object of another resource visible, too.
        (false, DiscoverBy::Labels(_)) => Presence::Unknown,
    };
    let possible = own.possible(expression, presence);
    let fails = possible.fails || possible.has_no_value;
    // A gate that reads what could not be read fails, whatever it would say.
    let reads_others = match expression.resource_reads() {
        ResourceReads::Any => true,
        ResourceReads::Only(names) => names.iter().any(|name| *name != own.resource.name),
    };
    Possible { does_not_hold: possible.does_not_hold || is_lenient && fails, fails: fails || reads_others, ..possible }
}
