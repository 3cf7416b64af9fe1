//! Lints for payloads that are statuses: what the API rejects or misreads in them, and conditions that it needs.
//! Reads each status once, and hands it to the lints of single conditions, which name the parts that are read here.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use serde_json::Value;

use super::linter::{ACTIONS, Linter, PAYLOADS, entry};
use super::{ended_reports, objects_gone, readiness, reports, success_only, unobserved};
use lifecycle_core::overlay::{is_key, status_fault};
use lifecycle_core::task::{Payload, PayloadNode, PayloadSource};
use lifecycle_language::cel::Expression;
use lifecycle_language::template::Template;

/// The conditions without which the API rejects a status, each with its meaning.
const REQUIRED: [(&str, &str); 3] = [
    ("Applied", "whether the objects were written"),
    ("Available", "whether they work"),
    ("Health", "whether the adapter itself is well"),
];

/// The condition without which a deletion never ends.
const FINALIZED: &str = "Finalized";

/// The members whose absence matters, each with the effect and the cure.
const EXPECTED: [(&str, &str, &str); 2] = [
    ("observed_generation", "the API refuses it", "observed_generation: {expression: event.generation}"),
    (
        "observed_time",
        "the API takes the time of its arrival, and cannot tell a late status from a new one",
        "observed_time: \"{{ .now }}\"",
    ),
];

/// The members that have to vary, each with the effect of a constant and the cure. The API matches a report with the
/// adapter by its name and with the work by its generation.
const VARYING: [(&str, &str, &str); 2] = [
    (
        "adapter",
        "with another name in the deployment file the API takes the report for another adapter's",
        "adapter: \"{{ .adapter.name }}\"",
    ),
    (
        "observed_generation",
        "the API takes each report for one about that generation",
        "observed_generation: {expression: event.generation}",
    ),
];

pub(super) fn lint(linter: &mut Linter<'_>) {
    let payloads = linter.task.payloads.iter().enumerate();
    let statuses: Vec<_> = payloads.filter_map(|(index, payload)| Status::of(linter, index, payload)).collect();
    recipients(linter);
    for status in &statuses {
        status.members(linter);
        let conditions = status.conditions(linter);
        status.repeated(linter, &conditions);
        for condition in conditions {
            status.condition(linter, &condition);
        }
    }
    finalized(linter, &statuses);
    objects_gone::lint(linter, &statuses);
    ended_reports::lint(linter, &statuses);
    success_only::lint(linter, &statuses);
}

/// Warns of conditions that the API does not get: of a report to a path that it does not have, and of one without `adapter`.
fn recipients(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (index, action) in task.actions.iter().enumerate() {
        let Some(call) = action.api_call.as_ref().filter(|call| reports::sends_body(call)) else { continue };
        let path = call.url.source().trim_end_matches('/');
        let is_report = path.ends_with("/statuses");
        for (number, payload) in task.payloads.iter().enumerate() {
            let PayloadNode::Map(entries) = &payload.build else { continue };
            if !action.body_payloads.contains(&payload.name) || member(entries, "conditions").is_none() {
                continue;
            }
            let name = &payload.name;
            if path.ends_with("/status") {
                let place = entry(&ACTIONS, index).key("api_call").key("url");
                let message = format!("sends the status `{name}` to a path that the API does not have: it answers 404");
                linter.warn(&place, message, format!("write `{path}es`"));
            }
            if is_report && has_constant_keys(entries) && member(entries, "adapter").is_none() {
                let place = linter.either(&entry(&PAYLOADS, number), ["build", "build_ref"]);
                let message = format!("the status `{name}` has no `adapter`: the API refuses it");
                linter.warn(&place, message, "add `adapter: \"{{ .adapter.name }}\"`".to_owned());
            }
        }
    }
}

/// A payload with `adapter` and `conditions`, which is an adapter's status.
pub(super) struct Status<'t> {
    pub(super) payload: &'t str,
    entries: &'t Entries,
    place: Path,
    at_conditions: Path,
    /// The types of the conditions; none if some are not constant.
    types: Option<BTreeSet<&'t str>>,
}

/// The entries of a mapping in a payload.
pub(super) type Entries = [(Template, PayloadNode)];

/// One condition of a status, with its place.
pub(super) struct Condition<'t> {
    pub(super) place: Path,
    pub(super) entries: &'t Entries,
    number: usize,
}

impl Condition<'_> {
    pub(super) fn is(&self, kind: &str) -> bool {
        member(self.entries, "type").and_then(literal) == Some(kind)
    }
}

