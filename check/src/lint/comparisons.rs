//! Warns of comparisons of values whose types are never equal, such as a boolean with the text `'true'`.

use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::{Document, Path};

use super::gate::gates_of;
use super::linter::{ACTIONS, Linter, PAYLOADS, entry, resources};
use lifecycle_core::task::{Check, ParamSource, PayloadNode, PayloadSource, Task};
use lifecycle_language::cel::{Expression, Mismatch, Types};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, expression) in expressions(linter) {
        for mismatch in expression.mismatches(&|path| linter.types.of_path(path)) {
            warn(linter, &path, &mismatch);
        }
    }
}

/// Warns of comparisons of paths whose types somebody else knows.
#[must_use]
pub fn mismatches(task: &Task, document: &Document, of_path: &dyn Fn(&str) -> Types) -> Diagnostics {
    let mut linter = Linter::new(task, document);
    for (path, expression) in expressions(&linter) {
        for mismatch in expression.mismatches(of_path) {
            warn(&mut linter, &path, &mismatch);
        }
    }
    linter.diagnostics
}

/// The expressions of a task, each with its place.
pub(super) fn expressions<'t>(linter: &Linter<'t>) -> Vec<(Path, &'t Expression)> {
    let task = linter.task;
    let mut expressions: Vec<(Path, &Expression)> = Vec::new();
    for (index, param) in task.params.iter().enumerate() {
        if let ParamSource::Expression(expression) = &param.source {
            expressions.push((entry(&["params"], index).key("source").key("expression"), expression));
        }
    }
    for (index, precondition) in task.preconditions.iter().enumerate() {
        if let Check::Expression(expression) = &precondition.check {
            expressions.push((entry(&["preconditions"], index).key("expression"), expression));
        }
    }
    for (path, resource) in resources(task) {
        expressions.extend(gates_of(linter, &path, resource).into_iter().map(|gate| (gate.path, gate.expression)));
    }
    for (index, payload) in task.payloads.iter().enumerate() {
        let path = entry(&PAYLOADS, index);
        expressions.extend(payload.when.iter().map(|when| (path.key("when").key("expression"), when)));
        let build = linter.either(&path, ["build", "build_ref"]);
        in_payload(linter, &build, &build, &payload.build, &mut expressions);
    }
    for (index, action) in task.actions.iter().enumerate() {
        let path = entry(&ACTIONS, index).key("when").key("expression");
        expressions.extend(action.when.iter().map(|when| (path.clone(), when)));
    }
    expressions
}

/// The expressions of a payload, each with its place, or that of the whole payload if a file of its own contains it.
fn in_payload<'t>(
    linter: &Linter<'_>,
    base: &Path,
    place: &Path,
    node: &'t PayloadNode,
    found: &mut Vec<(Path, &'t Expression)>,
) {
    match node {
        PayloadNode::List(nodes) => {
            nodes
                .iter()
                .enumerate()
                .for_each(|(index, node)| in_payload(linter, base, &place.index(index), node, found));
        }
        PayloadNode::Map(entries) => {
            entries.iter().for_each(|(key, node)| in_payload(linter, base, &place.key(key.source()), node, found));
        }
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => {
            found.push((linter.place_or(place.clone(), base), expression));
        }
        PayloadNode::Lookup { .. } | PayloadNode::Literal(_) | PayloadNode::Text(_) => {}
    }
}

fn warn(linter: &mut Linter<'_>, path: &Path, mismatch: &Mismatch) {
    let Mismatch { subject, left, right, text, is_unequal } = mismatch;
    let (operator, always) = if *is_unequal { ("!=", "true") } else { ("==", "false") };
    let message = format!(
        "compares {left} with {right} by `{operator}`, which is always {always}: values of different types are not equal"
    );
    let truth = text.as_deref().map(str::to_lowercase);
    let help = match (subject, truth.as_deref()) {
        (Some(subject), Some("true")) if *is_unequal => format!("write `!{subject}`"),
        (Some(subject), Some("false")) if !*is_unequal => format!("write `!{subject}`"),
        (Some(subject), Some("true" | "false")) => format!("write `{subject}`"),
        (Some(_) | None, _) => "compare values of one type".to_owned(),
    };
    linter.warn(path, message, help);
}
