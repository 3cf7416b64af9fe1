//! Phase 3: what becomes of each resource, one decision at a time.
//!
//! In: the compiled [`Task`], who writes for what ([`Stamp`]), and what was read. Out: queries, then
//! [`Step`]s to execute, then [`Outcome`]s. A [`Planner`] is a state machine without I/O:
//!
//! ```text
//! next_queries ─▶ (the caller reads) ─▶ observe ─┐ until there are no more queries
//!       ▲────────────────────────────────────────┘
//! next_step ─▶ (the caller writes) ─▶ record ─┐ until there are no more steps
//!     ▲───────────────────────────────────────┘
//! ```
//!
//! What a step did is in `resources` before the next resource's gates are asked, so the order of the task's list
//! is kept strictly. Nothing here fails as such: a failure is an outcome of its resource.

pub mod decide;
pub mod decision;
mod gates;
mod observed;
mod record;

use std::collections::BTreeSet;

use crate::belonging::{self, Claim};
use crate::keys;
use crate::manifest::{Desired, Stamp};
use crate::nested;
use crate::observation::{Observation, Query, Version};
use crate::outcome::{Outcome, OutcomeResult};
use crate::scope::Scope;
use crate::task::{DiscoverBy, Resource, Task};
use crate::write::{Command, Target};

use decide::{Seen, current, decide};
use decision::{Decision, FailReason, Failure};
use gates::{Examination, Record};
pub use observed::Wanted;

/// A write that has to be executed before the plan goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The resource's name.
    pub resource: String,
    /// What was decided.
    pub decision: Decision,
    /// What to execute.
    pub command: Command,
}

/// The plan of one event, as far as it has unrolled.
#[derive(Debug)]
pub struct Planner<'t> {
    task: &'t Task,
    stamp: Stamp,
    slots: Vec<Slot>,
    /// Which resource is decided next.
    position: usize,
    /// The step that waits for its outcome.
    pending: Option<Pending>,
    failed_earlier: bool,
    outcomes: Vec<Outcome>,
}

/// What is known of one resource.
#[derive(Debug, Default)]
struct Slot {
    query: Option<Query>,
    observation: Option<Observation>,
}

/// A decision whose outcome is not known yet.
#[derive(Debug)]
struct Pending {
    decision: Decision,
    /// The namespace and name that it is about.
    place: (String, String),
    record: Record,
    /// Whether the table was already asked a second time, after a creation met its own object.
    decided_again: bool,
}

/// What is live when a resource's turn is over.
#[derive(Debug)]
enum After {
    /// What was observed, which is visible already.
    AsObserved,
    /// This, or nothing.
    Now(Option<Version>),
}

impl<'t> Planner<'t> {
    /// Begins the plan of one event.
    #[must_use]
    pub fn new(task: &'t Task, stamp: Stamp) -> Self {
        let slots = task.resources.iter().map(|_| Slot::default()).collect();
        Self { task, stamp, slots, position: 0, pending: None, failed_earlier: false, outcomes: Vec::new() }
    }

    /// The outcomes so far, in the order of the task's list.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// The outcomes, in the order of the task's list.
    #[must_use]
    pub fn into_outcomes(self) -> Vec<Outcome> {
        self.outcomes
    }

    /// Decides resource after resource until one needs a write, or none is left.
    pub fn next_step(&mut self, scope: &mut Scope) -> Option<Step> {
        while self.pending.is_none() && self.position < self.task.resources.len() {
            if !self.task.has_lifecycle() {
                self.publish(self.position, scope);
            }
            if let Some(step) = self.decide_current(scope, false) {
                return Some(step);
            }
        }
        None
    }

