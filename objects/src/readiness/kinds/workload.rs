//! The rules of the kinds that keep a number of Pods: `Deployment`, `ReplicaSet`, `StatefulSet`, `DaemonSet`.

use crate::readiness::Judgement;
use crate::readiness::conditions::Conditions;
use crate::readiness::live::{Live, Malformed};

/// By this number, the controller of Deployments understands that there is no deadline, and then it writes no
/// condition `Progressing`.
const NO_DEADLINE: u64 = i32::MAX as u64;

pub(super) fn deployment(live: &Live<'_>, conditions: &Conditions<'_>) -> Result<Judgement, Malformed> {
    let progressing = conditions.find("Progressing")?;
    if let Some(overdue) = progressing.filter(|progressing| progressing.reason == "ProgressDeadlineExceeded") {
        return Ok(Judgement::failed(overdue.to_string()));
    }
    let wanted = wanted(live)?;
    let all = count(live, "status.replicas")?;
    if live.flag("spec.paused")? {
        return paused(live, all, wanted);
    }
    let updated = count(live, "status.updatedReplicas")?;
    let shortfall = first([
        fewer(all, wanted, "replicas exist"),
        fewer(updated, wanted, "replicas are updated"),
        surplus(all, wanted),
        fewer(count(live, "status.availableReplicas")?, updated, "updated replicas are available"),
        fewer(count(live, "status.readyReplicas")?, wanted, "replicas are ready"),
    ]);
    if let Some(shortfall) = shortfall {
        return Ok(shortfall);
    }
    let has_deadline = live.number("spec.progressDeadlineSeconds")?.is_some_and(|seconds| seconds != NO_DEADLINE);
    let is_rolled_out = progressing.is_some_and(|it| it.is_true() && it.reason == "NewReplicaSetAvailable");
    if has_deadline && !is_rolled_out {
        return Ok(Judgement::in_progress("its roll-out is not over"));
    }
    let not_yet = conditions.first_not_true(&["Available"])?;
    Ok(not_yet.unwrap_or_else(|| complete(wanted)))
}

/// A paused Deployment rolls nothing out, as its manifest demands, so its Pods count whatever their revision. A new one has no Pods at
/// all, and nothing brings them but an end of the pause.
fn paused(live: &Live<'_>, all: u64, wanted: u64) -> Result<Judgement, Malformed> {
    let ready = count(live, "status.readyReplicas")?;
    let shortfall = first([fewer(all, wanted, "replicas exist"), fewer(ready, wanted, "replicas are ready")]);
    Ok(match shortfall {
        None => {
            Judgement::ready(format!("it is paused, as `spec.paused` demands; {ready} of {wanted} replicas are ready"))
        }
        Some(shortfall) if all < wanted => Judgement::in_progress(format!(
            "{}: it is paused, so no new one is created; remove `spec.paused` to go on",
            shortfall.why
        )),
        Some(shortfall) => shortfall,
    })
}

pub(super) fn replica_set(live: &Live<'_>, conditions: &Conditions<'_>) -> Result<Judgement, Malformed> {
    if let Some(failure) = conditions.find("ReplicaFailure")?.filter(|failure| failure.is_true()) {
        // The controller tries again, and succeeds as soon as, for example, a quota allows the Pod.
        return Ok(Judgement::in_progress(failure.to_string()));
    }
    let wanted = wanted(live)?;
    let shortfall = first([
        fewer(count(live, "status.fullyLabeledReplicas")?, wanted, "replicas have all labels"),
        fewer(count(live, "status.availableReplicas")?, wanted, "replicas are available"),
        fewer(count(live, "status.readyReplicas")?, wanted, "replicas are ready"),
        surplus(count(live, "status.replicas")?, wanted),
    ]);
    Ok(shortfall.unwrap_or_else(|| complete(wanted)))
}

