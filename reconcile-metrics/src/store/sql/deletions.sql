-- Resources whose deletion was requested longer ago than their threshold, that are still there, and of which nothing is
-- pending: either they read as reconciled, or they lack the condition (`missing` where their kind is to have it).
-- The cost is that of the resources in deletion, by their index. $1, $2, $3: kinds, and their thresholds in seconds, live
-- (unused) and being deleted; $4: the threshold of all others; $5: kinds that are to have the condition; $6: only this
-- kind, in lower case; $7: only these flows.
WITH threshold AS (
    SELECT kind, deletion FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
)
SELECT
    r.id, r.kind, r.name, r.owner_id, true AS deleting,
    c.status IS DISTINCT FROM 'True' AND r.kind = ANY($5::text[]) AS missing,
    date_part('epoch', greatest(r.deleted_time, 'epoch')) AS since,
    date_part('epoch', now() - greatest(r.deleted_time, 'epoch')) AS age,
    r.generation::bigint AS generation,
    EXISTS (SELECT FROM resources child WHERE child.owner_id = r.id) AS has_children
FROM resources r
LEFT JOIN threshold t ON t.kind = r.kind
LEFT JOIN resource_conditions c ON c.resource_id = r.id AND c.type = 'Reconciled'
WHERE r.deleted_time IS NOT NULL
    AND r.deleted_time < now() - make_interval(secs => coalesce(t.deletion, $4))
    AND c.status IS DISTINCT FROM 'False'
    AND ($6::text IS NULL OR lower(r.kind) = $6) AND ($7::boolean IS NULL OR $7)
