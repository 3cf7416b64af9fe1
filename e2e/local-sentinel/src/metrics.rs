//! Every metric of the Sentinel, registered once in one struct.
//!
//! In: what polls did. Out: the text that Prometheus scrapes. No method fails. Names and labels are those of the real
//! Sentinel; the reasons are variants of enums, so that no error text becomes a label.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_service::metrics::{self, Exposition, Histograms, Register, write};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::decision::{Cause, SkipReason};
use crate::listing::ApiErrorType;

/// The value of the label `component`, by which dashboards find the real Sentinel.
const COMPONENT: &str = "sentinel";

/// The default buckets of the Prometheus client for Go, which the real Sentinel uses.
const POLL_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The kind of a failed publication, as a metric label tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerErrorType {
    /// The broker did not confirm the event.
    Publish,
    /// The broker confirmed the event, but no queue received it.
    Unroutable,
}

impl BrokerErrorType {
    const ALL: [Self; 2] = [Self::Publish, Self::Unroutable];

    fn label(self) -> &'static str {
        match self {
            Self::Publish => "publish_error",
            Self::Unroutable => "unroutable",
        }
    }
}

/// The resources that a Sentinel watches, as labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Watched {
    /// The type of the resources.
    pub resource_type: String,
    /// `all`, or the label selector as `label:value,label:value`.
    pub resource_selector: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByReason {
    #[prometheus(flatten)]
    watched: Watched,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByErrorType {
    #[prometheus(flatten)]
    watched: Watched,
    error_type: &'static str,
}

/// The metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    watched: Watched,
    pending: Gauge,
    published: Family<ByReason, Counter>,
    skipped: Family<ByReason, Counter>,
    poll_duration: Histogram,
    api_errors: Family<ByErrorType, Counter>,
    broker_errors: Family<ByErrorType, Counter>,
    last_poll: Gauge<f64, AtomicU64>,
    broker_messages: Counter,
}

impl Metrics {
    /// Registers every metric, and creates every series, so that the first error is an increase.
    #[must_use]
    pub fn new(version: &str, watched: Watched, topic: &str) -> Self {
        let mut registry = metrics::registry(COMPONENT, version);
        let mut r = Register(&mut registry);
        let pending: Family<Watched, Gauge> = r.family(
            "hyperfleet_sentinel_pending_resources",
            "Resources that the last poll chose, including those whose event could not be published",
        );
        let published = r.family(
            "hyperfleet_sentinel_events_published",
            "Events that the broker confirmed, by the parameter of the rule that chose the resource",
        );
        let skipped =
            r.family("hyperfleet_sentinel_resources_skipped", "Resources that a poll did not choose, by reason");
        let poll_duration: Histograms<Watched> = r.histograms(
            "hyperfleet_sentinel_poll_duration_seconds",
            "Duration of the polls that read the API's whole list",
            || Histogram::new(POLL_BUCKETS),
        );
        let api_errors =
            r.family("hyperfleet_sentinel_api_errors", "Polls that could not read the API's list, by type of error");
        let broker_errors = r.family(
            "hyperfleet_sentinel_broker_errors",
            "Events that the broker did not confirm, or that no queue received, by type of error",
        );
        let last_poll = r.gauge(
            "hyperfleet_sentinel_last_successful_poll_timestamp_seconds",
            "When the last poll that read the API's list ended, in seconds since the epoch; 0 before the first",
        );
        let broker_messages: Family<[(&'static str, String); 1], Counter> =
            r.family("hyperfleet_broker_messages_published", "Messages that the broker confirmed");
        let metrics = Self {
            registry,
            pending: pending.get_or_create_owned(&watched),
            published,
            skipped,
            poll_duration: poll_duration.get_or_create_owned(&watched),
            api_errors,
            broker_errors,
            last_poll,
            broker_messages: broker_messages.get_or_create_owned(&[("topic", topic.to_owned())]),
            watched,
        };
        for cause in Cause::ALL {
            metrics.published_by(cause);
        }
        for reason in SkipReason::ALL {
            metrics.skipped_by(reason);
        }
        for error_type in ApiErrorType::ALL {
            metrics.api_errors_of(error_type);
        }
        for error_type in BrokerErrorType::ALL {
            metrics.broker_errors_of(error_type);
        }
        metrics
    }

    /// Notes how many resources a poll chose.
    pub fn pending(&self, resources: usize) {
        self.pending.set(i64::try_from(resources).unwrap_or(i64::MAX));
    }

    /// Notes an event that the broker confirmed.
    pub fn published(&self, cause: Cause) {
        self.published_by(cause).inc();
        self.broker_messages.inc();
    }

    /// Notes a resource that was not chosen.
    pub fn skipped(&self, reason: SkipReason) {
        self.skipped_by(reason).inc();
    }

    /// Notes an event that reached no queue.
    pub fn broker_failed(&self, error_type: BrokerErrorType) {
        self.broker_errors_of(error_type).inc();
    }

    /// Notes a poll that could not read the list.
    pub fn api_failed(&self, error_type: ApiErrorType) {
        self.api_errors_of(error_type).inc();
    }

    /// Notes the end of a poll that read the list.
    pub fn polled(&self, duration: Duration, now: Timestamp) {
        self.poll_duration.observe(duration.as_secs_f64());
        self.last_poll.set(now.as_duration().as_secs_f64());
    }

    /// Writes all metrics in a format.
    #[must_use]
    pub fn expose(&self, format: Exposition) -> String {
        write(&self.registry, format)
    }

    fn published_by(&self, cause: Cause) -> Counter {
        self.published.get_or_create_owned(&self.by_reason(cause.label()))
    }

    fn skipped_by(&self, reason: SkipReason) -> Counter {
        self.skipped.get_or_create_owned(&self.by_reason(reason.label()))
    }

    fn api_errors_of(&self, error_type: ApiErrorType) -> Counter {
        self.api_errors.get_or_create_owned(&self.by_error_type(error_type.label()))
    }

    fn broker_errors_of(&self, error_type: BrokerErrorType) -> Counter {
        self.broker_errors.get_or_create_owned(&self.by_error_type(error_type.label()))
    }

    fn by_reason(&self, reason: &'static str) -> ByReason {
        ByReason { watched: self.watched.clone(), reason }
    }

    fn by_error_type(&self, error_type: &'static str) -> ByErrorType {
        ByErrorType { watched: self.watched.clone(), error_type }
    }
}
