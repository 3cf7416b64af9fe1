//! Metrics about the exporter itself: its thresholds, and the results of its readings.

use std::collections::BTreeSet;

use super::{COLLECTORS, Page, of_flow};
use crate::config::Kinds;
use crate::figures::{Flow, OTHER, Types};
use crate::scrape::{Attempt, Scrape};
use crate::store::StoreError;

pub(super) fn thresholds(page: &mut Page, kinds: &Kinds, types: &Types) {
    // Every type that a figure can have needs a threshold, because alert rules join figures and
    // thresholds by type.
    let named: BTreeSet<&str> = types.all().chain([OTHER]).collect();
    for resource_type in named {
        for is_delete in [false, true] {
            let kind = kinds.by_label(resource_type).map_or(resource_type, |kind| &kind.name);
            let threshold = kinds.stuck_after(kind, is_delete).as_secs_f64();
            let flow = Flow { resource_type: resource_type.to_owned(), is_delete };
            page.number("hyperfleet_reconcile_metrics_stuck_threshold_seconds", of_flow(&flow), threshold);
        }
    }
}

pub(super) fn health(page: &mut Page, scrape: &Scrape, commit: &str) {
    for collector in COLLECTORS {
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
    page.number("hyperfleet_reconcile_metrics_up", Vec::new(), 1.0);
    page.number("hyperfleet_reconcile_metrics_build_info", vec![("commit", commit.to_owned())], 1.0);
}
