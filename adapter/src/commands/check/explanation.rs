//! Prints the rows of the decision table that a resource can reach, as text and as JSON.

use std::fmt::Write as _;

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
    json!({
        "name": reach.resource.name,
        "apiVersion": reach.resource.kind.api_version(),
        "kind": reach.resource.kind.kind,
        "adopt": reach.resource.adopt,
        "rows": rows.collect::<Vec<_>>(),
    })
}
