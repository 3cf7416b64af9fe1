//! Computes a resource's conditions from the reports of its adapters.
//!
//! In: the resource with its former conditions, the adapters that its kind requires, their reports, and the number of its
//! children. Out: the conditions, in the API's order. Fails: never. Pure: the same reports give the same conditions,
//! whenever they are computed.
//!
//! A required adapter counts as soon as it says whether it is `Available`. `Reconciled` is true when every one of them
//! speaks of the current generation: `Available` while the resource lives, `Finalized` once its deletion is requested.
//! Then it must have no children either, because the resource can only be removed after them.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::model::{Condition, Report, ReportCondition, Resource};

/// The condition that says whether all adapters are done with the current generation.
pub const RECONCILED: &str = "Reconciled";
/// The condition that says whether some generation was reconciled, and nothing has failed since.
pub const LAST_KNOWN: &str = "LastKnownReconciled";

/// What one required adapter says.
#[derive(Debug, Clone, Copy)]
struct Said<'a> {
    report: &'a Report,
    available: &'a ReportCondition,
}

impl Said<'_> {
    fn generation(&self) -> i64 {
        self.report.observed_generation
    }

    fn time(&self) -> Timestamp {
        self.report.last_report_time
    }

    fn is_available(&self) -> bool {
        self.available.status == "True"
    }
}

/// Computes the conditions; none for a kind without required adapters.
#[must_use]
pub fn aggregate(resource: &Resource, required: &[String], reports: &[Report], children: u64) -> Vec<Condition> {
    if required.is_empty() {
        return Vec::new();
    }
    let said: Vec<Option<Said<'_>>> = required.iter().map(|adapter| say(resource, adapter, reports)).collect();
    let mut conditions = vec![reconciled(resource, required, &said, children), last_known(resource, &said)];
    conditions.extend(said.iter().flatten().map(|said| of_adapter(resource, said)));
    conditions
}

/// Whether every required adapter is done with the deletion of the resource.
#[must_use]
pub fn is_finalized(resource: &Resource, required: &[String], reports: &[Report]) -> bool {
    let is_done = |adapter: &String| {
        let report = reports.iter().find(|report| report.adapter == *adapter);
        report.is_some_and(|report| report.observed_generation == resource.generation && report.is_true("Finalized"))
    };
    resource.is_deleted() && required.iter().all(is_done)
}

fn say<'a>(resource: &Resource, adapter: &str, reports: &'a [Report]) -> Option<Said<'a>> {
    let report = reports.iter().find(|report| report.adapter == adapter)?;
    let available = report.condition("Available").filter(|available| available.status != "Unknown")?;
    (report.observed_generation <= resource.generation).then_some(Said { report, available })
}

fn reconciled(resource: &Resource, required: &[String], said: &[Option<Said<'_>>], children: u64) -> Condition {
    let is_current = |said: &&Said<'_>| said.generation() == resource.generation;
    let is_ready = |said: &Option<Said<'_>>| {
        said.as_ref().filter(is_current).is_some_and(|said| match resource.is_deleted() {
            true => said.report.is_true("Finalized"),
            false => said.is_available(),
        })
    };
    let by_name = || required.iter().zip(said).map(|(name, said)| (name.as_str(), said));
    let (is_true, reason, message) = if !said.iter().all(is_ready) {
        let late = by_name().filter(|(_, said)| !is_ready(said)).map(|(name, _)| name);
        let known = by_name().filter(|(_, said)| said.is_some()).map(|(name, _)| name);
        let message =
            format!("Adapters that are not ready: {}; adapters that have reported: {}", names(late), names(known));
        (false, "ReconciledMissingAdapters", message)
    } else if resource.is_deleted() && children > 0 {
        (false, "ReconciledWaitingForChildren", format!("{children} children are not yet removed"))
    } else {
        (true, "ReconciledAll", "All required adapters are ready".to_owned())
    };
    let reference = resource.updated_time;
    let updated = said.iter().flatten().filter(is_current).map(Said::time).min().unwrap_or(reference);
    let former = resource.condition(RECONCILED);
    let transition = |former: &Condition| match (former.status.as_str(), is_true) {
        ("True", true) | ("False", false) => former.last_transition_time,
        ("True", false) if resource.generation > former.observed_generation => reference,
        _ => updated,
    };
    Condition {
        kind: RECONCILED.to_owned(),
        status: word(is_true),
        reason: Some(reason.to_owned()),
        message: Some(message),
        observed_generation: resource.generation,
        created_time: former.map_or(reference, |former| former.created_time),
        last_updated_time: updated,
        last_transition_time: former.map_or(updated, transition),
    }
}

