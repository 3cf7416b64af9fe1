//! Prints the rows of the decision table that a resource can reach, as text and as JSON.

use std::fmt::Write as _;

use lifecycle_check::members::{Members, Step};
use lifecycle_check::reach::{Reach, Reached};
use serde_json::{Value, json};

/// Formats a heading, and a line for each row.
pub(super) fn text(reach: &Reach<'_>) -> String {
    let resource = reach.resource;
    let mut text = format!("\n{} ({} {})\n", resource.name, resource.kind.api_version(), resource.kind.kind);
    let adopts = if resource.adopt { "yes, by its first update" } else { "no" };
    let _ = writeln!(text, "  takes over an object that no adapter wrote: {adopts}");
    for reached in &reach.rows {
        let _ = writeln!(text, "  {:>3}  {}: {}", reached.row.number(), reached.row.condition(), outcomes(reached));
    }
    reach.members.iter().for_each(|members| text.push_str(&of_members(members)));
    text
}

/// Formats what the objects of a bundle can come to: their rows, and their steps.
fn of_members(members: &Members) -> String {
    let mut text = "  its objects:\n".to_owned();
    for row in &members.rows {
        let _ = writeln!(text, "  {:>3}  {}", row.number(), row.condition());
    }
    for step in members.application.iter().chain(&members.deletion) {
        let _ = writeln!(text, "  {}: {}", step.name, step.objects.join(", "));
    }
    if !members.kept.is_empty() {
        let _ = writeln!(text, "  not deleted with the bundle: {}", members.kept.join(", "));
    }
    if members.has_others {
        text.push_str("  further objects are known only with an event\n");
    }
    text
}

/// Lists the decisions of a row, failures last.
fn outcomes(reached: &Reached) -> String {
    let decisions = reached.decisions.iter().map(|(decision, reason)| format!("{decision} {reason}"));
    decisions.collect::<Vec<_>>().join(", ")
}

/// Formats the resource and its rows as JSON.
pub(super) fn value(reach: &Reach<'_>) -> Value {
    let rows = reach.rows.iter().map(|reached| {
        json!({
            "row": reached.row.number(),
            "condition": reached.row.condition(),
            "decisions": reached.decisions.iter()
                .map(|(decision, reason)| json!({ "decision": decision, "reason": reason }))
                .collect::<Vec<_>>(),
        })
    });
    let members = reach.members.as_ref().map(|members| {
        let steps = |steps: &[Step]| {
            steps.iter().map(|step| json!({ "name": step.name, "objects": step.objects })).collect::<Vec<_>>()
        };
        let rows = members.rows.iter().map(|row| json!({ "row": row.number(), "condition": row.condition() }));
        json!({
            "rows": rows.collect::<Vec<_>>(), "application": steps(&members.application), "deletion": steps(&members.deletion),
            "kept": members.kept, "hasOthers": members.has_others,
        })
    });
    let mut value = json!({
        "name": reach.resource.name,
        "apiVersion": reach.resource.kind.api_version(),
        "kind": reach.resource.kind.kind,
        "adopt": reach.resource.adopt,
        "rows": rows.collect::<Vec<_>>(),
    });
    if let Some(members) = members {
        value["members"] = members;
    }
    value
}
