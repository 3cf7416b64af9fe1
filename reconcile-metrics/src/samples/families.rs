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
    ("hyperfleet_api_reconciliation_started_total", Kind::Counter, "Transitions of the condition Reconciled to False"),
    (
        "hyperfleet_api_reconciliation_requests_total",
        Kind::Counter,
        "The same as hyperfleet_api_reconciliation_started_total, by the name of the design proposal",
    ),
    (
        "hyperfleet_api_resource_without_reconciled_condition",
        Kind::Gauge,
        "Resources past their threshold that have no condition Reconciled, of kinds with required adapters",
    ),
    (
        "hyperfleet_api_resource_pending_reconciliation_stuck_waiting_on",
        Kind::Gauge,
        "Stuck resources that wait on an adapter, by what the adapter has not done; one that waits on two counts at both",
    ),
    (
        "hyperfleet_api_resource_deletion_waiting_on_child",
        Kind::Gauge,
        "Resources whose deletion waits on a stuck descendant, by the type of that root cause",
    ),
    (
        "hyperfleet_api_resource_deletion_lingering",
        Kind::Gauge,
        "Resources whose deletion was requested longer ago than their threshold, that are not pending, and that are still \
         there; by what holds them: nothing, a child, or a stuck_child",
    ),
    (
        "hyperfleet_reconcile_metrics_stuck_threshold_seconds",
        Kind::Gauge,
        "How long a resource may be unreconciled before it is stuck",
    ),
    (
        "hyperfleet_reconcile_metrics_required_adapters",
        Kind::Gauge,
        "How many adapters the configuration requires for a type",
    ),
    (
        "hyperfleet_reconcile_metrics_odd_rows",
        Kind::Gauge,
        "Pending resources whose row is odd: of a kind that is not configured, without a time of transition, or with one \
         in the future",
    ),
    (
        "hyperfleet_reconcile_metrics_schema_info",
        Kind::Gauge,
        "1 for the schema that the database has: tracked (ours), rows (the API's) or documents (the API's before v0.3.1)",
    ),
    (
        "hyperfleet_reconcile_metrics_kind_read",
        Kind::Gauge,
        "1 if the kind's resources are read; 0 if the database has no table of them that can be, so that nothing is known \
         of them and they have no figures",
    ),
    (
        "hyperfleet_reconcile_metrics_older_tables_unread",
        Kind::Gauge,
        "1 if tables of the API's schema before v0.3.1 hold resources beside the schema that is read, which has none of them \
         unless somebody moved them; 0 if not",
    ),
    (
        "hyperfleet_reconcile_metrics_standby_age_seconds",
        Kind::Gauge,
        "How long ago the newest transaction was committed that the standby which is read has replayed; 0 on a primary",
    ),
    (
        "hyperfleet_reconcile_metrics_transitions_exact",
        Kind::Gauge,
        "1 if the database counts all transitions; 0 if only those are counted that a scrape found still pending, or that \
         triggers have seen",
    ),
    (
        "hyperfleet_reconcile_metrics_record_drift",
        Kind::Gauge,
        "Resources on which our record and the conditions disagree, about what is pending or about what lacks the condition; \
         above 0 the conditions are read instead",
    ),
    (
        "hyperfleet_reconcile_metrics_details_truncated",
        Kind::Gauge,
        "1 if more resources are stuck than details.max_resources, or hold up deletions for want of the condition, so that \
         details are of the oldest only; what they do not have is then left out, and not 0",
    ),
    (
        "hyperfleet_reconcile_metrics_scrape_success",
        Kind::Gauge,
        "1 if the last reading was good, 0 if not: figures of the snapshot are then left out, others once they are three \
         intervals old, but for drift above 0",
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
    (
        "hyperfleet_reconcile_metrics_scrapes_shared_total",
        Kind::Counter,
        "Scrapes that were answered by a reading which another scrape had begun",
    ),
    ("hyperfleet_reconcile_metrics_up", Kind::Gauge, "1 while the exporter runs"),
    ("hyperfleet_reconcile_metrics_build_info", Kind::Gauge, "The build that is running"),
];
