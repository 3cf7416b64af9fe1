//! The list of metrics: what the page and the dashboard are compared with.

use super::Kind;

/// Every family of the exporter, in the order of exposition: names, types and meanings.
pub const FAMILIES: &[(&str, Kind, &str)] = &[
    (
        "hyperfleet_api_resource_pending_reconciliation",
        Kind::Gauge,
        "Resources whose condition Reconciled is False now",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck",
        Kind::Gauge,
        "Of these, how many have been so for longer than their threshold",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck_duration_seconds",
        Kind::Gauge,
        "The longest time that a stuck resource has been unreconciled; 0 if none is stuck",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_age_seconds",
        Kind::Histogram,
        "How long resources that are pending now have been so; rises and falls, so read it without rate()",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on",
        Kind::Gauge,
        "Stuck resources that wait on an adapter, by what the adapter has not done; one that waits on two counts at both",
    ),
    (
        "hyperfleet_api_resource_deletion_stalled",
        Kind::Gauge,
        "Resources whose deletion was requested longer ago than their threshold, that are still there, and whose condition \
         Reconciled is not False, so that no other figure counts them",
    ),
    (
        "hyperfleet_reconcile_metrics_stuck_threshold_seconds",
        Kind::Gauge,
        "How long a resource may be unreconciled before it is stuck",
    ),
    (
        "hyperfleet_reconcile_metrics_odd_rows",
        Kind::Gauge,
        "Pending resources whose row is odd: of a kind that is not configured, without a time of transition, or with one \
         in the future",
    ),
    (
        "hyperfleet_reconcile_metrics_standby_age_seconds",
        Kind::Gauge,
        "How long ago the newest transaction was committed that the standby which is read has replayed; 0 on a primary",
    ),
    (
        "hyperfleet_reconcile_metrics_details_truncated",
        Kind::Gauge,
        "1 if more resources are stuck than details.max_resources, so that only the oldest are looked into, and adapters that none of \
         these waits on are left out",
    ),
    (
        "hyperfleet_reconcile_metrics_scrape_success",
        Kind::Gauge,
        "1 if the last reading was good, 0 if not: figures of the snapshot are then left out, details once they are three \
         intervals old",
    ),
    (
        "hyperfleet_reconcile_metrics_scrape_duration_seconds",
        Kind::Gauge,
        "How long the last reading took, failed or not",
    ),
    (
        "hyperfleet_reconcile_metrics_last_success_timestamp_seconds",
        Kind::Gauge,
        "When the last good reading began, since the epoch; 0 if there was none",
    ),
    ("hyperfleet_reconcile_metrics_scrape_errors_total", Kind::Counter, "Readings that failed, by reason"),
    ("hyperfleet_reconcile_metrics_up", Kind::Gauge, "1 while the exporter runs"),
    ("hyperfleet_reconcile_metrics_build_info", Kind::Gauge, "The build that is running"),
];
