-- Lists stalled deletions, the oldest first: requested longer ago than the threshold, and not pending. Parameters as in
-- stuck.sql. It reads every resource that is being deleted, by the API's index on deleted_time.
WITH threshold AS (
    SELECT * FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
)
SELECT
    r.id, r.kind, r.name, r.owner_id, true AS deleting, c.status IS NULL AS no_condition,
    date_part('epoch', greatest(r.deleted_time, 'epoch')) AS since,
    date_part('epoch', now() - greatest(r.deleted_time, 'epoch')) AS age,
    r.generation::bigint,
    ARRAY(SELECT child.id::text FROM resources child WHERE child.owner_id = r.id ORDER BY child.id LIMIT 4) AS children
FROM resources r
LEFT JOIN threshold t ON t.kind = r.kind
LEFT JOIN resource_conditions c ON c.resource_id = r.id AND c.type = 'Reconciled'
WHERE r.deleted_time IS NOT NULL
    AND r.deleted_time < now() - make_interval(secs => coalesce(t.deletion, $4))
    AND c.status IS DISTINCT FROM 'False'
    AND ($5::text IS NULL OR lower(r.kind) = $5) AND ($6::boolean IS NULL OR $6)
ORDER BY r.deleted_time, r.id
LIMIT $7
