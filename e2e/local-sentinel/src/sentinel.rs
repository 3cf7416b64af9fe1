//! One poll: reads the resources, decides about each, and publishes the events.
//!
//! In: a [`Listing`], a [`Publisher`], a clock and the ages of the rule. Out: events on the broker, metrics, and the
//! numbers of the poll. Fails: if the list cannot be read; an event that cannot be published is counted, and the poll
//! goes on with the next resource. A failure is logged when it begins and when it ends, not in every poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use lifecycle_errors::Chain;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::decision::{Decision, MaxAges, decide};
use crate::listing::{Listing, ListingError};
use crate::metrics::{BrokerErrorType, Metrics};
use crate::publisher::{PublishError, Publisher, Routing};
use crate::resource::Resource;

/// Returns the time by which resources are old; tests set it.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The numbers of a poll.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Polled {
    /// Resources in the API's list.
    pub resources: usize,
    /// Resources that the rule chose.
    pub chosen: usize,
    /// Events that a queue received.
    pub routed: usize,
    /// Events that the broker confirmed, but no queue received.
    pub unroutable: usize,
    /// Events that the broker did not confirm.
    pub failed: usize,
}

/// A Sentinel for one type of resources.
pub struct Sentinel {
    listing: Listing,
    publisher: Publisher,
    ages: MaxAges,
    clock: Clock,
    metrics: Arc<Metrics>,
    has_read: Arc<AtomicBool>,
    known: Known,
}

/// The failures that have been logged and still last.
#[derive(Debug, Default)]
struct Known {
    unread: bool,
    unpublished: bool,
    unroutable: bool,
    unconditioned: bool,
}

impl Sentinel {
    /// Builds a Sentinel from its parts.
    #[must_use]
    pub fn new(listing: Listing, publisher: Publisher, ages: MaxAges, clock: Clock, metrics: Arc<Metrics>) -> Self {
        let (has_read, known) = (Arc::default(), Known::default());
        Self { listing, publisher, ages, clock, metrics, has_read, known }
    }

    /// The publisher, for the state of its connection.
    #[must_use]
    pub fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// Whether the last poll has read the API's list; false before the first.
    #[must_use]
    pub fn has_read(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_read)
    }

    /// Polls once. When `stop` is cancelled, the poll finishes the event that it is publishing, and ends.
    ///
    /// # Errors
    /// The list could not be read; no event is published then.
    pub async fn poll(&mut self, stop: &CancellationToken) -> Result<Polled, ListingError> {
        let began = Instant::now();
        let Some(read) = stop.run_until_cancelled(self.listing.read()).await else { return Ok(Polled::default()) };
        self.has_read.store(read.is_ok(), Ordering::Relaxed);
        let resources = read.inspect_err(|error| {
            self.metrics.api_failed(error.error_type());
            if begins(&mut self.known.unread) {
                tracing::warn!(error = %Chain(error), "The API cannot be read, every poll tries again");
            }
        })?;
        if ends(&mut self.known.unread) {
            tracing::info!(resources = resources.len(), "The API can be read again");
        }
        self.note_missing_conditions(&resources);
        let polled = self.announce(&resources, stop).await;
        self.metrics.polled(began.elapsed(), (self.clock)());
        Ok(polled)
    }

    /// Closes the connection to the broker.
    pub async fn close(self) {
        self.publisher.close().await;
    }

    async fn announce(&mut self, resources: &[Resource], stop: &CancellationToken) -> Polled {
        // One time for all resources of the poll, as in the real Sentinel.
        let now = (self.clock)();
        let mut chosen = Vec::new();
        for resource in resources {
            match decide(resource, now, &self.ages) {
                Decision::Publish(cause) => chosen.push((resource, cause)),
                Decision::Skip(reason) => self.metrics.skipped(reason),
            }
        }
        self.metrics.pending(chosen.len());
        let mut polled = Polled { resources: resources.len(), chosen: chosen.len(), ..Polled::default() };
        let mut last_error = None;
        for (resource, cause) in chosen {
            if stop.is_cancelled() {
                return polled;
            }
            match self.publisher.publish(&resource.event()).await {
                Ok(routing) => {
                    tracing::debug!(
                        kind = resource.kind,
                        id = resource.id,
                        cause = cause.label(),
                        ?routing,
                        "Published"
                    );
                    self.metrics.published(cause);
                    match routing {
                        Routing::Routed => polled.routed += 1,
                        Routing::Unroutable => {
                            polled.unroutable += 1;
                            self.metrics.broker_failed(BrokerErrorType::Unroutable);
                        }
                    }
                }
                Err(error) => {
                    polled.failed += 1;
                    self.metrics.broker_failed(BrokerErrorType::Publish);
                    // Each further event would wait as long for a broker that is silent.
                    let is_silent = matches!(error, PublishError::NoConfirm);
                    last_error = Some(error);
                    if is_silent {
                        break;
                    }
                }
            }
        }
        self.note_publications(&polled, last_error.map(|error| Chain(&error).to_string()));
        polled
    }

    fn note_missing_conditions(&mut self, resources: &[Resource]) {
        let without = resources.iter().filter(|resource| resource.reconciled().is_none()).count();
        let known = &mut self.known.unconditioned;
        if without > 0 && begins(known) {
            tracing::warn!(
                resources = without,
                "Resources without the condition Reconciled get an event in every poll"
            );
        } else if without == 0 && ends(known) {
            tracing::info!("All resources have the condition Reconciled");
        }
    }

    /// Logs changes only. A poll without events says nothing about the broker.
    fn note_publications(&mut self, polled: &Polled, error: Option<String>) {
        let exchange = self.publisher.exchange();
        let confirmed = polled.routed + polled.unroutable;
        if let Some(error) = error {
            if begins(&mut self.known.unpublished) {
                tracing::warn!(events = polled.failed, error, "Events were not published, later polls send new ones");
            }
        } else if confirmed > 0 && ends(&mut self.known.unpublished) {
            tracing::info!(events = confirmed, "Events are published again");
        }
        if polled.unroutable > 0 {
            if begins(&mut self.known.unroutable) {
                let events = polled.unroutable;
                tracing::warn!(events, exchange, "Events reach nobody, because no queue is bound to the exchange");
            }
        } else if polled.routed > 0 && ends(&mut self.known.unroutable) {
            tracing::info!(exchange, "Events reach a queue");
        }
    }
}

/// Notes that a failure lasts; returns whether it is new.
fn begins(known: &mut bool) -> bool {
    !std::mem::replace(known, true)
}

/// Notes that a failure is over; returns whether there was one.
fn ends(known: &mut bool) -> bool {
    std::mem::replace(known, false)
}
