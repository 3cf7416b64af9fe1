-- What lacks the condition past its threshold, in one part of the resources: ids after $9, up to $10.
-- Parameters as in tracked_stuck_missing.sql, without a limit. Conditions are looked up one by one, so that
-- the plan does not depend on statistics.
WITH part AS MATERIALIZED (
    SELECT
        r.id, r.kind, r.name, r.owner_id, r.deleted_time IS NOT NULL AS deleting, r.created_time, r.generation,
        (SELECT c.status FROM resource_conditions c WHERE c.resource_id = r.id AND c.type = 'Reconciled') AS status
    FROM resources r
    WHERE r.id > $9::text AND r.id <= $10::text
)
SELECT
    p.id, p.kind, p.name, p.owner_id, p.deleting, true AS missing,
    date_part('epoch', greatest(p.created_time, 'epoch')) AS since,
    date_part('epoch', now() - greatest(p.created_time, 'epoch')) AS age,
    p.generation::bigint
FROM part p
JOIN unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion) ON t.kind = p.kind
WHERE (p.status IN ('True', 'False')) IS NOT TRUE AND p.kind = ANY($5::text[])
    AND p.created_time < now() - make_interval(secs => CASE WHEN p.deleting THEN t.deletion ELSE t.live END)
    AND ($6::text IS NULL OR lower(p.kind) = $6) AND ($7::boolean IS NULL OR p.deleting = $7)
