//! Warns of comparisons of live quantities with a spelling that an API server never stores, such as `2048Mi`, which it stores as
//! `2Gi`: a patch gate with such a comparison holds on every event.

use lifecycle_core::task::Task;
use lifecycle_objects::quantity;

use super::comparisons::expressions;
use super::linter::Linter;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (place, expression) in expressions(linter) {
        for (path, text) in expression.compared_texts() {
            let stored = quantity::canonical(text).filter(|stored| stored != text && is_live(linter.task, &path));
            let Some(stored) = stored else { continue };
            let message = format!(
                "compares `{}` with \"{text}\", which is never equal: the API server stores this quantity as \"{stored}\"",
                path.join(".")
            );
            linter.warn(&place, message, format!("write \"{stored}\""));
        }
    }
}

/// Whether a path is that of a quantity in the object of an entry.
fn is_live(task: &Task, path: &[String]) -> bool {
    let [variable, entry, keys @ ..] = path else { return false };
    // The path of `dig` is one key.
    let keys: Vec<&str> = keys.iter().flat_map(|key| key.split('.')).collect();
    let mut entries = task.resources.iter().filter(|resource| resource.bundle.is_none());
    let resource = entries.find(|resource| resource.name == *entry);
    variable == "resources" && resource.is_some_and(|resource| quantity::is_at(&resource.kind, &keys))
}
