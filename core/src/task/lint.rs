//! What a sound task probably does not mean.
//!
//! In: a compiled [`Task`] and the [`Document`] it was compiled from, for places. Out: warnings, each with its cure: gates
//! that cannot hold, resources that nothing reports, statuses that the API would refuse. A warning is
//! certain: where an event could prove it wrong, none is given. Nothing here keeps a task from loading.

mod gates;
mod reports;
mod status;

use super::Task;
use crate::diagnostics::{Diagnostics, Severity};
use crate::document::{Document, Path};

/// Looks for what a sound task probably does not mean; `document` is the one that it was compiled from.
#[must_use]
pub fn lint(task: &Task, document: &Document) -> Diagnostics {
    let mut linter = Linter { task, document, diagnostics: Diagnostics::default() };
    gates::lint(&mut linter);
    if reports::anything_is_sent(&mut linter) {
        reports::lint(&mut linter);
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
        let mistake = self.document.mistake(Severity::Warning, path, message, Some(help));
        self.diagnostics.push(mistake);
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

#[cfg(test)]
mod tests;
