//! Warns of gates that take away an object in the wrong state of the API resource, or that fail once something is gone.
//!
//! A delete gate is evaluated for an API resource that lives and for one that is being deleted: by an inverted test it deletes
//! what is needed and keeps what is to go, and by a misspelt field it never holds. A gate that reads an object or a label
//! without asking whether it is there fails from the deletion of that object on, and `adapter.outcomes` is never there.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;

use super::gate::{Gate, Kind, gates_of, unguarded_entries};
use super::gates::is_mark;
use super::linter::{Linter, entry, resources};
use super::literals;
use crate::api_resource::{DELETED_TIME, Facts, State, answers, deletion_test, is_misspelt};
use crate::gate_values::Own;
use lifecycle_core::task::{Check, ParamSource, Resource};
use lifecycle_language::cel::{Expression, Key, Possible, Presence};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    misspelt_fields(linter);
    for (index, (path, resource)) in resources(task).enumerate() {
        let gates = gates_of(linter, &path, resource);
        for gate in &gates {
            late_outcomes(linter, gate);
            match gate.kind {
                Kind::Delete => {
                    states(linter, resource, &gates, gate);
                    unguarded(linter, index, gate);
                }
                Kind::Orphan => {
                    disowning(linter, resource, gate);
                    unguarded(linter, index, gate);
                }
                Kind::When | Kind::Create | Kind::Apply | Kind::Patch | Kind::Recreate => {}
            }
        }
    }
}

/// Warns of a gate that reads what is known only after the last gate.
fn late_outcomes(linter: &mut Linter<'_>, gate: &Gate<'_>) {
    let paths = gate.expression.member_paths();
    let late = paths.iter().find_map(|path| match path.as_slice() {
        ["adapter", late @ ("outcomes" | "conditions" | "resourceErrors"), ..] => Some(*late),
        _ => None,
    });
    let Some(late) = late else { return };
    let message =
        format!("reads `adapter.{late}`, which is set after all resources were handled: no gate finds anything there");
    let help = "read the object: `resources.?NAME.hasValue()`, or what `resources.?NAME.?status` says".to_owned();
    linter.warn(&gate.path, message, help);
}

/// The results of a gate in each state, while the object is there.
pub(super) fn in_state(own: &Own<'_>, gate: &Expression, state: State) -> Option<Possible> {
    let is_own = |name: &str| name == own.resource.name && !own.task.is_shared(name);
    let entries = |name: &str| if is_own(name) { Presence::Present } else { Presence::Unknown };
    Some(Facts::of(own.task, state)?.possible(gate, &entries))
}

fn states(linter: &mut Linter<'_>, resource: &Resource, gates: &[Gate<'_>], gate: &Gate<'_>) {
    let own = Own::of(linter.task, resource);
    let results = |gate: &Expression| {
        let [living, without, deleting] =
            [State::Living, State::LivingWithoutField, State::Deleting].map(|state| in_state(&own, gate, state));
        Some((living?, without?, deleting?))
    };
    // A gate that can never hold has a warning already.
    if literals::is_retired(resource) || !own.possible(gate.expression, Presence::Present).can_hold() {
        return;
    }
    let Some((living, without, deleting)) = results(gate.expression) else { return };
    let name = &resource.name;
    let while_living = living.can_hold() || without.can_hold();
    let always_living = living.always_holds() || without.always_holds();
    let orphan = gates.iter().find(|gate| gate.kind == Kind::Orphan);
    let is_disowned =
        orphan.and_then(|orphan| results(orphan.expression)).is_some_and(|(_, _, deleting)| deleting.can_hold());
    // With an owner that goes, or beside an orphan gate, an object may be deleted early and only then.
    let may_be_meant = !always_living && (is_disowned || resource.owner.is_some());
    let field = answers(linter.task).next().unwrap_or("cluster");
    let test = format!("`{field}.?{DELETED_TIME}.orValue(null) != null`");
    if !while_living && !deleting.can_hold() {
        let verb = if deleting.always_fails() { "fails" } else { "does not hold" };
        let message = format!(
            "{verb} for an API resource that is being deleted, and holds for none that lives: `{name}` is never deleted"
        );
        linter.warn(&gate.path, message, format!("the API says by `{DELETED_TIME}` that it deletes: {test}"));
    } else if !deleting.can_hold() && !may_be_meant {
        let message = format!(
            "holds for an API resource that lives, and not for one that is being deleted: `{name}` is deleted while it is needed, \
             and stays when it is to go"
        );
        linter.warn(&gate.path, message, format!("turn the test around: {test}"));
    } else if always_living && gate.expression.source() != "true" {
        let message =
            format!("always holds for an API resource that lives: every event that finds `{name}` deletes it");
        linter.warn(&gate.path, message, format!("ask whether the API resource is being deleted: {test}"));
    } else if living.can_hold()
        && deleting.can_hold()
        && !may_be_meant
        && Facts::of(linter.task, State::Living).is_some_and(|facts| facts.are_read_by(gate.expression))
    {
        let message =
            format!("can hold for an API resource that lives: `{name}` is then deleted while the others stay");
        let own = deletion_test(linter.task);
        let help = format!(
            "if `{name}` is to go with the API resource alone, let all of the gate depend on it: `{own} && (…)`"
        );
        linter.note(&gate.path, message, help);
    }
}

