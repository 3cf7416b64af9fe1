//! Says whether a live object is ready, so that a bundle applies its next wave only after the objects of this one
//! work.
//!
//! In: the live object as JSON, the [`Hints`] of its manifest's author, and the time. Out: one [`Judgement`], that is
//! the object's [`Readiness`] with a sentence about it. Fails: never; an object that has another form than its kind
//! demands is in progress, and the sentence names the odd field. Only [`Hints::parse`] has an error. This module does
//! not compare the live object with its manifest, and does not wait.
//!
//! The first rule that applies decides:
//!
//! | | the object | is |
//! | --- | --- | --- |
//! | 1 | has a `metadata.deletionTimestamp` | terminating |
//! | 2 | has a `status.observedGeneration` other than its `metadata.generation` | in progress |
//! | 3 | has the condition `Reconciling` with status True | in progress |
//! | | has the condition `Stalled` with status True; if both are True, the first in the list counts | failed |
//! | 4 | is of a kind in the table below | as that row says |
//! | 5 | has the condition `Ready` | ready if the status is True, else in progress |
//! | 6 | is any other object | ready |
//!
//! The API group is part of the kind, its version is not. An object that no column describes is in progress.
//!
//! | kind | ready | failed |
//! | --- | --- | --- |
//! | `ConfigMap`, `Secret`, `batch/CronJob`, `policy/PodDisruptionBudget` | always | |
//! | `Service` | always, except of type `LoadBalancer` without `spec.clusterIP` | |
//! | `PersistentVolumeClaim` | its phase is Bound | |
//! | `Pod` | it has succeeded, or it runs and its condition `Ready` is True | it has failed; it runs, and a container is in `CrashLoopBackOff`; no node suits it 15 s after its creation |
//! | `batch/Job` | `Complete` is True, or it is suspended because `spec.suspend` demands that | `Failed` is True |
//! | `apps/Deployment` | all replicas are updated and ready, no former ones are left, `Available` is True, and the roll-out is over; while `spec.paused` holds, all replicas are ready, whatever their revision | `Progressing` has the reason `ProgressDeadlineExceeded` |
//! | `apps/ReplicaSet` | all replicas are labelled, available and ready, and no former ones are left | |
//! | `apps/StatefulSet` | all replicas are ready, no former ones are left, and those above the partition are updated; with the strategy `OnDelete` whatever their revision | |
//! | `apps/DaemonSet` | its controller observed this generation, and all Pods are scheduled, updated (not with `OnDelete`), available and ready | |
//! | `apiextensions.k8s.io/CustomResourceDefinition` | `Established` and `NamesAccepted` are True | `NamesAccepted` is False, or `Established` is False and not because of `Installing` |
//! | `apiregistration.k8s.io/APIService` | `Available` is True | |
//!
//! A replica number that is missing is 1 in the specification, and 0 in the status.
//!
//! The rules are those of kstatus, the library of the Kubernetes project, for which many manifests were written. They
//! differ where the next wave would start too early:
//!
//! * A `StatefulSet` with the strategy `OnDelete` is ready once its Pods are; kstatus calls it current without any. A `DaemonSet` with it
//!   and a paused Deployment do not wait for updates that nothing brings.
//! * A Job is not ready while it runs, since what it prepares is not there yet. kstatus calls it current when it starts.
//! * A Pod that failed is failed, as a Job is. kstatus calls it current, because it does not change any more.
//! * A CRD needs the condition `NamesAccepted`, too, and an `APIService` needs `Available`, for which kstatus has no
//!   rule: their kinds are served only then.
//! * A condition `Ready` with any other status than True is not ready, nor are several of different statuses. kstatus
//!   knows False and Unknown alone, and reads the first condition.
//!
//! A `PersistentVolumeClaim` whose storage class waits for the first consumer is bound only after a Pod uses it, so an
//! author has to put both into one wave.

mod conditions;
mod hints;
mod kinds;
mod live;

use jiff::Timestamp;
use serde_json::Value;

use crate::observation::held_by;
use conditions::Conditions;
use live::{Live, Malformed};

pub use hints::{HintError, Hints};

/// What a live object's status says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// The object works as its manifest demands.
    Ready,
    /// The object is not ready yet, or its status cannot be understood.
    InProgress,
    /// The object's controller gave up, or cannot go on. The object may still recover, such as when a node joins.
    Failed,
    /// Kubernetes is deleting the object.
    Terminating,
}

