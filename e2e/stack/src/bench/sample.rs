//! What the system has done and used so far, and between two times.
//!
//! In: a system. Out: a [`Sample`], and the [`Span`] between two of them. Fails: if a part does not tell its metrics, or
//! was started again.

use std::collections::BTreeMap;
use std::ops::Sub;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use lifecycle_e2e::series::total;
use lifecycle_e2e::usage::busy;

use super::processes::{Usage, usage};
use crate::system::System;

/// Transactions, rows written, rows read and bytes of a database.
const DATABASE: &str = "SELECT xact_commit + xact_rollback, tup_inserted + tup_updated + tup_deleted, tup_returned, \
    pg_database_size(datname) FROM pg_stat_database WHERE datname = current_database()";

/// What the system has done since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counts {
    /// Events that the broker confirmed to the Sentinel.
    pub(super) events: f64,
    /// Polls of the Sentinel, and the seconds that they lasted.
    pub(super) polls: f64,
    pub(super) poll_seconds: f64,
    /// Reconcile passes of all adapters; events that a newer one replaced.
    pub(super) passes: f64,
    pub(super) coalesced: f64,
    /// Passes that failed.
    pub(super) failed: f64,
    /// Requests of all adapters to the HyperFleet API, and to the Kubernetes API.
    pub(super) adapter_api: f64,
    pub(super) adapter_kubernetes: f64,
    /// Requests that the HyperFleet API, and the Kubernetes API server, have answered to anybody.
    pub(super) api: f64,
    pub(super) kubernetes: f64,
    /// The HyperFleet API's database.
    pub(super) transactions: f64,
    pub(super) rows_written: f64,
    pub(super) rows_read: f64,
    pub(super) database_bytes: f64,
}

/// What the system has done and used at one time.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    at: Instant,
    busy: Duration,
    usage: BTreeMap<String, Usage>,
    counts: Counts,
}

/// What the system has done and used in some time.
#[derive(Debug, Clone, Default)]
pub(super) struct Span {
    pub(super) wall: Duration,
    /// The time that all cores together were busy, also with other work.
    pub(super) busy: Duration,
    /// Of each part and server: the CPU time of the span, and the memory at its end.
    pub(super) usage: BTreeMap<String, Usage>,
    pub(super) counts: Counts,
}

impl Sample {
    /// Looks at everything.
    pub(super) async fn take(system: &System) -> Result<Self> {
        let counts = Counts::read(system).await?;
        Ok(Self { at: Instant::now(), busy: busy()?, usage: usage(&system.processes)?, counts })
    }

    /// What happened from this sample to a later one.
    pub(super) fn until(&self, later: &Self) -> Span {
        let difference = |(name, end): (&String, &Usage)| {
            let begin = self.usage.get(name).copied().unwrap_or_default();
            (name.clone(), Usage { cpu: end.cpu.saturating_sub(begin.cpu), ..*end })
        };
        Span {
            wall: later.at - self.at,
            busy: later.busy.saturating_sub(self.busy),
            usage: later.usage.iter().map(difference).collect(),
            counts: later.counts - self.counts,
        }
    }
}

impl Span {
    /// The CPU seconds of the parts whose name is accepted.
    pub(super) fn cpu(&self, accepts: impl Fn(&str) -> bool) -> f64 {
        self.usage.iter().filter(|(name, _)| accepts(name)).map(|(_, usage)| usage.cpu.as_secs_f64()).sum()
    }
}

impl Counts {
    /// Reads the metrics of the parts, without those of the servers.
    pub(super) async fn of_parts(system: &System) -> Result<Self> {
        let mut counts = Self::default();
        for (part, url) in &system.running.metrics {
            let answer = reqwest::get(url).await.with_context(|| format!("{part} does not answer"))?;
            counts.add(&answer.text().await.with_context(|| format!("{part} does not answer"))?);
        }
        Ok(counts)
    }

    async fn read(system: &System) -> Result<Self> {
        let mut counts = Self::of_parts(system).await?;
        counts.kubernetes = total(&system.control_plane.metrics().await?, "apiserver_request_total", "");
        let row = system.database.query(DATABASE).await?;
        let columns: Vec<f64> = row.trim().split('|').map(str::parse).collect::<Result<_, _>>()?;
        let [transactions, rows_written, rows_read, database_bytes] =
            columns.try_into().ok().context("four columns")?;
        Ok(Self { transactions, rows_written, rows_read, database_bytes, ..counts })
    }

    /// Adds what one part exports. No two parts but adapters export the same metric.
    fn add(&mut self, text: &str) {
        let requests = "hyperfleet_adapter_api_requests_total";
        let processed = "hyperfleet_adapter_events_processed_total";
        for (count, metric, label) in [
            (&mut self.events, "hyperfleet_sentinel_events_published_total", ""),
            (&mut self.polls, "hyperfleet_sentinel_poll_duration_seconds_count", ""),
            (&mut self.poll_seconds, "hyperfleet_sentinel_poll_duration_seconds_sum", ""),
            (&mut self.passes, processed, ""),
            (&mut self.failed, processed, "status=\"failed\""),
            (&mut self.coalesced, "hyperfleet_adapter_events_coalesced_total", ""),
            (&mut self.adapter_api, requests, "api=\"hyperfleet\""),
            (&mut self.adapter_kubernetes, requests, "api=\"kubernetes\""),
            (&mut self.api, "hyperfleet_api_requests_total", ""),
        ] {
            *count += total(text, metric, label);
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, former: Self) -> Self {
        Self {
            events: self.events - former.events,
            polls: self.polls - former.polls,
            poll_seconds: self.poll_seconds - former.poll_seconds,
            passes: self.passes - former.passes,
            coalesced: self.coalesced - former.coalesced,
            failed: self.failed - former.failed,
            adapter_api: self.adapter_api - former.adapter_api,
            adapter_kubernetes: self.adapter_kubernetes - former.adapter_kubernetes,
            api: self.api - former.api,
            kubernetes: self.kubernetes - former.kubernetes,
            transactions: self.transactions - former.transactions,
            rows_written: self.rows_written - former.rows_written,
            rows_read: self.rows_read - former.rows_read,
            database_bytes: self.database_bytes - former.database_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_over_adapters_and_labels() {
        let mut counts = Counts::default();
        for passes in ["{component=\"first\",status=\"failed\"} 1", "{component=\"second\",status=\"succeeded\"} 4"] {
            counts.add(&format!("hyperfleet_adapter_events_processed_total{passes}\n"));
        }
        counts.add("hyperfleet_adapter_api_requests_total{api=\"kubernetes\"} 7\n");
        let expected = Counts { passes: 5.0, failed: 1.0, adapter_kubernetes: 7.0, ..Counts::default() };
        assert_eq!(counts, expected);
    }
}
