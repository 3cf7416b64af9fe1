//! Warns of objects whose name or namespace takes a param that has a constant in place of a value of the API: an answer without
//! the value is about another object, so that a bundle deletes the former one, and an entry creates a second one.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use lifecycle_core::task::{ParamSource, Task};

use super::credentials::{Constant, constant, value_path};
use super::linter::Linter;
use crate::manifests::{Role, WrittenObject};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for object in linter.manifests().iter().filter(|object| object.role != Role::Nested) {
        let is_name = |place: &str| matches!(place, "metadata.name" | "metadata.namespace");
        let variables = object.variables().into_iter();
        let named: BTreeSet<String> =
            variables.filter(|(_, place)| is_name(place)).map(|(variable, _)| variable).collect();
        for variable in named {
            warn(linter, object, variable.split('.').next().unwrap_or_default());
        }
    }
}

fn warn(linter: &mut Linter<'_>, object: &WrittenObject<'_>, root: &str) {
    let Some(constant) = in_place_of_answer(linter.task, root) else { return };
    let effect = match object.resource.bundle {
        Some(_) => "the bundle deletes the object that has the value in its name, with its data",
        None => "another object is created, and the first one is nobody's",
    };
    let message = format!(
        "{}the name or namespace of an object takes `{root}`, which has {}: after an answer without the value, {effect}",
        object.subject(),
        constant.written
    );
    let help = "name the object after `event.id`, or remove the constant: then such an event fails";
    linter.warn(&object.at(linter.document, &Path::root()), message, help.to_owned());
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
