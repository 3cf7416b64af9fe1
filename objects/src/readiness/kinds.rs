//! The rules of Kubernetes' own kinds, as the table of [`readiness`](super) lists them.
//!
//! In: a live object whose status is about its current generation. Out: its [`Judgement`]. Fails with [`Malformed`] if
//! a field that the rule reads has another type.

mod pod;
mod workload;

use jiff::Timestamp;

use super::Judgement;
use super::conditions::{Condition, Conditions};
use super::live::{Live, Malformed, word};
use crate::id::GroupVersionKind;

/// Judges the objects of one kind. Only the rule of Pods reads the time.
pub(super) type Rule = fn(&Live<'_>, &Conditions<'_>, Timestamp) -> Result<Judgement, Malformed>;

/// Finds the rule of a kind; `None` for a kind without one.
pub(super) fn rule(kind: &GroupVersionKind) -> Option<Rule> {
    let rule: Rule = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ConfigMap" | "Secret") | ("batch", "CronJob") | ("policy", "PodDisruptionBudget") => {
            |_, _, _| Ok(Judgement::ready("it exists"))
        }
        ("", "Service") => |live, _, _| service(live),
        ("", "PersistentVolumeClaim") => |live, _, _| volume_claim(live),
        ("", "Pod") => pod::pod,
        ("batch", "Job") => |live, conditions, _| job(live, conditions),
        ("apps", "Deployment") => |live, conditions, _| workload::deployment(live, conditions),
        ("apps", "ReplicaSet") => |live, conditions, _| workload::replica_set(live, conditions),
        ("apps", "StatefulSet") => |live, _, _| workload::stateful_set(live),
        ("apps", "DaemonSet") => |live, _, _| workload::daemon_set(live),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => |_, conditions, _| crd(conditions),
        ("apiregistration.k8s.io", "APIService") => |_, conditions, _| api_service(conditions),
        _ => return None,
    };
    Some(rule)
}

fn service(live: &Live<'_>) -> Result<Judgement, Malformed> {
    let is_load_balancer = live.text("spec.type")? == Some("LoadBalancer");
    let has_address = live.text("spec.clusterIP")?.is_some_and(|address| !address.is_empty());
    Ok(match is_load_balancer && !has_address {
        true => Judgement::in_progress("it is a load balancer without a cluster IP"),
        false => Judgement::ready("it exists"),
    })
}

fn volume_claim(live: &Live<'_>) -> Result<Judgement, Malformed> {
    Ok(match live.text("status.phase")? {
        Some("Bound") => Judgement::ready("it is bound to a volume"),
        Some(phase) => Judgement::in_progress(format!("its phase is {}, not Bound", word(phase))),
        None => Judgement::in_progress("it has no phase yet"),
    })
}

/// A Job is ready after it completed, since later waves need what it prepares. It is ready without that if the author
/// suspended it: then it is as its manifest demands, and nobody else would ever start it.
fn job(live: &Live<'_>, conditions: &Conditions<'_>) -> Result<Judgement, Malformed> {
    if let Some(failed) = conditions.find("Failed")?.filter(|failed| failed.is_true()) {
        return Ok(Judgement::failed(failed.to_string()));
    }
    if conditions.is_true("Complete")? {
        return Ok(Judgement::ready("it has completed"));
    }
    Ok(match (live.flag("spec.suspend")?, conditions.is_true("Suspended")?) {
        (true, true) => Judgement::ready("it is suspended, as `spec.suspend` demands"),
        (true, false) => Judgement::in_progress("`spec.suspend` is true, but it is not suspended yet"),
        (false, true) => Judgement::in_progress("it is suspended, although `spec.suspend` is not true"),
        (false, false) => match live.time("status.startTime")? {
            Some(_) => Judgement::in_progress("it has started, but not completed"),
            None => Judgement::in_progress("it has not started yet"),
        },
    })
}

fn crd(conditions: &Conditions<'_>) -> Result<Judgement, Malformed> {
    if let Some(names) = conditions.find("NamesAccepted")?.filter(|names| names.is_false()) {
        return Ok(Judgement::failed(names.to_string()));
    }
    // The API server installs a CRD for a few seconds after it accepted the names.
    let is_failure = |established: &&Condition<'_>| established.is_false() && established.reason != "Installing";
    if let Some(established) = conditions.find("Established")?.filter(is_failure) {
        return Ok(Judgement::failed(established.to_string()));
    }
    let not_yet = conditions.first_not_true(&["Established", "NamesAccepted"])?;
    Ok(not_yet.unwrap_or_else(|| Judgement::ready("the API server serves its kind")))
}

fn api_service(conditions: &Conditions<'_>) -> Result<Judgement, Malformed> {
    let not_yet = conditions.first_not_true(&["Available"])?;
    Ok(not_yet.unwrap_or_else(|| Judgement::ready("the API server serves its kinds")))
}
