//! Every metric of the adapter, registered once in one struct.
//!
//! In: method calls by the modules that do the work. Out: the text that Prometheus scrapes. No method fails.
//!
//! Label values come from closed enums, from the task, or from constants in the code, but never from an event,
//! so that the number of series is bounded. Series of closed sets are zero from the start, so that `rate()`
//! sees their first increase. Label values that only the task names (kinds, preconditions, decisions) are
//! declared after the task is loaded.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_bundle::report::Report;
use lifecycle_service::metrics::{self, Exposition, Histograms, Register, write};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

mod guards;
mod labels;

pub use guards::{DeletionInProgress, InFlight};
pub use labels::{
    Api, AuthFailure, BrokerError, Dependency, EventStatus, InvalidEvent, Phase, PreconditionResult, WriteResult,
};

use labels::{
    ApiCallLabels, ApiDurationLabels, AuthFailureLabels, BlockedLabels, DecisionLabels, DependencyLabels,
    FailureLabels, InvalidLabels, KindLabels, KindResultLabels, PhaseLabels, PreconditionLabels, StatusLabels,
    TopicErrorLabels, TopicLabels, WarningLabels, status_class,
};

/// Upper bounds in seconds for work that takes as long as a pass, from the HyperFleet metrics standard.
const EVENT_BUCKETS: [f64; 9] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0];
/// Upper bounds in seconds for calls to servers, from the HyperFleet metrics standard.
const CALL_BUCKETS: [f64; 7] = [0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0];
/// Upper bounds in seconds for the age of events: from a healthy queue to one that was stuck for a day.
const LAG_BUCKETS: [f64; 10] = [0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0, 86400.0];
/// The largest number of endpoint labels. Endpoints come from the URLs in a task, so that a task could create
/// any number of series.
const ENDPOINT_LIMIT: usize = 100;

/// The labels that every series has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricIdentity {
    /// The configured name of the adapter.
    pub adapter: String,
    /// The version of the program, which every series carries as a label.
    pub version: String,
    /// The commit that the program was built from.
    pub commit: String,
}

/// The metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    up: Gauge,
    events_processed: Family<StatusLabels, Counter>,
    event_duration: Histogram,
    event_lag: Histogram,
    events_in_flight: Gauge,
    events_waiting: Gauge,
    events_coalesced: Counter,
    events_invalid: Family<InvalidLabels, Counter>,
    last_processed: Gauge<f64, AtomicU64>,
    errors: Family<PhaseLabels, Counter>,
    warnings: Family<WarningLabels, Counter>,
    decisions: Family<DecisionLabels, Counter>,
    resource_failures: Family<FailureLabels, Counter>,
    bundle_drift: Family<KindLabels, Counter>,
    bundle_deletions_blocked: Family<BlockedLabels, Counter>,
    preconditions: Family<PreconditionLabels, Counter>,
    resources_created: Family<KindResultLabels, Counter>,
    resources_deleted: Family<KindResultLabels, Counter>,
    deletion_duration: Histograms<KindLabels>,
    deletions_in_progress: Family<KindLabels, Gauge>,
    dependencies: Family<DependencyLabels, Gauge>,
    api_requests: Family<ApiCallLabels, Counter>,
    api_duration: Histograms<ApiDurationLabels>,
    api_auth_failures: Family<AuthFailureLabels, Counter>,
    /// The number of endpoint labels so far, to enforce `ENDPOINT_LIMIT`.
    endpoints: AtomicUsize,
    messages_consumed: Family<TopicLabels, Counter>,
    messages_published: Family<TopicLabels, Counter>,
    broker_errors: Family<TopicErrorLabels, Counter>,
    message_duration: Histograms<TopicLabels>,
}

