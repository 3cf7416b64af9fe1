//! Lints for payloads that are statuses: what the API rejects or misreads in them, and conditions that it needs.

use std::collections::BTreeSet;

use lifecycle_core::report_overlay::status_fault;
use lifecycle_core::task::PayloadNode;
use serde_json::Value;

use super::linter::{ACTIONS, Linter, PAYLOADS, entry};
use super::reported::{
    Condition, FINALIZED, REQUIRED, Status, at, constant, expression_of, finalized, has_constant_keys, literal, member,
    statuses,
};
use super::{readiness, reports, unobserved};

/// The members whose absence matters, each with the effect and the cure.
const EXPECTED: [(&str, &str, &str); 2] = [
    ("observed_generation", "the API refuses it", "observed_generation: {expression: event.generation}"),
    (
        "observed_time",
        "the API takes the time of its arrival, and cannot tell a late status from a new one",
        "observed_time: \"{{ .now }}\"",
    ),
];

/// The members that have to vary, each with the effect of a constant and the cure. The API matches a report with the
/// adapter by its name and with the work by its generation.
const VARYING: [(&str, &str, &str); 2] = [
    (
        "adapter",
        "with another name in the deployment file the API takes the report for another adapter's",
        "adapter: \"{{ .adapter.name }}\"",
    ),
    (
        "observed_generation",
        "the API takes each report for one about that generation",
        "observed_generation: {expression: event.generation}",
    ),
];

pub(super) fn lint(linter: &mut Linter<'_>) {
    let statuses = statuses(linter);
    recipients(linter);
    for status in &statuses {
        status.members(linter);
        let conditions = status.conditions(linter);
        status.repeated(linter, &conditions);
        for condition in conditions {
            status.condition(linter, &condition);
        }
    }
    unfinished(linter, &statuses);
}

/// Warns of conditions that the API does not get: of a report to a path that it does not have, and of one without `adapter`.
fn recipients(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, action) in task.actions.iter().enumerate() {
        let Some(call) = action.api_call.as_ref().filter(|call| reports::sends_body(call)) else { continue };
        let path = call.url.source().trim_end_matches('/');
        let is_report = path.ends_with("/statuses");
        for (number, payload) in task.payloads.iter().enumerate() {
            let PayloadNode::Map(entries) = &payload.build else { continue };
            if !action.body_payloads.contains(&payload.name) || member(entries, "conditions").is_none() {
                continue;
            }
            let name = &payload.name;
            if path.ends_with("/status") {
                let place = entry(&ACTIONS, index).key("api_call").key("url");
                let message = format!("sends the status `{name}` to a path that the API does not have: it answers 404");
                linter.warn(&place, message, format!("write `{path}es`"));
            }
            if is_report && has_constant_keys(entries) && member(entries, "adapter").is_none() {
                let place = linter.either(&entry(&PAYLOADS, number), ["build", "build_ref"]);
                let message = format!("the status `{name}` has no `adapter`: the API refuses it");
                linter.warn(&place, message, "add `adapter: \"{{ .adapter.name }}\"`".to_owned());
            }
        }
    }
}