/// Warns of an orphan gate that holds whenever the API resource lives: nothing updates the object again, and nothing deletes it.
fn disowning(linter: &mut Linter<'_>, resource: &Resource, gate: &Gate<'_>) {
    let own = Own::of(linter.task, resource);
    let always = |state| in_state(&own, gate.expression, state).is_some_and(Possible::always_holds);
    let of_living = [State::Living, State::LivingWithoutField].into_iter().any(always);
    if !of_living || gate.expression.source() == "true" || literals::is_retired(resource) {
        return;
    }
    let name = &resource.name;
    let message = format!("always holds for an API resource that lives: every event that finds `{name}` disowns it");
    let help = format!("ask whether the API resource is being deleted: `{}`", deletion_test(linter.task));
    linter.warn(&gate.path, message, help);
}

/// Warns of a gate that fails while an object or a label that it reads is missing.
fn unguarded(linter: &mut Linter<'_>, index: usize, gate: &Gate<'_>) {
    let task = linter.task;
    let resource = &task.resources[index];
    let (name, effect) = (&resource.name, if gate.kind == Kind::Delete { "deleted" } else { "disowned" });
    // A gate that always fails while its own object is absent has a warning already.
    let has_warning = Own::of(task, resource).possible(gate.expression, Presence::Absent).always_fails();
    let can_be_absent = |read: &str| {
        let shows = |other: &Resource| other.name == read || other.nested.iter().any(|nested| nested.name == read);
        let position = task.resources.iter().position(shows);
        position.filter(|position| *position != index || !has_warning).is_some_and(|position| {
            let gates = &task.resources[position].gates;
            position >= index || gates.delete.is_some() || gates.hold_back()
        })
    };
    let entries: BTreeSet<&str> = unguarded_entries(task, gate.expression).filter(|read| can_be_absent(read)).collect();
    for read in &entries {
        let message = if *read == *name {
            format!(
                "fails while `resources.{read}` is absent (`GateFailed`): once `{name}` is {effect}, that is never complete"
            )
        } else {
            format!("fails while `resources.{read}` is absent (`GateFailed`): `{name}` is not {effect} then")
        };
        let help = format!(
            "read it as an optional: `resources.?{read}.?….orValue(…)`, or ask `resources.?{read}.hasValue()` first"
        );
        linter.warn(&gate.path, message, help);
    }
    for path in gate.expression.member_paths() {
        let ["resources", read, "metadata", of @ ("labels" | "annotations"), key] = path.as_slice() else { continue };
        let place = [(*of).to_owned(), (*key).to_owned()].map(Key::Exact);
        let place: Vec<Key> = std::iter::once(Key::Exact("metadata".to_owned())).chain(place).collect();
        if entries.contains(read) || is_mark(&place) || !gate.expression.demands(&path) {
            continue;
        }
        let message = format!(
            "fails once `{read}` has no `{of}` with the key `{key}` (`GateFailed`): `{name}` is not {effect} then"
        );
        let help = format!("read it as an optional: `resources.?{read}.?metadata.?{of}[?\"{key}\"].orValue(\"\")`");
        linter.warn(&gate.path, message, help);
    }
}

/// Warns of each param, precondition and gate that reads a misspelt `deleted_time` of the API's answer.
fn misspelt_fields(linter: &mut Linter<'_>) {
    let task = linter.task;
    let answers: BTreeSet<&str> = answers(task).collect();
    let in_path = |path: &[&str]| match path {
        [variable, field, ..] if answers.contains(variable) && is_misspelt(field) => {
            Some(((*variable).to_owned(), (*field).to_owned()))
        }
        _ => None,
    };
    let in_expression = |expression: &Expression| expression.member_paths().iter().find_map(|path| in_path(path));
    let mut found: Vec<(Path, (String, String))> = Vec::new();
    for (index, param) in task.params.iter().enumerate() {
        let place = entry(&["params"], index).key("source");
        match &param.source {
            ParamSource::Path(path) => {
                found.extend(in_path(&path.split('.').collect::<Vec<_>>()).map(|misspelt| (place, misspelt)));
            }
            ParamSource::Expression(expression) => {
                found.extend(in_expression(expression).map(|misspelt| (place.key("expression"), misspelt)));
            }
            ParamSource::Environment(_)
            | ParamSource::Event(_)
            | ParamSource::Config(_)
            | ParamSource::ApiCall(_)
            | ParamSource::File { .. } => {}
        }
    }
    for (index, precondition) in task.preconditions.iter().enumerate() {
        let place = entry(&["preconditions"], index);
        match &precondition.check {
            Check::Expression(expression) => {
                found.extend(in_expression(expression).map(|misspelt| (place.key("expression"), misspelt)));
            }
            Check::CallSucceeds | Check::Conditions(_) => {}
        }
    }
    for (path, resource) in resources(task) {
        let gates = gates_of(linter, &path, resource);
        found.extend(gates.iter().filter_map(|gate| Some((gate.path.clone(), in_expression(gate.expression)?))));
    }
    for (place, (variable, field)) in found {
        let message = format!("`{variable}.{field}` never exists: the API's answer has no such field");
        let test = format!("`{variable}.?{DELETED_TIME}.orValue(null) != null`");
        linter.warn(
            &place,
            message,
            format!("the field is `{DELETED_TIME}`, null while it lives; the whole test is {test}"),
        );
    }
}
