//! Every metric: its name, its type, what it means, and its samples; pure.
//!
//! In: what one scrape found out. Out: families in a fixed order. A figure that could not be read has no samples, so
//! nothing stale is taken for fresh; a figure that is zero has samples that read zero. Nothing can fail.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Exposure, Kinds};
use crate::diagnosis::Waits;
use crate::figures::{Flow, Population, Types, population};
use crate::scrape::{Attempt, Details, Scrape};
use crate::store::{Layout, Missing, StoreError};

/// What kind of metric it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only rises.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts by bounds. These count what is there now: they rise and fall, so read them without `rate`.
    Histogram,
}

/// A metric with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Its whole name, with `_total` for a counter.
    pub name: &'static str,
    /// What it means.
    pub help: &'static str,
    /// What kind it is.
    pub kind: Kind,
    /// Its samples.
    pub samples: Vec<Sample>,
}

/// One value with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Value,
}

/// What a sample reads.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Counts by bound, not cumulative; the last bound is `f64::INFINITY`, for all that is beyond.
    Histogram {
        /// Bounds, each with what is at most that and beyond the one before.
        buckets: Vec<(f64, u64)>,
        /// The sum of what is counted.
        sum: f64,
        /// How many are counted.
        count: u64,
    },
}

/// The label of what a reading is for: each fails, and is timed, on its own.
pub const COLLECTORS: [&str; 3] = ["details", "missing", "snapshot"];

/// Every family of the exporter, in the order of exposition: names, types and meanings.
pub const FAMILIES: &[(&str, Kind, &str)] = &[
    (
        "hyperfleet_api_resource_pending_reconciliation",
        Kind::Gauge,
        "Resources whose condition Reconciled is False now",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck",
        Kind::Gauge,
        "Of these, how many have been so for longer than their threshold",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck_duration_seconds",
        Kind::Gauge,
        "The longest time that a stuck resource has been unreconciled; 0 if none is stuck",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_age_seconds",
        Kind::Histogram,
        "How long resources that are pending now have been so; rises and falls, so read it without rate()",
    ),
    ("hyperfleet_api_reconciliation_started_total", Kind::Counter, "Transitions of the condition Reconciled to False"),
    (
        "hyperfleet_api_reconciliation_requests_total",
        Kind::Counter,
        "The same as hyperfleet_api_reconciliation_started_total, by the name of the design proposal",
    ),
    (
        "hyperfleet_api_resource_without_reconciled_condition",
        Kind::Gauge,
        "Resources past their threshold that have no condition Reconciled, of kinds with required adapters",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on",
        Kind::Gauge,
        "Stuck resources that wait on an adapter, by what the adapter has not done; one that waits on two counts at both",
    ),
    (
        "hyperfleet_api_resource_deletion_waiting_on_child",
        Kind::Gauge,
        "Resources whose deletion waits on a stuck descendant, by the type of that root cause",
    ),
    (
        "hyperfleet_reconcile_metrics_stuck_threshold_seconds",
        Kind::Gauge,
        "How long a resource may be unreconciled before it is stuck",
    ),
    (
        "hyperfleet_reconcile_metrics_required_adapters",
        Kind::Gauge,
        "How many adapters the configuration requires for a type",
    ),
    (
        "hyperfleet_reconcile_metrics_odd_rows",
        Kind::Gauge,
        "Pending resources whose row is odd: of a kind that is not configured, without a time of transition, or with one \
         in the future",
    ),
    (
        "hyperfleet_reconcile_metrics_schema_info",
        Kind::Gauge,
        "1 for the schema that the database has: tracked (ours), rows (the API's) or documents (the API's before v0.3.1)",
    ),
    (
        "hyperfleet_reconcile_metrics_transitions_exact",
        Kind::Gauge,
        "1 if transitions are counted by the database, 0 if only those are that a scrape found still pending",
    ),
    (
        "hyperfleet_reconcile_metrics_details_truncated",
        Kind::Gauge,
        "1 if more resources are stuck than details.max_resources, so that details are of the oldest only",
    ),
    (
        "hyperfleet_reconcile_metrics_scrape_success",
        Kind::Gauge,
        "1 if the last reading was good, 0 if not: figures of the snapshot are then left out, others once they are three \
         intervals old",
    ),
    (
        "hyperfleet_reconcile_metrics_scrape_duration_seconds",
        Kind::Gauge,
        "How long the last reading took, failed or not",
    ),
    (
        "hyperfleet_reconcile_metrics_last_success_timestamp_seconds",
        Kind::Gauge,
        "When the last good reading began, since the epoch; 0 if there was none",
    ),
    ("hyperfleet_reconcile_metrics_scrape_errors_total", Kind::Counter, "Readings that failed, by reason"),
    (
        "hyperfleet_reconcile_metrics_scrapes_shared_total",
        Kind::Counter,
        "Scrapes that were answered by a reading which another scrape had begun",
    ),
    ("hyperfleet_reconcile_metrics_up", Kind::Gauge, "1 while the exporter runs"),
    ("hyperfleet_reconcile_metrics_build_info", Kind::Gauge, "The build that is running"),
];