impl Metrics {
    /// Registers every metric, and sets `up` to 1.
    #[must_use]
    pub fn new(identity: &MetricIdentity) -> Self {
        let mut registry = metrics::registry(&identity.adapter, &identity.version);
        let mut shared = Register(&mut registry);
        shared.build_info("hyperfleet_adapter_build_info", &identity.commit);
        let up: Gauge = shared.gauge("hyperfleet_adapter_up", "1 while the adapter runs, 0 once it shuts down");
        up.set(1);
        let messages_consumed = shared.family("hyperfleet_broker_messages_consumed", "Messages taken from the broker");
        let messages_published = shared.family("hyperfleet_broker_messages_published", "Messages given to the broker");
        let broker_errors = shared.family(
            "hyperfleet_broker_errors",
            "Messages that could not be read (conversion) or whose pass failed (handler)",
        );
        let message_duration = shared.histograms(
            "hyperfleet_broker_message_duration_seconds",
            "Time from taking a message to acknowledging it",
            event_histogram,
        );

        let mut own = Register(registry.sub_registry_with_label((
            Cow::Borrowed("adapter_name"),
            Cow::Owned(adapter_name(&identity.adapter).to_owned()),
        )));
        let metrics = Self {
            up,
            messages_consumed,
            messages_published,
            broker_errors,
            message_duration,
            events_processed: own.family("hyperfleet_adapter_events_processed", "Passes over events, by their result"),
            event_duration: own.histogram(
                "hyperfleet_adapter_event_processing_duration_seconds",
                "Time that a pass over an event took",
                &EVENT_BUCKETS,
            ),
            event_lag: own.histogram(
                "hyperfleet_adapter_event_lag_seconds",
                "Age of an event when its pass began, by the event's own time",
                &LAG_BUCKETS,
            ),
            events_in_flight: own.gauge("hyperfleet_adapter_events_in_flight", "Passes that are running"),
            events_waiting: own
                .gauge("hyperfleet_adapter_events_waiting", "Events that were taken and wait for their turn"),
            events_coalesced: own.counter(
                "hyperfleet_adapter_events_coalesced",
                "Events that a newer one about the same resource replaced while they waited",
            ),
            events_invalid: own.family("hyperfleet_adapter_events_invalid", "Events that were refused, by reason"),
            last_processed: own.gauge(
                "hyperfleet_adapter_last_processed_timestamp_seconds",
                "When the last pass ended, 0 before the first",
            ),
            errors: own.family("hyperfleet_adapter_errors", "Failed phases of passes"),
            warnings: own.family("hyperfleet_adapter_warnings", "Things that a task's author should look at"),
            decisions: own.family("hyperfleet_adapter_decisions", "What was decided about resources, and why"),
            resource_failures: own.family(
                "hyperfleet_adapter_resource_failures",
                "Resources that failed, whether decided or executed, by reason",
            ),
            bundle_drift: own.family(
                "hyperfleet_adapter_bundle_drift",
                "Objects of bundles that somebody else had changed, and that were repaired",
            ),
            bundle_deletions_blocked: own.family(
                "hyperfleet_adapter_bundle_deletions_blocked",
                "Passes in which objects of others kept a bundle from being deleted",
            ),
            preconditions: own.family("hyperfleet_adapter_preconditions_evaluated", "Preconditions, by their result"),
            resources_created: own.family("hyperfleet_adapter_resources_created", "Creations of objects"),
            resources_deleted: own.family("hyperfleet_adapter_resources_deleted", "Deletions of objects"),
            deletion_duration: own.histograms(
                "hyperfleet_adapter_resource_deletion_duration_seconds",
                "Time that a deletion of an object took",
                event_histogram,
            ),
            deletions_in_progress: own
                .family("hyperfleet_adapter_resource_deletions_in_progress", "Deletions that are running"),
            dependencies: own.family(
                "hyperfleet_adapter_dependency_up",
                "1 while a dependency answers, 0 while it does not and no events are taken; absent where the task does not use it",
            ),
            api_requests: own.family("hyperfleet_adapter_api_requests", "HTTP requests, each attempt counted"),
            api_duration: own.histograms(
                "hyperfleet_adapter_api_request_duration_seconds",
                "Time that an HTTP request took, each attempt measured",
                call_histogram,
            ),
            api_auth_failures: own.family(
                "hyperfleet_adapter_api_auth_failures",
                "Requests that the HyperFleet API or its gateway refused with 401 or 403, each attempt counted",
            ),
            endpoints: AtomicUsize::new(0),
            registry,
        };
        metrics.start_at_zero();
        metrics
    }

    fn start_at_zero(&self) {
        for status in EventStatus::ALL {
            drop(self.events_processed.get_or_create(&StatusLabels { status }));
        }
        for error_type in Phase::ALL {
            drop(self.errors.get_or_create(&PhaseLabels { error_type }));
        }
        for status_code in AuthFailure::ALL {
            drop(self.api_auth_failures.get_or_create(&AuthFailureLabels { status_code }));
        }
        for reason in InvalidEvent::ALL {
            drop(self.events_invalid.get_or_create(&InvalidLabels { reason }));
        }
    }

