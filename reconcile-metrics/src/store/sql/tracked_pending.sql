-- Counts what is pending by kind, deletion and age, on our schema: one scan of the index of pending resources.
-- $1: the edges between ages, in seconds. $2: unused here, see rows_pending.sql.
-- Band n counts the edges that are less than the age; the database counts those that are not.
WITH edge AS (
    SELECT array_agg(now() - make_interval(secs => age) ORDER BY age DESC) AS times FROM unnest($1::float8[]) AS age
)
SELECT
    kind,
    deleting,
    cardinality($1::float8[]) - width_bucket(since, (SELECT times FROM edge)) AS band,
    count(*),
    date_part('epoch', now() - greatest(least(min(since), now()), 'epoch')) AS oldest,
    sum(date_part('epoch', now() - greatest(least(since, now()), 'epoch'))) AS age_sum,
    0::bigint AS undated,
    count(*) FILTER (WHERE since > now() + interval '5 minutes') AS future,
    0::bigint AS fresh
FROM unsettled_resources
WHERE state = 'pending' AND $2::float8 IS NULL
GROUP BY 1, 2, 3
