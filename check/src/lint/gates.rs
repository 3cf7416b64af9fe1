//! Warns of conditions that can never hold, and of gates that cannot hold or that fail when the adapter evaluates
//! them.

use lifecycle_config::document::Path;
use lifecycle_core::task::{Check, DiscoverBy, Resource};
use lifecycle_language::cel::{Expression, Key, Presence};
use lifecycle_objects::keys;

use super::gate::{Gate, Kind, gates_of};
use super::linter::{ACTIONS, Linter, PAYLOADS, entry, resources};
use super::literals;
use crate::gate_values::Own;
use crate::gate_values::abstract_value;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, precondition) in task.preconditions.iter().enumerate() {
        let Check::Expression(expression) = &precondition.check else { continue };
        let path = entry(&["preconditions"], index).key("expression");
        condition(linter, &path, expression, "no resource is ever created, updated or deleted");
        literals::value(linter, &path, expression, "it keeps no event back");
    }
    for (path, resource) in resources(task) {
        resource_gates(linter, &path, resource);
    }
    for (index, payload) in task.payloads.iter().enumerate() {
        let Some(when) = &payload.when else { continue };
        let senders = task.actions.iter().filter(|action| action.body_payloads.contains(&payload.name));
        let senders: Vec<_> = senders.map(|action| format!("`{}`", action.name)).collect();
        let effect = match senders.as_slice() {
            [] => format!("the payload `{}` is never built", payload.name),
            senders => format!("the payload `{}` is never built, and {} never runs", payload.name, senders.join(", ")),
        };
        let path = at_when(&entry(&PAYLOADS, index));
        condition(linter, &path, when, &effect);
        literals::value(linter, &path, when, "the payload is built by every event");
    }
    for (index, action) in task.actions.iter().enumerate() {
        let Some(when) = &action.when else { continue };
        let path = at_when(&entry(&ACTIONS, index));
        condition(linter, &path, when, &format!("the action `{}` never runs", action.name));
        literals::value(linter, &path, when, "the action runs in every event");
    }
}

fn at_when(path: &Path) -> Path {
    path.key("when").key("expression")
}

/// Warns of a condition that is false or fails in every event; returns whether it did.
fn condition(linter: &mut Linter<'_>, path: &Path, expression: &Expression, effect: &str) -> bool {
    let possible = abstract_value(linter.task, expression, &|_| Presence::Unknown).possible();
    let verb = if possible.always_fails() { "always fails" } else { "can never hold" };
    if !possible.can_hold() {
        let help = "mend the expression, or remove what it guards".to_owned();
        linter.warn(path, format!("{verb}, whatever the event brings: {effect}"), help);
    }
    !possible.can_hold()
}

fn resource_gates(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let own = Own::of(linter.task, resource);
    let name = &resource.name;
    let gates = gates_of(linter, path, resource);
    for gate in &gates {
        let effect = match gate.kind {
            Kind::When | Kind::Apply => format!("`{name}` is never created or updated"),
            Kind::Create => format!("`{name}` is never created"),
            Kind::Patch => format!("this patch of `{name}` is never sent"),
            Kind::Recreate => format!("`{name}` is never recreated"),
            Kind::Orphan => format!("`{name}` is never disowned"),
            Kind::Delete => format!("`{name}` is never deleted"),
        };
        let is_meant = matches!(gate.kind, Kind::Create | Kind::Apply) && literals::is_retired(resource)
            || matches!(gate.kind, Kind::Create | Kind::Apply) && is_partial(resource, gate);
        if is_meant {
            continue;
        }
        if condition(linter, &gate.path, gate.expression, &effect) {
            continue;
        }
        while_absent(linter, &own, gate);
        while_present(linter, &own, gate, &effect);
    }
    recreation(linter, &own, &gates);
    creation_after_removal(linter, &own, &gates);
    gates.iter().for_each(|gate| literals::lint(linter, resource, gate));
}

/// Whether a create or apply gate is the constant `false` beside a patch or an orphan gate, so that its author means
/// it.
fn is_partial(resource: &Resource, gate: &Gate<'_>) -> bool {
    let gates = &resource.gates;
    gate.expression.source() == "false" && (!gates.patches.is_empty() || gates.orphan.is_some())
}

/// Warns of a gate that keeps the object from being created: while the object is absent, `when`, `create` and
/// `apply` have to hold, and neither these nor `orphan` and `delete` may fail.
fn while_absent(linter: &mut Linter<'_>, own: &Own<'_>, gate: &Gate<'_>) {
    let possible = own.possible(gate.expression, Presence::Absent);
    let (verb, is_refused) = match gate.kind {
        _ if possible.can_hold() => return,
        Kind::When | Kind::Create | Kind::Apply | Kind::Orphan | Kind::Delete if possible.always_fails() => {
            ("always fails", false)
        }
        Kind::When | Kind::Create | Kind::Apply => ("cannot hold", true),
        Kind::Patch | Kind::Recreate | Kind::Orphan | Kind::Delete => return,
    };
    let name = &own.resource.name;
    let effect = match &own.resource.discovery.by {
        DiscoverBy::Name(_) => "is never created",
        // `resources.<name>` then shows an object that the selector finds and the resource does not own.
        DiscoverBy::Labels(_) => "is not created unless its selector finds another one's object",
    };
    let message =
        format!("{verb} while `resources.{name}` is absent, and the adapter evaluates it then: `{name}` {effect}");
    let help = match (is_refused, gate.kind) {
        (false, _) => format!("read it as an optional: `resources.?{name}.?…orValue(…)`"),
        (true, Kind::Create) => format!("ask for what `{name}` waits for, not for `{name}` itself"),
        (true, _) => format!("let it hold then: `!resources.?{name}.hasValue() || …`"),
    };
    linter.warn(&gate.path, message, help);
}

