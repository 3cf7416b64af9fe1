//! Lints for payloads that are statuses: conditions that the API rejects, and statuses without a condition that
//! the API needs.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use serde_json::Value;

use super::reports::sends_body;
use super::{Linter, PAYLOADS, constants, entry, objects_gone, readiness, resources, success_only};
use lifecycle_core::overlay::{is_key, status_fault};
use lifecycle_core::task::{Payload, PayloadNode, PayloadSource};
use lifecycle_language::template::Template;

/// The conditions without which the API rejects a status, each with its meaning.
const REQUIRED: [(&str, &str); 3] = [
    ("Applied", "whether the objects were written"),
    ("Available", "whether they work"),
    ("Health", "whether the adapter itself is well"),
];

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let statuses: Vec<Status<'_>> =
        task.payloads.iter().enumerate().filter_map(|(index, payload)| Status::of(linter, index, payload)).collect();
    if statuses.is_empty() {
        no_status(linter);
        return;
    }
    for status in &statuses {
        status.lint(linter);
        status.generation(linter);
        if let Some(PayloadNode::List(conditions)) = member(status.entries, "conditions") {
            status.each(linter, conditions);
        }
    }
    finalized(linter, &statuses);
    constants::lint(linter, &statuses);
    objects_gone::lint(linter, &statuses);
    success_only::lint(linter, &statuses);
}

/// A payload with `adapter` and `conditions`, which is an adapter's status.
pub(super) struct Status<'t> {
    pub(super) payload: &'t str,
    pub(super) entries: &'t Entries,
    pub(super) place: Path,
    pub(super) at_conditions: Path,
    /// The types of the conditions; none if some are not constant.
    conditions: Option<BTreeSet<String>>,
}

/// The entries of a mapping in a payload.
pub(super) type Entries = [(Template, PayloadNode)];

impl<'t> Status<'t> {
    fn of(linter: &Linter<'_>, index: usize, payload: &'t Payload) -> Option<Self> {
        let PayloadNode::Map(entries) = &payload.build else { return None };
        member(entries, "adapter")?;
        let conditions = types(member(entries, "conditions")?);
        let place = linter.either(&entry(&PAYLOADS, index), ["build", "build_ref"]);
        let written = entries.iter().filter_map(|(key, _)| key.as_literal()).find(|key| is_key(key, "conditions"));
        let conditions_key = place.key(written.unwrap_or("conditions"));
        let at_conditions =
            if linter.document.node(&conditions_key).is_some() { conditions_key } else { place.clone() };
        Some(Self { payload: &payload.name, entries, place, at_conditions, conditions })
    }

    fn lint(&self, linter: &mut Linter<'_>) {
        let payload = &self.payload;
        for (key, effect, example) in [
            ("observed_generation", "the API refuses it", "observed_generation: {expression: event.generation}"),
            (
                "observed_time",
                "the API takes the time of its arrival, and cannot tell a late status from a new one",
                "observed_time: \"{{ .now }}\"",
            ),
        ] {
            if has_constant_keys(self.entries) && member(self.entries, key).is_none() {
                let message = format!("the status `{payload}` has no `{key}`: {effect}");
                linter.warn(&self.place, message, format!("add `{example}`"));
            }
        }
        for (kind, meaning) in REQUIRED {
            if self.conditions.as_ref().is_some_and(|types| !types.contains(kind)) {
                let message = format!("`{kind}` is never reported: without it the API refuses the status `{payload}`");
                let help = format!("add a condition with `type: {kind}` that says {meaning}");
                linter.warn(&self.at_conditions, message, help);
            }
        }
    }

    /// The place of one of its entries, or of the whole payload if a file contains it.
    pub(super) fn at(&self, linter: &Linter<'_>, key: &str) -> Path {
        let written = self.entries.iter().filter_map(|(written, _)| written.as_literal());
        let path = self.place.key(written.into_iter().find(|written| is_key(written, key)).unwrap_or(key));
        if linter.document.node(&path).is_some() { path } else { self.place.clone() }
    }

