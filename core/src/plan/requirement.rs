//! Checks what a write requires beyond its decision.
//!
//! In: a decision, the rendered object, its owner, and the patch documents. Out: the object as it will be
//! written, or the failure. The failure of each [`Requirement`] has one reason. The planner builds a command
//! only if every requirement of the decision is met; `check` explains the same list.

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::keys;
use lifecycle_objects::kinds::is_namespaced;
use lifecycle_objects::observation::{Query, QueryBy, Version, could_find};
use serde_json::Value;

use super::Planner;
use super::disown;
use super::owner::{OwnerStatus, add_reference};
use crate::decision::Decision;
use crate::manifest::Desired;

/// A condition that must be true before the planner asks for a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// The object can reference its owner. Without the reference, no garbage collector would delete the object
    /// with its owner.
    Owner,
    /// The next event's discovery will find the object, and the resource will own it.
    Discovery,
    /// The next event's label selector will still match the patched object.
    Selector,
    /// The resource id can be the value of the label that marks a disowned object.
    Mark,
}

impl Requirement {
    /// The requirements of a decision's write, in the order in which the planner checks them.
    #[must_use]
    pub fn of(decision: &Decision) -> &'static [Self] {
        match decision {
            Decision::Create | Decision::CreateVersion(_) | Decision::Recreate { .. } | Decision::Update { .. } => {
                &[Self::Owner, Self::Discovery]
            }
            Decision::Patch(_) => &[Self::Selector],
            Decision::Disown(_) => &[Self::Mark],
            Decision::Delete | Decision::Resend(_) | Decision::Wait(_) | Decision::Skip(_) | Decision::Fail(_) => &[],
        }
    }

    /// The failure's reason if the requirement is not met.
    #[must_use]
    pub fn reason(self) -> FailReason {
        match self {
            Self::Owner => FailReason::OwnerUnavailable,
            Self::Discovery | Self::Selector => FailReason::SelectorMismatch,
            Self::Mark => FailReason::InvalidLabel,
        }
    }

    /// The requirement as a question.
    #[must_use]
    pub fn asks(self) -> &'static str {
        match self {
            Self::Owner => "can the object name its owner?",
            Self::Discovery => "would discovery find the rendered object?",
            Self::Selector => "would discovery find the patched object?",
            Self::Mark => "can the resource id be the value of a label?",
        }
    }
}

/// The decision to report if its write cannot be prepared. A disowning stays `disown`, with a failed result:
/// the decision `fail` would keep later resources from being applied.
#[must_use]
pub fn refused(decision: Decision, failure: Failure) -> Decision {
    match decision {
        Decision::Disown(_) => decision,
        Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Delete
        | Decision::Resend(_)
        | Decision::Wait(_)
        | Decision::Skip(_)
        | Decision::Fail(_) => Decision::Fail(failure),
    }
}

impl Planner<'_> {
    /// Checks the requirements of a decision, and adds the owner reference to the rendered object.
    pub(super) fn meet(
        &self,
        decision: &Decision,
        mut desired: Option<&mut Desired>,
        owner: Option<&OwnerStatus>,
        patches: Option<(&Version, &[Value])>,
    ) -> Result<(), Failure> {
        for requirement in Requirement::of(decision) {
            let met = match (requirement, &mut desired) {
                (Requirement::Owner, Some(desired)) => owner.map_or(Ok(()), |owner| name_owner(desired, owner)),
                (Requirement::Discovery, Some(desired)) => self.check_discoverable(desired),
                // The decision writes no manifest, so these two requirements do not apply.
                (Requirement::Owner | Requirement::Discovery, None) => Ok(()),
                (Requirement::Selector, _) => {
                    patches.map_or(Ok(()), |(version, documents)| self.check_still_found(version, documents))
                }
                (Requirement::Mark, _) => disown::check_mark(&self.stamp),
            };
            met.map_err(|cause| Failure::new(requirement.reason(), cause))?;
        }
        Ok(())
    }

    /// Returns an error if any patch removes or changes a label by which discovery found the object. A later
    /// patch that restores the label does not help: the server could refuse it, and then no event would find
    /// the object or delete it.
    fn check_still_found(&self, version: &Version, documents: &[Value]) -> Result<(), String> {
        let Some(Query { by: QueryBy::Labels(selector), .. }) = &self.slots[self.position()].query else {
            return Ok(());
        };
        let lost = selector.iter().find(|(key, value)| {
            let live = version.label(key);
            live == Some(value.as_str()) && documents.iter().any(|document| patched_label(live, key, document) != live)
        });
        match lost {
            Some((key, value)) => Err(format!(
                "a patch takes the label `{key}: {value}` off, by which discovery finds the object: the next event would \
                 take the object for absent"
            )),
            None => Ok(()),
        }
    }

    /// Returns an error if the next event's discovery would not find the object, or the resource would not own
    /// it.
    fn check_discoverable(&self, desired: &Desired) -> Result<(), String> {
        let Some(query) = &self.slots[self.position()].query else { return Ok(()) };
        if desired.kind != query.kind {
            return Err(format!("discovery looks for {}, but the manifest renders to {}", query.kind, desired.kind));
        }
        let namespace = query.namespace.as_deref().filter(|namespace| !matches!(*namespace, "" | "*"));
        let has_none = desired.namespace.as_deref().unwrap_or_default().is_empty();
        if let Some(namespace) = namespace.filter(|_| has_none && is_namespaced(&desired.kind) == Some(true)) {
            return Err(format!(
                "the rendered {} {} has no namespace, and its own discovery looks in {namespace}: write \
                 `metadata.namespace` in the manifest",
                desired.kind.kind, desired.name,
            ));
        }
        if !could_find(query, &desired.object) {
            let namespace = query.namespace.as_deref().map(|namespace| format!("namespace {namespace}, "));
            return Err(format!(
                "the rendered {} {} would not be found by its own discovery ({}{}): the next event would take it for absent",
                desired.kind.kind,
                desired.name,
                namespace.unwrap_or_default(),
                query.by,
            ));
        }
        let (label, name) = (desired.label(keys::RESOURCE).unwrap_or_default(), &self.resource().name);
        if matches!(query.by, QueryBy::Labels(_)) && label != name {
            return Err(format!(
                "the manifest writes the label `{}: {label}`: the next event would not take the {} for one of resource {name}",
                keys::RESOURCE,
                desired.kind.kind,
            ));
        }
        Ok(())
    }
}

/// The value of a label after a JSON merge patch (RFC 7396); `None` if the label is absent then.
fn patched_label<'a>(live: Option<&'a str>, key: &str, document: &'a Value) -> Option<&'a str> {
    match document.pointer("/metadata/labels") {
        None => live,
        Some(labels) => match labels.as_object() {
            Some(labels) => labels.get(key).map_or(live, Value::as_str),
            None => None,
        },
    }
}

fn name_owner(desired: &mut Desired, owner: &OwnerStatus) -> Result<(), String> {
    let reference = owner.reference(desired.namespace.as_deref().unwrap_or_default())?;
    add_reference(&mut desired.object, reference);
    Ok(())
}
