//! Reports fields whose values have another type than Kubernetes gives them.
//!
//! In: the manifests of a task as its file writes them. Out: a diagnostic for each such field, with its place: an API server
//! refuses the object. [`lifecycle_transport::field_types`] knows the types.

mod comparisons;

use lifecycle_check::manifests::manifests;
use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};
use lifecycle_core::task::Task;
use lifecycle_objects::merge_keys::equal_keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_transport::field_types::{BOOLEAN, Fault, INTEGER, LIST, MAPPING, NUMBER, TEXT, describe, faults};
use serde_json::Value;

/// Reports the fields of a task's manifests and patches that an API server refuses whatever the event brings, and comparisons with
/// fields of live objects that have another type.
#[must_use]
pub fn lint(task: &Task, document: &Document) -> Diagnostics {
    let mut diagnostics = comparisons::lint(task, document);
    for object in manifests(task) {
        // A text with templates may get other values than their sources.
        let specimen = object.tree.specimen();
        if object.is_inline() || object.tree.templates().is_empty() {
            let at = |path: &Path| object.at(document, path);
            // The place of a field in a text is that of the whole text.
            let field = |path: &Path| {
                if object.is_inline() { String::new() } else { format!("{}{path} ", object.subject()) }
            };
            report(&specimen, at, field, document, &mut diagnostics);
        }
    }
    for (index, resource) in task.resources.iter().enumerate() {
        for (patch_index, patch) in resource.gates.patches.iter().enumerate() {
            let place = Path::of_keys("resources").index(index).key("lifecycle").key("patch").index(patch_index);
            let place = place.key("document");
            let mut specimen = patch.document.specimen();
            specimen["apiVersion"] = Value::from(resource.kind.api_version());
            specimen["kind"] = Value::from(resource.kind.kind.as_str());
            report(&specimen, |path| place.join(path), |_| String::new(), document, &mut diagnostics);
        }
    }
    diagnostics
}

/// Reports the fields of an object, and elements that a server cannot tell apart. Files of the Go adapter may have such elements,
/// so that they are no error.
fn report(
    object: &Value,
    at: impl Fn(&Path) -> Path,
    field: impl Fn(&Path) -> String,
    document: &Document,
    diagnostics: &mut Diagnostics,
) {
    if let Some(equal) = equal_keys(object) {
        let message = format!("{}: {equal}", ObjectRef::of(object));
        let diagnostic = || document.diagnostic(Severity::Warning, &at(&Path::root()), message, None);
        diagnostics.push_with(Severity::Warning, diagnostic);
    }
    for fault in faults(object).iter().filter(|fault| is_certain(fault)) {
        let (is, wanted) = (describe(&fault.value), &fault.wanted);
        let message = format!("{}is {is}, and Kubernetes wants {wanted}: it refuses the object", field(&fault.path));
        let diagnostic = || document.diagnostic(Severity::Error, &at(&fault.path), message, help(fault));
        diagnostics.push_with(Severity::Error, diagnostic);
    }
}

/// Whether every event has the fault. A template in quotes is text; as in the Go adapter, the text of `1{{ .n }}` can
/// become a number.
fn is_certain(fault: &Fault) -> bool {
    let Some(text) = fault.value.as_str().filter(|text| text.contains("{{")) else { return true };
    text.starts_with("{{") && [INTEGER, NUMBER, BOOLEAN, LIST, MAPPING].contains(&fault.wanted.as_str())
}

fn help(fault: &Fault) -> Option<String> {
    let tag = match fault.wanted.as_str() {
        INTEGER => "!!int ",
        NUMBER => "!!float ",
        BOOLEAN => "!!bool ",
        _ => "",
    };
    match &fault.value {
        Value::String(text) if text.contains("{{") && !tag.is_empty() => Some(format!("write `{tag}\"{text}\"`")),
        Value::String(_) if !tag.is_empty() => Some(format!("write {}, without quotes", fault.wanted)),
        Value::Object(map) if map.contains_key("expression") || map.contains_key("field") => {
            Some(format!("a manifest has no expressions: compute a param, and write `{tag}\"{{{{ .param }}}}\"`"))
        }
        Value::Number(_) | Value::Bool(_) if fault.wanted == TEXT => Some("put the value in quotes".to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
