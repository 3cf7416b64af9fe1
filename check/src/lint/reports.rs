//! Warns of a task that reports nothing, and notes reports about objects that the adapter may not read.

use lifecycle_config::document::Path;

use super::linter::{Linter, entry};
use lifecycle_core::api_call::{ApiCall, Method};
use lifecycle_core::task::{Check, Discover, Payload, PayloadNode, PayloadSource, Precondition};
use lifecycle_language::cel::Expression;
use lifecycle_language::template::Template;

/// Whether any action sends a body; warns if none does.
pub(super) fn anything_is_sent(linter: &mut Linter<'_>) -> bool {
    let task = linter.task;
    let has_work = !task.resources.is_empty() || !task.payloads.is_empty();
    let sends = task.actions.iter().filter_map(|action| action.api_call.as_ref()).any(sends_body);
    if has_work && !sends {
        let message = "nothing is ever reported: no post action sends a payload".to_owned();
        let help =
            "add a post action that puts a status to the API: adapter, observed_generation, observed_time and the \
                    conditions Applied, Available and Health"
                .to_owned();
        linter.warn(&Path::root().key("post"), message, help);
    }
    has_work && sends
}

pub(super) fn sends_body(call: &ApiCall) -> bool {
    call.body.is_some()
        && match call.method {
            Method::Post | Method::Put | Method::Patch => true,
            Method::Get | Method::Delete => false,
        }
}

/// Notes that a payload reads live objects, which the adapter does not read while a precondition is not met.
pub(super) fn lint_unmet(linter: &mut Linter<'_>) {
    let task = linter.task;
    let may_be_unmet = |precondition: &Precondition| match &precondition.check {
        Check::CallSucceeds => false,
        Check::Conditions(_) | Check::Expression(_) => true,
    };
    let first = task.preconditions.iter().position(may_be_unmet).filter(|_| !task.resources.is_empty());
    let Some(first) = first else { return };
    let is_object = |path: &[&str]| match path {
        ["adapter", "conditions", ..] => true,
        path => path.first().is_none_or(|first| *first == "resources"),
    };
    let reads_objects = |payload: &&Payload| reads(&payload.build, &is_object);
    let (Discover::WhenMet, Some(payload)) = (task.discover, task.payloads.iter().find(reads_objects)) else { return };
    let finalized = if task.has_lifecycle() { "; no `Finalized` is True then, so no deletion is done" } else { "" };
    let message = format!(
        "while it is not met, no live object is read, and the payload `{}` reports live objects as absent{finalized}",
        payload.name
    );
    let deletes = if task.has_lifecycle() { ", so that a deletion waits until it is met" } else { "" };
    let help = format!(
        "add `discover: always` at the top of the file: the adapter then reads objects all the same, and writes and deletes nothing{deletes}"
    );
    linter.note(&entry(&["preconditions"], first), message, help);
}

/// Whether a part of a payload reads a path that `is_read` accepts. The empty path reads everything.
pub(super) fn reads(node: &PayloadNode, is_read: &dyn Fn(&[&str]) -> bool) -> bool {
    let in_template = |template: &Template| {
        let mut variables = template.variables().iter();
        template.reads_root() && is_read(&[]) || variables.any(|path| is_read(&path.split('.').collect::<Vec<_>>()))
    };
    match node {
        PayloadNode::Literal(_) => false,
        PayloadNode::Text(template) => in_template(template),
        PayloadNode::List(nodes) => nodes.iter().any(|node| reads(node, is_read)),
        PayloadNode::Map(entries) => entries.iter().any(|(key, node)| in_template(key) || reads(node, is_read)),
        PayloadNode::Lookup { source: PayloadSource::Field(path), .. } => is_read(&path.prefix()),
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => {
            expression_reads(expression, is_read)
        }
    }
}

/// Whether a part of a payload writes a text, as a value or within an expression.
pub(super) fn writes(node: &PayloadNode, text: &str) -> bool {
    match node {
        PayloadNode::Literal(value) => value == text,
        PayloadNode::Text(template) => template.source() == text,
        PayloadNode::List(nodes) => nodes.iter().any(|node| writes(node, text)),
        PayloadNode::Map(entries) => entries.iter().any(|(_, node)| writes(node, text)),
        PayloadNode::Lookup { source: PayloadSource::Field(_), .. } => false,
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => expression.texts().contains(&text),
    }
}

/// As [`reads`], for an expression.
pub(super) fn expression_reads(expression: &Expression, is_read: &dyn Fn(&[&str]) -> bool) -> bool {
    expression.member_paths().iter().any(|path| is_read(path))
}
