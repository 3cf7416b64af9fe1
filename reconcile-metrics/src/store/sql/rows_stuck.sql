-- The same on the API's own schema. Missing conditions cost a pass over all resources, and are asked for apart ($9).
WITH threshold AS (
    SELECT * FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
), found AS (
    SELECT
        r.id, r.kind, r.name, r.owner_id, r.deleted_time IS NOT NULL AS deleting, false AS missing,
        coalesce(c.last_transition_time, r.created_time) AS since, r.generation, c.reason, c.message
    FROM resource_conditions c
    JOIN resources r ON r.id = c.resource_id
    WHERE c.type = 'Reconciled' AND c.status = 'False'
    UNION ALL
    SELECT
        r.id, r.kind, r.name, r.owner_id, r.deleted_time IS NOT NULL, true,
        r.created_time, r.generation, NULL, NULL
    FROM resources r
    WHERE $9::boolean AND r.kind = ANY($5::text[])
        AND NOT EXISTS (
            SELECT FROM resource_conditions c
            WHERE c.resource_id = r.id AND c.type = 'Reconciled' AND c.status IN ('True', 'False')
        )
)
SELECT
    f.id, f.kind, f.name, f.owner_id, f.deleting, f.missing,
    date_part('epoch', greatest(least(f.since, now()), 'epoch')) AS since,
    date_part('epoch', now() - greatest(least(f.since, now()), 'epoch')) AS age,
    f.generation::bigint, f.reason, f.message
FROM found f
LEFT JOIN threshold t ON t.kind = f.kind
WHERE f.since < now() - make_interval(secs => coalesce(CASE WHEN f.deleting THEN t.deletion ELSE t.live END, $4))
    AND ($6::text IS NULL OR lower(f.kind) = $6) AND ($7::boolean IS NULL OR f.deleting = $7)
ORDER BY f.since, f.id
LIMIT $8
