//! The clusters of a measurement, and when each became Reconciled.
//!
//! In: a running system, and how many clusters. Out: their ids and latencies. Fails: if a request fails, or if no further
//! cluster becomes Reconciled for a while.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::api::Api;
use crate::layout;
use crate::system::System;
use crate::terminal::say;

/// How many clusters are created at the same time: enough to keep the API busy.
const AT_ONCE: usize = 8;
/// The time between two lines of progress, each of which costs the API a search.
const PERIOD: Duration = Duration::from_secs(2);
/// How long no further cluster may become Reconciled: many times the Sentinel's cadence.
const PATIENCE: Duration = Duration::from_secs(180);
/// The largest page of the API.
const PAGE: u32 = 100;

/// The clusters of a measurement.
pub(super) struct Fleet<'a> {
    system: &'a System,
    api: Api,
    clusters: u32,
    created: Cell<u32>,
}

impl<'a> Fleet<'a> {
    pub(super) fn new(system: &'a System, clusters: u32) -> Self {
        Self { system, api: Api::new(&system.running.api), clusters, created: Cell::new(0) }
    }

    /// Creates the clusters, and waits until all are Reconciled. Returns their ids.
    pub(super) async fn create_and_watch(&self) -> Result<Vec<String>> {
        let (ids, ()) = tokio::try_join!(self.create(), self.watch())?;
        Ok(ids)
    }

    /// How long each cluster took from its creation until it was Reconciled, the shortest first.
    pub(super) async fn latencies(&self) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        for page in 1..=self.clusters.div_ceil(PAGE) {
            let list = self.api.list(&format!("size={PAGE}&page={page}")).await?;
            for cluster in list["items"].as_array().context("the API's list has no items")? {
                latencies.push(latency(cluster).with_context(|| format!("{cluster} has no times"))?);
            }
        }
        latencies.sort_unstable();
        Ok(latencies)
    }

    async fn create(&self) -> Result<Vec<String>> {
        let create = async |number: u32| {
            let cluster = self.api.create(&format!("fleet-{number}"), &json!({ "region": "north" })).await?;
            self.created.set(self.created.get() + 1);
            anyhow::Ok(cluster.id)
        };
        stream::iter(0..self.clusters).map(create).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn watch(&self) -> Result<()> {
        let begin = Instant::now();
        let (mut last, mut changed) = (0, begin);
        loop {
            let list = self.api.list("size=1&search=status.conditions.Reconciled='True'").await?;
            let reconciled = list["total"].as_u64().context("the API's list has no total")?;
            let mut waiting = Vec::new();
            for (adapter, _) in layout::FLEET {
                let depth = self.system.broker.depth(&format!("{}-{adapter}", self.system.topic)).await?;
                waiting.push(format!("{} in the queue of {adapter}", depth.ready));
            }
            let seconds = begin.elapsed().as_secs_f32();
            let created = self.created.get();
            say(&format!("{seconds:>7.1} s  {created} created, {reconciled} Reconciled; {}", waiting.join(", ")));
            if reconciled >= u64::from(self.clusters) {
                return Ok(());
            }
            if reconciled > last {
                (last, changed) = (reconciled, Instant::now());
            }
            let logs = &self.system.running.logs;
            ensure!(changed.elapsed() < PATIENCE, "no further cluster becomes Reconciled: see the logs in {logs}");
            sleep(PERIOD).await;
        }
    }
}

/// From the creation of a cluster until the last of its conditions became true.
///
/// `Reconciled` alone names the oldest of the reports that made it true; the condition of each adapter names its own.
fn latency(cluster: &Value) -> Option<Duration> {
    let time = |value: &Value| value.as_str()?.parse::<Timestamp>().ok();
    let conditions = cluster["status"]["conditions"].as_array()?;
    let changed = conditions.iter().map(|condition| time(&condition["last_transition_time"])).max()??;
    Some(changed.duration_since(time(&cluster["created_time"])?).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_ends_with_the_last_report() {
        let at = |second: &str| format!("2026-01-01T00:00:{second}Z");
        let cluster = json!({ "created_time": at("01.5"), "status": { "conditions": [
            { "type": "Reconciled", "last_transition_time": at("03") },
            { "type": "SecondSuccessful", "last_transition_time": at("14") },
            { "type": "FirstSuccessful", "last_transition_time": at("03") },
        ] } });
        assert_eq!(latency(&cluster), Some(Duration::from_millis(12_500)));
        assert_eq!(latency(&json!({})), None);
    }
}