/// The readiness of one object, and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The readiness.
    pub readiness: Readiness,
    /// The reason for people, such as "2 of 3 replicas are ready". It quotes no free text of the object, since that
    /// may contain a secret: only names, numbers, and the one-word reasons of conditions; and of a namespace that is being
    /// deleted, what the API server says is left in it.
    pub why: String,
}

impl Judgement {
    fn ready(why: impl Into<String>) -> Self {
        Self { readiness: Readiness::Ready, why: why.into() }
    }

    fn in_progress(why: impl Into<String>) -> Self {
        Self { readiness: Readiness::InProgress, why: why.into() }
    }

    fn failed(why: impl Into<String>) -> Self {
        Self { readiness: Readiness::Failed, why: why.into() }
    }
}

/// Judges a live object.
///
/// `now` decides one thing alone: how long a Pod may wait for a node before it counts as failed.
#[must_use]
pub fn judge(object: &Value, hints: &Hints, now: Timestamp) -> Judgement {
    let live = Live::new(object);
    if live.is_terminating() {
        let held = held_by(object).map(|held| format!("; {held}")).unwrap_or_default();
        return Judgement { readiness: Readiness::Terminating, why: format!("Kubernetes is deleting it{held}") };
    }
    understood(&live, hints, now).unwrap_or_else(|malformed| Judgement::in_progress(malformed.to_string()))
}

/// Whether the status is about the object's present generation, as far as it says: by rule 2.
#[must_use]
pub fn is_observed(object: &Value) -> bool {
    let live = Live::new(object);
    let unobserved = Conditions::of(&live).and_then(|conditions| unobserved(&live, &conditions, &Hints::default()));
    matches!(unobserved, Ok(None))
}

/// Judges an object that is not terminating.
fn understood(live: &Live<'_>, hints: &Hints, now: Timestamp) -> Result<Judgement, Malformed> {
    let kind = live.kind()?;
    let conditions = Conditions::of(live)?;
    if let Some(unobserved) = unobserved(live, &conditions, hints)? {
        return Ok(unobserved);
    }
    if let Some(announced) = announced(&conditions) {
        return Ok(announced);
    }
    let judgement = match kinds::rule(&kind) {
        Some(rule) => rule(live, &conditions, now)?,
        None => by_condition_ready(&conditions, hints)?,
    };
    match judgement.readiness {
        Readiness::Ready => Ok(conditions.first_not_true(&hints.conditions)?.unwrap_or(judgement)),
        Readiness::InProgress | Readiness::Failed | Readiness::Terminating => Ok(judgement),
    }
}

/// Rule 2: the status is about another generation, so the other fields of the status prove nothing.
fn unobserved(live: &Live<'_>, conditions: &Conditions<'_>, hints: &Hints) -> Result<Option<Judgement>, Malformed> {
    let generation = live.generation("metadata.generation")?;
    let mut observed = live.generation("status.observedGeneration")?;
    if observed.is_none() && hints.observed_generation {
        observed = match conditions.find("Ready")? {
            Some(ready) => ready.observed_generation()?,
            None => None,
        };
    }
    Ok(match (generation, observed) {
        (Some(generation), Some(observed)) if generation != observed => {
            let why = format!("its controller has observed generation {observed}, not yet {generation}");
            Some(Judgement::in_progress(why))
        }
        (Some(generation), None) if hints.observed_generation => {
            Some(Judgement::in_progress(format!("its controller has not observed generation {generation} yet")))
        }
        (Some(_) | None, _) => None,
    })
}

/// Rule 3: the two conditions by which any controller can say that the object is not ready.
fn announced(conditions: &Conditions<'_>) -> Option<Judgement> {
    conditions.iter().filter(|condition| condition.is_true()).find_map(|condition| match condition.name {
        "Reconciling" => Some(Judgement::in_progress(condition.to_string())),
        "Stalled" => Some(Judgement::failed(condition.to_string())),
        _ => None,
    })
}

/// Rules 5 and 6.
fn by_condition_ready(conditions: &Conditions<'_>, hints: &Hints) -> Result<Judgement, Malformed> {
    Ok(match conditions.find("Ready")? {
        Some(ready) if ready.is_true() => Judgement::ready(ready.to_string()),
        Some(ready) => Judgement::in_progress(ready.to_string()),
        None if hints.ready_condition => Judgement::in_progress("it has no condition Ready yet"),
        None => Judgement::ready("it exists, and no condition Ready says otherwise"),
    })
}

#[cfg(test)]
mod tests;