    /// The conditions of this type, each with its place.
    pub(super) fn conditions_of(&self, linter: &Linter<'_>, kind: &str) -> Vec<(Path, &'t Entries)> {
        let Some(PayloadNode::List(conditions)) = member(self.entries, "conditions") else { return Vec::new() };
        let is_kind =
            |node: &PayloadNode| matches!(node, PayloadNode::Text(template) if template.as_literal() == Some(kind));
        let conditions = conditions.iter().enumerate().filter_map(|(index, condition)| {
            let PayloadNode::Map(entries) = condition else { return None };
            member(entries, "type").filter(|node| is_kind(node))?;
            let at = self.at_conditions.index(index);
            let place = if linter.document.node(&at).is_some() { at } else { self.place.clone() };
            Some((place, entries.as_slice()))
        });
        conditions.collect()
    }

    /// Warns of a generation that is a template: the API accepts a number, and a template renders to a text.
    fn generation(&self, linter: &mut Linter<'_>) {
        if let Some(PayloadNode::Text(_)) = member(self.entries, "observed_generation") {
            let payload = &self.payload;
            let message =
                format!("the `observed_generation` of the status `{payload}` is text: the API refuses the report");
            let help = "write `observed_generation: {expression: event.generation}`".to_owned();
            linter.warn(&self.place, message, help);
        }
    }

    /// Reports conditions without a type, for which the API answers 400 to the whole report, and conditions whose
    /// status is none of `True`, `False` and `Unknown`, which the adapter therefore sends as `Unknown`.
    fn each(&self, linter: &mut Linter<'_>, conditions: &[PayloadNode]) {
        for (index, condition) in conditions.iter().enumerate() {
            let PayloadNode::Map(entries) = condition else { continue };
            let named = match member(entries, "type") {
                Some(PayloadNode::Text(kind)) => format!("the condition `{}`", kind.source()),
                _ => format!("condition {}", index + 1),
            };
            let at = self.at_conditions.index(index);
            let place = if linter.document.node(&at).is_some() { at } else { self.place.clone() };
            let refused = format!("the API refuses the whole report `{}`", self.payload);
            for (key, effect, example) in [
                ("type", refused.as_str(), "type: Available"),
                ("status", "it is always reported as `Unknown`", "status: \"True\""),
            ] {
                let is_missing = match member(entries, key) {
                    None => has_constant_keys(entries),
                    Some(node) => matches!(node, PayloadNode::Literal(Value::Null)),
                };
                if is_missing {
                    linter.error(&place, format!("{named} has no `{key}`: {effect}"), format!("add `{example}`"));
                }
            }
            if let Some(PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. }) =
                member(entries, "status")
                && expression.is_boolean()
            {
                let message = format!(
                    "{named} is never reported as `True` or `False`: the expression of its `status` gives a boolean"
                );
                let help = format!("write `({}) ? 'True' : 'False'`", expression.source());
                linter.warn(&place, message, help);
            }
            if let Some(PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. }) =
                member(entries, "status")
                && is_available(entries)
            {
                readiness::lint(linter, &place, expression);
            }
            let constant = match member(entries, "status") {
                Some(PayloadNode::Literal(value)) if !value.is_null() => Some(value.clone()),
                Some(PayloadNode::Text(template)) => template.as_literal().map(Value::from),
                _ => None,
            };
            if let Some(fault) = constant.as_ref().and_then(status_fault) {
                let help = match constant {
                    Some(Value::Bool(true)) => "put it in quotes: `status: \"True\"`",
                    Some(Value::Bool(false)) => "put it in quotes: `status: \"False\"`",
                    _ => "write `status: \"True\"`, or an expression that gives `'True'` or `'False'`",
                };
                let message = format!("{named} is always reported as `Unknown`: {fault}");
                linter.error(&place, message, help.to_owned());
            }
        }
    }
}

/// The member that the API reads as `name`; the API ignores the case of keys.
pub(super) fn member<'n>(entries: &'n Entries, name: &str) -> Option<&'n PayloadNode> {
    let is_named = |(key, _): &&(Template, PayloadNode)| key.as_literal().is_some_and(|key| is_key(key, name));
    entries.iter().find(is_named).map(|(_, node)| node)
}

