//! Warns of payloads that read an object which is gone, or was never created, without asking whether it is there.

use lifecycle_config::document::Path;

use super::linter::{Linter, PAYLOADS, entry};
use crate::gate_values::abstract_value;
use lifecycle_core::task::{PayloadNode, PayloadSource, Resource, Task};
use lifecycle_language::cel::{Expression, Possible, Presence};
use lifecycle_language::template::Template;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let is_absent_once = |resource: &&Resource| resource.gates.delete.is_some() && !task.is_shared(&resource.name);
    let resources: Vec<&Resource> = task.resources.iter().filter(is_absent_once).collect();
    for (index, payload) in task.payloads.iter().enumerate() {
        let place = linter.either(&entry(&PAYLOADS, index), ["build", "build_ref"]);
        let is_built = |absent: &&&Resource| {
            payload.when.as_ref().is_none_or(|when| possible(task, when, Some(&absent.name)).can_hold())
        };
        let absent: Vec<&Resource> = resources.iter().filter(is_built).copied().collect();
        search(linter, &place, &place, &payload.build, &absent);
    }
}

/// The results of an expression, while the entry of this name is absent.
fn possible(task: &Task, expression: &Expression, absent: Option<&str>) -> Possible {
    let entries = |name: &str| if Some(name) == absent { Presence::Absent } else { Presence::Unknown };
    abstract_value(task, expression, &entries).possible()
}

/// Searches a part of a payload for reads of resources that can be absent. `base` is the place of the whole payload.
fn search(linter: &mut Linter<'_>, base: &Path, place: &Path, of: &PayloadNode, absent: &[&Resource]) {
    match of {
        PayloadNode::List(nodes) => {
            nodes.iter().enumerate().for_each(|(index, of)| search(linter, base, &place.index(index), of, absent));
        }
        PayloadNode::Map(entries) => {
            entries.iter().for_each(|(key, of)| search(linter, base, &place.key(key.source()), of, absent));
        }
        PayloadNode::Text(template) if !template.has_branch() => {
            for name in absent.iter().map(|resource| &resource.name).filter(|name| reads(template, name)) {
                let help = format!(
                    "ask first whether it is there: `{{{{ with index .resources \"{name}\" }}}}…{{{{ end }}}}`"
                );
                warn(linter, base, place, name, help);
            }
        }
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), default: None } => {
            let fails = |absent| possible(linter.task, expression, absent).always_fails();
            let names: Vec<_> = absent.iter().map(|resource| &resource.name).filter(|name| fails(Some(name))).collect();
            for name in names.into_iter().filter(|_| !fails(None)) {
                let help = format!("read it as an optional: `resources.?{name}.?….orValue(…)`, or add a `default`");
                warn(linter, base, place, name, help);
            }
        }
        PayloadNode::Literal(_) | PayloadNode::Text(_) | PayloadNode::Lookup { .. } => {}
    }
}

fn reads(template: &Template, name: &str) -> bool {
    let is_below =
        |path: &String| matches!(path.split('.').collect::<Vec<_>>()[..], ["resources", read, ..] if read == name);
    template.variables().iter().any(is_below)
}

fn warn(linter: &mut Linter<'_>, base: &Path, place: &Path, name: &str, help: String) {
    // A payload in a file of its own has no such place in the document.
    let place = linter.place_or(place.clone(), base);
    linter.warn(&place, format!("fails once `{name}` is deleted: `resources.{name}` is absent then"), help);
}
