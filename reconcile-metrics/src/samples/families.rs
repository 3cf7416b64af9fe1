//! The list of all metrics. Tests compare `docs/reconcile-metrics.md`, the rules and the dashboard with it.

use super::Kind;

/// Name, type and help text of every metric, in the order of the exposition.
pub const FAMILIES: &[(&str, Kind, &str)] = &[
    (
        "hyperfleet_api_resource_pending_reconciliation",
        Kind::Gauge,
        "Resources that are pending: their condition Reconciled is False",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck",
        Kind::Gauge,
        "Pending resources that are stuck: pending for longer than their threshold",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck_duration_seconds",
        Kind::Gauge,
        "The longest time that a stuck resource has been pending; 0 if none is stuck",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_age_seconds",
        Kind::Histogram,
        "How long the pending resources have been pending; rises and falls, so read it without rate()",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on",
        Kind::Gauge,
        "Stuck resources that wait on an adapter, by what the adapter has not done; a resource that waits on two adapters counts for both",
    ),
    (
        "hyperfleet_api_resource_deletion_stalled",
        Kind::Gauge,
        "Resources whose deletion was requested longer ago than their threshold and that are not pending, so that no other \
         metric counts them",
    ),
    (
        "hyperfleet_reconcile_metrics_stuck_threshold_seconds",
        Kind::Gauge,
        "How long a resource may be pending before it is stuck",
    ),
    (
        "hyperfleet_reconcile_metrics_odd_rows",
        Kind::Gauge,
        "Pending resources with an unusual row: of a kind that is not configured, without last_transition_time, or with \
         one in the future",
    ),
    (
        "hyperfleet_reconcile_metrics_standby_age_seconds",
        Kind::Gauge,
        "If the exporter reads a standby, the time since the commit of the newest transaction that the standby has replayed; \
         0 on a primary",
    ),
    (
        "hyperfleet_reconcile_metrics_details_truncated",
        Kind::Gauge,
        "1 if more resources are stuck than details.max_resources: then only the oldest are read, and adapters that none of \
         these waits on have no series",
    ),
    (
        "hyperfleet_reconcile_metrics_scrape_success",
        Kind::Gauge,
        "1 if the last reading succeeded, 0 if it failed: the figures of the snapshot are then left out, those of the details \
         once they are three intervals old",
    ),
    (
        "hyperfleet_reconcile_metrics_scrape_duration_seconds",
        Kind::Gauge,
        "Duration of the last reading, whether it succeeded or failed",
    ),
    (
        "hyperfleet_reconcile_metrics_last_success_timestamp_seconds",
        Kind::Gauge,
        "When the last successful reading began, in seconds since the epoch; 0 if none succeeded",
    ),
    ("hyperfleet_reconcile_metrics_scrape_errors_total", Kind::Counter, "Failed readings, by reason"),
    ("hyperfleet_reconcile_metrics_up", Kind::Gauge, "1 while the exporter runs"),
    ("hyperfleet_reconcile_metrics_build_info", Kind::Gauge, "The commit that the running program was built from"),
];