    /// Creates the series of these kinds with the value zero.
    pub fn declare_kinds<'a>(&self, kinds: impl IntoIterator<Item = &'a str>) {
        for kind in kinds {
            drop(self.deletions_in_progress.get_or_create(&KindLabels::new(kind)));
            for status in WriteResult::ALL {
                drop(self.resources_created.get_or_create(&KindResultLabels::new(kind, status)));
                drop(self.resources_deleted.get_or_create(&KindResultLabels::new(kind, status)));
            }
        }
    }

    /// Creates the series of these preconditions with the value zero.
    pub fn declare_preconditions<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            for result in PreconditionResult::ALL {
                drop(self.preconditions.get_or_create(&PreconditionLabels::new(name, result)));
            }
        }
    }

    /// Creates the series of these decisions and reasons with the value zero.
    pub fn declare_decisions(&self, decisions: impl IntoIterator<Item = (&'static str, &'static str)>) {
        for (decision, reason) in decisions {
            drop(self.decisions.get_or_create(&DecisionLabels { decision, reason }));
        }
    }

    /// Creates the series of these failure reasons with the value zero.
    pub fn declare_failures(&self, reasons: impl IntoIterator<Item = &'static str>) {
        for reason in reasons {
            drop(self.resource_failures.get_or_create(&FailureLabels { reason }));
        }
    }

    /// Creates the series of these warnings with the value zero.
    pub fn declare_warnings(&self, warnings: impl IntoIterator<Item = &'static str>) {
        for warning in warnings {
            drop(self.warnings.get_or_create(&WarningLabels { warning }));
        }
    }

    /// Creates the series of this topic with the value zero.
    pub fn declare_topic(&self, topic: &str) {
        drop(self.messages_consumed.get_or_create(&TopicLabels::new(topic)));
        for error_type in BrokerError::ALL {
            drop(self.broker_errors.get_or_create(&TopicErrorLabels::new(topic, error_type)));
        }
    }

    /// Sets whether a dependency answered its last probe.
    pub fn dependency_up(&self, dependency: Dependency, is_up: bool) {
        self.dependencies.get_or_create(&DependencyLabels { dependency }).set(is_up.into());
    }

    /// Counts a running pass until the guard is dropped.
    #[must_use]
    pub fn event_started(&self) -> InFlight {
        InFlight::new(self.events_in_flight.clone())
    }

    /// Counts a pass that ended at `now`, and an error for each phase in `failed`.
    pub fn event_finished(&self, status: EventStatus, took: Duration, failed: &[Phase], now: Timestamp) {
        self.events_processed.get_or_create(&StatusLabels { status }).inc();
        self.event_duration.observe(took.as_secs_f64());
        for &error_type in failed {
            self.errors.get_or_create(&PhaseLabels { error_type }).inc();
        }
        self.last_processed.set(now.as_duration().as_secs_f64());
    }

    /// Records how old an event was when its pass began.
    pub fn event_lag(&self, lag: Duration) {
        self.event_lag.observe(lag.as_secs_f64());
    }

    /// Sets the number of events in the work queue.
    pub fn events_waiting(&self, waiting: usize) {
        self.events_waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    /// The numbers of running passes and of waiting events.
    #[must_use]
    pub fn in_flight(&self) -> (i64, i64) {
        (self.events_in_flight.get(), self.events_waiting.get())
    }

    /// Counts a waiting event that a newer one replaced.
    pub fn event_coalesced(&self) {
        self.events_coalesced.inc();
    }

    /// Counts a message that was refused because it is not a usable event, by the reason.
    pub fn event_invalid(&self, reason: InvalidEvent) {
        self.events_invalid.get_or_create(&InvalidLabels { reason }).inc();
    }

    /// Counts a warning under its label.
    pub fn warning(&self, warning: &'static str) {
        self.warnings.get_or_create(&WarningLabels { warning }).inc();
    }

    /// Counts a decision and its reason.
    pub fn decision(&self, decision: &'static str, reason: &'static str) {
        self.decisions.get_or_create(&DecisionLabels { decision, reason }).inc();
    }

    /// Counts a resource of the task that failed, in its decision or in a call, by the reason.
    pub fn resource_failed(&self, reason: &'static str) {
        self.resource_failures.get_or_create(&FailureLabels { reason }).inc();
    }

    /// Counts what became of the objects of a bundle, the entry `resource` of the task.
    pub fn bundle(&self, resource: &str, report: &Report) {
        for object in report.objects.iter().filter(|object| object.effect.drift().is_some()) {
            self.bundle_drift.get_or_create(&KindLabels::new(&object.identity.kind.kind)).inc();
        }
        if let Some(identity) = report.blocked_by() {
            self.bundle_deletions_blocked.get_or_create(&BlockedLabels::new(resource, &identity.kind.kind)).inc();
        }
    }

    /// Counts the result of a precondition.
    pub fn precondition(&self, name: &str, result: PreconditionResult) {
        self.preconditions.get_or_create(&PreconditionLabels::new(name, result)).inc();
    }

    /// Counts an attempt to create an object of this kind.
    pub fn resource_created(&self, kind: &str, result: WriteResult) {
        self.resources_created.get_or_create(&KindResultLabels::new(kind, result)).inc();
    }

    /// Starts to time a deletion; the guard's `finish` counts the result.
    #[must_use]
    pub fn deletion_started(&self, kind: &str) -> DeletionInProgress {
        let labels = KindLabels::new(kind);
        DeletionInProgress::new(
            self.deletions_in_progress.get_or_create_owned(&labels),
            self.deletion_duration.get_or_create_owned(&labels),
            WriteResult::ALL
                .map(|result| self.resources_deleted.get_or_create_owned(&KindResultLabels::new(kind, result))),
        )
    }

    /// Counts and times an HTTP request and the class of its `status`; `None` if no response came.
    ///
    /// `method` is an HTTP method or a Kubernetes verb; `endpoint` is a path without ids, or a kind.
    pub fn api_request(&self, api: Api, method: &'static str, endpoint: &str, status: Option<u16>, took: Duration) {
        let mut timing = ApiDurationLabels { api, method, endpoint: endpoint.to_owned() };
        let is_new = self.api_duration.get(&timing).is_none();
        if is_new && self.endpoints.fetch_add(1, Ordering::Relaxed) >= ENDPOINT_LIMIT {
            "other".clone_into(&mut timing.endpoint);
        }
        self.api_duration.get_or_create(&timing).observe(took.as_secs_f64());
        let ApiDurationLabels { api, method, endpoint } = timing;
        let status_code = status_class(status);
        self.api_requests.get_or_create(&ApiCallLabels { api, method, endpoint, status_code }).inc();
    }

    /// Counts a request whose token the HyperFleet API, or a gateway before it, refused.
    pub fn api_auth_failure(&self, status_code: AuthFailure) {
        self.api_auth_failures.get_or_create(&AuthFailureLabels { status_code }).inc();
    }

    /// Counts a message that the broker delivered.
    pub fn message_consumed(&self, topic: &str) {
        self.messages_consumed.get_or_create(&TopicLabels::new(topic)).inc();
    }

    /// Counts a message that was published.
    pub fn message_published(&self, topic: &str) {
        self.messages_published.get_or_create(&TopicLabels::new(topic)).inc();
    }

    /// Times the handling of a message, whatever its result.
    pub fn message_handled(&self, topic: &str, took: Duration) {
        self.message_duration.get_or_create(&TopicLabels::new(topic)).observe(took.as_secs_f64());
    }

    /// Counts a message that could not be parsed, or whose pass failed.
    pub fn broker_error(&self, topic: &str, error_type: BrokerError) {
        self.broker_errors.get_or_create(&TopicErrorLabels::new(topic, error_type)).inc();
    }

    /// Sets the metric `up` to 0, because the adapter no longer takes events.
    pub fn shutting_down(&self) {
        self.up.set(0);
    }

    /// Writes every metric in the requested text format, for `/metrics`.
    #[must_use]
    pub fn expose(&self, format: Exposition) -> String {
        write(&self.registry, format)
    }
}

fn event_histogram() -> Histogram {
    Histogram::new(EVENT_BUCKETS)
}

fn call_histogram() -> Histogram {
    Histogram::new(CALL_BUCKETS)
}

/// The label `adapter_name`: the configured name without the word "adapter" at its start or end.
///
/// Only the first matching rule applies.
#[must_use]
pub fn adapter_name(configured: &str) -> &str {
    configured
        .strip_prefix("hyperfleet-adapter-")
        .or_else(|| configured.strip_prefix("adapter-"))
        .or_else(|| configured.strip_suffix("-adapter"))
        .unwrap_or(configured)
}

/// The metrics, shared by all parts of the process.
pub type SharedMetrics = Arc<Metrics>;

#[cfg(test)]
mod tests;