    fn resource(&self) -> &'t Resource {
        &self.task.resources[self.position]
    }

    /// Asks the table about the current resource. A decision that needs no write is concluded at once.
    fn decide_current(&mut self, scope: &mut Scope, decided_again: bool) -> Option<Step> {
        let resource = self.resource();
        let mut examination = Examination::new(resource, scope, &self.stamp, self.unknown(), self.failed_earlier);
        let seen = match &self.slots[self.position].observation {
            None => Seen::Unknown("it was not discovered"),
            Some(Observation::Unknown(cause)) => Seen::Unknown(cause),
            Some(Observation::Found(versions)) => Seen::Versions(self.belonging(versions, &mut examination)),
        };
        let versions = match &seen {
            Seen::Unknown(_) => &[],
            Seen::Versions(versions) => versions.as_slice(),
        };
        let mut examination = examination.with_versions(versions);
        let mut decision = decide(&seen, &mut examination);
        let (desired, record) = examination.into_parts();
        let command = self.command(&decision, desired.as_ref(), versions).unwrap_or_else(|failure| {
            decision = Decision::Fail(failure);
            None
        });
        let place = match (&desired, current(versions.iter().copied(), self.stamp.generation)) {
            (Some(desired), _) => (desired.namespace.clone().unwrap_or_default(), desired.name.clone()),
            (None, Some(version)) => (version.namespace().to_owned(), version.name().to_owned()),
            (None, None) => (String::new(), String::new()),
        };
        let pending = Pending { decision, place, record, decided_again };
        if let Some(command) = command {
            let step = Step { resource: resource.name.clone(), decision: pending.decision.clone(), command };
            self.pending = Some(pending);
            return Some(step);
        }
        let result = match &pending.decision {
            Decision::Fail(failure) => OutcomeResult::Failed(failure.clone()),
            Decision::Wait(_) => OutcomeResult::Waiting,
            Decision::Skip(_)
            | Decision::Create
            | Decision::CreateVersion
            | Decision::Update { .. }
            | Decision::Recreate { .. }
            | Decision::Delete => OutcomeResult::Skipped,
        };
        self.conclude(pending, result, After::AsObserved, scope)
    }

    /// The names in `resources` that could not be read, or hang on something that could not.
    fn unknown(&self) -> BTreeSet<&'t str> {
        let unread = |slot: &Slot| matches!(slot.observation, Some(Observation::Unknown(_)));
        let resources = self.task.resources.iter().zip(&self.slots).filter(|(_, slot)| unread(slot));
        resources
            .flat_map(|(resource, _)| {
                let nested = resource.nested.iter().map(|nested| nested.name.as_str());
                std::iter::once(resource.name.as_str()).chain(nested)
            })
            .collect()
    }

    /// Those of the versions found that belong to the current resource.
    fn belonging<'v>(&self, versions: &'v [Version], examination: &mut Examination<'_>) -> Vec<&'v Version> {
        let resource = self.resource();
        let Some(query) = &self.slots[self.position].query else { return versions.iter().collect() };
        // The rendered name tells only what an older adapter wrote apart.
        let unlabelled = versions.iter().any(|version| version.label(keys::RESOURCE).is_none());
        let rendered_name = (unlabelled && !self.task.only_selects_kind(resource))
            .then(|| examination.desired().map(|desired| desired.name.clone()).ok())
            .flatten();
        let claim = self.claim(resource, rendered_name.as_deref());
        versions.iter().filter(|version| claim.covers(query, version)).collect()
    }

    fn claim<'a>(&'a self, resource: &'a Resource, rendered_name: Option<&'a str>) -> Claim<'a> {
        Claim {
            resource: &resource.name,
            stamp: &self.stamp,
            rendered_name,
            only_selector_of_its_kind: self.task.only_selects_kind(resource),
        }
    }

    /// The write that a decision asks for, if any.
    fn command(
        &self,
        decision: &Decision,
        desired: Option<&Desired>,
        versions: &[&Version],
    ) -> Result<Option<Command>, Failure> {
        let rendered =
            || desired.ok_or_else(|| Failure::new(FailReason::RenderFailed, "the manifest was not rendered"));
        let live = || {
            let standing = versions.iter().filter(|version| !version.is_terminating());
            standing.map(|version| self.target(version)).collect()
        };
        Ok(match decision {
            Decision::Create | Decision::CreateVersion => {
                let desired = rendered()?;
                self.check_discoverable(desired)?;
                Some(Command::Create { desired: desired.object.clone() })
            }
            Decision::Update { .. } => {
                let desired = rendered()?;
                versions.iter().find(|version| version.name() == desired.name).map(|version| Command::Update {
                    desired: desired.object.clone(),
                    target: self.target(version),
                    take_over: version.managed_fields().cloned(),
                })
            }
            Decision::Recreate { .. } => {
                let desired = rendered()?;
                self.check_discoverable(desired)?;
                Some(Command::Recreate { desired: desired.object.clone(), targets: live() })
            }
            Decision::Delete => {
                let gate = self.resource().gates.delete.as_ref();
                let propagation = gate.map(|gate| gate.propagation).unwrap_or_default();
                Some(Command::Delete { targets: live(), propagation })
            }
            Decision::Wait(_) | Decision::Skip(_) | Decision::Fail(_) => None,
        })
    }

    fn target(&self, version: &Version) -> Target {
        Target {
            kind: self.resource().kind.clone(),
            namespace: Some(version.namespace().to_owned()).filter(|namespace| !namespace.is_empty()),
            name: version.name().to_owned(),
            uid: version.uid().to_owned(),
            resource_version: version.resource_version().to_owned(),
        }
    }

    /// Refuses to create what the resource's own discovery would not find.
    fn check_discoverable(&self, desired: &Desired) -> Result<(), Failure> {
        let Some(query) = &self.slots[self.position].query else { return Ok(()) };
        let mismatch = |message: String| Err(Failure::new(FailReason::SelectorMismatch, message));
        if desired.kind != query.kind {
            return mismatch(format!(
                "discovery looks for {}, but the manifest renders to {}",
                query.kind, desired.kind
            ));
        }
        if !belonging::satisfies(query, &desired.object) {
            let namespace = query.namespace.as_deref().map(|namespace| format!("namespace {namespace}, "));
            return mismatch(format!(
                "the rendered {} {} would not be found by its own discovery ({}{}), and be created on every event",
                desired.kind.kind,
                desired.name,
                namespace.unwrap_or_default(),
                nested::describe(query),
            ));
        }
        Ok(())
    }
}

impl Task {
    /// Whether no other resource of the task selects objects of this resource's kind by labels.
    #[must_use]
    pub fn only_selects_kind(&self, resource: &Resource) -> bool {
        self.resources.iter().all(|other| {
            other.name == resource.name
                || other.kind != resource.kind
                || matches!(other.discovery.by, DiscoverBy::Name(_))
        })
    }
}

#[cfg(test)]
mod tests;
