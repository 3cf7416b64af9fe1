//! An adapter is down for an hour, and comes back.
//!
//! The hour is the Sentinel's: the test polls by the Sentinel's own code, and moves its clock between two polls. Nothing
//! else in the system waits for a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use lifecycle_e2e::rabbitmq::{Broker, Depth};
use lifecycle_e2e::sentinel::Event;
use lifecycle_e2e::{PATIENCE, await_condition};
use local_sentinel::config::{CONFIGURATION, Environment, Flags};
use local_sentinel::run;
use local_sentinel::sentinel::{Polled, Sentinel};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::metrics;
use crate::system::{Adapter, Servers, System};

/// The seconds between two polls. Three times the real Sentinel's, so that the hour has fewer of them.
const INTERVAL: i64 = 15;
const POLLS_OF_AN_HOUR: usize = 240;

/// A Sentinel with production's ages, whose clock is some seconds ahead.
struct Hours {
    sentinel: Sentinel,
    ahead: Arc<AtomicI64>,
}

impl Hours {
    async fn start(system: &System) -> Result<Self> {
        let config = json!({
            "clients": {
                "hyperfleet_api": { "base_url": system.parts.api_url },
                "broker": { "topic": system.topic.name() },
            },
            "broker": { "rabbitmq": { "url": system.parts.broker_url, "exchange_type": "topic" } },
            "resource_type": "clusters",
        });
        let parsed = CONFIGURATION.parse("sentinel.yaml", &config.to_string(), &Environment::new(), &Flags::new());
        let (config, _) = parsed.map_err(|diagnostics| anyhow::anyhow!("{diagnostics}"))?;
        let ahead = Arc::<AtomicI64>::default();
        let now = Arc::clone(&ahead);
        let clock = Arc::new(move || Timestamp::now() + SignedDuration::from_secs(now.load(Ordering::Relaxed)));
        let sentinel = run::sentinel(&config, clock, Arc::new(run::metrics(&config)))?;
        timeout(PATIENCE, sentinel.publisher().state().wait_for(Option::is_some)).await??;
        Ok(Self { sentinel, ahead })
    }

    /// Lets the time until the next poll pass, and polls.
    async fn poll(&mut self) -> Result<Polled> {
        self.ahead.fetch_add(INTERVAL, Ordering::Relaxed);
        Ok(self.sentinel.poll(&CancellationToken::new()).await?)
    }

