//! What every lint works with: the task, its document, and a place for what it finds.

use std::rc::Rc;

use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};
use lifecycle_core::task::types::VariableTypes;
use lifecycle_core::task::{KnownObject, Origin, Resource, Task};

use crate::manifests::{WrittenObject, manifests};

/// Collects the diagnostics of one task.
pub(super) struct Linter<'t> {
    pub(super) task: &'t Task,
    pub(super) document: &'t Document,
    pub(super) types: VariableTypes,
    pub(super) manifests: Rc<[WrittenObject<'t>]>,
    pub(super) diagnostics: Diagnostics,
}

impl<'t> Linter<'t> {
    pub(super) fn new(task: &'t Task, document: &'t Document) -> Self {
        let (types, manifests) = (VariableTypes::of(task), manifests(task).into());
        Self { task, document, types, manifests, diagnostics: Diagnostics::default() }
    }

    /// The manifests of the task, wherever they stand.
    pub(super) fn manifests(&self) -> Rc<[WrittenObject<'t>]> {
        Rc::clone(&self.manifests)
    }

    pub(super) fn warn(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Warning, path, message, help);
    }

    /// Reports a mistake that makes `check` fail. `serve` loads the file all the same, as the Go adapter does.
    pub(super) fn error(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Error, path, message, help);
    }

    pub(super) fn note(&mut self, path: &Path, message: String, help: String) {
        self.report(Severity::Note, path, message, help);
    }

    /// Reports what is wrong with an object of the bundle of the resource at `path`, where its author wrote the object.
    pub(super) fn report_object(
        &mut self,
        severity: Severity,
        path: &Path,
        object: &KnownObject,
        message: String,
        help: String,
    ) {
        let Origin { manifest, line } = object.origin;
        let item = path.key("bundle").key("manifests").index(manifest);
        let Some(line) = line.filter(|_| self.document.node(&item.key("ref")).is_none()) else {
            return self.report(severity, &item, message, help);
        };
        let position = self.document.locate_within(&item, line, 1);
        let diagnostic = || self.document.diagnostic_at(severity, &item, position, message, Some(help));
        self.diagnostics.push_with(severity, diagnostic);
    }

    pub(super) fn report(&mut self, severity: Severity, path: &Path, message: String, help: String) {
        let diagnostic = || self.document.diagnostic(severity, path, message, Some(help));
        self.diagnostics.push_with(severity, diagnostic);
    }

    /// The path if the document has it; otherwise the other one, such as that of a text or a reference to a file.
    pub(super) fn place_or(&self, path: Path, otherwise: &Path) -> Path {
        if self.document.node(&path).is_some() { path } else { otherwise.clone() }
    }

    /// The path of whichever key the document has; of the first key if it has neither.
    pub(super) fn either(&self, path: &Path, keys: [&str; 2]) -> Path {
        let paths = keys.map(|key| path.key(key));
        let [first, second] = &paths;
        if self.document.node(first).is_none() && self.document.node(second).is_some() {
            return second.clone();
        }
        first.clone()
    }
}

/// The path of one entry of a list, such as `resources[0]` or `post.payloads[1]`.
pub(super) fn entry(list: &[&str], index: usize) -> Path {
    list.iter().fold(Path::root(), |path, key| path.key(key)).index(index)
}

pub(super) const PAYLOADS: [&str; 2] = ["post", "payloads"];
pub(super) const ACTIONS: [&str; 2] = ["post", "post_actions"];

/// The resources of the task, each with its path in the document.
pub(super) fn resources(task: &Task) -> impl Iterator<Item = (Path, &Resource)> {
    task.resources.iter().enumerate().map(|(index, resource)| (entry(&["resources"], index), resource))
}
