//! Runs a Sentinel: polls on a schedule, with probes and metrics, until a signal.
//!
//! In: a configuration, a clock, and a token that ends the program. Out: polls, `/healthz`, `/readyz`, `/metrics`.
//! Fails: if the API's URL is unusable or an address cannot be bound. An API or a broker that does not answer only
//! makes `/readyz` fail: `/healthz` stays 200, so that an outage does not restart the program as well.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lapin::Channel;
use lifecycle_service::probes::Readiness;
use lifecycle_service::servers::{serve_health, serve_metrics};
use lifecycle_service::version::THIS;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::PROGRAM;
use crate::config::Config;
use crate::listing::Listing;
use crate::metrics::{Metrics, Watched};
use crate::publisher::Publisher;
use crate::sentinel::{Clock, Sentinel};

/// How long the first poll waits for the broker: the events of a poll without a connection would have to wait for the
/// next one.
const FIRST_CONNECTION: Duration = Duration::from_secs(2);

/// How long a shutdown waits for running scrapes.
const DRAIN: Duration = Duration::from_secs(2);

/// Polls until `stop` is cancelled.
///
/// # Errors
/// The Sentinel cannot start.
pub async fn run(config: &Config, clock: Clock, stop: CancellationToken) -> anyhow::Result<()> {
    let metrics = Arc::new(metrics(config));
    let mut sentinel = sentinel(config, clock, Arc::clone(&metrics))?;
    let (has_read, broker) = (sentinel.has_read(), sentinel.publisher().state());
    let mut connected = broker.clone();
    let readiness = move || readiness(&has_read, &broker);
    let health = serve_health(PROGRAM, config.health_listen, stop.clone(), readiness, []).await?;
    let expose = move |format| std::future::ready(metrics.expose(format));
    let scrapes = serve_metrics(PROGRAM, config.metrics_listen, expose).await?;
    // Whatever comes of it: polls go on without a broker too.
    let _ = stop.run_until_cancelled(timeout(FIRST_CONNECTION, connected.wait_for(Option::is_some))).await;
    let mut ticks = interval(config.poll_interval);
    // As Go's ticker: a poll that takes longer than the interval is followed by the next one, not by several.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        // The poll has logged its error.
        let _ = sentinel.poll(&stop).await;
    }
    sentinel.close().await;
    scrapes.stop(DRAIN).await;
    health.stop(DRAIN).await;
    Ok(())
}

/// Builds the metrics for a configuration.
#[must_use]
pub fn metrics(config: &Config) -> Metrics {
    let labels = config.selector.iter().map(|(label, value)| format!("{label}:{value}"));
    let selector = labels.collect::<Vec<_>>().join(",");
    let resource_selector = if selector.is_empty() { "all".to_owned() } else { selector };
    let watched = Watched { resource_type: config.resource_type.clone(), resource_selector };
    Metrics::new(THIS.number, watched, config.topic.as_str())
}

/// Builds a Sentinel, which begins to connect to the broker.
///
/// # Errors
/// The API's URL is unusable.
pub fn sentinel(config: &Config, clock: Clock, metrics: Arc<Metrics>) -> anyhow::Result<Sentinel> {
    let listing = Listing::new(&config.name, &config.api, &config.resource_type, &config.selector)?;
    let publisher = Publisher::start(&config.name, config.topic.clone(), config.broker.clone());
    Ok(Sentinel::new(listing, publisher, config.ages, clock, metrics))
}

fn readiness(has_read: &AtomicBool, broker: &watch::Receiver<Option<Channel>>) -> Readiness {
    let checks = BTreeMap::from([("api", has_read.load(Ordering::Relaxed)), ("broker", broker.borrow().is_some())]);
    let failing: Vec<_> = checks.iter().filter(|(_, is_well)| !**is_well).map(|(name, _)| *name).collect();
    let problem = (!failing.is_empty()).then(|| format!("not usable: {}", failing.join(", ")));
    Readiness { checks, problem, note: None }
}
