//! Warns of a default in place of a call that fails, if objects or their deletion depend on the answer: while the API is away,
//! the objects are written with defaults, or deleted by them.

use std::collections::BTreeSet;

use lifecycle_core::task::{Manifest, Param, ParamSource, Task};

use super::gate::gates_of;
use super::linter::{Linter, entry, resources};
use super::secrets::manifests;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, param) in task.params.iter().enumerate() {
        if !param.default_on_error || !matches!(param.source, ParamSource::ApiCall(_)) {
            continue;
        }
        let derived = derived(task, param);
        let is_derived = |variable: &str| derived.contains(variable.split('.').next().unwrap_or_default());
        let depends = resources(task).find(|(path, resource)| {
            let mut gates = gates_of(linter, path, resource).into_iter();
            gates.any(|gate| gate.expression.reads_variable(&is_derived))
                || manifests(path, resource).iter().any(|(_, manifest)| match manifest {
                    Manifest::Inline(tree) => tree.variables().iter().any(|(variable, _)| is_derived(variable)),
                    Manifest::Text(template) => template.variables().iter().any(|variable| is_derived(variable)),
                })
        });
        if let Some((_, resource)) = depends {
            let message = format!(
                "while the API is away, `{}` is written, or deleted, by the default of `{}`",
                resource.name, param.name
            );
            let help = "remove `on_error: default`: the event fails then, and leaves all objects as they are";
            linter.warn(&entry(&["params"], index).key("on_error"), message, help.to_owned());
        }
    }
}

/// The names of a param and of all params that are made of it.
fn derived<'t>(task: &'t Task, param: &'t Param) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::from([param.name.as_str()]);
    for other in &task.params {
        let is_made_of = match &other.source {
            ParamSource::Path(path) => names.contains(path.split('.').next().unwrap_or_default()),
            ParamSource::Expression(expression) => expression.reads_variable(&|variable| names.contains(variable)),
            ParamSource::Environment(_)
            | ParamSource::Event(_)
            | ParamSource::Config(_)
            | ParamSource::ApiCall(_)
            | ParamSource::File { .. } => false,
        };
        if is_made_of {
            names.insert(&other.name);
        }
    }
    names
}
