-- Lists stuck resources, the oldest first: pending for longer than their threshold.
-- $1: the configured kinds; $2, $3: their thresholds in seconds, for live resources and for deletions; $4: the threshold of
-- other kinds; $5: only this kind, in lower case; $6: only deletions, or only others; $7: the most rows. Null means no filter.
-- The two indexes of `reconcile-metrics prepare` find the oldest, so the table is read for those rows only.
WITH threshold AS (
    SELECT * FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
), found AS MATERIALIZED (
    SELECT r.id, coalesce(c.last_transition_time, r.created_time) AS since
    FROM resource_conditions c
    JOIN resources r ON r.id = c.resource_id
    LEFT JOIN threshold t ON t.kind = r.kind
    WHERE c.type = 'Reconciled' AND c.status = 'False'
        AND coalesce(c.last_transition_time, r.created_time) < now() - make_interval(
            secs => coalesce(CASE WHEN r.deleted_time IS NULL THEN t.live ELSE t.deletion END, $4))
        AND ($5::text IS NULL OR lower(r.kind) = $5) AND ($6::boolean IS NULL OR (r.deleted_time IS NOT NULL) = $6)
    ORDER BY since, r.id
    LIMIT $7
)
SELECT
    r.id, r.kind, r.name, r.owner_id, r.deleted_time IS NOT NULL AS deleting, false AS no_condition,
    date_part('epoch', greatest(f.since, 'epoch')) AS since,
    date_part('epoch', now() - greatest(f.since, 'epoch')) AS age,
    r.generation::bigint,
    NULL::text[] AS children
FROM found f
JOIN resources r ON r.id = f.id
ORDER BY f.since, f.id
