//! Warns of objects whose name or namespace takes a param that has a constant in place of a value of the API: an answer without
//! the value is about another object, so that a bundle deletes the former one, and an entry creates a second one.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use lifecycle_core::task::{ParamSource, Resource, Task};

use super::credentials::{Constant, constant, value_path};
use super::secrets::manifests;
use super::{Linter, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        for (at, manifest) in manifests(&path, resource) {
            let variables = manifest.structures().into_iter().flat_map(|tree| tree.variables());
            let is_name = |place: &str| matches!(place, "metadata.name" | "metadata.namespace");
            let named: BTreeSet<String> =
                variables.filter(|(_, place)| is_name(place)).map(|(variable, _)| variable).collect();
            for variable in named {
                warn(linter, &at, resource, variable.split('.').next().unwrap_or_default());
            }
        }
    }
}

fn warn(linter: &mut Linter<'_>, at: &Path, resource: &Resource, root: &str) {
    let Some(constant) = in_place_of_answer(linter.task, root) else { return };
    let effect = match resource.bundle {
        Some(_) => "the bundle deletes the object that has the value in its name, with its data",
        None => "another object is created, and the first one is nobody's",
    };
    let message = format!(
        "the name or namespace of an object takes `{root}`, which has {}: after an answer without the value, {effect}",
        constant.written
    );
    let help = "name the object after `event.id`, or remove the constant: then such an event fails";
    linter.warn(at, message, help.to_owned());
}

/// The constant that a variable has in place of a value of the API's answer.
pub(super) fn in_place_of_answer<'t>(task: &'t Task, variable: &str) -> Option<Constant<'t>> {
    let constant = constant(task, variable, &mut BTreeSet::new())?;
    let path = value_path(task, constant.param)?;
    let is_answer = path.first().is_some_and(|root| {
        let is_call = |source: &ParamSource| matches!(source, ParamSource::ApiCall(_));
        task.params.iter().any(|param| param.name == *root && is_call(&param.source))
            || task.preconditions.iter().any(|precondition| precondition.name == *root)
    });
    is_answer.then_some(constant)
}
