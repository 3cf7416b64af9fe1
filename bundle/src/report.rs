//! What a pass did with a bundle, and how its objects are.

use std::fmt;
use std::sync::Arc;

use lifecycle_objects::failure::Failure;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::readiness::{Judgement, Readiness};
use serde_json::{Value, json};

use super::member::Effect;
use super::table::{Decision, Intent, Row, SkipReason};

/// One object after a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectReport {
    /// The object.
    pub identity: Identity,
    /// The step in which it was handled, such as `wave 0`; empty if it was not.
    pub step: Arc<str>,
    /// The row of the table, and its decision; `None` if the pass failed before it decided.
    pub verdict: Option<(Row, Decision)>,
    /// What became of it.
    pub effect: Effect,
    /// Whether it is ready; `None` if it is not there.
    pub judgement: Option<Judgement>,
}

/// A bundle after a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What the bundle as a whole was to become.
    pub intent: Intent,
    /// The objects: first those of the manifests, as they are written there, then the others.
    pub objects: Vec<ObjectReport>,
    /// The steps of the pass that have objects, in order.
    pub steps: Vec<Arc<str>>,
    /// What kept the pass from coming to its end; `None` if it did.
    pub stopped: Option<Stop>,
}

/// What kept a pass from coming to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// The step in which it stopped; none if that was before the first one or after the last, or if the memory was not kept.
    pub step: Option<Arc<str>>,
    /// What is in the way.
    pub by: StoppedBy,
    /// Why, in words.
    pub why: String,
}

/// What is in the way of a pass.
#[derive(Debug, Clone, PartialEq)]
pub enum StoppedBy {
    /// An object of the bundle: it is not ready, its write failed, or it was created while the others went.
    Object(Identity),
    /// An object of others, which would have gone with a type or a namespace.
    Others(Identity),
    /// Something that has to be known, and could not be read.
    Question(Failure),
    /// The memory was not kept, without which no member is written.
    Memory {
        /// Why; none if it only waits.
        failure: Option<Failure>,
        /// What was in the way before.
        before: Option<Box<StoppedBy>>,
    },
    /// Something else that the words say.
    Obstacle,
}

impl Stop {
    /// The stop of a pass that must not do anything.
    pub(super) fn before(why: String) -> Self {
        Self { step: None, by: StoppedBy::Obstacle, why }
    }

    /// The stop of a pass that has to know something that could not be read.
    pub(super) fn by_question(step: Option<Arc<str>>, failure: Failure) -> Self {
        Self { step, why: failure.message.clone(), by: StoppedBy::Question(failure) }
    }

    /// The failure because of which the pass stopped, if it is no object's.
    pub fn failure_mut(&mut self) -> Option<&mut Failure> {
        match &mut self.by {
            StoppedBy::Question(failure) | StoppedBy::Memory { failure: Some(failure), .. } => Some(failure),
            StoppedBy::Object(_)
            | StoppedBy::Others(_)
            | StoppedBy::Memory { failure: None, .. }
            | StoppedBy::Obstacle => None,
        }
    }
}

/// The step, and why.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = &self.step {
            write!(f, "{step}: ")?;
        }
        f.write_str(&self.why)
    }
}

