//! Prints what happened, for the account of a finding.

use hyperfleet_adapter::pass::PassReport;
use lifecycle_objects::observation::QueryBy;
use serde_json::Value;

use crate::journal::{Call, CallResult, Entry};
use crate::object::line;

/// Prints the calls and the report of a pass, one per line.
pub(crate) fn pass(pass: usize, calls: &[Entry], report: Option<&PassReport>) -> String {
    let mut text = String::new();
    for (number, entry) in calls.iter().enumerate() {
        text += &format!(
            "   pass {pass} call {}: {} -> {}\n",
            number + 1,
            call_text(&entry.call),
            result_text(&entry.result)
        );
        if entry.before != entry.after {
            text += &objects("now", &entry.after);
        }
    }
    match report {
        None => text += &format!("   pass {pass} crashed\n"),
        Some(report) => {
            for outcome in &report.outcomes {
                let (resource, row, result) = (&outcome.resource, outcome.row, outcome.result.as_str());
                text += &format!("   pass {pass}: {resource} {result}: {} ({row})\n", outcome.reason());
            }
            for error in report.params_error.iter() {
                text += &format!("   pass {pass}: {error}\n");
            }
        }
    }
    text
}

/// Prints a heading and the objects, one per line.
pub(crate) fn objects(heading: &str, objects: &[Value]) -> String {
    let lines: String = objects.iter().map(|object| format!("        {}\n", line(object))).collect();
    format!("      {heading}:{}\n{lines}", if objects.is_empty() { " nothing" } else { "" })
}

fn call_text(call: &Call) -> String {
    match call {
        Call::Find(query) => match &query.by {
            QueryBy::Name(name) => format!("find {} {name}", query.kind.kind),
            QueryBy::Labels(labels) => {
                let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("find {} {}", query.kind.kind, labels.join(","))
            }
        },
        Call::Create(desired) | Call::DryRun(desired) => format!("{} {}", call.verb(), line(desired)),
        Call::Update(_, target) | Call::Delete(target) => {
            format!("{} {} uid={} rv={}", call.verb(), target.name, target.uid, target.resource_version)
        }
        Call::Patch(document, target) => {
            format!("patch {} uid={} rv={} {document}", target.name, target.uid, target.resource_version)
        }
    }
}

fn result_text(result: &CallResult) -> String {
    match result {
        CallResult::Found(found) => format!("{:?}", found.iter().map(line).collect::<Vec<_>>()),
        CallResult::Object(object) => line(object),
        CallResult::Nothing => "done".to_owned(),
        CallResult::Refused(kind) => format!("refused: {kind:?}"),
        CallResult::Crashed => "crash".to_owned(),
    }
}
