-- The API's tables stay as they are; the counts of transitions are lost. Some of this may be gone already: reverting
-- and applying is the cure then.

SET LOCAL lock_timeout = '5s';
DROP TRIGGER IF EXISTS resource_changed ON resources;
DROP TRIGGER IF EXISTS resource_created ON resources;
DROP TRIGGER IF EXISTS reconciled_changed ON resource_conditions;
DROP TRIGGER IF EXISTS reconciled_written ON resource_conditions;
DROP FUNCTION IF EXISTS resource_was_written();
DROP FUNCTION IF EXISTS reconciled_was_changed();
DROP FUNCTION IF EXISTS reconciled_was_written();
DROP FUNCTION IF EXISTS settle_resource(varchar, boolean);
DROP FUNCTION IF EXISTS count_reconciliation_transition(varchar, boolean);
DROP VIEW IF EXISTS unsettled_resources_now;
DROP TABLE IF EXISTS reconciliation_transitions;
DROP TABLE IF EXISTS unsettled_resources;
