//! What is shown of a plan and of events.

use std::collections::BTreeSet;

use serde_json::Value;

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn sign(action: &str) -> &'static str {
    match action {
        "CREATE" => "+",
        "UPDATE" => "~",
        "DELETE" => "-",
        "DRIFT" => "!",
        _ => " ",
    }
}

/// The lines of a plan.
pub(crate) fn plan(plan: &Value) -> String {
    let summary = text(plan, "summary");
    let mut shown = format!("Plan: {}\n", summary.strip_prefix("Plan:").unwrap_or(summary).trim());
    for change in list(&plan["changes"]) {
        let detail = Some(text(change, "detail")).filter(|detail| !detail.is_empty());
        let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
        shown +=
            &format!("  {} {}.{}{detail}\n", sign(text(change, "action")), text(change, "type"), text(change, "name"));
    }
    if list(&plan["changes"]).next().is_none() {
        shown += "  No changes required.\n";
    }
    shown
}

/// The lines of warnings, for standard error.
pub(crate) fn warnings(plan: &Value) -> String {
    list(&plan["warnings"]).filter_map(Value::as_str).map(|warning| format!("Warning: {warning}\n")).collect()
}

/// The lines of events, and each link once. Progress is not shown.
pub(crate) fn events(result: &Value) -> String {
    let mut shown = String::new();
    for event in list(&result["events"]) {
        match text(event, "type") {
            "resource" => {
                let it = &event["resource"];
                let detail = Some(text(it, "detail")).filter(|detail| !detail.is_empty());
                let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
                let (sign, kind, name) = (sign(text(it, "action")), text(it, "type"), text(it, "name"));
                shown += &format!("  {sign} {kind}.{name} ({}){detail}\n", text(it, "status"));
            }
            "error" => shown += &format!("  ! {}\n", text(event, "message")),
            _ => {}
        }
    }
    let mut told = BTreeSet::new();
    for link in list(&result["events"]).flat_map(|event| list(&event["resource"]["links"])) {
        if told.insert(text(link, "url")) {
            shown += &format!("  {}: {}\n", text(link, "label"), text(link, "url"));
        }
    }
    shown
}

/// The lines of a status.
pub(crate) fn status(status: &Value) -> String {
    let mut shown = format!("Status: {}\n", text(status, "status"));
    for it in list(&status["resources"]) {
        let detail = Some(text(it, "detail")).filter(|detail| !detail.is_empty());
        let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
        shown += &format!("  {}.{}: {}{detail}\n", text(it, "type"), text(it, "name"), text(it, "status"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plan_is_shown_with_one_line_for_each_change() {
        let change = |action: &str, detail: &str| json!({"type": "t", "name": "n", "action": action, "detail": detail});
        let cases = [
            (json!({"changes": [], "summary": "Plan: nothing"}), "Plan: nothing\n  No changes required.\n"),
            (
                json!({"changes": [change("CREATE", "new"), change("UPDATE", ""), change("DELETE", ""), change("DRIFT", ""), change("NO_CHANGE", "")], "summary": "5"}),
                "Plan: 5\n  + t.n (new)\n  ~ t.n\n  - t.n\n  ! t.n\n    t.n\n",
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(plan(&given), expected);
        }
    }

    #[test]
    fn events_are_shown_without_progress_and_with_each_link_once() {
        let link = json!([{"label": "Console", "url": "http://c"}]);
        let resource =
            json!({"type": "t", "name": "n", "action": "CREATE", "status": "created", "detail": "id", "links": link});
        let given = json!({"events": [
            {"type": "progress", "message": "x"}, {"type": "resource", "resource": resource}, {"type": "resource", "resource": resource},
            {"type": "error", "message": "no"}, {"type": "complete", "message": "y"},
        ]});
        let expected = "  + t.n (created): id\n  + t.n (created): id\n  ! no\n  Console: http://c\n";
        assert_eq!(events(&given), expected);
    }
}
