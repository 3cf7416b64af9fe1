//! Lints: warnings of `check` about a task that compiles and probably does not do what its author means.
//!
//! In: a compiled [`Task`], and the [`Document`] that it was compiled from, for places. Out: diagnostics, each
//! with its cure, such as gates that cannot hold, objects that their own discovery does not find, names that
//! Kubernetes rejects, and statuses that the API rejects. A lint warns only if no event can prove the warning
//! wrong. A report that the API rejects on every event is an error. Fails: nothing; `serve` loads the task
//! whatever the lints find.

mod adoption;
mod answer_fields;
mod api_away;
mod bare_objects;
mod clocks;
mod cluster_scoped_namespaces;
mod comparisons;
mod conditional_members;
mod controllers;
mod credentials;
mod defaulted_names;
mod deletion_order;
mod deletions;
mod dependents;
mod discovery;
mod discovery_reads;
mod disowning;
mod ended_deletions;
mod ended_reports;
mod gates;
mod gone_first;
mod kept_objects;
mod known_kinds;
mod labels;
mod literals;
mod lost_data;
mod names;
mod namespaces;
mod nested;
mod objects_gone;
mod operators;
mod outlives;
mod owners;
mod patches;
mod quantities;
mod readiness;
mod ready_rules;
mod reports;
mod secrets;
mod selectors;
mod server_set;
mod set_twice;
mod status;
mod success_only;
mod unguarded;
mod unobserved;
mod unread_policies;
mod variation;
mod versions;
mod waits_for_nothing;

pub use comparisons::mismatches;

use std::collections::BTreeSet;
use std::rc::Rc;

use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};

use crate::gate_values::Own;
use crate::manifests::{WrittenObject, manifests};
use lifecycle_core::task::types::VariableTypes;
use lifecycle_core::task::{KnownObject, Origin, Recreate, Resource, Task};
use lifecycle_language::cel::{Expression, Presence};
use lifecycle_language::resource_reads::ResourceReads;

/// Runs every lint on a task; `document` is the file that the task was compiled from.
#[must_use]
pub fn lint(task: &Task, document: &Document) -> Diagnostics {
    let mut linter = Linter::new(task, document);
    gates::lint(&mut linter);
    deletions::lint(&mut linter);
    ended_deletions::lint(&mut linter);
    gone_first::lint(&mut linter);
    comparisons::lint(&mut linter);
    answer_fields::lint(&mut linter);
    quantities::lint(&mut linter);
    server_set::lint(&mut linter);
    adoption::lint(&mut linter);
    disowning::lint(&mut linter);
    patches::lint(&mut linter);
    bare_objects::lint(&mut linter);
    waits_for_nothing::lint(&mut linter);
    discovery::lint(&mut linter);
    discovery_reads::lint(&mut linter);
    names::lint(&mut linter);
    namespaces::lint(&mut linter);
    labels::lint(&mut linter);
    known_kinds::lint(&mut linter);
    controllers::lint(&mut linter);
    versions::lint(&mut linter);
    owners::lint(&mut linter);
    nested::lint(&mut linter);
    kept_objects::lint(&mut linter);
    operators::lint(&mut linter);
    dependents::lint(&mut linter);
    outlives::lint(&mut linter);
    cluster_scoped_namespaces::lint(&mut linter);
    ready_rules::lint(&mut linter);
    selectors::lint(&mut linter);
    secrets::lint(&mut linter);
    credentials::lint(&mut linter);
    api_away::lint(&mut linter);
    set_twice::lint(&mut linter);
    lost_data::lint(&mut linter);
    unread_policies::lint(&mut linter);
    defaulted_names::lint(&mut linter);
    conditional_members::lint(&mut linter);
    clocks::lint(&mut linter);
    if reports::anything_is_sent(&mut linter) {
        reports::lint_unmet(&mut linter);
        status::lint(&mut linter);
        unguarded::lint(&mut linter);
    }
    linter.diagnostics.sort();
    linter.diagnostics
}

/// Collects the diagnostics of one task.
struct Linter<'t> {
    task: &'t Task,
    document: &'t Document,
    types: VariableTypes,
    manifests: Rc<[WrittenObject<'t>]>,
    diagnostics: Diagnostics,
}