fn is_available(condition: &Entries) -> bool {
    matches!(member(condition, "type"), Some(PayloadNode::Text(kind)) if kind.as_literal() == Some("Available"))
}

/// The types of a list of conditions; none if some type is not constant.
fn types(conditions: &PayloadNode) -> Option<BTreeSet<String>> {
    let PayloadNode::List(conditions) = conditions else { return None };
    let kind = |condition: &PayloadNode| {
        let PayloadNode::Map(entries) = condition else { return None };
        match member(entries, "type")? {
            PayloadNode::Text(template) => template.as_literal().map(str::to_owned),
            PayloadNode::Literal(_) | PayloadNode::List(_) | PayloadNode::Map(_) | PayloadNode::Lookup { .. } => None,
        }
    };
    conditions.iter().map(kind).collect()
}

/// Warns of a task that sends payloads of which none is a status.
fn no_status(linter: &mut Linter<'_>) {
    let task = linter.task;
    let bodies = task.actions.iter().filter_map(|action| action.api_call.as_ref()).filter(|call| sends_body(call));
    // A body that is not exactly one payload may be a status that its template puts together.
    let mut bodies = bodies.filter_map(|call| call.body.as_ref());
    let is_payload = |name: &str| task.payloads.iter().any(|payload| payload.name == name && is_known(&payload.build));
    let is_certain = bodies.all(|body| {
        let only = body.source().trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        let only = only.and_then(|name| name.trim_matches(['-', ' ']).strip_prefix('.'));
        only.is_some_and(is_payload)
    });
    if is_certain {
        let message = "`Available` is never reported: no payload is an adapter's status".to_owned();
        let help = "build a payload with `adapter`, `observed_generation`, `observed_time` and `conditions`, and send it to the \
                    resource's statuses"
            .to_owned();
        linter.warn(&PAYLOADS.iter().fold(Path::root(), |path, key| path.key(key)), message, help);
        unreported_disowning(linter);
    }
}

/// Warns that no report says that an object was disowned: the adapter adds `Finalized` to statuses only.
fn unreported_disowning(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task).filter(|(_, resource)| resource.gates.orphan.is_some()) {
        let place = linter.either(&path.key("lifecycle"), ["orphan", "detach"]);
        let message = format!(
            "nothing reports that `{}` was disowned: `Finalized` is added to an adapter's status, and no payload is one",
            resource.name
        );
        let help = "build a payload with `adapter` and `conditions`, and send it to the resource's statuses".to_owned();
        linter.warn(&place, message, help);
    }
}

fn has_constant_keys(entries: &Entries) -> bool {
    entries.iter().all(|(key, _)| key.as_literal().is_some())
}

/// Whether the keys of a payload are known before an event.
fn is_known(build: &PayloadNode) -> bool {
    match build {
        PayloadNode::Map(entries) => has_constant_keys(entries),
        PayloadNode::Literal(Value::String(_)) | PayloadNode::Text(_) | PayloadNode::Lookup { .. } => false,
        PayloadNode::Literal(_) | PayloadNode::List(_) => true,
    }
}

/// Warns of a task that deletes and never reports `Finalized`: the API waits for `Finalized` of every required
/// adapter.
fn finalized(linter: &mut Linter<'_>, statuses: &[Status<'_>]) {
    let deleted = linter.task.resources.iter().find(|resource| resource.gates.delete.is_some());
    let (Some(resource), Some(first)) = (deleted, statuses.first()) else { return };
    let lacks = |status: &Status<'_>| status.conditions.as_ref().is_some_and(|types| !types.contains("Finalized"));
    if statuses.iter().all(lacks) {
        let message = format!(
            "`Finalized` is never reported, but `{}` has a delete gate: the API waits for ever for its deletion",
            resource.name
        );
        let help = format!(
            "add a condition with `type: Finalized` that is True when `adapter.outcomes.?{}.?finalized.orValue(false)`",
            resource.name
        );
        linter.warn(&first.at_conditions, message, help);
    }
}