/// Collects samples by family.
struct Page(BTreeMap<&'static str, Vec<Sample>>);

impl Page {
    fn add(&mut self, name: &'static str, labels: Vec<(&'static str, String)>, value: Value) {
        debug_assert!(FAMILIES.iter().any(|(known, _, _)| *known == name), "{name} is in the list of families");
        self.0.entry(name).or_default().push(Sample { labels, value });
    }

    fn number(&mut self, name: &'static str, labels: Vec<(&'static str, String)>, value: f64) {
        self.add(name, labels, Value::Number(value));
    }
}

fn of_flow(flow: &Flow) -> Vec<(&'static str, String)> {
    vec![("resource_type", flow.resource_type.clone()), ("is_delete", flow.is_delete.to_string())]
}

/// Everything that is exposed about one scrape.
#[must_use]
pub fn families(scrape: &Scrape, kinds: &Kinds, exposure: &Exposure, commit: &str) -> Vec<Family> {
    let mut page = Page(BTreeMap::new());
    let types = &scrape.types;

    if let Some(snapshot) = &scrape.snapshot {
        let edges = crate::figures::Edges::new(&exposure.age_buckets, kinds);
        pending(&mut page, &population(&snapshot.groups, &edges, &exposure.age_buckets, kinds, types), exposure);
        transitions(&mut page, scrape, types, exposure);
        schema(&mut page, &snapshot.layout);
    }
    if let Some(missing_conditions) = &scrape.missing {
        missing(&mut page, missing_conditions, kinds, types);
    }
    if let Some(details) = &scrape.details {
        waiting(&mut page, details);
    }
    configuration(&mut page, kinds);
    health(&mut page, scrape, commit);
    FAMILIES
        .iter()
        .filter_map(|&(name, kind, help)| Some(Family { name, help, kind, samples: page.0.remove(name)? }))
        .collect()
}

fn pending(page: &mut Page, population: &Population, exposure: &Exposure) {
    for (flow, figures) in &population.flows {
        let labels = || of_flow(flow);
        page.number("hyperfleet_api_resource_pending_reconciliation", labels(), figures.pending as f64);
        page.number("hyperfleet_api_resource_pending_reconciliation_stuck", labels(), figures.stuck as f64);
        page.number(
            "hyperfleet_api_resource_pending_reconciliation_stuck_duration_seconds",
            labels(),
            figures.longest_stuck,
        );
        let mut below = 0;
        let mut buckets: Vec<(f64, u64)> = Vec::with_capacity(exposure.age_buckets.len() + 1);
        for (bound, at_most) in exposure.age_buckets.iter().zip(&figures.at_most) {
            buckets.push((*bound, at_most.saturating_sub(below)));
            below = *at_most;
        }
        buckets.push((f64::INFINITY, figures.pending.saturating_sub(below)));
        let histogram = Value::Histogram { buckets, sum: figures.age_sum, count: figures.pending };
        page.add("hyperfleet_api_resource_pending_reconciliation_age_seconds", labels(), histogram);
    }
    for (reason, count) in
        [("unknown_kind", population.unknown_kind), ("no_time", population.undated), ("future_time", population.future)]
    {
        let labels = vec![("reason", reason.to_owned())];
        page.number("hyperfleet_reconcile_metrics_odd_rows", labels, count as f64);
    }
}

fn transitions(page: &mut Page, scrape: &Scrape, types: &Types, exposure: &Exposure) {
    let mut totals: BTreeMap<(String, bool), u64> = BTreeMap::new();
    let as_written: BTreeMap<String, String> = scrape
        .transitions
        .keys()
        .map(|(kind, _)| kind)
        .chain(scrape.known_kinds.iter())
        .map(|kind| (kind.to_lowercase(), kind.clone()))
        .collect();
    let label = |resource_type: &str| match as_written.get(resource_type) {
        Some(kind) if exposure.transition_as_written => kind.clone(),
        Some(_) | None => resource_type.to_owned(),
    };
    for resource_type in types.all() {
        for is_delete in [false, true] {
            totals.insert((label(resource_type), is_delete), 0);
        }
    }
    for ((kind, is_delete), count) in &scrape.transitions {
        *totals.entry((label(&types.label(kind)), *is_delete)).or_default() += count;
    }
    let names = [
        ("hyperfleet_api_reconciliation_started_total", exposure.started),
        ("hyperfleet_api_reconciliation_requests_total", exposure.requests),
    ];
    for (name, _) in names.into_iter().filter(|(_, offered)| *offered) {
        for ((resource_type, is_delete), total) in &totals {
            let labels = vec![("resource_type", resource_type.clone()), ("is_delete", is_delete.to_string())];
            page.number(name, labels, *total as f64);
        }
    }
}