impl<'t> Status<'t> {
    fn of(linter: &Linter<'_>, index: usize, payload: &'t Payload) -> Option<Self> {
        let PayloadNode::Map(entries) = &payload.build else { return None };
        member(entries, "adapter")?;
        let types = types(member(entries, "conditions")?);
        let place = linter.either(&entry(&PAYLOADS, index), ["build", "build_ref"]);
        let at_conditions = at(linter, entries, &place, "conditions");
        Some(Self { payload: &payload.name, entries, place, at_conditions, types })
    }

    /// The conditions that are mappings.
    pub(super) fn conditions(&self, linter: &Linter<'_>) -> Vec<Condition<'t>> {
        let Some(PayloadNode::List(conditions)) = member(self.entries, "conditions") else { return Vec::new() };
        let conditions = conditions.iter().enumerate().filter_map(|(index, condition)| {
            let PayloadNode::Map(entries) = condition else { return None };
            let place = linter.place_or(self.at_conditions.index(index), &self.place);
            Some(Condition { place, entries, number: index + 1 })
        });
        conditions.collect()
    }

    /// The expression that computes all conditions, with its place.
    pub(super) fn computed_conditions(&self) -> Option<(&Path, &'t Expression)> {
        member(self.entries, "conditions").and_then(expression_of).map(|expression| (&self.at_conditions, expression))
    }

    /// Checks the members of the status, and that it has the conditions that the API demands.
    fn members(&self, linter: &mut Linter<'_>) {
        let payload = &self.payload;
        for (key, effect, example) in EXPECTED {
            if has_constant_keys(self.entries) && member(self.entries, key).is_none() {
                let message = format!("the status `{payload}` has no `{key}`: {effect}");
                linter.warn(&self.place, message, format!("add `{example}`"));
            }
        }
        for (kind, meaning) in REQUIRED {
            if self.types.as_ref().is_some_and(|types| !types.contains(kind)) {
                let message = format!("`{kind}` is never reported: without it the API refuses the status `{payload}`");
                let help = format!("add a condition with `type: {kind}` that says {meaning}");
                linter.warn(&self.at_conditions, message, help);
            }
        }
        for (key, effect, cure) in VARYING {
            if let Some(constant) = member(self.entries, key).and_then(constant) {
                let place = at(linter, self.entries, &self.place, key);
                linter.warn(&place, format!("`{key}` is always {constant}: {effect}"), format!("write `{cure}`"));
            }
        }
        // The API accepts a number, and a template renders to a text.
        if let Some(PayloadNode::Text(_)) = member(self.entries, "observed_generation") {
            let message =
                format!("the `observed_generation` of the status `{payload}` is text: the API refuses the report");
            let help = "write `observed_generation: {expression: event.generation}`".to_owned();
            linter.warn(&self.place, message, help);
        }
    }

    /// Warns of two conditions of one type.
    fn repeated(&self, linter: &mut Linter<'_>, conditions: &[Condition<'_>]) {
        let mut seen = BTreeSet::new();
        for condition in conditions {
            let kind = member(condition.entries, "type").and_then(literal);
            if let Some(kind) = kind.filter(|kind| !seen.insert(*kind)) {
                let message =
                    format!("the status `{}` has two conditions `{kind}`: nobody knows which counts", self.payload);
                linter.warn(&condition.place, message, "remove one of them".to_owned());
            }
        }
    }

    /// Reports a condition without a type, for which the API answers 400 to the whole report, and one whose status is
    /// none of `True`, `False` and `Unknown`, which the adapter therefore sends as `Unknown`.
    fn condition(&self, linter: &mut Linter<'_>, condition: &Condition<'_>) {
        let Condition { place, entries, number } = condition;
        let named = match member(entries, "type") {
            Some(PayloadNode::Text(kind)) => format!("the condition `{}`", kind.source()),
            _ => format!("condition {number}"),
        };
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
                linter.error(place, format!("{named} has no `{key}`: {effect}"), format!("add `{example}`"));
            }
        }
        let Some(status) = member(entries, "status") else { return };
        if let Some(expression) = expression_of(status) {
            if expression.is_boolean() {
                let message = format!(
                    "{named} is never reported as `True` or `False`: the expression of its `status` gives a boolean"
                );
                linter.warn(place, message, format!("write `({}) ? 'True' : 'False'`", expression.source()));
            }
            let misspelt = |text: &&str| status_fault(&Value::from(*text)).is_some();
            if let Some(text) = expression.texts().into_iter().find(misspelt) {
                let message = format!("{named} is reported as `Unknown` where its expression gives `{text}`");
                linter.warn(place, message, "write `'True'`, `'False'` or `'Unknown'`, with this capital".to_owned());
            }
            if condition.is("Available") {
                readiness::lint(linter, place, expression);
                unobserved::lint(linter, place, expression);
            }
        }
        let constant = constant(status);
        if let Some(fault) = constant.as_ref().and_then(status_fault) {
            let help = match constant {
                Some(Value::Bool(true)) => "put it in quotes: `status: \"True\"`",
                Some(Value::Bool(false)) => "put it in quotes: `status: \"False\"`",
                _ => "write `status: \"True\"`, or an expression that gives `'True'` or `'False'`",
            };
            linter.error(place, format!("{named} is always reported as `Unknown`: {fault}"), help.to_owned());
        }
    }
}

