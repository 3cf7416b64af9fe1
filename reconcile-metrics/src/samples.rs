//! Converts the result of a scrape to metrics; without I/O.
//!
//! In: a [`Scrape`]. Out: the samples of each metric in [`FAMILIES`]. Cannot fail. A figure that could not be read has no samples,
//! so that an old value is never mistaken for a new one; a figure that is zero has a sample with the value 0.

use std::collections::BTreeMap;

use crate::config::{AGE_BUCKETS, Kinds};
use crate::figures::{Bounds, Flow, Population, Types, population};
use crate::scrape::{Details, Scrape};

mod exporter;
mod families;

use exporter::{health, thresholds};
pub use families::FAMILIES;

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number that only rises.
    Counter,
    /// A number that rises and falls.
    Gauge,
    /// Counts of resources by age, at the time of the scrape: unlike usual histograms they also fall, so `rate()` on them
    /// is meaningless.
    Histogram,
}

/// A sample: one value of a metric, with the labels that tell it from the other values.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values of the labels.
    pub labels: Vec<(&'static str, String)>,
    /// The value that Prometheus stores for these labels.
    pub value: Value,
}

/// The value of a sample.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The number of a counter or a gauge.
    Number(f64),
    /// Counts by bound, not cumulative; the last bound is `f64::INFINITY`.
    Histogram {
        /// Upper bounds, each with the count between the previous bound and this one.
        buckets: Vec<(f64, u64)>,
        /// The sum of all ages, in seconds.
        sum: f64,
        /// The number of all ages that the histogram counts.
        count: u64,
    },
}

/// The values of the label `collector`: the two kinds of readings, whose success and duration are separate metrics.
pub const COLLECTORS: [&str; 2] = ["details", "snapshot"];

/// The samples of one scrape, by the name of their metric. A metric without samples is left out.
#[derive(Debug, Default)]
pub struct Page {
    pub(crate) samples: BTreeMap<&'static str, Vec<Sample>>,
}

impl Page {
    fn add(&mut self, name: &'static str, labels: Vec<(&'static str, String)>, value: Value) {
        debug_assert!(FAMILIES.iter().any(|(known, _, _)| *known == name), "{name} is in the list of families");
        self.samples.entry(name).or_default().push(Sample { labels, value });
    }

    fn number(&mut self, name: &'static str, labels: Vec<(&'static str, String)>, value: f64) {
        self.add(name, labels, Value::Number(value));
    }
}

fn of_flow(flow: &Flow) -> Vec<(&'static str, String)> {
    vec![("resource_type", flow.resource_type.clone()), ("is_delete", flow.is_delete.to_string())]
}

/// Converts the result of one scrape.
#[must_use]
pub fn page(scrape: &Scrape, kinds: &Kinds, commit: &str) -> Page {
    let mut page = Page::default();
    let types = &scrape.types;
    if let Some(snapshot) = &scrape.snapshot {
        let bounds = Bounds::new(&AGE_BUCKETS, kinds);
        pending(&mut page, &population(&snapshot.groups, &bounds, &AGE_BUCKETS, kinds, types));
        if let Some(age) = snapshot.standby_age {
            page.number("hyperfleet_reconcile_metrics_standby_age_seconds", Vec::new(), age);
        }
    }
    if let Some(found) = &scrape.details {
        details(&mut page, found, types);
    }
    thresholds(&mut page, kinds, types);
    health(&mut page, scrape, commit);
    page
}

fn pending(page: &mut Page, population: &Population) {
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
        let mut buckets: Vec<(f64, u64)> = Vec::with_capacity(AGE_BUCKETS.len() + 1);
        for (bound, at_most) in AGE_BUCKETS.iter().zip(&figures.at_most) {
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

fn details(page: &mut Page, details: &Details, types: &Types) {
    for ((flow, adapter, cause), count) in &details.waits {
        let mut labels = of_flow(flow);
        labels.extend([("adapter", adapter.clone()), ("reason", cause.label().to_owned())]);
        page.number("hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on", labels, *count as f64);
    }
    let mut stalled: BTreeMap<String, u64> = types.all().map(|resource_type| (resource_type.to_owned(), 0)).collect();
    for found in &details.stalled {
        *stalled.entry(types.label(&found.kind)).or_default() += found.count;
    }
    for (resource_type, count) in stalled {
        let labels = vec![("resource_type", resource_type)];
        page.number("hyperfleet_api_resource_deletion_stalled", labels, count as f64);
    }
    let truncated = if details.truncated { 1.0 } else { 0.0 };
    page.number("hyperfleet_reconcile_metrics_details_truncated", Vec::new(), truncated);
}

#[cfg(test)]
mod tests;
