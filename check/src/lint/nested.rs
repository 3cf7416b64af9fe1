//! Warns of delete gates that wait for the absence of an object nested in the resource's own object, and of searches for a nested
//! object that find none of those that the manifest has.

use lifecycle_config::document::Path;

use super::gate::{Kind, gates_of, is_created};
use super::linter::{Linter, resources};
use crate::gate_values::Own;
use crate::gate_values::abstract_value;
use crate::manifests::{Role, WrittenObject};
use lifecycle_core::task::{DiscoverBy, Discovery, NestedDiscovery, Resource};
use lifecycle_language::cel::Presence;
use lifecycle_language::template::{Part, Template};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let objects = linter.manifests();
    for (path, resource) in resources(task) {
        let is_inside =
            |object: &&WrittenObject<'_>| object.role == Role::Nested && std::ptr::eq(object.resource, resource);
        let content: Vec<&WrittenObject<'_>> = objects.iter().filter(is_inside).collect();
        // A patch may put other objects into the work, and the work of somebody else may have any.
        if !content.is_empty() && resource.gates.patches.is_empty() && is_created(task, resource) {
            for (index, nested) in resource.nested.iter().enumerate() {
                let place = path.key("nested_discoveries").index(index).key("discovery");
                found_by_none(linter, &place, resource, nested, &content);
            }
        }
        for gate in gates_of(linter, &path, resource).iter().filter(|gate| gate.kind == Kind::Delete) {
            let name = &resource.name;
            if !Own::of(task, resource).possible(gate.expression, Presence::Present).can_hold() {
                continue;
            }
            let Some(inner) = resource.nested.iter().map(|nested| &nested.name).find(|inner| {
                let entry =
                    |entry: &str| if entry == *inner || entry == name { Presence::Present } else { Presence::Unknown };
                !task.is_shared(inner) && !abstract_value(task, gate.expression, &entry).possible().can_hold()
            }) else {
                continue;
            };
            let message = format!(
                "cannot hold while `{inner}` is inside of `{name}`: `{inner}` goes with `{name}`, so that `{name}` is deleted only if an \
                 update takes `{inner}` out of it first"
            );
            let help = format!(
                "do not wait for `{inner}` here; wait for what `resources.{name}.status` says, or for another resource"
            );
            linter.warn(&gate.path, message, help);
        }
    }
}

fn found_by_none(
    linter: &mut Linter<'_>,
    place: &Path,
    resource: &Resource,
    nested: &NestedDiscovery,
    content: &[&WrittenObject<'_>],
) {
    let Discovery { namespace, by } = &nested.discovery;
    let named: Vec<_> = content.iter().filter(|object| may_satisfy(object, by)).collect();
    let is_placed = |object: &&&&WrittenObject<'_>| may_be_in(object, namespace.as_ref());
    if named.iter().any(|object| is_placed(&object)) {
        return;
    }
    let key = match (named.is_empty(), by) {
        (false, _) => "namespace",
        (true, DiscoverBy::Name(_)) => "by_name",
        (true, DiscoverBy::Labels(_)) => "by_selectors",
    };
    let names: Vec<_> = content.iter().map(|object| format!("`{}`", object.name())).collect();
    let message = format!(
        "finds nothing inside of `{}`, whose manifests are {}: `resources.{}` never exists",
        resource.name,
        names.join(", "),
        nested.name
    );
    let help = "write the name and the namespace, or the labels, of one of these manifests".to_owned();
    linter.warn(&place.key(key), message, help);
}

fn may_satisfy(object: &WrittenObject<'_>, by: &DiscoverBy) -> bool {
    match by {
        DiscoverBy::Name(name) => may_be(object, &["name"], name),
        DiscoverBy::Labels(labels) => {
            labels.iter().all(|(key, value)| key.as_literal().is_none_or(|key| may_be(object, &["labels", key], value)))
        }
    }
}

/// Whether a search of this namespace may look at the object: one without a namespace looks at all.
fn may_be_in(object: &WrittenObject<'_>, namespace: Option<&Template>) -> bool {
    namespace.is_none_or(|wanted| ["", "*"].contains(&wanted.source()) || may_be(object, &["namespace"], wanted))
}

/// Whether a key of the object's metadata may be the wanted text at some event.
fn may_be(object: &WrittenObject<'_>, keys: &[&str], wanted: &Template) -> bool {
    match object.tree.part(&[&["metadata"], keys].concat()) {
        Part::Absent => wanted.as_literal().is_none(),
        Part::Literal(value) => wanted.as_literal().is_none_or(|wanted| value.as_str() == Some(wanted)),
        Part::Template(_) | Part::Uncertain => true,
    }
}
