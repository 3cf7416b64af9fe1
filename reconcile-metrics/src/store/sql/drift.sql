-- On how many resources the record and the conditions disagree about what is pending: by the partial index of conditions
-- that are False, and the record's own.
SELECT count(*)
FROM (
    SELECT
        c.resource_id, r.kind, r.deleted_time IS NOT NULL AS deleting,
        coalesce(c.last_transition_time, r.created_time) AS since, c.last_transition_time IS NULL AS undated
    FROM resource_conditions c
    JOIN resources r ON r.id = c.resource_id
    WHERE c.type = 'Reconciled' AND c.status = 'False'
) AS found
FULL JOIN (
    SELECT resource_id, kind, deleting, since, undated FROM unsettled_resources WHERE state = 'pending'
) AS record ON record.resource_id = found.resource_id
WHERE (found.kind, found.deleting, found.since, found.undated)
    IS DISTINCT FROM (record.kind, record.deleting, record.since, record.undated)