fn names<'a>(adapters: impl Iterator<Item = &'a str>) -> String {
    let sorted: Vec<_> = adapters.collect::<BTreeSet<_>>().into_iter().collect();
    if sorted.is_empty() { "none".to_owned() } else { sorted.join(", ") }
}

/// Once true, the condition stays true while an adapter works on a newer generation, and until one fails on the
/// generation that was reconciled.
fn last_known(resource: &Resource, said: &[Option<Said<'_>>]) -> Condition {
    let former = resource.condition(LAST_KNOWN);
    let known: Vec<_> = said.iter().flatten().copied().collect();
    let generations: BTreeSet<_> = known.iter().map(Said::generation).collect();
    let (is_complete, is_uniform) = (known.len() == said.len(), generations.len() == 1);
    let all_available = known.iter().all(Said::is_available);
    let was_true = former.filter(|former| former.status == "True");
    let has_failed_at = |generation| known.iter().any(|said| !said.is_available() && said.generation() == generation);
    let (is_true, reason) = if !is_complete {
        (false, "AdaptersMissingReports")
    } else if all_available {
        let is_true = is_uniform || was_true.is_some();
        (is_true, if is_true { "AllAdaptersReconciled" } else { "AdaptersNotAtSameGeneration" })
    } else {
        let stays = was_true.is_some_and(|former| !has_failed_at(former.observed_generation));
        (stays, if stays { "AllAdaptersReconciled" } else { "AdapterReportedNotAvailable" })
    };
    let is_fresh = is_complete && all_available && is_uniform;
    let oldest_at = |generation| known.iter().filter(|said| said.generation() == generation).map(Said::time).min();
    let highest = generations.last().copied();
    let before = |former: &Condition| former.last_updated_time;
    let (observed, updated) = match (is_true, former) {
        (true, Some(former)) if !is_fresh => (former.observed_generation, Some(former.last_updated_time)),
        (true, _) => (highest.unwrap_or(1), highest.and_then(oldest_at)),
        (false, former) => {
            let observed = highest.or(former.map(|former| former.observed_generation)).unwrap_or(1);
            let failed = has_failed_at(observed).then(|| oldest_at(observed)).flatten();
            (observed, failed.or(former.map(before)))
        }
    };
    let updated = updated.unwrap_or(resource.updated_time);
    let same = former.filter(|former| former.status == word(is_true));
    Condition {
        kind: LAST_KNOWN.to_owned(),
        status: word(is_true),
        reason: Some(reason.to_owned()),
        message: None,
        observed_generation: observed,
        created_time: former.map_or(resource.updated_time, |former| former.created_time),
        last_updated_time: updated,
        last_transition_time: same.map_or(updated, |same| same.last_transition_time),
    }
}

fn of_adapter(resource: &Resource, said: &Said<'_>) -> Condition {
    let kind = type_of(&said.report.adapter);
    let former = resource.condition(&kind);
    let same = former.filter(|former| former.status == said.available.status);
    Condition {
        status: said.available.status.clone(),
        reason: said.available.reason.clone(),
        message: said.available.message.clone(),
        observed_generation: said.generation(),
        created_time: former.map_or(said.time(), |former| former.created_time),
        last_updated_time: said.time(),
        last_transition_time: same.map_or(said.time(), |same| same.last_transition_time),
        kind,
    }
}

/// The condition type of an adapter: `cl-namespace` has `ClNamespaceSuccessful`.
fn type_of(adapter: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    format!("{}Successful", adapter.split('-').map(capital).collect::<String>())
}

fn word(is_true: bool) -> String {
    if is_true { "True" } else { "False" }.to_owned()
}

/// Sorts conditions as [`aggregate`] returns them, because a table has no order.
pub fn sort(conditions: &mut [Condition], required: &[String]) {
    let types: Vec<_> = required.iter().map(|adapter| type_of(adapter)).collect();
    conditions.sort_by_key(|condition| {
        let place = match condition.kind.as_str() {
            RECONCILED => 0,
            LAST_KNOWN => 1,
            kind => types.iter().position(|of_adapter| of_adapter == kind).map_or(usize::MAX, |place| place + 2),
        };
        (place, condition.kind.clone())
    });
}

#[cfg(test)]
mod tests;
