//! Warns of a condition `Finalized` that is never True while the API resource is being deleted, and of statuses that are not sent
//! then: the API waits for `Finalized` for ever.

use lifecycle_core::task::{Action, Payload, PayloadNode, Task};
use lifecycle_language::cel::{Expression, Presence};

use super::linter::{ACTIONS, Linter, PAYLOADS, entry};
use super::reported::{expression_of, has_constant_keys, member, statuses, types};
use super::reports::{sends_body, writes};
use crate::api_resource::{Facts, State, deletion_test};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let Some(deleting) = Facts::of(task, State::Deleting) else { return };
    let goes = task.resources.iter().any(|resource| resource.gates.delete.is_some() || resource.gates.orphan.is_some());
    if !goes {
        return;
    }
    for status in &statuses(linter) {
        for condition in status.conditions(linter).into_iter().filter(|condition| condition.is("Finalized")) {
            let Some(expression) = member(condition.entries, "status").and_then(expression_of) else { continue };
            let holds = expression.condition_of("True").filter(|_| deleting.are_read_by(expression));
            if holds.is_some_and(|holds| never_holds(&deleting, &holds)) {
                let message =
                    "`Finalized` is never True while the API resource is being deleted: the API waits for ever";
                let help = format!("let it be True then, once nothing is left: `{} && …`", deletion_test(task));
                linter.warn(&condition.place, message.to_owned(), help);
            }
        }
    }
    unsent(linter, &deleting);
}

/// Warns if no payload with `Finalized` is built and sent in a deletion.
fn unsent(linter: &mut Linter<'_>, deleting: &Facts<'_>) {
    let task = linter.task;
    let mut held_back = None;
    let payloads = task.payloads.iter().enumerate().filter(|(_, payload)| writes(&payload.build, "Finalized"));
    for (index, payload) in payloads {
        let sends = |action: &Action| {
            action.api_call.as_ref().is_some_and(sends_body) && action.body_payloads.contains(&payload.name)
        };
        for (number, action) in task.actions.iter().enumerate().filter(|(_, action)| sends(action)) {
            let whens = [(entry(&PAYLOADS, index), &payload.when), (entry(&ACTIONS, number), &action.when)];
            let never =
                whens.into_iter().find(|(_, when)| when.as_ref().is_some_and(|when| never_holds(deleting, when)));
            let Some((path, _)) = never else { return };
            held_back.get_or_insert_with(|| path.key("when").key("expression"));
        }
    }
    let senders = || task.actions.iter().filter(|action| action.api_call.as_ref().is_some_and(sends_body));
    let Some(place) = held_back.filter(|_| senders().all(|action| is_known(task, action))) else { return };
    let message = "does not hold while the API resource is being deleted, and no other report has `Finalized`: the API waits for ever";
    linter.warn(
        &place,
        message.to_owned(),
        "send the status then, too: `Finalized` says when nothing is left".to_owned(),
    );
}

fn never_holds(facts: &Facts<'_>, expression: &Expression) -> bool {
    !facts.possible(expression, &|_| Presence::Unknown).can_hold()
}

/// Whether nothing but a payload that writes `Finalized` can bring it into what an action sends.
fn is_known(task: &Task, action: &Action) -> bool {
    let Some(body) = action.api_call.as_ref().and_then(|call| call.body.as_ref()) else { return true };
    let payload = |path: &String| {
        let name = path.split('.').next().unwrap_or_default();
        task.payloads.iter().find(|payload| payload.name == name)
    };
    let is_without = |payload: &Payload| writes(&payload.build, "Finalized") || has_known_conditions(&payload.build);
    !body.reads_root()
        && !body.source().contains("Finalized")
        && body.variables().iter().all(|path| payload(path).is_some_and(is_without))
}

/// Whether the types of all conditions that a payload has are written in it, or are those of a bundle.
fn has_known_conditions(build: &PayloadNode) -> bool {
    let PayloadNode::Map(entries) = build else { return false };
    match member(entries, "conditions") {
        None => has_constant_keys(entries),
        Some(conditions) => match expression_of(conditions) {
            Some(expression) => {
                expression.member_paths().iter().all(|path| path.starts_with(&["adapter", "conditions"]))
            }
            None => types(conditions).is_some(),
        },
    }
}
