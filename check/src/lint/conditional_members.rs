//! Warns of objects with data that a bundle writes under a condition, if the condition reads a param that has a constant in place of
//! a value of the API: an answer without the value takes the object out of the bundle, which deletes it.

use lifecycle_core::task::Manifest;
use lifecycle_language::template::Branch;
use lifecycle_objects::id::GroupVersionKind;

use super::defaulted_names::in_place_of_answer;
use super::linter::{Linter, resources};
use super::lost_data::loss;
use super::secrets::manifests;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task).filter(|(_, resource)| resource.bundle.is_some()) {
        for (at, manifest) in manifests(&path, resource) {
            let Manifest::Text(template) = manifest else { continue };
            for branch in template.branches() {
                let Some((kind, loss)) = lost(&branch) else { continue };
                let roots = branch.reads.iter().filter_map(|path| path.split('.').next());
                let constants = roots.filter_map(|root| Some((root, in_place_of_answer(linter.task, root)?)));
                for (root, constant) in constants.collect::<Vec<_>>() {
                    let message = format!(
                        "a condition that reads `{root}` decides whether the bundle has the {kind}, and `{root}` has {}: an answer \
                         without the value can delete the object, and {loss} with it",
                        constant.written
                    );
                    let help = format!(
                        "write `required: true` at `{}` in place of the constant: such an event then fails, and deletes nothing",
                        constant.param.name
                    );
                    linter.warn(&at, message, help);
                }
            }
        }
    }
}

/// The first kind in a part of a text with whose objects more goes than the object, and what goes, in words.
fn lost(branch: &Branch) -> Option<(String, &'static str)> {
    branch.text.split("\n---").find_map(|document| {
        let value = |key: &str| document.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let kind = GroupVersionKind::new(value("apiVersion:")?, value("kind:")?);
        loss(&kind.group, &kind.kind, true).map(|loss| (kind.kind, loss))
    })
}
