//! Warns of a patch gate that stays true after its patch was applied: the adapter sends that patch on every event
//! and never applies the manifest.

use lifecycle_config::document::{Node, Path};
use serde_json::Value;

use super::gate::{Kind, gates_of};
use super::linter::{Linter, resources};
use super::literals;
use crate::gate_values::Own;
use lifecycle_core::task::{NestedDiscovery, Resource};
use lifecycle_language::cel::{Expression, Key, Presence};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task) {
        let gates = gates_of(linter, &path, resource).into_iter().filter(|gate| gate.kind == Kind::Patch);
        for (index, gate) in gates.enumerate() {
            let document = path.key("lifecycle").key("patch").index(index).key("document");
            endless(linter, resource, &gate.path, gate.expression, &document);
        }
    }
}

fn endless(linter: &mut Linter<'_>, resource: &Resource, path: &Path, gate: &Expression, document: &Path) {
    let value = Own::of(linter.task, resource).value(gate, Presence::Present);
    let possible = value.possible();
    if !possible.can_hold() || possible.always_holds() && literals::is_value(gate) {
        return;
    }
    let name = &resource.name;
    let effect = format!("it is sent on every event, and `{name}` is never updated otherwise");
    let message = if possible.always_holds() {
        format!("always holds while `{name}` is there: {effect}")
    } else {
        let of_nested = |nested: &NestedDiscovery| value.places_in(&nested.name).is_none_or(|it| !it.is_empty());
        let Some(places) = value.places_in(name).filter(|_| !resource.nested.iter().any(of_nested)) else { return };
        if places.is_empty() {
            format!("looks at nothing in `resources.{name}`: while it holds, {effect}")
        } else {
            let Some(mut document) = linter.document.node(document).map(Node::to_value) else { return };
            if resource.kind.group.is_empty() && resource.kind.kind == "Secret" {
                encode(&mut document);
            }
            // A controller changes the status, perhaps because of the patch.
            let is_of_status = |place: &Vec<Key>| place.first() == Some(&Key::Exact("status".to_owned()));
            if places.iter().any(|place| is_of_status(place) || is_changed(&document, place)) {
                return;
            }
            format!("looks at nothing that `document` changes: while it holds, {effect}")
        }
    };
    let help = format!(
        "compare what the document sets with what is live: `dig(resources.{name}, \"metadata.annotations.example.io/tier\") != tier`"
    );
    linter.warn(path, message, help);
}

/// Names the places of a Secret that `stringData` changes: the API server writes its entries to `data`.
fn encode(document: &mut Value) {
    let Some(entries) = document.as_object_mut() else { return };
    let Some(Value::Object(texts)) = entries.remove("stringData") else { return };
    if let Value::Object(data) = entries.entry("data").or_insert_with(|| Value::Object(serde_json::Map::new())) {
        data.extend(texts);
    }
}

/// Whether a merge patch can change the value at a place of the object. A key that is a template can be any key.
fn is_changed(document: &Value, place: &[Key]) -> bool {
    let Value::Object(entries) = document else { return true };
    let Some((first, rest)) = place.split_first() else { return !entries.is_empty() };
    if entries.keys().any(|key| key.contains("{{")) {
        return true;
    }
    match first {
        Key::Exact(key) => entries.get(key).is_some_and(|value| is_changed(value, rest)),
        Key::Dotted(path) => {
            // Keys can contain dots, so each dot may or may not separate two keys.
            let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
            ends.into_iter().any(|end| {
                let (key, beyond) = path.split_at(end);
                let beyond = beyond.strip_prefix('.').map(|beyond| Key::Dotted(beyond.to_owned()));
                let rest: Vec<Key> = beyond.into_iter().chain(rest.iter().cloned()).collect();
                entries.get(key).is_some_and(|value| is_changed(value, &rest))
            })
        }
    }
}
