//! Warns of an object that outlives the API resource, in a task whose gates delete others: nothing deletes it, and once the API
//! resource is finalized only the sweeper finds it.

use super::linter::{Linter, resources};
use super::waits_for_nothing::stays;
use lifecycle_core::task::Resource;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let goes = |resource: &Resource| resource.gates.delete.is_some() || resource.gates.orphan.is_some();
    let Some(other) = task.resources.iter().find(|resource| resource.gates.delete.is_some()) else { return };
    for (path, resource) in resources(task).filter(|(_, resource)| !goes(resource) && stays(task, resource, None)) {
        let message = format!(
            "outlives the API resource: `{}` has a delete gate, and nothing deletes `{}`",
            other.name, resource.name
        );
        let help = "give it a delete gate; or an orphan gate if it is to stay".to_owned();
        linter.warn(&linter.either(&path, ["name", "alias"]), message, help);
    }
}
