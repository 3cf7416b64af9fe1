-- The API's tables stay as they are; the counts of transitions are lost.

SET LOCAL lock_timeout = '5s';
DROP TRIGGER resource_changed ON resources;
DROP TRIGGER resource_created ON resources;
DROP TRIGGER reconciled_removed ON resource_conditions;
DROP TRIGGER reconciled_changed ON resource_conditions;
DROP TRIGGER reconciled_written ON resource_conditions;
DROP FUNCTION resource_was_written();
DROP FUNCTION reconciled_was_removed();
DROP FUNCTION reconciled_was_written();
DROP FUNCTION settle_resource(varchar, timestamptz, boolean);
DROP FUNCTION count_reconciliation_transition(varchar, boolean);
DROP VIEW unsettled_resources_now;
DROP TABLE reconciliation_transitions;
DROP TABLE unsettled_resources;