pub(super) fn stateful_set(live: &Live<'_>) -> Result<Judgement, Malformed> {
    let wanted = wanted(live)?;
    let all = count(live, "status.replicas")?;
    let shortfall = first([
        fewer(all, wanted, "replicas exist"),
        fewer(count(live, "status.readyReplicas")?, wanted, "replicas are ready"),
        surplus(all, wanted),
    ]);
    if let Some(shortfall) = shortfall {
        return Ok(shortfall);
    }
    if is_updated_by_hand(live)? {
        return Ok(complete(wanted));
    }
    let Some(partition) = live.number("spec.updateStrategy.rollingUpdate.partition")? else {
        return of_one_revision(live, wanted);
    };
    // The controller updates only the replicas whose number is at least the partition.
    let updatable = wanted.saturating_sub(partition);
    let shortfall =
        fewer(count(live, "status.updatedReplicas")?, updatable, "replicas above the partition are updated");
    Ok(shortfall.unwrap_or_else(|| complete(wanted)))
}

/// The last step of a `StatefulSet` without a partition: all replicas are of the revision that the manifest demands.
fn of_one_revision(live: &Live<'_>, wanted: u64) -> Result<Judgement, Malformed> {
    if let Some(shortfall) = fewer(count(live, "status.currentReplicas")?, wanted, "replicas are current") {
        return Ok(shortfall);
    }
    Ok(match (live.text("status.currentRevision")?, live.text("status.updateRevision")?) {
        (Some(current), Some(update)) if current == update => complete(wanted),
        (Some(_), Some(_)) => Judgement::in_progress("its replicas are not of the new revision yet"),
        (None, _) | (_, None) => Judgement::in_progress("its status names no revision yet"),
    })
}

/// Whether Pods are updated when somebody deletes them: then it does not count of which revision they are.
fn is_updated_by_hand(live: &Live<'_>) -> Result<bool, Malformed> {
    Ok(live.text("spec.updateStrategy.type")? == Some("OnDelete"))
}

pub(super) fn daemon_set(live: &Live<'_>) -> Result<Judgement, Malformed> {
    // An earlier rule compared the two if both are present. Only their presence distinguishes a `DaemonSet` that no
    // node suits from one that its controller has not seen: both have zeros everywhere.
    let is_observed =
        live.number("metadata.generation")?.is_some() && live.number("status.observedGeneration")?.is_some();
    let (true, Some(wanted)) = (is_observed, live.number("status.desiredNumberScheduled")?) else {
        return Ok(Judgement::in_progress("its controller has not counted its nodes yet"));
    };
    let to_update = if is_updated_by_hand(live)? { 0 } else { wanted };
    let shortfall = first([
        fewer(count(live, "status.currentNumberScheduled")?, wanted, "Pods are scheduled"),
        fewer(count(live, "status.updatedNumberScheduled")?, to_update, "Pods are updated"),
        fewer(count(live, "status.numberAvailable")?, wanted, "Pods are available"),
        fewer(count(live, "status.numberReady")?, wanted, "Pods are ready"),
    ]);
    Ok(shortfall.unwrap_or_else(|| Judgement::ready(format!("{wanted} of {wanted} Pods are ready"))))
}

/// The number of replicas that the manifest demands. The API server's default is 1.
fn wanted(live: &Live<'_>) -> Result<u64, Malformed> {
    Ok(live.number("spec.replicas")?.unwrap_or(1))
}

/// A number in the status. Controllers leave out zero.
fn count(live: &Live<'_>, path: &'static str) -> Result<u64, Malformed> {
    Ok(live.number(path)?.unwrap_or(0))
}

fn complete(wanted: u64) -> Judgement {
    Judgement::ready(format!("{wanted} of {wanted} replicas are ready"))
}

fn fewer(have: u64, wanted: u64, what: &str) -> Option<Judgement> {
    (have < wanted).then(|| Judgement::in_progress(format!("{have} of {wanted} {what}")))
}

fn surplus(have: u64, wanted: u64) -> Option<Judgement> {
    (have > wanted).then(|| Judgement::in_progress(format!("there are {have} replicas, and {wanted} are wanted")))
}

/// The first step that is not done.
fn first<const N: usize>(steps: [Option<Judgement>; N]) -> Option<Judgement> {
    steps.into_iter().flatten().next()
}
