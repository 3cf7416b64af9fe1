//! Warns of conditions that are a text, a number, `true` or an optional instead of a test. A gate that takes an object away
//! and is never a boolean is refused at load already.

use lifecycle_config::document::Path;

use super::gate::{Gate, Kind};
use super::linter::Linter;
use lifecycle_core::task::Resource;
use lifecycle_language::cel::Expression;

/// The source of a gate that its author wants to hold on every event.
const ALWAYS: &str = "true";
/// The source of a gate that its author wants to hold on no event.
const NEVER: &str = "false";

/// Warns of a gate that is a value, that always holds, or that is an optional.
pub(super) fn lint(linter: &mut Linter<'_>, resource: &Resource, gate: &Gate<'_>) {
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
        let message = match gate.kind {
            Kind::Orphan | Kind::Delete | Kind::Recreate => {
                "gives an optional: the gate fails without a value, and with a value that is no boolean"
            }
            Kind::When | Kind::Create | Kind::Apply | Kind::Patch => {
                "gives an optional: without a value the gate fails, and with one it holds unless that is false, null or empty"
            }
        };
        // Kubernetes objects in `resources` are never null; a field of the API may be.
        let presence = if source.starts_with("resources.") { "hasValue()" } else { "orValue(null) != null" };
        let guarded = guarded(source);
        let help = format!("write `{guarded}.{presence}`, or `{guarded}.orValue(false)` if the value is a boolean");
        linter.warn(&gate.path, message.to_owned(), help);
    }
}

/// Whether the constants `true` and `false` in its gates say that the task removes the object and never creates it.
pub(super) fn is_retired(resource: &Resource) -> bool {
    let gates = &resource.gates;
    let is = |gate: Option<&Expression>, source: &str| gate.is_some_and(|gate| gate.source() == source);
    let goes = is(gates.orphan.as_ref(), ALWAYS) || is(gates.delete.as_ref().map(|delete| &delete.when), ALWAYS);
    goes && (is(gates.create.as_ref(), NEVER) || is(gates.apply.as_ref(), NEVER))
}

/// Whether an expression is a text or a number, and so always holds.
pub(super) fn is_value(expression: &Expression) -> bool {
    text(expression.source()).is_some() || is_number(expression.source())
}

fn is_number(source: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(source).is_ok()
}

/// Warns of an expression that is a text or a number; returns whether it did.
pub(super) fn value(linter: &mut Linter<'_>, path: &Path, expression: &Expression, effect: &str) -> bool {
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
        let types = linter.types.of_expression(expression);
        if types.excludes_boolean() {
            let message = format!("gives {types}, never a boolean: while that is not empty, {effect}");
            let help = match types.first() {
                Some(given) => format!("write a test, such as `{}`", given.compared(expression.one_line())),
                None => "write a test, such as a comparison".to_owned(),
            };
            linter.warn(path, message, help);
        }
        return types.excludes_boolean();
    };
    linter.warn(path, format!("is {kind}, which always holds: {effect}"), help);
    true
}

/// The path with an optional first step below `resources`: the gate is evaluated while the object is absent, too.
fn guarded(path: &str) -> String {
    match path.strip_prefix("resources.") {
        Some(rest) if !rest.starts_with('?') => {
            format!("resources.?{}", rest.replacen('.', ".?", 1).replace(".??", ".?"))
        }
        Some(_) | None => path.to_owned(),
    }
}

/// The content of an expression that is one quoted text. The empty text is left out: it counts as false.
fn text(source: &str) -> Option<&str> {
    let between = |quote: char| source.strip_prefix(quote)?.strip_suffix(quote).filter(|it| !it.contains(quote));
    between('\'').or_else(|| between('"')).filter(|text| !text.is_empty())
}

/// Whether an expression is only a path with a `.?` in it, so that its result is an optional.
fn is_optional(expression: &Expression) -> bool {
    let source = expression.source();
    source.contains(".?") && source.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '?'))
}
