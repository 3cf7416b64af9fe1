//! What a deployment would do, for people.
//!
//! In: the report of a pass that was only planned, what is wanted, and what was found. Out: a [`Plan`]. Nothing here fails.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_bundle::report::ObjectReport;
use lifecycle_bundle::table::Decision;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;
use promptkit_deploy::drive::Planned;
use promptkit_deploy::protocol::{Action, Change, Plan};
use serde_json::Value;

use crate::engine::Set;
use crate::kinds::{Kind, Surface};
use crate::labels::{self, Claim};
use crate::marks::differences;

/// The most fields that a change names.
const NAMED_FIELDS: usize = 5;

/// What is known of objects beside the decisions about them.
#[derive(Debug)]
pub struct Notes {
    /// The objects that somebody changed since they were written.
    pub drifted: BTreeSet<Identity>,
    /// The objects of others that have wanted names, and whose they are.
    pub taken: BTreeMap<Identity, String>,
    /// Where the objects are written.
    pub surface: Surface,
}

impl Notes {
    /// Whether an object is the operator's once it is there.
    fn is_operators(&self, identity: &Identity) -> bool {
        self.surface == Surface::Current && Kind::of(&identity.kind) == Some(Kind::ToolRegistry)
    }
}

/// Sums up what a pass would do: wanted objects in their order, then those that go.
#[must_use]
pub fn plan(planned: &Planned, wanted: &BTreeMap<Identity, Value>, notes: &Notes, warnings: Vec<String>) -> Plan {
    let Planned { report, found, warnings: unread } = planned;
    let live: BTreeMap<Identity, &Version> =
        found.iter().map(|version| (ObjectRef::of(version.object()).into(), version)).collect();
    let warnings = warnings.into_iter().chain(unread.iter().cloned()).collect();
    let mut plan = Plan { warnings, ..Plan::default() };
    let mut going = Vec::new();
    for object in report.in_steps() {
        let differing = || {
            let (wanted, live) = (wanted.get(&object.identity)?, live.get(&object.identity)?);
            Some(differences(wanted, live.object())).filter(|fields| !fields.is_empty())
        };
        match change(object, differing) {
            Some(change) if change.action == Action::Delete => going.push(change),
            Some(change) if notes.taken.contains_key(&object.identity) && notes.is_operators(&object.identity) => {
                let detail = "exists, and is left unchanged".to_owned();
                plan.changes.push(Change { action: Action::NoChange, detail, ..change });
            }
            Some(change) if notes.taken.contains_key(&object.identity) => {
                let owner = notes.taken.get(&object.identity).map(String::as_str).unwrap_or_default();
                let Change { kind, name, .. } = change;
                plan.warnings
                    .push(format!("{kind} \"{name}\" belongs to {owner}; an apply leaves it alone, and fails"));
            }
            Some(change) if notes.drifted.contains(&object.identity) => {
                plan.changes.push(Change { action: Action::Drift, ..change });
            }
            Some(change) => plan.changes.push(change),
            None => plan.warnings.extend(object.effect.failure().map(|failure| failure.message.clone())),
        }
    }
    going.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    plan.changes.extend(going);
    let count = |action: &[Action]| plan.changes.iter().filter(|change| action.contains(&change.action)).count();
    plan.summary = format!(
        "Plan: {} to create, {} to update, {} to delete",
        count(&[Action::Create]),
        count(&[Action::Update, Action::Drift]),
        count(&[Action::Delete])
    );
    plan
}

/// The change of one object; none for one that is left alone because it is somebody else's.
fn change(object: &ObjectReport, differing: impl FnOnce() -> Option<Vec<String>>) -> Option<Change> {
    let Identity { kind, name, .. } = &object.identity;
    let known = Kind::of(kind)?;
    let (action, detail) = match &object.verdict.as_ref()?.1 {
        Decision::Create => (Action::Create, format!("Create {} for {name}", known.name())),
        Decision::Update(_) | Decision::Recreate => {
            let detail = format!("Update {} {name}", known.type_name());
            match differing() {
                Some(fields) => (Action::Update, format!("{detail}: {}", named(&fields))),
                None => (Action::Update, detail),
            }
        }
        Decision::Delete(_) | Decision::Disown(_) => (Action::Delete, format!("Delete {} {name}", known.type_name())),
        Decision::Skip(_) | Decision::HandOver(_) => (Action::NoChange, String::new()),
        Decision::Wait(why) => (Action::NoChange, why.clone()),
        Decision::Taken(_) => return None,
    };
    Some(Change { kind: known.type_name().to_owned(), name: name.clone(), action, detail })
}

fn named(fields: &[String]) -> String {
    let more = fields.len().saturating_sub(NAMED_FIELDS);
    let text = fields.iter().take(NAMED_FIELDS).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// The versions of a pack that a newer one replaced, on today's API: they may be in use, and go with everything.
#[must_use]
pub fn superseded(planned: &Planned, set: &Set<'_>) -> Vec<Change> {
    let wanted = set.wanted();
    let objects = planned.found.iter().map(|version| (Identity::from(ObjectRef::of(version.object())), version));
    let of_pack = objects.filter(|(identity, version)| {
        let is_ours = labels::claim(&labels::read(version.object()), set.pack_id) == Claim::Ours;
        set.surface == Surface::Current && is_ours && Kind::of(&identity.kind) == Some(Kind::PromptPack)
    });
    let others = of_pack.filter(|(identity, _)| !wanted.contains_key(identity));
    let change = |name: String| Change {
        kind: Kind::PromptPack.type_name().to_owned(),
        name,
        action: Action::NoChange,
        detail: "superseded".to_owned(),
    };
    others.map(|(identity, _)| change(identity.name)).collect()
}