    /// Polls until a condition is met.
    async fn await_condition(&mut self, what: &str, mut is_met: impl AsyncFnMut() -> Result<()>) -> Result<()> {
        await_condition(what, PATIENCE, async || {
            self.poll().await?;
            is_met().await
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_while_an_adapter_is_down_for_an_hour() -> Result<()> {
    let system = System::without_sentinel(Servers::shared().await?).await?;
    let mut hours = Hours::start(&system).await?;
    let (first, mut second) = (system.adapter(Adapter::First)?, system.adapter(Adapter::Second)?);
    let mut clusters = Vec::new();
    for name in ["changing", "leaving", "steady"] {
        clusters.push(system.create_cluster(name, &json!({ "region": "north" })).await?);
    }
    let [changing, leaving, steady] = clusters.as_slice() else { anyhow::bail!("three clusters") };
    hours
        .await_condition("the reconciled clusters", async || {
            for cluster in &clusters {
                let resource = system.send("GET", cluster, &Value::Null, 200).await?;
                ensure!(resource["status"]["conditions"][0]["status"] == "True", "{resource}");
            }
            Ok(())
        })
        .await?;
    await_condition("the adapters to take the last events", PATIENCE, async || {
        for adapter in [Adapter::First, Adapter::Second] {
            ensure!(waiting(&system, adapter).await?.ready == 0, "{adapter:?} has events");
        }
        Ok(())
    })
    .await?;
    second.stop().await?;
    let left = waiting(&system, Adapter::Second).await?.ready;
    let untouched = system.object(Adapter::Second, steady).await?.context("no object")?.metadata.resource_version;

    system.send("PATCH", changing, &json!({ "spec": { "region": "west" } }), 200).await?;
    system.send("DELETE", leaving, &Value::Null, 202).await?;
    // The polls so far moved the clock, too, and nobody knows how many there were. The Sentinel remembers no time.
    hours.ahead.store(0, Ordering::Relaxed);
    let mut sent: BTreeMap<usize, usize> = BTreeMap::new();
    for poll in 0..POLLS_OF_AN_HOUR {
        if poll == POLLS_OF_AN_HOUR / 2 {
            system.send("PATCH", changing, &json!({ "spec": { "region": "south" } }), 200).await?;
        }
        let polled = hours.poll().await?;
        ensure!(polled.routed == polled.chosen, "{polled:?}");
        *sent.entry(polled.chosen).or_default() += 1;
        // In the first half hour, the unreconciled clusters alone; later the steady one's last report is old, too.
        ensure!(polled.chosen <= if poll < POLLS_OF_AN_HOUR / 3 { 2 } else { 3 }, "poll {poll}: {polled:?}");
    }
    let events: usize = sent.iter().map(|(chosen, polls)| chosen * polls).sum();
    ensure!(events > 2 * POLLS_OF_AN_HOUR, "the steady cluster is never looked at again: {sent:?}");
    let found = waiting(&system, Adapter::Second).await?;
    ensure!(found == Depth { ready: left + u32::try_from(events)?, consumers: 0 }, "{found:?}, not {events}");

    // Whoever looks at the exporter knows whom to call.
    await_condition("the exporter to name the adapter", PATIENCE, async || {
        let waiting_on = "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on";
        let stuck = system.figure(waiting_on, &[("adapter", system.name(Adapter::Second))]).await?;
        ensure!((stuck - 2.0).abs() < 0.5, "{stuck} clusters wait on the adapter that is down");
        Ok(())
    })
    .await?;

    let second = system.adapter(Adapter::Second)?;
    system.await_reconciled(changing, 3).await?;
    hours
        .await_condition("the deleted cluster to go", async || {
            system.send("GET", leaving, &Value::Null, 404).await.map(drop)
        })
        .await?;
    // The broker delivers an event again that is older than the change.
    let (_, id) = changing.rsplit_once('/').context("no id in the path")?;
    system.topic.publish(&Event::cluster(id, 2)).await?;
    let is_stale = |entry: &Value| entry["reason"] == "the event is about generation 2, and generation 3 is live";
    first.await_log("that the event is stale", is_stale).await?;
    await_condition("the queue to be empty", PATIENCE, async || {
        let queue = waiting(&system, Adapter::Second).await?;
        ensure!(queue == Depth { ready: 0, consumers: 1 }, "{queue:?}");
        let running = metrics::sum(&second, "hyperfleet_adapter_events_waiting", "").await?;
        ensure!(running < 0.5, "{running} events wait in the adapter");
        Ok(())
    })
    .await?;
    let data = system.object(Adapter::Second, changing).await?.and_then(|object| object.data).unwrap_or_default();
    ensure!(
        data.get("region").is_some_and(|region| region == "south"),
        "an old event rolled the object back: {data:?}"
    );
    let after = system.object(Adapter::Second, steady).await?.context("no object")?.metadata.resource_version;
    ensure!(after == untouched, "repeated events wrote the object: {untouched:?}, then {after:?}");
    ensure!(system.object(Adapter::Second, leaving).await?.is_none(), "the object of the deleted cluster is there");
    let statuses = system.send("GET", &format!("{changing}/statuses"), &Value::Null, 200).await?;
    for status in statuses["items"].as_array().context("no statuses")? {
        ensure!(status["observed_generation"] == 3, "an old event is reported last: {status}");
    }

    // Back at the time of the others, the Sentinel is content.
    hours.ahead.store(-INTERVAL, Ordering::Relaxed);
    let polled = hours.poll().await?;
    ensure!((polled.resources, polled.chosen) == (2, 0), "{polled:?}");
    system.check_invariants().await
}

/// The messages of an adapter that wait on the broker.
async fn waiting(system: &System, adapter: Adapter) -> Result<Depth> {
    Broker::shared().await?.depth(&system.topic.queue_name(system.name(adapter))).await
}
