//! Every metric: its name, its type, what it means, and its samples; pure.
//!
//! In: what one scrape found out. Out: families in a fixed order. A figure that could not be read has no samples, so
//! nothing stale is taken for fresh; a figure that is zero has samples that read zero. Nothing can fail.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Exposure, Kinds};
use crate::diagnosis::Waits;
use crate::figures::{Flow, Population, Types, population};
use crate::scrape::{Details, Scrape};
use crate::store::{HeldBy, Layout, Lingering, Missing};

mod exporter;
mod families;

use exporter::{configuration, health};
pub use families::FAMILIES;

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
pub const COLLECTORS: [&str; 5] = ["details", "drift", "lingering", "missing", "snapshot"];

/// What begins so tells of the API's resources; the rest tells of the exporter.
const FIGURES: &str = "hyperfleet_api_";

/// Collects samples by family.
#[derive(Default)]
struct Page {
    samples: BTreeMap<&'static str, Vec<Sample>>,
    /// Types of which nothing is known: their figures are left out.
    unread: BTreeSet<String>,
}

impl Page {
    fn add(&mut self, name: &'static str, labels: Vec<(&'static str, String)>, value: Value) {
        debug_assert!(FAMILIES.iter().any(|(known, _, _)| *known == name), "{name} is in the list of families");
        let is_unread = |(label, value): &(&str, String)| {
            label.ends_with("resource_type") && self.unread.contains(&value.to_lowercase())
        };
        if name.starts_with(FIGURES) && labels.iter().any(is_unread) {
            return;
        }
        self.samples.entry(name).or_default().push(Sample { labels, value });
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
    let unread = scrape.layout.iter().flat_map(|layout| layout.unread()).map(|unread| unread.kind.to_lowercase());
    let mut page = Page { unread: unread.collect(), ..Page::default() };
    let types = &scrape.types;

    if let Some(snapshot) = &scrape.snapshot {
        let edges = crate::figures::Edges::new(&exposure.age_buckets, kinds);
        pending(&mut page, &population(&snapshot.groups, &edges, &exposure.age_buckets, kinds, types), exposure);
        transitions(&mut page, scrape, types, exposure);
        schema(&mut page, &snapshot.layout, kinds);
        if let Some(age) = snapshot.standby_age {
            page.number("hyperfleet_reconcile_metrics_standby_age_seconds", Vec::new(), age);
        }
    }
    if let Some(missing_conditions) = &scrape.missing {
        missing(&mut page, missing_conditions, kinds, types);
    }
    if let Some(details) = &scrape.details {
        waiting(&mut page, details);
    }
    if let Some(found) = &scrape.lingering {
        lingering(&mut page, found, kinds, types);
    }
    for (state, drift) in [("pending", scrape.drift.pending), ("missing", scrape.drift.missing)] {
        if let Some(drift) = drift {
            let labels = vec![("state", state.to_owned())];
            page.number("hyperfleet_reconcile_metrics_record_drift", labels, drift as f64);
        }
    }
    configuration(&mut page, kinds, types);
    health(&mut page, scrape, commit);
    FAMILIES
        .iter()
        .filter_map(|&(name, kind, help)| Some(Family { name, help, kind, samples: page.samples.remove(name)? }))
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

fn schema(page: &mut Page, layout: &Layout, kinds: &Kinds) {
    for label in Layout::LABELS {
        let value = if layout.label() == label { 1.0 } else { 0.0 };
        page.number("hyperfleet_reconcile_metrics_schema_info", vec![("schema", label.to_owned())], value);
    }
    for kind in kinds.all() {
        let resource_type = kind.name.to_lowercase();
        let value = if page.unread.contains(&resource_type) { 0.0 } else { 1.0 };
        page.number("hyperfleet_reconcile_metrics_kind_read", vec![("resource_type", resource_type)], value);
    }
    let unread = if layout.leaves_resources_unread() { 1.0 } else { 0.0 };
    page.number("hyperfleet_reconcile_metrics_older_tables_unread", Vec::new(), unread);
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

fn lingering(page: &mut Page, lingering: &[Lingering], kinds: &Kinds, types: &Types) {
    let mut counts: BTreeMap<(String, HeldBy), u64> = BTreeMap::new();
    let known = kinds.all().iter().map(|kind| &kind.name).chain(lingering.iter().map(|found| &found.kind));
    for kind in known {
        for held_by in HeldBy::ALL {
            counts.insert((types.label(kind), held_by), 0);
        }
    }
    for Lingering { kind, held_by, count } in lingering {
        *counts.entry((types.label(kind), *held_by)).or_default() += count;
    }
    for ((resource_type, held_by), count) in counts {
        let labels = vec![("resource_type", resource_type), ("held_by", held_by.label().to_owned())];
        page.number("hyperfleet_api_resource_deletion_lingering", labels, count as f64);
    }
}

#[cfg(test)]
mod tests;