fn schema(page: &mut Page, layout: &Layout) {
    for label in Layout::LABELS {
        let value = if layout.label() == label { 1.0 } else { 0.0 };
        page.number("hyperfleet_reconcile_metrics_schema_info", vec![("schema", label.to_owned())], value);
    }
    let exact = if *layout == Layout::Tracked { 1.0 } else { 0.0 };
    page.number("hyperfleet_reconcile_metrics_transitions_exact", Vec::new(), exact);
}

fn missing(page: &mut Page, missing: &[Missing], kinds: &Kinds, types: &Types) {
    let mut counts: BTreeMap<Flow, u64> = BTreeMap::new();
    for kind in kinds.with_adapters() {
        for is_delete in [false, true] {
            counts.insert(Flow { resource_type: types.label(&kind.name), is_delete }, 0);
        }
    }
    for missing in missing {
        let flow = Flow { resource_type: types.label(&missing.kind), is_delete: missing.deleting };
        *counts.entry(flow).or_default() += missing.count;
    }
    for (flow, count) in counts {
        page.number("hyperfleet_api_resource_without_reconciled_condition", of_flow(&flow), count as f64);
    }
}

fn waiting(page: &mut Page, details: &Details) {
    let Waits { on_adapters, on_children } = &details.waits;
    for ((flow, adapter, cause), count) in on_adapters {
        let mut labels = of_flow(flow);
        labels.extend([("adapter", adapter.clone()), ("reason", cause.label().to_owned())]);
        page.number("hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on", labels, *count as f64);
    }
    for ((waiting, cause), count) in on_children {
        let labels = vec![("resource_type", waiting.clone()), ("child_resource_type", cause.clone())];
        page.number("hyperfleet_api_resource_deletion_waiting_on_child", labels, *count as f64);
    }
    let truncated = if details.truncated { 1.0 } else { 0.0 };
    page.number("hyperfleet_reconcile_metrics_details_truncated", Vec::new(), truncated);
}

fn configuration(page: &mut Page, kinds: &Kinds) {
    for kind in kinds.all() {
        let resource_type = kind.name.to_lowercase();
        for is_delete in [false, true] {
            let flow = Flow { resource_type: resource_type.clone(), is_delete };
            let threshold = kinds.stuck_after(&kind.name, is_delete).as_secs_f64();
            page.number("hyperfleet_reconcile_metrics_stuck_threshold_seconds", of_flow(&flow), threshold);
        }
        let adapters = kind.required_adapters.len() as f64;
        let labels = vec![("resource_type", resource_type)];
        page.number("hyperfleet_reconcile_metrics_required_adapters", labels, adapters);
    }
}

fn health(page: &mut Page, scrape: &Scrape, commit: &str) {
    let collectors: BTreeSet<_> = COLLECTORS.into_iter().collect();
    for collector in collectors {
        let Attempt { success, seconds, last_success, errors } =
            scrape.attempts.get(collector).cloned().unwrap_or_default();
        let labels = || vec![("collector", collector.to_owned())];
        if let Some(success) = success {
            let value = if success { 1.0 } else { 0.0 };
            page.number("hyperfleet_reconcile_metrics_scrape_success", labels(), value);
            page.number("hyperfleet_reconcile_metrics_scrape_duration_seconds", labels(), seconds);
        }
        page.number("hyperfleet_reconcile_metrics_last_success_timestamp_seconds", labels(), last_success);
        for reason in StoreError::REASONS {
            let mut labels = labels();
            labels.push(("reason", reason.to_owned()));
            let count = errors.get(reason).copied().unwrap_or_default();
            page.number("hyperfleet_reconcile_metrics_scrape_errors_total", labels, count as f64);
        }
    }
    page.number("hyperfleet_reconcile_metrics_scrapes_shared_total", Vec::new(), scrape.shared as f64);
    page.number("hyperfleet_reconcile_metrics_up", Vec::new(), 1.0);
    page.number("hyperfleet_reconcile_metrics_build_info", vec![("commit", commit.to_owned())], 1.0);
}

#[cfg(test)]
mod tests;
