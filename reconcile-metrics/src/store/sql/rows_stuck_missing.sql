-- What lacks the condition past its threshold, in one part of the API's own schema: ids after $9, up to $10.
-- Parameters as in tracked_stuck_missing.sql.
SELECT
    r.id, r.kind, r.name, r.owner_id, r.deleted_time IS NOT NULL AS deleting, true AS missing,
    date_part('epoch', greatest(r.created_time, 'epoch')) AS since,
    date_part('epoch', now() - greatest(r.created_time, 'epoch')) AS age,
    r.generation::bigint, NULL::text AS reason, NULL::text AS message
FROM resources r
JOIN unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion) ON t.kind = r.kind
WHERE r.kind = ANY($5::text[]) AND r.id > $9::text AND r.id <= $10::text
    AND r.created_time < now() - make_interval(secs => CASE WHEN r.deleted_time IS NOT NULL THEN t.deletion ELSE t.live END)
    AND ($6::text IS NULL OR lower(r.kind) = $6) AND ($7::boolean IS NULL OR (r.deleted_time IS NOT NULL) = $7)
    AND NOT EXISTS (
        SELECT FROM resource_conditions c
        WHERE c.resource_id = r.id AND c.resource_id > $9::text AND c.resource_id <= $10::text
            AND c.type = 'Reconciled' AND c.status IN ('True', 'False')
    )
ORDER BY r.created_time, r.id
LIMIT $8
