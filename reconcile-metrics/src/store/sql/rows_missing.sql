-- The same where nothing keeps a record of it: a pass over all resources of these kinds.
SELECT r.kind, r.deleted_time IS NOT NULL AS deleting, count(*)
FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
JOIN resources r ON r.kind = t.kind
WHERE r.created_time < now() - make_interval(secs => CASE WHEN r.deleted_time IS NOT NULL THEN t.deletion ELSE t.live END)
    AND NOT EXISTS (
        SELECT FROM resource_conditions c
        WHERE c.resource_id = r.id AND c.type = 'Reconciled' AND c.status IN ('True', 'False')
    )
GROUP BY 1, 2
