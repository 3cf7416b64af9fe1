//! The gates of a resource, where they stand, and what they let happen.

use lifecycle_config::document::Path;
use lifecycle_core::task::{Recreate, Resource, Task};
use lifecycle_language::cel::{Expression, Presence};
use lifecycle_language::resource_reads::ResourceReads;

use super::linter::Linter;
use crate::gate_values::Own;

/// Whether the task can create the object of a resource: `when`, `create` and `apply` can hold while it is absent.
pub(super) fn is_created(task: &Task, resource: &Resource) -> bool {
    let own = Own::of(task, resource);
    let gates = &resource.gates;
    let mut asked = [&gates.when, &gates.create, &gates.apply].into_iter().flatten();
    asked.all(|gate| own.possible(gate, Presence::Absent).can_hold())
}

/// The entries of `resources` that an expression reads without asking whether they are there: it fails while one of them is
/// absent.
pub(super) fn unguarded_entries<'e>(task: &Task, expression: &'e Expression) -> impl Iterator<Item = &'e str> {
    let names = match expression.resource_reads() {
        ResourceReads::Only(names) => Some(names),
        ResourceReads::Any => None,
    };
    let is_certain = |name: &&str| !task.is_shared(name) && expression.demands(&["resources", name]);
    let certain: Vec<&str> = names.into_iter().flatten().map(String::as_str).filter(is_certain).collect();
    certain.into_iter()
}

/// The key of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    When,
    Create,
    Apply,
    Patch,
    Recreate,
    Orphan,
    Delete,
}

/// A gate, with the path of its expression in the document.
pub(super) struct Gate<'t> {
    pub(super) kind: Kind,
    pub(super) path: Path,
    pub(super) expression: &'t Expression,
}

/// The gates of the resource at `path`. `recreate_on_change` has no expression and is left out.
pub(super) fn gates_of<'t>(linter: &Linter<'_>, path: &Path, resource: &'t Resource) -> Vec<Gate<'t>> {
    let gates = &resource.gates;
    let lifecycle = path.key("lifecycle");
    let recreate = match &gates.recreate {
        Some(Recreate::When(recreate)) => Some(recreate),
        Some(Recreate::OnChange) | None => None,
    };
    let single = [
        (Kind::When, path.clone(), gates.when.as_ref()),
        (Kind::Create, lifecycle.key("create"), gates.create.as_ref()),
        (Kind::Apply, lifecycle.key("apply"), gates.apply.as_ref()),
        (Kind::Recreate, lifecycle.key("recreate"), recreate),
        (Kind::Orphan, linter.either(&lifecycle, ["orphan", "detach"]), gates.orphan.as_ref()),
        (Kind::Delete, lifecycle.key("delete"), gates.delete.as_ref().map(|delete| &delete.when)),
    ];
    let single = single.into_iter().filter_map(|(kind, path, gate)| Some((kind, path, gate?)));
    let patches = gates.patches.iter().enumerate();
    let patches = patches.map(|(index, patch)| (Kind::Patch, lifecycle.key("patch").index(index), &patch.when));
    let at_when = |path: &Path| path.key("when").key("expression");
    single.chain(patches).map(|(kind, path, expression)| Gate { kind, path: at_when(&path), expression }).collect()
}
