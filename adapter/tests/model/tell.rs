//! What happened, for those who read a finding.

use hyperfleet_adapter::pass::PassReport;
use lifecycle_core::observation::QueryBy;
use serde_json::Value;

use crate::journal::{Call, Entry, Told};
use crate::object::line;

/// The calls of a pass and what it reported, a line each.
pub(crate) fn pass(pass: usize, calls: &[Entry], report: Option<&PassReport>) -> String {
    let mut text = String::new();
    for (number, entry) in calls.iter().enumerate() {
        text += &format!("   pass {pass} call {}: {} -> {}\n", number + 1, meant(&entry.call), told(&entry.told));
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

/// A heading and the objects, a line each.
pub(crate) fn objects(heading: &str, objects: &[Value]) -> String {
    let lines: String = objects.iter().map(|object| format!("        {}\n", line(object))).collect();
    format!("      {heading}:{}\n{lines}", if objects.is_empty() { " nothing" } else { "" })
}

fn meant(call: &Call) -> String {
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

fn told(told: &Told) -> String {
    match told {
        Told::Found(found) => format!("{:?}", found.iter().map(line).collect::<Vec<_>>()),
        Told::Object(object) => line(object),
        Told::Nothing => "done".to_owned(),
        Told::Refused(kind) => format!("refused: {kind:?}"),
        Told::Crashed => "crash".to_owned(),
    }
}
