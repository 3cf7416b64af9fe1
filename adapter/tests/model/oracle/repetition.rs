//! Checks whether a repeated event had a reason to write.

use super::view::View;
use super::{is_disowning, written_for};
use crate::journal::{Call, Entry};

/// Whether the second of two identical events had a reason to write for this resource.
///
/// Reasons are: a gate's result differs between the passes, or is uncertain; a patch or recreate gate holds; the resource's
/// owner had a reason; the first pass disowned another object, for which deletions, recreations and prunings wait until the
/// next event.
pub(crate) fn has_reason_to_write(first: (&View<'_>, &[Entry]), second: (&View<'_>, &[Entry]), place: usize) -> bool {
    let resource = &first.0.task.resources[place];
    let single =
        [&resource.when, &resource.create, &resource.apply, &resource.recreate, &resource.orphan, &resource.delete];
    let patches = resource.patches.iter().map(|patch| &patch.when);
    let asked = |(view, calls): (&View<'_>, &[Entry])| {
        let is_its = |(number, entry): (usize, &Entry)| written_for(view, number, &entry.call).contains(&place);
        calls.iter().enumerate().position(is_its).unwrap_or(calls.len())
    };
    let (before, now) = (asked(first), asked(second));
    let differs = single.into_iter().flatten().chain(patches).any(|gate| {
        let (before, now) = (first.0.truths(gate, before), second.0.truths(gate, now));
        before.len() != 1 || before != now
    });
    let always = resource.recreate.iter().chain(resource.patches.iter().map(|patch| &patch.when));
    let waited = first.1.iter().enumerate().any(|(number, entry)| {
        let is_another = |written: &usize| *written != place;
        matches!(&entry.call, Call::Patch(document, _) if is_disowning(document))
            && written_for(first.0, number, &entry.call).iter().any(is_another)
    });
    let follows = resource.owner.is_some_and(|owner| has_reason_to_write(first, second, owner));
    follows || waited || differs || always.into_iter().any(|gate| second.0.may_hold(Some(gate), false, now))
}
