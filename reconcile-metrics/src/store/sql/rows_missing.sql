-- The same where nothing keeps a record of it, in one part of the resources: ids after $4, up to $5.
SELECT r.kind, r.deleted_time IS NOT NULL AS deleting, count(*)
FROM resources r
JOIN unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion) ON t.kind = r.kind
WHERE r.id > $4::text AND r.id <= $5::text
    AND r.created_time < now() - make_interval(secs => CASE WHEN r.deleted_time IS NOT NULL THEN t.deletion ELSE t.live END)
    AND NOT EXISTS (
        SELECT FROM resource_conditions c
        WHERE c.resource_id = r.id AND c.resource_id > $4::text AND c.resource_id <= $5::text
            AND c.type = 'Reconciled' AND c.status IN ('True', 'False')
    )
GROUP BY 1, 2
