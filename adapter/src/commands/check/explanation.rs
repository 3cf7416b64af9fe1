//! The rows that a resource can reach, for people and for programs.

use std::fmt::Write as _;

use lifecycle_core::task::reach::{Reach, Reached};
use serde_json::{Value, json};

/// A heading, and a line for each row.
pub(super) fn text(reach: &Reach<'_>) -> String {
    let resource = reach.resource;
    let mut text = format!("\n{} ({} {})\n", resource.name, resource.kind.api_version(), resource.kind.kind);
    for reached in &reach.rows {
        let _ = writeln!(text, "  {:>3}  {}: {}", reached.row.number(), reached.row.condition(), outcomes(reached));
    }
    text
}

/// The row's decisions; those that fail stand last.
fn outcomes(reached: &Reached) -> String {
    let decisions = reached.decisions.iter().map(|(decision, reason)| format!("{decision} {reason}"));
    decisions.collect::<Vec<_>>().join(", ")
}

/// The same for programs.
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
        "rows": rows.collect::<Vec<_>>(),
    })
}
