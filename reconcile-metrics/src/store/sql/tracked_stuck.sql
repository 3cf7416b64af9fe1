-- What is pending past its threshold, the oldest first.
-- $1, $2, $3: kinds, and their thresholds in seconds, live and being deleted; $4: the threshold of all others;
-- $5: kinds that are to have the condition (not asked here); $6: only this kind, in lower case; $7: only these flows;
-- $8: the most rows.
WITH threshold AS (
    SELECT * FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
), found AS (
    SELECT u.*
    FROM unsettled_resources u
    LEFT JOIN threshold t ON t.kind = u.kind
    WHERE u.state = 'pending'
        AND u.since < now() - make_interval(secs => coalesce(CASE WHEN u.deleting THEN t.deletion ELSE t.live END, $4))
        AND ($6::text IS NULL OR lower(u.kind) = $6) AND ($7::boolean IS NULL OR u.deleting = $7)
    ORDER BY u.since, u.resource_id
    LIMIT $8
)
SELECT
    f.resource_id, f.kind, r.name, r.owner_id, f.deleting, false AS missing,
    date_part('epoch', greatest(least(f.since, now()), 'epoch')) AS since,
    date_part('epoch', now() - greatest(least(f.since, now()), 'epoch')) AS age,
    r.generation::bigint
FROM found f
JOIN resources r ON r.id = f.resource_id
ORDER BY f.since, f.resource_id
