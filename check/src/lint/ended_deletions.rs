//! Warns of preconditions that keep every deletion from being done: they are not met while the API resource is being deleted.

use super::linter::{Linter, entry};
use crate::api_resource::{Facts, State};
use lifecycle_core::task::{Check, Resource};
use lifecycle_language::cel::Presence;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let goes = |resource: &&Resource| resource.gates.delete.is_some() || resource.gates.orphan.is_some();
    let Some(resource) = task.resources.iter().find(goes) else { return };
    let Some(deleting) = Facts::of(task, State::Deleting) else { return };
    for (index, precondition) in task.preconditions.iter().enumerate() {
        let (key, is_met): (_, &dyn Fn(&Facts<'_>) -> bool) = match &precondition.check {
            Check::CallSucceeds => continue,
            Check::Conditions(all) => {
                ("conditions", &|facts| all.iter().all(|condition| facts.meets(condition) != Some(false)))
            }
            Check::Expression(expression) => {
                ("expression", &|facts| facts.possible(expression, &|_| Presence::Unknown).can_hold())
            }
        };
        let living = Facts::of(task, State::Living);
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
        linter.warn(&entry(&["preconditions"], index).key(key), message, help);
    }
}
