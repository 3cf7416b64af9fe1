//! Warns of a task whose statuses are sent only after success, so that the API never learns of a failure.

use super::linter::{ACTIONS, Linter, PAYLOADS, entry};
use super::reported::statuses;
use super::reports::sends_body;
use crate::gate_values::abstract_value;
use lifecycle_language::cel::{Expression, Presence, Relation};

/// Conditions that hold only after a pass without a failure.
const SUCCESS: [&str; 3] =
    ["adapter.executionStatus == \"success\"", "adapter.executionStatus != \"failed\"", "!has(adapter.executionError)"];

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let mut held_back = None;
    for status in &statuses(linter) {
        let payload = task.payloads.iter().enumerate().find(|(_, payload)| payload.name == status.payload);
        let of_payload = payload.and_then(|(index, payload)| Some((entry(&PAYLOADS, index), payload.when.as_ref()?)));
        let sends = |body: &&(usize, &lifecycle_core::task::Action)| {
            body.1.api_call.as_ref().is_some_and(sends_body)
                && body.1.body_payloads.iter().any(|it| it == status.payload)
        };
        for (index, action) in task.actions.iter().enumerate().filter(|action| sends(&action)) {
            let of_action = action.when.as_ref().map(|when| (entry(&ACTIONS, index), when));
            let only = of_payload.iter().chain(&of_action).find(|(_, when)| is_only_after_success(linter, when));
            let Some((path, _)) = only else { return };
            held_back.get_or_insert_with(|| path.key("when").key("expression"));
        }
    }
    let Some(place) = held_back else { return };
    let message = "holds only after success, and no other report is sent: a failure never reaches the API, which keeps the last report";
    let help = "send the status after every pass: the adapter itself sets `Available` to False if a resource failed";
    linter.warn(&place, message.to_owned(), help.to_owned());
}

fn is_only_after_success(linter: &Linter<'_>, when: &Expression) -> bool {
    let value = |expression: &Expression| abstract_value(linter.task, expression, &|_| Presence::Unknown);
    let when = value(when);
    when.possible().can_hold()
        && SUCCESS
            .iter()
            .filter_map(|test| Expression::parse(test).ok())
            .any(|test| matches!(when.relation(&value(&test)), Relation::Same | Relation::Within))
}
