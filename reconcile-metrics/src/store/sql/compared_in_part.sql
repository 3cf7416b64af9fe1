-- What lacks the condition past its threshold in one part of the resources, and on how many of them our record is wrong about
-- what lacks it: ids after $4, up to $5. $1, $2, $3: the kinds that are to have it, and their thresholds in seconds, live and
-- being deleted. What is pending on either side is compared by drift.sql. Conditions are looked up one by one, so that the
-- plan does not depend on statistics.
WITH part AS MATERIALIZED (
    SELECT
        r.id, r.kind, r.deleted_time IS NOT NULL AS deleting, r.created_time,
        coalesce((SELECT c.status FROM resource_conditions c WHERE c.resource_id = r.id AND c.type = 'Reconciled'), '') AS status
    FROM resources r
    WHERE r.id > $4::text AND r.id <= $5::text
), record AS MATERIALIZED (
    SELECT resource_id, kind, deleting, state, since
    FROM unsettled_resources
    WHERE resource_id > $4::text AND resource_id <= $5::text
), compared AS (
    SELECT
        coalesce(part.kind, record.kind) AS kind,
        coalesce(part.deleting, record.deleting) AS deleting,
        part.status NOT IN ('True', 'False')
            AND part.created_time < now() - make_interval(secs => CASE WHEN part.deleting THEN t.deletion ELSE t.live END)
            AS is_missing,
        part.status IS DISTINCT FROM 'False' AND record.state IS DISTINCT FROM 'pending'
            AND (part.kind = ANY($1::text[]) OR record.kind = ANY($1::text[]))
            AND CASE WHEN part.status <> 'True'
                THEN (part.kind, part.deleting, part.created_time) IS DISTINCT FROM (record.kind, record.deleting, record.since)
                ELSE record.state IS NOT NULL
            END
            AS differs
    FROM part
    FULL JOIN record ON record.resource_id = part.id
    LEFT JOIN unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion) ON t.kind = part.kind
)
SELECT kind, deleting, count(*) FILTER (WHERE is_missing), count(*) FILTER (WHERE differs)
FROM compared
WHERE is_missing OR differs
GROUP BY kind, deleting