impl Report {
    /// The failure of the pass, if something failed: the first one, with what stopped the pass.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let mut of_objects = self.objects.iter().filter_map(|object| Some((object, object.effect.failure()?)));
        let by = self.stopped.as_ref().map(|stop| &stop.by);
        let of_request = by.and_then(|by| match by {
            StoppedBy::Question(failure) => Some(failure),
            StoppedBy::Memory { failure, .. } => failure.as_ref(),
            StoppedBy::Object(_) | StoppedBy::Others(_) | StoppedBy::Obstacle => None,
        });
        let stops = |object: &ObjectReport| matches!(by, Some(StoppedBy::Object(it)) if *it == object.identity);
        let first = match of_request {
            Some(failure) => failure,
            None => of_objects.clone().find(|(object, _)| stops(object)).or_else(|| of_objects.next())?.1,
        };
        let failed = self.objects.iter().filter(|object| object.effect.failure().is_some()).count();
        let others = if failed > 1 { format!(" ({} more failed)", failed - 1) } else { String::new() };
        let message = self.why_stopped().unwrap_or_else(|| first.message.clone());
        Some(Failure::new(first.reason, format!("{message}{others}")))
    }

    /// What kept the pass from coming to its end, in words; `None` if it did.
    #[must_use]
    pub fn why_stopped(&self) -> Option<String> {
        self.stopped.as_ref().map(Stop::to_string)
    }

    /// The object of others that would have gone with a type or a namespace, which is why that was not deleted.
    #[must_use]
    pub fn blocked_by(&self) -> Option<&Identity> {
        let mut by = &self.stopped.as_ref()?.by;
        while let StoppedBy::Memory { before: Some(before), .. } = by {
            by = before;
        }
        if let StoppedBy::Others(identity) = by { Some(identity) } else { None }
    }

    /// Whether the parent was not written, without which no member is.
    #[must_use]
    pub fn lacks_parent(&self) -> bool {
        self.stopped.as_ref().is_some_and(|stop| matches!(stop.by, StoppedBy::Memory { .. }))
    }

    /// Whether the pass came to its end, and nothing failed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stopped.is_none() && self.failure().is_none()
    }

    /// The objects in the order of their steps; those that no step handled come last.
    #[must_use]
    pub fn in_steps(&self) -> Vec<&ObjectReport> {
        let step = |object: &ObjectReport| self.steps.iter().position(|step| *step == object.step);
        let mut objects: Vec<_> = self.objects.iter().collect();
        objects.sort_by_key(|object| step(object).unwrap_or(usize::MAX));
        objects
    }

    /// Whether an object of the bundle is on the cluster.
    #[must_use]
    pub fn has_members(&self) -> bool {
        self.objects.iter().any(|object| object.judgement.is_some())
    }

    /// Whether each object of the manifests is there, or has served. What has to be written again counts, too, so that a wave which
    /// waits does not take back what was said of the later ones.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        !self.lacks_parent()
            && self.intent == Intent::Apply
            && self.objects.iter().all(ObjectReport::is_there_if_wanted)
    }

    /// What `resources.<name>` shows of the objects to expressions.
    #[must_use]
    pub fn shown(&self) -> Value {
        // The macro `json!` would copy these values.
        let drifted = self.objects.iter().filter_map(|object| Some((object, object.effect.drift()?)));
        let drift = drifted.map(|(object, fields)| json!({ "object": object.identity.to_string(), "fields": fields }));
        let values: [(&str, Value); 6] = [
            ("applied", self.is_applied().into()),
            ("ready", self.is_complete().into()),
            ("why", self.why_stopped().unwrap_or_default().into()),
            ("objects", self.objects.iter().map(ObjectReport::shown).collect()),
            ("waves", self.steps.iter().map(|step| self.wave(step)).collect()),
            ("drift", drift.collect()),
        ];
        values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// The parent as `resources.<name>` shows it: with what became of the members instead of its own data. Without a report, nothing was
/// decided about them yet.
#[must_use]
pub fn shown(mut parent: Value, report: Option<&Report>) -> Value {
    let undecided = || {
        let why = "nothing was decided about its objects in this pass";
        json!({ "applied": false, "ready": false, "why": why, "objects": [], "waves": [], "drift": [] })
    };
    let members = report.map_or_else(undecided, Report::shown);
    if let (Value::Object(parent), Value::Object(members)) = (&mut parent, members) {
        parent.remove("data");
        parent.extend(members);
    }
    parent
}

impl Report {
    /// One step as expressions see it.
    fn wave(&self, step: &Arc<str>) -> Value {
        let objects = || self.objects.iter().filter(|object| object.step == *step);
        let ready = objects().filter(|object| object.is_ready()).count();
        let failed = objects().filter(|object| object.has_failed()).count();
        json!({ "name": &**step, "objects": objects().count(), "ready": ready, "failed": failed })
    }
}

impl ObjectReport {
    /// The object's readiness, and why, in words.
    #[must_use]
    pub fn readiness(&self) -> (&'static str, &str) {
        let is_taken = matches!(self.verdict, Some((_, Decision::Taken(_))));
        let absent = (if is_taken { "Taken" } else { "Absent" }, "");
        self.judgement.as_ref().map_or(absent, |judgement| (word(judgement.readiness), judgement.why.as_str()))
    }

    /// Whether the object is there and nothing was refused, unless the manifests render it no longer, or it has served.
    fn is_there_if_wanted(&self) -> bool {
        let may_be_gone = self.verdict.as_ref().is_some_and(|(row, _)| match row {
            Row::Gone | Row::NoMember | Row::Going | Row::HandedOver | Row::MayBeClaimed => true,
            Row::GoesLater | Row::Kept | Row::Redundant => true,
            Row::Completing | Row::Purge | Row::Completed => true,
            Row::NotYet | Row::Terminating | Row::Absent | Row::Taken | Row::Adopt | Row::Once => false,
            Row::Recreate | Row::Changed | Row::DueAgain | Row::InSync | Row::Disown | Row::NothingToDisown => false,
        });
        self.effect.failure().is_none() && (may_be_gone || self.judgement.is_some())
    }

    /// Whether the object is ready, or has served.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let has_served = matches!(self.verdict, Some((_, Decision::Skip(SkipReason::Completed))));
        has_served || self.judgement.as_ref().is_some_and(|judgement| judgement.readiness == Readiness::Ready)
    }

    /// Whether the object says that it failed, or could not be written.
    fn has_failed(&self) -> bool {
        let says_so = self.judgement.as_ref().is_some_and(|judgement| judgement.readiness == Readiness::Failed);
        says_so || self.effect.failure().is_some()
    }

    fn shown(&self) -> Value {
        let Identity { kind, namespace, name } = &self.identity;
        let (readiness, why) = self.readiness();
        let decision = self.verdict.as_ref().map(|(_, decision)| decision.to_string());
        let why = self.effect.failure().map_or_else(|| why.to_owned(), ToString::to_string);
        json!({
            "group": kind.group, "kind": kind.kind, "namespace": namespace.clone().unwrap_or_default(), "name": name,
            "step": &*self.step, "decision": decision.unwrap_or_default(), "readiness": readiness, "why": why,
        })
    }
}

fn word(readiness: Readiness) -> &'static str {
    match readiness {
        Readiness::Ready => "Ready",
        Readiness::InProgress => "InProgress",
        Readiness::Failed => "Failed",
        Readiness::Terminating => "Terminating",
    }
}
