//! What a pass did with a bundle, and how its objects are.

use std::sync::Arc;

use serde_json::{Value, json};

use super::identity::Identity;
use super::member::Effect;
use super::table::{Decision, Row, SkipReason};
use crate::readiness::{Judgement, Readiness};

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
    /// The objects: first those of the manifests, as they are written there, then the others.
    pub objects: Vec<ObjectReport>,
    /// The steps of the pass that have objects, in order.
    pub steps: Vec<Arc<str>>,
    /// What kept the pass from coming to its end, in words; `None` if it did.
    pub stopped: Option<String>,
}

impl Report {
    /// Whether a write was refused.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.objects.iter().any(|object| object.effect.failure().is_some())
    }

    /// The bundle as `resources.<name>` shows it to expressions.
    #[must_use]
    pub fn shown(&self) -> Value {
        let objects: Vec<Value> = self.objects.iter().map(ObjectReport::shown).collect();
        let drifted = self.objects.iter().filter_map(|object| Some((object, object.effect.drift()?)));
        let drift = drifted.map(|(object, fields)| json!({ "object": object.identity.to_string(), "fields": fields }));
        let waves: Vec<Value> = self.steps.iter().map(|step| self.wave(step)).collect();
        json!({
            "ready": self.stopped.is_none() && !self.has_failed(),
            "why": self.stopped.clone().unwrap_or_default(),
            "objects": objects,
            "waves": waves,
            "drift": drift.collect::<Vec<_>>(),
        })
    }
}

impl Report {
    /// One step as expressions see it.
    fn wave(&self, step: &Arc<str>) -> Value {
        let objects = || self.objects.iter().filter(|object| object.step == *step);
        let ready = objects().filter(|object| object.is_ready()).count();
        json!({ "name": &**step, "objects": objects().count(), "ready": ready })
    }
}

impl ObjectReport {
    /// Whether the object is ready, or has served.
    fn is_ready(&self) -> bool {
        let has_served = matches!(self.verdict, Some((_, Decision::Skip(SkipReason::Completed))));
        has_served || self.judgement.as_ref().is_some_and(|judgement| judgement.readiness == Readiness::Ready)
    }

    fn shown(&self) -> Value {
        let Identity { kind, namespace, name } = &self.identity;
        let (readiness, why) = match &self.judgement {
            Some(judgement) => (word(judgement.readiness), judgement.why.as_str()),
            None => ("Absent", ""),
        };
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
