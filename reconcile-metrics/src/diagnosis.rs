//! Finds the adapters that a stuck resource waits on; without I/O.
//!
//! In: a resource with the last report of each adapter, and the adapters that its kind requires. Out: the adapters that
//! are not done, each with the cause. Cannot fail.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use crate::config::{Kind, Kinds};
use crate::figures::{Flow, Types};
use crate::store::{Report, Resource};

/// Why an adapter keeps a resource from being reconciled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The adapter is required, and has never reported on the resource.
    NeverReported,
    /// The adapter's last report is about an older generation than the resource's.
    OlderGeneration,
    /// Its last report is about a higher generation than the resource has, for example after a restore of the database.
    /// The API counts only reports on exactly the resource's generation.
    NewerGeneration,
    /// The adapter's report does not contain `Available=True`.
    NotAvailable,
    /// The resource is being deleted, and the report does not contain `Finalized=True`, or is one that the API ignores.
    NotFinalized,
}

impl Cause {
    /// The causes in the order of their variants.
    pub const ALL: [Self; 5] =
        [Self::NeverReported, Self::OlderGeneration, Self::NewerGeneration, Self::NotAvailable, Self::NotFinalized];

    /// Returns the value of the label `reason`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::NeverReported => "never_reported",
            Self::OlderGeneration => "older_generation",
            Self::NewerGeneration => "newer_generation",
            Self::NotAvailable => "not_available",
            Self::NotFinalized => "not_finalized",
        }
    }

    /// Whether the cause is possible for resources that are being deleted (`is_delete`), or for the others.
    #[must_use]
    pub fn is_of(self, is_delete: bool) -> bool {
        match self {
            Self::NeverReported | Self::OlderGeneration | Self::NewerGeneration => true,
            Self::NotAvailable => !is_delete,
            Self::NotFinalized => is_delete,
        }
    }
}

/// An adapter that a resource waits on, with its last report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    /// The name of the adapter that the resource waits on.
    pub adapter: String,
    /// The reason why the resource waits on this adapter.
    pub cause: Cause,
    /// The generation in its last report.
    pub observed_generation: Option<i64>,
    /// The time of its last report.
    pub last_report_time: Option<Timestamp>,
    /// The reason in its last report.
    pub reason: Option<String>,
    /// The message in its last report.
    pub message: Option<String>,
}

/// A stuck resource with the adapters that it waits on, as `stuck` and `/stuck` print it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stuck {
    /// The stuck resource, as it was read from the database.
    #[serde(flatten)]
    pub resource: Resource,
    /// Whether its kind is configured. If not, `waits_on` cannot contain adapters that never reported.
    pub required_adapters_known: bool,
    /// The adapters that it waits on.
    pub waits_on: Vec<Wait>,
}

/// Finds the adapters that each resource waits on.
#[must_use]
pub fn diagnose(resources: Vec<Resource>, kinds: &Kinds) -> Vec<Stuck> {
    let diagnose = |resource: Resource| {
        let kind = kinds.get(&resource.kind);
        Stuck { required_adapters_known: kind.is_some(), waits_on: waits_on(&resource, kind), resource }
    };
    resources.into_iter().map(diagnose).collect()
}

/// Returns the adapters that a resource waits on. Without a configured kind it can only check adapters that reported.
#[must_use]
pub fn waits_on(resource: &Resource, kind: Option<&Kind>) -> Vec<Wait> {
    let report = |adapter: &str| resource.reports.iter().find(|report| report.adapter == adapter);
    let adapters: Vec<&str> = match kind {
        Some(kind) => kind.required_adapters.iter().map(String::as_str).collect(),
        None => resource.reports.iter().map(|report| report.adapter.as_str()).collect(),
    };
    let wait = |adapter: &str| {
        let report = report(adapter);
        Some(Wait {
            adapter: adapter.to_owned(),
            cause: cause(resource, report)?,
            observed_generation: report.map(|report| report.observed_generation),
            last_report_time: report.map(|report| report.at),
            reason: report.and_then(|report| report.reason.clone()),
            message: report.and_then(|report| report.message.clone()),
        })
    };
    adapters.into_iter().filter_map(wait).collect()
}

fn cause(resource: &Resource, report: Option<&Report>) -> Option<Cause> {
    match report {
        None => Some(Cause::NeverReported),
        Some(report) if report.observed_generation < resource.generation => Some(Cause::OlderGeneration),
        Some(report) if report.observed_generation > resource.generation => Some(Cause::NewerGeneration),
        Some(report) if resource.deleting => (!report.finalized).then_some(Cause::NotFinalized),
        Some(report) => (!report.available).then_some(Cause::NotAvailable),
    }
}

/// The number of resources that wait on an adapter, by flow, adapter and cause; for configured adapters only.
pub type Waits = BTreeMap<(Flow, String, Cause), u64>;

/// Counts the resources that wait on each adapter. Every combination that the configuration allows is in the result, if
/// necessary with zero.
#[must_use]
pub fn count(resources: &[Resource], kinds: &Kinds, types: &Types) -> Waits {
    let mut waits = Waits::default();
    for kind in kinds.all() {
        for is_delete in [false, true] {
            let flow = Flow { resource_type: types.label(&kind.name), is_delete };
            for adapter in &kind.required_adapters {
                for cause in Cause::ALL.into_iter().filter(|cause| cause.is_of(is_delete)) {
                    waits.insert((flow.clone(), adapter.clone(), cause), 0);
                }
            }
        }
    }
    // Any program can report on a kind that is not configured, and its name must not become a label value.
    let known: BTreeSet<&String> = kinds.all().iter().flat_map(|kind| &kind.required_adapters).collect();
    for resource in resources {
        let flow = Flow { resource_type: types.label(&resource.kind), is_delete: resource.deleting };
        let waited_on = waits_on(resource, kinds.get(&resource.kind));
        for wait in waited_on.into_iter().filter(|wait| known.contains(&wait.adapter)) {
            *waits.entry((flow.clone(), wait.adapter, wait.cause)).or_default() += 1;
        }
    }
    waits
}

#[cfg(test)]
mod tests;