impl Status<'_> {
    /// Checks the members of the status, and that it has the conditions that the API demands.
    fn members(&self, linter: &mut Linter<'_>) {
        let payload = &self.payload;
        for (key, effect, example) in EXPECTED {
            if has_constant_keys(self.entries) && member(self.entries, key).is_none() {
                let message = format!("the status `{payload}` has no `{key}`: {effect}");
                linter.warn(&self.place, message, format!("add `{example}`"));
            }
        }
        for (kind, meaning) in REQUIRED {
            if self.types.as_ref().is_some_and(|types| !types.contains(kind)) {
                let message = format!("`{kind}` is never reported: without it the API refuses the status `{payload}`");
                let help = format!("add a condition with `type: {kind}` that says {meaning}");
                linter.warn(&self.at_conditions, message, help);
            }
        }
        for (key, effect, cure) in VARYING {
            if let Some(constant) = member(self.entries, key).and_then(constant) {
                let place = at(linter, self.entries, &self.place, key);
                linter.warn(&place, format!("`{key}` is always {constant}: {effect}"), format!("write `{cure}`"));
            }
        }
        // The API accepts a number, and a template renders to a text.
        if let Some(PayloadNode::Text(_)) = member(self.entries, "observed_generation") {
            let message =
                format!("the `observed_generation` of the status `{payload}` is text: the API refuses the report");
            let help = "write `observed_generation: {expression: event.generation}`".to_owned();
            linter.warn(&self.place, message, help);
        }
    }

    /// Warns of two conditions of one type.
    fn repeated(&self, linter: &mut Linter<'_>, conditions: &[Condition<'_>]) {
        let mut seen = BTreeSet::new();
        for condition in conditions {
            let kind = member(condition.entries, "type").and_then(literal);
            if let Some(kind) = kind.filter(|kind| !seen.insert(*kind)) {
                let message =
                    format!("the status `{}` has two conditions `{kind}`: nobody knows which counts", self.payload);
                linter.warn(&condition.place, message, "remove one of them".to_owned());
            }
        }
    }

    /// Reports a condition without a type, for which the API answers 400 to the whole report, and one whose status is
    /// none of `True`, `False` and `Unknown`, which the adapter therefore sends as `Unknown`.
    fn condition(&self, linter: &mut Linter<'_>, condition: &Condition<'_>) {
        let Condition { place, entries, number } = condition;
        let named = match member(entries, "type") {
            Some(PayloadNode::Text(kind)) => format!("the condition `{}`", kind.source()),
            _ => format!("condition {number}"),
        };
        let refused = format!("the API refuses the whole report `{}`", self.payload);
        for (key, effect, example) in [
            ("type", refused.as_str(), "type: Available"),
            ("status", "it is always reported as `Unknown`", "status: \"True\""),
        ] {
            let is_missing = match member(entries, key) {
                None => has_constant_keys(entries),
                Some(node) => matches!(node, PayloadNode::Literal(Value::Null)),
            };
            if is_missing {
                linter.error(place, format!("{named} has no `{key}`: {effect}"), format!("add `{example}`"));
            }
        }
        let Some(status) = member(entries, "status") else { return };
        if let Some(expression) = expression_of(status) {
            if expression.is_boolean() {
                let message = format!(
                    "{named} is never reported as `True` or `False`: the expression of its `status` gives a boolean"
                );
                linter.warn(place, message, format!("write `({}) ? 'True' : 'False'`", expression.source()));
            }
            let misspelt = |text: &&str| status_fault(&Value::from(*text)).is_some();
            if let Some(text) = expression.texts().into_iter().find(misspelt) {
                let message = format!("{named} is reported as `Unknown` where its expression gives `{text}`");
                linter.warn(place, message, "write `'True'`, `'False'` or `'Unknown'`, with this capital".to_owned());
            }
            if condition.is("Available") {
                readiness::lint(linter, place, expression);
                unobserved::lint(linter, place, expression);
            }
        }
        let constant = constant(status);
        if let Some(fault) = constant.as_ref().and_then(status_fault) {
            let help = match constant {
                Some(Value::Bool(true)) => "put it in quotes: `status: \"True\"`",
                Some(Value::Bool(false)) => "put it in quotes: `status: \"False\"`",
                _ => "write `status: \"True\"`, or an expression that gives `'True'` or `'False'`",
            };
            linter.error(place, format!("{named} is always reported as `Unknown`: {fault}"), help.to_owned());
        }
    }
}

/// Warns of a task that deletes and never reports `Finalized`: the API waits for `Finalized` of every required
/// adapter.
fn unfinished(linter: &mut Linter<'_>, statuses: &[Status<'_>]) {
    let deleted = linter.task.resources.iter().find(|resource| resource.gates.delete.is_some());
    let (Some(resource), Some(first)) = (deleted, statuses.first()) else { return };
    let lacks = |status: &Status<'_>| status.types.as_ref().is_some_and(|types| !types.contains(FINALIZED));
    if statuses.iter().all(lacks) {
        let name = &resource.name;
        let message = format!(
            "`Finalized` is never reported, but `{name}` has a delete gate: the API waits for ever for its deletion"
        );
        let help = format!("add a condition with `type: Finalized` that is True when `{}`", finalized(name));
        linter.warn(&first.at_conditions, message, help);
    }
}
