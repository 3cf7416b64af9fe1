//! Warns of preconditions that keep every deletion from being done: they are not met while the API resource is being deleted.

use super::{Linter, entry};
use crate::api_resource::{Facts, State};
use lifecycle_core::task::{Check, Resource};
use lifecycle_language::cel::Presence;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let goes = |resource: &&Resource| resource.gates.delete.is_some() || resource.gates.orphan.is_some();
    let Some(resource) = task.resources.iter().find(goes) else { return };
    let Some(deleting) = Facts::of(task, State::Deleting) else { return };
    for (index, precondition) in task.preconditions.iter().enumerate() {
        let Check::Expression(expression) = &precondition.check else { continue };
        let living = Facts::of(task, State::Living);
        let is_met = |facts: &Facts<'_>| facts.possible(expression, &|_| Presence::Unknown).can_hold();
        // A precondition that is never met has a warning already.
        if is_met(&deleting) || !living.is_some_and(|living| is_met(&living)) {
            continue;
        }
        let name = &resource.name;
        let message = format!(
            "is not met while the API resource is being deleted: `{name}` is neither deleted nor disowned, and the deletion never ends"
        );
        let help = format!(
            "let it be met then, and hold `{name}` back by its own `when`; `discover: always` reads the objects, and deletes none either"
        );
        linter.warn(&entry(&["preconditions"], index).key("expression"), message, help);
    }
}
