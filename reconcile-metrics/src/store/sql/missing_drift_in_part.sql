-- On how many resources of one part our record is wrong about what lacks the condition: ids after $2, up to $3, of the kinds
-- $1. What is pending on either side is compared by drift.sql. Conditions are looked up one by one, as no plan can make more
-- of a part then, whatever the statistics say.
WITH part AS MATERIALIZED (
    SELECT
        r.id, r.kind, r.deleted_time IS NOT NULL AS deleting,
        (SELECT c.status FROM resource_conditions c WHERE c.resource_id = r.id AND c.type = 'Reconciled') AS status
    FROM resources r
    WHERE r.id > $2::text AND r.id <= $3::text
), record AS MATERIALIZED (
    SELECT resource_id, kind, deleting, state FROM unsettled_resources WHERE resource_id > $2::text AND resource_id <= $3::text
)
SELECT count(*)
FROM (SELECT *, coalesce(status, '') <> 'True' AS lacking FROM part) AS part
FULL JOIN record ON record.resource_id = part.id
WHERE part.status IS DISTINCT FROM 'False' AND record.state IS DISTINCT FROM 'pending'
    AND (part.kind = ANY($1::text[]) OR record.kind = ANY($1::text[]))
    AND CASE WHEN part.lacking
        THEN (part.kind, part.deleting) IS DISTINCT FROM (record.kind, record.deleting)
        ELSE record.state IS NOT NULL
    END
