//! Warns of a condition `Finalized` that does not say whether the task's objects are gone.
//!
//! `Finalized` must wait for every object that has a delete gate, and for no other: one without a gate is never gone.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;

use super::linter::Linter;
use super::reported::{Entries, Status, expression_of, finalized, member, statuses};
use super::reports;
use super::waits_for_nothing::{absences, stays};
use lifecycle_core::task::{PayloadNode, PayloadSource, Resource};
use lifecycle_language::cel::Expression;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let gated = task.resources.iter().find(|resource| goes(resource));
    for status in &statuses(linter) {
        for condition in status.conditions(linter).into_iter().filter(|condition| condition.is("Finalized")) {
            let (place, condition) = (condition.place, condition.entries);
            let Some(node) = member(condition, "status") else { continue };
            if let Some(resource) = gated.filter(|_| ignores(linter, status, condition)) {
                let name = &resource.name;
                let message = format!(
                    "`Finalized` looks at no object: where it is True while `{name}` is still there, the API forgets what is not deleted yet"
                );
                linter.warn(&place, message, format!("add to its condition: `{}`", finalized(name)));
            }
            if let Some(expression) = expression_of(node) {
                awaited(linter, expression).into_iter().for_each(|resource| stuck(linter, &place, resource));
            }
        }
        if let Some((place, expression)) = status.computed_conditions() {
            let waits = |resource: &&Resource| !goes(resource) && reads_outcome(expression, resource);
            task.resources.iter().filter(waits).for_each(|resource| stuck(linter, place, resource));
        }
    }
}

fn stuck(linter: &mut Linter<'_>, place: &Path, resource: &Resource) {
    let name = &resource.name;
    let message = format!("`Finalized` waits for `{name}`, which no gate deletes: it is never True");
    linter.warn(place, message, format!("give `{name}` a delete gate, or do not wait for it"));
}

/// Whether an expression asks whether a resource's objects are gone.
fn reads_outcome(expression: &Expression, resource: &Resource) -> bool {
    expression.member_paths().iter().any(|read| *read == ["adapter", "outcomes", resource.name.as_str(), "finalized"])
}

fn goes(resource: &Resource) -> bool {
    resource.gates.delete.is_some() || resource.gates.orphan.is_some()
}

/// Whether a condition can be True and reads no object and no outcome, neither itself nor by its payload's `when`.
fn ignores(linter: &Linter<'_>, status: &Status<'_>, condition: &Entries) -> bool {
    let task = linter.task;
    let of_payload = task.payloads.iter().filter(|payload| payload.name == status.payload);
    let mut whens = of_payload.filter_map(|payload| payload.when.as_ref());
    let is_payload = |variable: &str| task.payloads.iter().any(|payload| payload.name == variable);
    let is_read = |path: &[&str]| match path {
        ["adapter", "outcomes" | "resourceErrors", ..] | ["adapter"] | [] => true,
        [variable, ..] => *variable == "resources" || is_payload(variable),
    };
    let Some(node) = member(condition, "status") else { return false };
    let can_be_true = match node {
        PayloadNode::Text(template) => template.as_literal().is_none_or(|text| text == "True"),
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => {
            expression.source().contains("True")
        }
        PayloadNode::Lookup { .. } | PayloadNode::Literal(_) | PayloadNode::List(_) | PayloadNode::Map(_) => false,
    };
    can_be_true && !reports::reads(node, &is_read) && !whens.any(|when| reports::expression_reads(when, &is_read))
}

/// The resources without a gate that have to be gone for the status to be `True`.
fn awaited<'t>(linter: &Linter<'t>, status: &Expression) -> Vec<&'t Resource> {
    let task = linter.task;
    let condition = status.condition_of("True");
    let absent: BTreeSet<usize> = condition.map(|condition| absences(task, None, &condition)).unwrap_or_default();
    let waits = |(index, resource): &(usize, &Resource)| {
        !goes(resource) && (reads_outcome(status, resource) || absent.contains(index) && stays(task, resource, None))
    };
    task.resources.iter().enumerate().filter(waits).map(|(_, resource)| resource).collect()
}
