//! Warns of reports that name the adapter or the generation by a constant.
//!
//! The API matches a report with the adapter by its name and with the work by its generation. A constant is wrong
//! as soon as the deployment file gets another name, or the API resource another generation.

use lifecycle_config::document::{Content, Document, Path};
use serde_json::Value;

use super::reports::sends_body;
use super::status::{Status, member};
use super::{ACTIONS, Linter, entry};
use lifecycle_core::overlay::is_key;
use lifecycle_core::task::PayloadNode;

/// The members that have to vary, each with the effect of a constant and the cure, in a payload and in a body.
const VARYING: [(&str, &str, &str, &str); 2] = [
    (
        "adapter",
        "with another name in the deployment file the API takes the report for another adapter's",
        "{{ .adapter.name }}",
        "{{ .adapter.name }}",
    ),
    (
        "observed_generation",
        "the API takes each report for one about that generation",
        "{expression: event.generation}",
        "{{ .event.generation }}",
    ),
];

pub(super) fn lint(linter: &mut Linter<'_>, statuses: &[Status<'_>]) {
    for status in statuses {
        for (key, effect, cure, _) in VARYING {
            let constant = match member(status.entries, key) {
                Some(PayloadNode::Text(template)) => template.as_literal().map(Value::from),
                Some(PayloadNode::Literal(value)) if !value.is_null() => Some(value.clone()),
                _ => None,
            };
            if let Some(constant) = constant {
                let cure = if cure.starts_with("{{") { format!("\"{cure}\"") } else { cure.to_owned() };
                warn(linter, &status.at(linter, key), key, &constant.to_string(), effect, &format!("{key}: {cure}"));
            }
        }
    }
}

/// The same for bodies that are statuses as text.
pub(super) fn lint_bodies(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, action) in task.actions.iter().enumerate() {
        let Some(body) = action.api_call.as_ref().filter(|call| sends_body(call)).and_then(|call| call.body.as_ref())
        else {
            continue;
        };
        let Ok(document) = Document::parse("body", body.source()) else { continue };
        let Content::Map(entries) = &document.root().content else { continue };
        let entry_of = |name: &str| entries.iter().find(|entry| is_key(&entry.key, name));
        if entry_of("adapter").is_none() || entry_of("conditions").is_none() {
            continue;
        }
        let place: Path = entry(&ACTIONS, index).key("api_call").key("body");
        for (key, effect, _, cure) in VARYING {
            let Some(Content::Scalar(scalar)) = entry_of(key).map(|entry| &entry.value.content) else { continue };
            if !scalar.text.contains("{{") {
                warn(linter, &place, key, &scalar.text, effect, cure);
            }
        }
    }
}

fn warn(linter: &mut Linter<'_>, place: &Path, key: &str, constant: &str, effect: &str, cure: &str) {
    let message = format!("`{key}` is always {constant}: {effect}");
    linter.warn(place, message, format!("write `{cure}`"));
}
