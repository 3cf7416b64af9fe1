//! Warns of payloads that read an object which is gone, or was never created, without asking whether it is there.

use lifecycle_config::document::Path;

use super::{Linter, PAYLOADS, entry};
use crate::gate_values::abstract_value;
use lifecycle_core::task::{Payload, PayloadNode, PayloadSource, Resource, Task};
use lifecycle_language::cel::Presence;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let is_absent_once = |resource: &&Resource| resource.gates.delete.is_some() && !task.is_shared(&resource.name);
    let resources: Vec<&Resource> = task.resources.iter().filter(is_absent_once).collect();
    for (index, payload) in task.payloads.iter().enumerate() {
        let place = linter.either(&entry(&PAYLOADS, index), ["build", "build_ref"]);
        let is_built = |resource: &&&Resource| is_built(task, payload, resource);
        let resources: Vec<&Resource> = resources.iter().filter(is_built).copied().collect();
        Search { base: &place, resources: &resources }.node(linter, &place, &payload.build);
    }
}

/// Whether a payload can be built while a resource has no object.
fn is_built(task: &Task, payload: &Payload, absent: &Resource) -> bool {
    let entries = |name: &str| if name == absent.name { Presence::Absent } else { Presence::Unknown };
    payload.when.as_ref().is_none_or(|when| abstract_value(task, when, &entries).possible().can_hold())
}

/// A search for reads of resources that can be absent.
struct Search<'s, 't> {
    /// The place of the whole payload.
    base: &'s Path,
    resources: &'s [&'t Resource],
}

impl Search<'_, '_> {
    fn node(&self, linter: &mut Linter<'_>, place: &Path, of: &PayloadNode) {
        match of {
            PayloadNode::Literal(_) | PayloadNode::Lookup { .. } if self.resources.is_empty() => {}
            PayloadNode::List(nodes) => {
                nodes.iter().enumerate().for_each(|(index, of)| self.node(linter, &place.index(index), of));
            }
            PayloadNode::Map(entries) => {
                entries.iter().for_each(|(key, of)| self.node(linter, &place.key(key.source()), of));
            }
            PayloadNode::Text(template) if !template.has_branch() => {
                let reads = |resource: &Resource| {
                    let path = format!("resources.{}", resource.name);
                    let is_below = |rest: &str| rest.is_empty() || rest.starts_with('.');
                    template.variables().iter().any(|read| read.strip_prefix(&path).is_some_and(is_below))
                };
                let help = |name: &str| {
                    format!("ask first whether it is there: `{{{{ with index .resources \"{name}\" }}}}…{{{{ end }}}}`")
                };
                self.warn(linter, place, &reads, &help);
            }
            PayloadNode::Lookup { source: PayloadSource::Expression(expression), default: None } => {
                let task = linter.task;
                let fails = |entries: &dyn Fn(&str) -> Presence| {
                    abstract_value(task, expression, entries).possible().always_fails()
                };
                let fails_without = |resource: &Resource| {
                    fails(&|name| if name == resource.name { Presence::Absent } else { Presence::Unknown })
                        && !fails(&|_| Presence::Unknown)
                };
                let help = |name: &str| {
                    format!("read it as an optional: `resources.?{name}.?….orValue(…)`, or add a `default`")
                };
                self.warn(linter, place, &fails_without, &help);
            }
            PayloadNode::Literal(_) | PayloadNode::Text(_) | PayloadNode::Lookup { .. } => {}
        }
    }

    fn warn(
        &self,
        linter: &mut Linter<'_>,
        place: &Path,
        fails_without: &dyn Fn(&Resource) -> bool,
        help: &dyn Fn(&str) -> String,
    ) {
        // A payload in a file of its own has no such place in the document.
        let place = if linter.document.node(place).is_some() { place } else { self.base };
        for resource in self.resources.iter().filter(|resource| fails_without(resource)) {
            let name = &resource.name;
            let message = format!("fails once `{name}` is deleted: `resources.{name}` is absent then");
            linter.warn(place, message, help(name));
        }
    }
}