/// The place of a member, or of the whole payload if a file of its own contains it.
fn at(linter: &Linter<'_>, entries: &Entries, place: &Path, key: &str) -> Path {
    let written = entries.iter().filter_map(|(written, _)| written.as_literal()).find(|it| is_key(it, key));
    linter.place_or(place.key(written.unwrap_or(key)), place)
}

/// The member that the API reads as `name`; the API ignores the case of keys.
pub(super) fn member<'n>(entries: &'n Entries, name: &str) -> Option<&'n PayloadNode> {
    let is_named = |(key, _): &&(Template, PayloadNode)| key.as_literal().is_some_and(|key| is_key(key, name));
    entries.iter().find(is_named).map(|(_, node)| node)
}

/// The expression that computes a value.
pub(super) fn expression_of(node: &PayloadNode) -> Option<&Expression> {
    match node {
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => Some(expression),
        PayloadNode::Lookup { source: PayloadSource::Field(_), .. }
        | PayloadNode::Literal(_)
        | PayloadNode::Text(_)
        | PayloadNode::List(_)
        | PayloadNode::Map(_) => None,
    }
}

/// The text of a template without actions.
fn literal(node: &PayloadNode) -> Option<&str> {
    if let PayloadNode::Text(template) = node { template.as_literal() } else { None }
}

/// The value of a node that is the same on every event; none for null, which is as good as absent.
fn constant(node: &PayloadNode) -> Option<Value> {
    match node {
        PayloadNode::Literal(value) => Some(value.clone()).filter(|value| !value.is_null()),
        PayloadNode::Text(_) | PayloadNode::List(_) | PayloadNode::Map(_) | PayloadNode::Lookup { .. } => {
            literal(node).map(Value::from)
        }
    }
}

/// The types of a list of conditions; none if some type is not constant. Those of a bundle lack `Finalized`, unless the expression
/// adds it.
pub(super) fn types<'n>(conditions: &'n PayloadNode) -> Option<BTreeSet<&'n str>> {
    if let PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } = conditions {
        let added = expression.source().contains(FINALIZED).then_some(FINALIZED);
        let bundles = expression.reads_below("adapter", "conditions");
        return (!bundles.is_empty() && !bundles.is_any())
            .then(|| REQUIRED.map(|(kind, _)| kind).into_iter().chain(added).collect());
    }
    let PayloadNode::List(conditions) = conditions else { return None };
    let kind = |condition: &'n PayloadNode| {
        if let PayloadNode::Map(entries) = condition { member(entries, "type").and_then(literal) } else { None }
    };
    conditions.iter().map(kind).collect()
}

pub(super) fn has_constant_keys(entries: &Entries) -> bool {
    entries.iter().all(|(key, _)| key.as_literal().is_some())
}

/// Warns of a task that deletes and never reports `Finalized`: the API waits for `Finalized` of every required
/// adapter.
fn finalized(linter: &mut Linter<'_>, statuses: &[Status<'_>]) {
    let deleted = linter.task.resources.iter().find(|resource| resource.gates.delete.is_some());
    let (Some(resource), Some(first)) = (deleted, statuses.first()) else { return };
    let lacks = |status: &Status<'_>| status.types.as_ref().is_some_and(|types| !types.contains(FINALIZED));
    if statuses.iter().all(lacks) {
        let name = &resource.name;
        let message = format!(
            "`Finalized` is never reported, but `{name}` has a delete gate: the API waits for ever for its deletion"
        );
        let help =
            format!("add a condition with `type: Finalized` that is True when `{}`", objects_gone::finalized(name));
        linter.warn(&first.at_conditions, message, help);
    }
}
