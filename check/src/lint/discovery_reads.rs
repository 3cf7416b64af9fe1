//! Warns of discoveries that read an object which is absent when the adapter renders them.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;

use super::gate::is_created;
use super::linter::{Linter, resources};
use lifecycle_core::task::{Resource, Task};
use lifecycle_language::template::Template;

const FROM_PARAMS: &str = "discover by what params say, such as the id of the event's resource";

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, (path, resource)) in resources(task).enumerate() {
        let reads: BTreeSet<&str> = resource.discovery.templates().into_iter().flat_map(certain_reads).collect();
        for read in reads.into_iter().filter(|read| !task.is_shared(read)) {
            if let Some(other) = task.resources.iter().position(|other| shows(other, read)) {
                self::read(linter, &path.key("discovery"), index, read, other);
            }
        }
    }
}

/// Whether `resources.<name>` is the object of a resource, or one inside of it.
fn shows(resource: &Resource, name: &str) -> bool {
    resource.name == name || resource.nested.iter().any(|nested| nested.name == name)
}

/// Warns of a read of the resource at `other` that fails always, until that is created, or once it is deleted.
fn read(linter: &mut Linter<'_>, place: &Path, index: usize, read: &str, other: usize) {
    let task: &Task = linter.task;
    let (resource, other_resource) = (&task.resources[index], &task.resources[other]);
    let (name, other_name) = (&resource.name, &other_resource.name);
    let (message, help) = if other == index {
        let message = format!(
            "reads `resources.{read}`, which is found only after `{name}` is: every event fails with `DiscoveryFailed`, and \
             `{name}` is never created"
        );
        (message, FROM_PARAMS.to_owned())
    } else if other > index && is_created(task, other_resource) {
        let message = format!(
            "reads `resources.{read}`, and `{other_name}` comes later: until there is one, `{name}` fails with \
             `DiscoveryFailed`, and what comes after `{name}` is not created"
        );
        (message, format!("list `{other_name}` before `{name}`, or {FROM_PARAMS}"))
    } else if other_resource.gates.delete.is_some() {
        // The planner deletes no other object while it cannot read an object that it may have to disown.
        let others = match resource.gates.orphan {
            Some(_) => ", and no other object of the task is deleted (`DisownPending`)",
            None => "",
        };
        let message = format!(
            "reads `resources.{read}`, which is absent once `{other_name}` is deleted: from the next event on, `{name}` is unread \
             (`DiscoveryFailed`), so that `Finalized` is not True{others}"
        );
        (message, FROM_PARAMS.to_owned())
    } else {
        return;
    };
    linter.warn(place, message, help);
}

/// The names of the entries of `resources` that a template reads at every rendering. Rendering fails while one of them
/// is absent, so the lint warns of reads that come too early. Empty if a branch such as `if` may skip a read.
fn certain_reads(template: &Template) -> BTreeSet<&str> {
    if template.resource_reads().is_any() || template.has_branch() {
        return BTreeSet::new();
    }
    // `index .resources "job"` is the path `resources`, and no failure without a job.
    let below = template.variables().iter().filter_map(|path| path.strip_prefix("resources."));
    below.filter_map(|below| below.split('.').next()).collect()
}
