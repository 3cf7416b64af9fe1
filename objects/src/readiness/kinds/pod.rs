//! The rule of Pods.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::readiness::Judgement;
use crate::readiness::conditions::Conditions;
use crate::readiness::live::{Live, Malformed, word};

/// How long no node may suit a new Pod before the Pod counts as failed. A Pod that is created together with its volume
/// or after a full node was drained is often unschedulable for some seconds; 15 s is kstatus's number.
const SCHEDULING_GRACE: SignedDuration = SignedDuration::from_secs(15);

pub(super) fn pod(live: &Live<'_>, conditions: &Conditions<'_>, now: Timestamp) -> Result<Judgement, Malformed> {
    match live.text("status.phase")? {
        Some("Succeeded") => Ok(Judgement::ready("it has succeeded")),
        Some("Failed") => Ok(Judgement::failed("it has failed")),
        Some("Running") => running(live, conditions),
        Some("Pending") => pending(live, conditions, now),
        Some(phase) => Ok(Judgement::in_progress(format!("its phase is {}", word(phase)))),
        None => Ok(Judgement::in_progress("it has no phase yet")),
    }
}

fn running(live: &Live<'_>, conditions: &Conditions<'_>) -> Result<Judgement, Malformed> {
    if conditions.is_true("Ready")? {
        return Ok(Judgement::ready("it runs, and its condition Ready is True"));
    }
    let containers = live.list("status.containerStatuses")?;
    let crashing = containers.iter().find(|container| {
        container.pointer("/state/waiting/reason").and_then(Value::as_str) == Some("CrashLoopBackOff")
    });
    Ok(match crashing {
        Some(container) => {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            Judgement::failed(format!("its container {} crashes again and again", word(name)))
        }
        None => Judgement::in_progress("it runs, but its condition Ready is not True"),
    })
}

fn pending(live: &Live<'_>, conditions: &Conditions<'_>, now: Timestamp) -> Result<Judgement, Malformed> {
    let is_unschedulable = conditions
        .find("PodScheduled")?
        .is_some_and(|scheduled| scheduled.is_false() && scheduled.reason == "Unschedulable");
    if !is_unschedulable {
        return Ok(Judgement::in_progress("it is pending"));
    }
    // Without a creation time the Pod may be new, so it has not failed.
    let created = live.time("metadata.creationTimestamp")?;
    Ok(match created.is_some_and(|created| now.duration_since(created) > SCHEDULING_GRACE) {
        true => Judgement::failed("no node suits it"),
        false => Judgement::in_progress("no node suits it yet"),
    })
}
