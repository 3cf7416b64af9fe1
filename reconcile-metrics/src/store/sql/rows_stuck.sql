-- What is pending past its threshold on the API's own schema. Parameters as in tracked_stuck.sql.
WITH threshold AS (
    SELECT * FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
), found AS (
    SELECT
        r.id, r.kind, r.name, r.owner_id, r.deleted_time IS NOT NULL AS deleting,
        coalesce(c.last_transition_time, r.created_time) AS since, r.generation
    FROM resource_conditions c
    JOIN resources r ON r.id = c.resource_id
    WHERE c.type = 'Reconciled' AND c.status = 'False'
)
SELECT
    f.id, f.kind, f.name, f.owner_id, f.deleting, false AS missing,
    date_part('epoch', greatest(least(f.since, now()), 'epoch')) AS since,
    date_part('epoch', now() - greatest(least(f.since, now()), 'epoch')) AS age,
    f.generation::bigint
FROM found f
LEFT JOIN threshold t ON t.kind = f.kind
WHERE f.since < now() - make_interval(secs => coalesce(CASE WHEN f.deleting THEN t.deletion ELSE t.live END, $4))
    AND ($6::text IS NULL OR lower(f.kind) = $6) AND ($7::boolean IS NULL OR f.deleting = $7)
ORDER BY f.since, f.id
LIMIT $8