/// Warns of a gate that acts on a live object and cannot hold while there is one, and of one that fails then.
fn while_present(linter: &mut Linter<'_>, own: &Own<'_>, gate: &Gate<'_>, effect: &str) {
    let possible = own.possible(gate.expression, Presence::Present);
    let name = &own.resource.name;
    let verb = if possible.always_fails() { "always fails" } else { "cannot hold" };
    match gate.kind {
        _ if possible.can_hold() => {}
        Kind::Create => {}
        Kind::When | Kind::Apply if possible.always_fails() => {
            let message =
                format!("{verb} while `{name}` is there: it is never updated, and each event reports a failure");
            linter.warn(&gate.path, message, format!("read what may be missing in `{name}` as an optional"));
        }
        Kind::When | Kind::Apply => {}
        Kind::Patch | Kind::Recreate | Kind::Orphan | Kind::Delete => {
            let message = format!("{verb} while `{name}` is there: {effect}");
            let help = format!("do not demand that `resources.{name}` is absent: what is absent needs no gate");
            linter.warn(&gate.path, message, help);
        }
    }
}

/// Warns of a recreate gate that holds on every event, so that every event makes a new object.
fn recreation(linter: &mut Linter<'_>, own: &Own<'_>, gates: &[Gate<'_>]) {
    let gate = |kind: Kind| gates.iter().find(|gate| gate.kind == kind);
    let Some(recreate) = gate(Kind::Recreate) else { return };
    let is_held_back = gate(Kind::When).is_some() || gate(Kind::Create).is_some();
    if !is_held_back
        && !literals::is_value(recreate.expression)
        && own.possible(recreate.expression, Presence::Present).always_holds()
    {
        let name = &own.resource.name;
        let message = format!("always holds while `{name}` is there: each event makes a new object");
        let help = format!("ask for what a new `{name}` is needed for, or limit how often with `when`");
        linter.warn(&recreate.path, message, help);
    }
}

/// Warns of orphan and delete gates that demand only that the object is there: once it is gone, the gate does
/// not hold, and the next event creates the object again. A gate that reads more of the object, such as a
/// failed status, may mean that.
fn creation_after_removal(linter: &mut Linter<'_>, own: &Own<'_>, gates: &[Gate<'_>]) {
    let removing = || gates.iter().filter(|gate| matches!(gate.kind, Kind::Orphan | Kind::Delete));
    let is_held_back = !linter.task.preconditions.is_empty()
        || gates.iter().any(|gate| matches!(gate.kind, Kind::When | Kind::Create | Kind::Apply));
    let places = |gate: &Gate<'_>| own.value(gate.expression, Presence::Present).places_in(&own.resource.name);
    // The adapter sets its marks on every object that it writes, so a test for a mark only tests for presence.
    let looks_into = |gate: &Gate<'_>| places(gate).is_none_or(|places| !places.iter().all(|it| is_mark(it)));
    let demands_it = |gate: &Gate<'_>| {
        let absent = own.possible(gate.expression, Presence::Absent);
        own.possible(gate.expression, Presence::Present).can_hold()
            && !looks_into(gate)
            && !absent.can_hold()
            && !absent.always_fails()
    };
    if is_held_back || !removing().all(demands_it) {
        return;
    }
    let name = &own.resource.name;
    for gate in removing() {
        let effect = if gate.kind == Kind::Delete {
            "what was deleted is created again by the next event"
        } else {
            "an event that would disown it creates it if it is not there"
        };
        let message = format!("cannot hold while `{name}` is absent: {effect}");
        let help = match places(gate).is_some_and(|places| places.is_empty()) {
            true => format!("do not demand that `resources.{name}` is there: absent, it is done, and not created"),
            false => format!(
                "let it hold then, too: put `!resources.?{name}.hasValue() || …` around what it asks of the object, or do \
                     not ask for labels that every object of this adapter has"
            ),
        };
        linter.warn(&gate.path, message, help);
    }
}

/// Whether a place in an object is a label or an annotation that the adapter sets on every object that it writes.
pub(super) fn is_mark(place: &[Key]) -> bool {
    let is = |key: &Key, name: &str| *key == Key::Exact(name.to_owned());
    match place {
        [metadata, map, Key::Exact(key) | Key::Dotted(key)] => {
            is(metadata, "metadata")
                && (is(map, "labels") && [keys::ADAPTER, keys::RESOURCE_ID, keys::RESOURCE].contains(&key.as_str())
                    || is(map, "annotations") && key == keys::GENERATION)
        }
        _ => false,
    }
}
