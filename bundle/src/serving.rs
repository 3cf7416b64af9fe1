//! Objects that serve once: those with a purge order, which the bundle deletes, and Jobs that Kubernetes deletes after they have
//! finished.
//!
//! In: a rendered or a live object. Out: whether it serves once, whether it has served, and what keeps a bundle from noticing that.
//! Nothing here fails.

use jiff::SignedDuration;
use lifecycle_objects::identity::GroupKind;
use serde_json::Value;

/// How long a Job has to stay after it has finished. An event comes every 10 s while the API resource is not reconciled, as it is
/// not while a Job runs; a minute leaves room for some that come late.
pub(super) const SHORTEST_STAY: SignedDuration = SignedDuration::from_secs(60);

/// After how many seconds Kubernetes deletes a finished Job; none if it does not.
pub(super) fn stay(kind: &GroupKind, object: &Value) -> Option<i64> {
    let is_job = kind.group == "batch" && kind.kind == "Job";
    if !is_job {
        return None;
    }
    object.get("spec")?.get("ttlSecondsAfterFinished")?.as_i64()
}

/// Whether an object runs once, and is not created again when it is gone.
pub(super) fn serves_once(kind: &GroupKind, object: &Value, purge_order: Option<i16>) -> bool {
    purge_order.is_some() || stay(kind, object).is_some()
}

/// Whether a live Job has completed. One that failed or is suspended has not served, whatever else counts as ready.
pub(super) fn has_completed(job: &Value) -> bool {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
    let is_complete = |condition: &Value| condition["type"] == "Complete" && condition["status"] == "True";
    conditions.into_iter().flatten().any(is_complete)
}

/// Why a bundle would not see that a Job has served, with the cure.
pub(super) fn fault(kind: &GroupKind, object: &Value) -> Option<String> {
    let stay = stay(kind, object).filter(|stay| *stay < SHORTEST_STAY.as_secs())?;
    Some(format!(
        "`spec.ttlSecondsAfterFinished` is {stay}, so it may be gone before an event sees that it has completed, and would run again; \
         write {} at least, or an annotation `purge-order` in its place",
        SHORTEST_STAY.as_secs()
    ))
}
