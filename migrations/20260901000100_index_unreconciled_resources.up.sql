-- The two indexes of `reconcile-metrics prepare`, with which a scrape of the exporter reads no table.

CREATE INDEX idx_reconcile_metrics_unreconciled ON resource_conditions (resource_id) INCLUDE (last_transition_time)
    WHERE type = 'Reconciled' AND status = 'False';
CREATE INDEX idx_reconcile_metrics_resources ON resources (id) INCLUDE (kind, created_time, deleted_time);
