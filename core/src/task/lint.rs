//! What a sound task probably does not mean.
//!
//! In: a compiled [`Task`] and the [`Document`] it was compiled from, for places. Out: warnings, each with its cure: gates
//! that cannot hold or get in each other's way, objects that are never found again, names and labels that Kubernetes refuses,
//! resources that nothing reports, statuses that the API would refuse. A warning is certain: where an event could prove it
//! wrong, none is given. A report that the API refuses each time is an error. Nothing here keeps a task from loading.

mod discovery;
mod discovery_reads;
mod disowning;
mod gates;
mod literals;
mod metadata;
mod names;
mod nested;
mod owners;
mod patches;
mod reports;
mod selectors;
mod status;
mod variation;
mod versions;
mod waits;

use std::collections::BTreeSet;

use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};

use super::gate_values::Own;
use super::{Recreate, Resource, Task};
use crate::cel::{Expression, Presence};

/// Looks for what a sound task probably does not mean; `document` is the one that it was compiled from.
#[must_use]
pub fn lint(task: &Task, document: &Document) -> Diagnostics {
    let mut linter = Linter { task, document, diagnostics: Diagnostics::default() };
    gates::lint(&mut linter);
    literals::lint(&mut linter);
    disowning::lint(&mut linter);
    patches::lint(&mut linter);
    waits::lint(&mut linter);
    discovery::lint(&mut linter);
    discovery_reads::lint(&mut linter);
    names::lint(&mut linter);
    metadata::lint(&mut linter);
    versions::lint(&mut linter);
    owners::lint(&mut linter);
    nested::lint(&mut linter);
    selectors::lint(&mut linter);
    if reports::anything_is_sent(&mut linter) {
        reports::lint(&mut linter);
        reports::lint_unmet(&mut linter);
        status::lint(&mut linter);
    }
    linter.diagnostics.sort();
    linter.diagnostics
}

/// Collects warnings.
struct Linter<'t> {
    task: &'t Task,
    document: &'t Document,
    diagnostics: Diagnostics,
}

impl Linter<'_> {
    fn warn(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Warning, path, message, help);
    }

    /// What can never work. The Go adapter loads such a file, and so does `serve`; `check` refuses it.
    fn error(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Error, path, message, help);
    }

    fn note(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Note, path, message, help);
    }

    fn report(&mut self, severity: Severity, path: &Path, message: String, help: String) {
        let diagnostic = || self.document.diagnostic(severity, path, message, Some(help));
        self.diagnostics.push_with(severity, diagnostic);
    }

    /// The first of the keys that is there, else the first.
    fn either(&self, path: &Path, keys: [&str; 2]) -> Path {
        let paths = keys.map(|key| path.key(key));
        let [first, second] = &paths;
        if self.document.node(first).is_none() && self.document.node(second).is_some() {
            return second.clone();
        }
        first.clone()
    }
}

/// An entry of a list at the top of the file, or below `post`.
fn entry(list: &[&str], index: usize) -> Path {
    list.iter().fold(Path::root(), |path, key| path.key(key)).index(index)
}

const PAYLOADS: [&str; 2] = ["post", "payloads"];
const ACTIONS: [&str; 2] = ["post", "post_actions"];

/// The resources of the task, each with its place.
fn resources(task: &Task) -> impl Iterator<Item = (Path, &Resource)> {
    task.resources.iter().enumerate().map(|(index, resource)| (entry(&["resources"], index), resource))
}

/// Whether the task creates a resource's object: no gate refuses that in every event.
fn is_created(task: &Task, resource: &Resource) -> bool {
    let own = Own::of(task, resource);
    let gates = &resource.gates;
    let mut asked = [&gates.when, &gates.create, &gates.apply].into_iter().flatten();
    asked.all(|gate| own.possible(gate, Presence::Absent).can_hold())
}

/// Whether following the edges from `start` leads back to it.
fn is_in_circle(edges: &[BTreeSet<usize>], start: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<usize> = edges[start].iter().copied().collect();
    while let Some(index) = open.pop() {
        if index == start {
            return true;
        }
        if seen.insert(index) {
            open.extend(&edges[index]);
        }
    }
    false
}

/// Which gate an expression is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    When,
    Create,
    Apply,
    Patch,
    Recreate,
    Orphan,
    Delete,
}

/// A gate with an expression, and the place of that.
struct Gate<'t> {
    kind: Kind,
    path: Path,
    expression: &'t Expression,
}

/// The gates of a resource that have expressions; `path` is the resource's.
fn gates_of<'t>(linter: &Linter<'_>, path: &Path, resource: &'t Resource) -> Vec<Gate<'t>> {
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

#[cfg(test)]
mod tests;
