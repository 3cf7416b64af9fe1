//! What the payloads of a task report: the statuses among them, their conditions, and the members of both.
//!
//! In: a task. Out: each status with its conditions and places, for the lints of reports, which stand beside each other above.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use lifecycle_core::report_overlay::is_key;
use lifecycle_core::task::{Payload, PayloadNode, PayloadSource};
use lifecycle_language::cel::Expression;
use lifecycle_language::template::Template;
use serde_json::Value;

use super::linter::{Linter, PAYLOADS, entry};

/// The conditions without which the API rejects a status, each with its meaning.
pub(super) const REQUIRED: [(&str, &str); 3] = [
    ("Applied", "whether the objects were written"),
    ("Available", "whether they work"),
    ("Health", "whether the adapter itself is well"),
];

/// The condition without which a deletion never ends.
pub(super) const FINALIZED: &str = "Finalized";

/// The statuses among the payloads.
pub(super) fn statuses<'t>(linter: &Linter<'t>) -> Vec<Status<'t>> {
    let payloads = linter.task.payloads.iter().enumerate();
    payloads.filter_map(|(index, payload)| Status::of(linter, index, payload)).collect()
}

/// A payload with `adapter` and `conditions`, which is an adapter's status.
pub(super) struct Status<'t> {
    pub(super) payload: &'t str,
    pub(super) entries: &'t Entries,
    pub(super) place: Path,
    pub(super) at_conditions: Path,
    /// The types of the conditions; none if some are not constant.
    pub(super) types: Option<BTreeSet<&'t str>>,
}

/// The entries of a mapping in a payload.
pub(super) type Entries = [(Template, PayloadNode)];

/// One condition of a status, with its place.
pub(super) struct Condition<'t> {
    pub(super) place: Path,
    pub(super) entries: &'t Entries,
    pub(super) number: usize,
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
}

/// The place of a member, or of the whole payload if a file of its own contains it.
pub(super) fn at(linter: &Linter<'_>, entries: &Entries, place: &Path, key: &str) -> Path {
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
pub(super) fn literal(node: &PayloadNode) -> Option<&str> {
    if let PayloadNode::Text(template) = node { template.as_literal() } else { None }
}

/// The value of a node that is the same on every event; none for null, which is as good as absent.
pub(super) fn constant(node: &PayloadNode) -> Option<Value> {
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

/// How `Finalized` asks whether an object is gone.
pub(super) fn finalized(name: &str) -> String {
    format!("adapter.outcomes.?{name}.?finalized.orValue(false)")
}
