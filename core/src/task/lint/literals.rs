//! Conditions that are written as a value: they hold in every event, or only while an optional has a value.

use lifecycle_config::document::Path;

use super::{Gate, Kind, Linter, gates_of, resources};
use crate::cel::Expression;
use crate::task::{Check, Resource};

/// The source of an expression that the author means to hold always.
const ALWAYS: &str = "true";
/// The source of an expression that the author means to hold never.
const NEVER: &str = "false";

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, precondition) in task.preconditions.iter().enumerate() {
        let Check::Expression(expression) = &precondition.check else { continue };
        let path = super::entry(&["preconditions"], index).key("expression");
        value(linter, &path, expression, "it keeps no event back");
    }
    for (path, resource) in resources(task) {
        for gate in gates_of(linter, &path, resource) {
            of_resource(linter, resource, &gate);
        }
    }
    for (index, payload) in task.payloads.iter().enumerate() {
        let Some(when) = &payload.when else { continue };
        let path = super::entry(&super::PAYLOADS, index).key("when").key("expression");
        value(linter, &path, when, "the payload is built by every event");
    }
    for (index, action) in task.actions.iter().enumerate() {
        let Some(when) = &action.when else { continue };
        let path = super::entry(&super::ACTIONS, index).key("when").key("expression");
        value(linter, &path, when, "the action runs in every event");
    }
}

fn of_resource(linter: &mut Linter<'_>, resource: &Resource, gate: &Gate<'_>) {
    let name = &resource.name;
    let effect = match gate.kind {
        Kind::When | Kind::Create | Kind::Apply => format!("it never keeps `{name}` from being written"),
        Kind::Patch => format!("every event sends this patch of `{name}`"),
        Kind::Recreate => format!("every event that finds `{name}` makes a new object"),
        Kind::Orphan => format!("every event that finds `{name}` disowns it, and none creates it"),
        Kind::Delete => format!("every event that finds `{name}` deletes it, and none creates it"),
    };
    if value(linter, &gate.path, gate.expression, &effect) {
        return;
    }
    let is_final = matches!(gate.kind, Kind::Orphan | Kind::Delete);
    if is_final && gate.expression.source() == ALWAYS && !is_retired(resource) {
        let help = format!(
            "ask for what tells that `{name}` is to go; if it is to go for good, say that it is never created: `create: {{when: \
             {{expression: \"false\"}}}}`"
        );
        linter.warn(&gate.path, format!("always holds: {effect}"), help);
    } else if is_optional(gate.expression) {
        let source = gate.expression.source();
        let message = "gives an optional: without a value the gate fails, and with one it holds unless that is false, null or empty";
        let help = format!("write `{source}.hasValue()`, or `{source}.orValue(false)` if the value is a boolean");
        linter.warn(&gate.path, message.to_owned(), help);
    }
}

/// Whether the author says in so many words that the task takes its object away and never makes one.
pub(super) fn is_retired(resource: &Resource) -> bool {
    let gates = &resource.gates;
    let is = |gate: Option<&Expression>, source: &str| gate.is_some_and(|gate| gate.source() == source);
    let goes = is(gates.orphan.as_ref(), ALWAYS) || is(gates.delete.as_ref().map(|delete| &delete.when), ALWAYS);
    goes && (is(gates.create.as_ref(), NEVER) || is(gates.apply.as_ref(), NEVER))
}

/// Whether an expression is text or a number, so that it always holds.
pub(super) fn is_value(expression: &Expression) -> bool {
    text(expression.source()).is_some() || is_number(expression.source())
}

fn is_number(source: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(source).is_ok()
}

/// Tells of an expression that is text or a number.
fn value(linter: &mut Linter<'_>, path: &Path, expression: &Expression, effect: &str) -> bool {
    let source = expression.source();
    let (kind, help) = if let Some(text) = text(source) {
        let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '?' | '!'));
        let help = if is_name {
            format!("write `{text}` without these quotes, if the variable is meant")
        } else {
            "remove these quotes, if the text is meant as an expression".to_owned()
        };
        ("text", help)
    } else if is_number(source) {
        ("a number", "write a comparison, or `true` or `false`".to_owned())
    } else {
        return false;
    };
    linter.warn(path, format!("is {kind}, which always holds: {effect}"), help);
    true
}

/// What stands in the quotes of an expression that is one text; the empty text does not hold.
fn text(source: &str) -> Option<&str> {
    let between = |quote: char| source.strip_prefix(quote)?.strip_suffix(quote).filter(|it| !it.contains(quote));
    between('\'').or_else(|| between('"')).filter(|text| !text.is_empty())
}

/// Whether an expression is a path with a `.?` in it and nothing else: what it gives is an optional.
fn is_optional(expression: &Expression) -> bool {
    let source = expression.source();
    source.contains(".?") && source.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '?'))
}
