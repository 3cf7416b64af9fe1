//! What a write requires beyond its decision.
//!
//! In: a decision, the rendered object, its owner, and the patch documents. Out: the object as it is to be written, or the failure. Each
//! [`Requirement`] has one reason to fail. The planner builds no command before every requirement of the decision is met,
//! and `check` tells the reasons of the same list: a new requirement is named there, too.

use serde_json::Value;

use super::Planner;
use super::decision::{Decision, FailReason, Failure};
use super::disown;
use super::owner::{OwnerStatus, add_reference};
use crate::keys;
use crate::manifest::Desired;
use crate::observation::could_find;
use crate::observation::{Query, QueryBy, Version};

/// What has to be so before a write is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// The object can name its owner: nothing would collect an object without its reference.
    Owner,
    /// The next event would find the object again, and take it for the resource's own.
    Discovery,
    /// The next event would find the patched object again.
    Selector,
    /// The resource id can be the value of the label that marks a disowned object.
    Mark,
}

impl Requirement {
    /// What the write of a decision requires, in order.
    pub(crate) fn of(decision: &Decision) -> &'static [Self] {
        match decision {
            Decision::Create | Decision::CreateVersion(_) | Decision::Recreate { .. } | Decision::Update { .. } => {
                &[Self::Owner, Self::Discovery]
            }
            Decision::Patch(_) => &[Self::Selector],
            Decision::Disown(_) => &[Self::Mark],
            Decision::Delete | Decision::Wait(_) | Decision::Skip(_) | Decision::Fail(_) => &[],
        }
    }

    /// The reason of the failure where it is not met.
    pub(crate) fn reason(self) -> FailReason {
        match self {
            Self::Owner => FailReason::OwnerUnavailable,
            Self::Discovery | Self::Selector => FailReason::SelectorMismatch,
            Self::Mark => FailReason::InvalidLabel,
        }
    }

    /// The requirement as a question.
    pub(crate) fn asks(self) -> &'static str {
        match self {
            Self::Owner => "can the object name its owner?",
            Self::Discovery => "would discovery find the rendered object?",
            Self::Selector => "would discovery find the patched object?",
            Self::Mark => "can the resource id be the value of a label?",
        }
    }
}

/// What a decision becomes when its write cannot be prepared. A disowning stays a disowning that failed: a failed decision
/// would stand in the way of later resources.
pub(crate) fn refused(decision: Decision, failure: Failure) -> Decision {
    match decision {
        Decision::Disown(_) => decision,
        Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Delete
        | Decision::Wait(_)
        | Decision::Skip(_)
        | Decision::Fail(_) => Decision::Fail(failure),
    }
}

impl Planner<'_> {
    /// Meets what the write of a decision requires; the rendered object gets the reference to its owner.
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
                // Without a rendered object there is no write that could lack something.
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

    /// Refuses patches of which any takes off a label by which discovery found the object: nothing would delete the object then,
    /// even if a later patch that puts the label back were refused.
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

    /// Refuses to write what the next event would not find again, or not take for its own.
    fn check_discoverable(&self, desired: &Desired) -> Result<(), String> {
        let Some(query) = &self.slots[self.position()].query else { return Ok(()) };
        if desired.kind != query.kind {
            return Err(format!("discovery looks for {}, but the manifest renders to {}", query.kind, desired.kind));
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

/// What a JSON merge patch makes of a label.
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
