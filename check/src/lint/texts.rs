//! Notes texts with a structure, YAML or JSON, into which values are inserted as they are.
//!
//! A value that would become structure fails the resource or the report ([`lifecycle_language::template`]), so such a text works
//! until a value has a quote, a line break or a colon in the wrong place.

use lifecycle_config::document::{Node, Path};

use super::{ACTIONS, Linter, entry, resources};
use lifecycle_core::task::Manifest;
use lifecycle_language::template::Template;

const HELP: &str = "print the value with `| toJson`, without quotes around it";

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task) {
        if let Manifest::Text(template) = &resource.manifest {
            let help = format!("write the manifest as a mapping, or {HELP}");
            note(linter, &path.key("manifest"), template, "the resource fails", help);
        }
    }
    for (index, action) in task.actions.iter().enumerate() {
        let Some(body) = action.api_call.as_ref().and_then(|call| call.body.as_ref()) else { continue };
        let source = body.source();
        if source.trim_start().starts_with('{')
            && source.contains("conditions")
            && !source.trim_start().starts_with("{{")
        {
            let help = format!("build the report as a payload, or {HELP}");
            note(linter, &entry(&ACTIONS, index).key("api_call").key("body"), body, "the report is not sent", help);
        }
    }
}

fn note(linter: &mut Linter<'_>, path: &Path, template: &Template, effect: &str, help: String) {
    let Some(action) = template.source().split("{{").skip(1).find_map(raw) else { return };
    let reference = path.key("ref");
    let path =
        if linter.document.node(&reference).is_some_and(|node: &Node| !node.is_null()) { &reference } else { path };
    let message = format!(
        "inserts the value of `{{{{ {action} }}}}` into a text: if it brings a quote, a line, a key or a comment, {effect}"
    );
    linter.note(path, message, help);
}

/// The action at the beginning of a text, if it prints a value that is not yet safe.
fn raw(text: &str) -> Option<&str> {
    let (action, _) = text.split_once("}}")?;
    let action = action.strip_prefix('-').unwrap_or(action);
    let action = action.strip_suffix('-').unwrap_or(action).trim();
    let first = action.split([' ', '(']).next().unwrap_or_default();
    let is_control =
        ["if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"].contains(&first);
    let is_safe = first.starts_with("/*")
        || action.contains(":=")
        || first == "toJson"
        || ["int", "int64", "float", "float64", "len"].contains(&first)
        || action.split('|').next_back().is_some_and(|last| last.trim() == "toJson");
    (!is_control && !is_safe && action.contains(['.', '$'])).then_some(action)
}
