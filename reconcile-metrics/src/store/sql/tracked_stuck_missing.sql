-- What lacks the condition past its threshold, the oldest first. Parameters as in tracked_stuck.sql;
-- a kind that is to have the condition has a threshold.
WITH threshold AS (
    SELECT * FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
), found AS (
    SELECT u.*
    FROM unsettled_resources u
    JOIN threshold t ON t.kind = u.kind
    WHERE u.state = 'missing' AND u.kind = ANY($5::text[])
        AND u.since < now() - make_interval(secs => CASE WHEN u.deleting THEN t.deletion ELSE t.live END)
        AND ($6::text IS NULL OR lower(u.kind) = $6) AND ($7::boolean IS NULL OR u.deleting = $7)
    ORDER BY u.since, u.resource_id
    LIMIT $8
)
SELECT
    f.resource_id, f.kind, r.name, r.owner_id, f.deleting, true AS missing,
    date_part('epoch', greatest(least(f.since, now()), 'epoch')) AS since,
    date_part('epoch', now() - greatest(least(f.since, now()), 'epoch')) AS age,
    r.generation::bigint
FROM found f
JOIN resources r ON r.id = f.resource_id
ORDER BY f.since, f.resource_id