impl<'t> Linter<'t> {
    fn new(task: &'t Task, document: &'t Document) -> Self {
        let (types, manifests) = (VariableTypes::of(task), manifests(task).into());
        Self { task, document, types, manifests, diagnostics: Diagnostics::default() }
    }

    /// The manifests of the task, wherever they stand.
    fn manifests(&self) -> Rc<[WrittenObject<'t>]> {
        Rc::clone(&self.manifests)
    }

    fn warn(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Warning, path, message, help);
    }

    /// Reports a mistake that makes `check` fail. `serve` loads the file all the same, as the Go adapter does.
    fn error(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Error, path, message, help);
    }

    fn note(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Note, path, message, help);
    }

    /// Reports what is wrong with an object of the bundle of the resource at `path`, where its author wrote the object.
    fn report_object(&mut self, severity: Severity, path: &Path, object: &KnownObject, message: String, help: String) {
        let Origin { manifest, line } = object.origin;
        let item = path.key("bundle").key("manifests").index(manifest);
        let Some(line) = line.filter(|_| self.document.node(&item.key("ref")).is_none()) else {
            return self.report(severity, &item, message, help);
        };
        let position = self.document.locate_within(&item, line, 1);
        let diagnostic = || self.document.diagnostic_at(severity, &item, position, message, Some(help));
        self.diagnostics.push_with(severity, diagnostic);
    }

    fn report(&mut self, severity: Severity, path: &Path, message: String, help: String) {
        let diagnostic = || self.document.diagnostic(severity, path, message, Some(help));
        self.diagnostics.push_with(severity, diagnostic);
    }

    /// The path if the document has it; otherwise the other one, such as that of a text or a reference to a file.
    fn place_or(&self, path: Path, otherwise: &Path) -> Path {
        if self.document.node(&path).is_some() { path } else { otherwise.clone() }
    }

    /// The path of whichever key the document has; of the first key if it has neither.
    fn either(&self, path: &Path, keys: [&str; 2]) -> Path {
        let paths = keys.map(|key| path.key(key));
        let [first, second] = &paths;
        if self.document.node(first).is_none() && self.document.node(second).is_some() {
            return second.clone();
        }
        first.clone()
    }
}

/// The path of one entry of a list, such as `resources[0]` or `post.payloads[1]`.
fn entry(list: &[&str], index: usize) -> Path {
    list.iter().fold(Path::root(), |path, key| path.key(key)).index(index)
}

const PAYLOADS: [&str; 2] = ["post", "payloads"];
const ACTIONS: [&str; 2] = ["post", "post_actions"];

/// The resources of the task, each with its path in the document.
fn resources(task: &Task) -> impl Iterator<Item = (Path, &Resource)> {
    task.resources.iter().enumerate().map(|(index, resource)| (entry(&["resources"], index), resource))
}

/// Whether the task can create the object of a resource: `when`, `create` and `apply` can hold while it is absent.
fn is_created(task: &Task, resource: &Resource) -> bool {
    let own = Own::of(task, resource);
    let gates = &resource.gates;
    let mut asked = [&gates.when, &gates.create, &gates.apply].into_iter().flatten();
    asked.all(|gate| own.possible(gate, Presence::Absent).can_hold())
}

/// The entries of `resources` that an expression reads without asking whether they are there: it fails while one of them is
/// absent.
fn unguarded_entries<'e>(task: &Task, expression: &'e Expression) -> impl Iterator<Item = &'e str> {
    let names = match expression.resource_reads() {
        ResourceReads::Only(names) => Some(names),
        ResourceReads::Any => None,
    };
    let is_certain = |name: &&str| !task.is_shared(name) && expression.demands(&["resources", name]);
    let certain: Vec<&str> = names.into_iter().flatten().map(String::as_str).filter(is_certain).collect();
    certain.into_iter()
}

/// Whether a path along the edges leads from `start` back to `start`.
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

/// The key of a gate.
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

/// A gate, with the path of its expression in the document.
struct Gate<'t> {
    kind: Kind,
    path: Path,
    expression: &'t Expression,
}

/// The gates of the resource at `path`. `recreate_on_change` has no expression and is left out.
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
