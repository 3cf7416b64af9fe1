-- Counts what is pending by kind, deletion and age, on our schema: by the index of pending resources alone.
-- $1: the edges between ages, in seconds, ascending. $2: unused here, see rows_pending.sql.
--
-- Counting by ranges of the index is faster than sorting each row into its band. Only ranges that hold something are
-- looked at: from the newest resource of one, the next is the newest before where its band begins.
WITH RECURSIVE band(number, start) AS (
    -- Band n has the ages beyond n edges. Band 0 is there twice, to tell times that lie well in the future.
    SELECT 0, now() + interval '5 minutes'
    UNION ALL
    SELECT place::integer - 1, now() - make_interval(secs => age)
    FROM unnest($1::float8[]) WITH ORDINALITY AS edge(age, place)
    UNION ALL
    SELECT cardinality($1::float8[]), '-infinity'
), newest AS (
    (
        SELECT kind, deleting, since, (SELECT max(start) FROM band WHERE start <= since) AS start
        FROM unsettled_resources
        WHERE state = 'pending'
        ORDER BY kind DESC, deleting DESC, since DESC
        LIMIT 1
    )
    UNION ALL
    SELECT next.kind, next.deleting, next.since, (SELECT max(start) FROM band WHERE start <= next.since)
    FROM newest
    CROSS JOIN LATERAL (
        SELECT kind, deleting, since
        FROM unsettled_resources
        WHERE state = 'pending' AND (kind, deleting, since) < (newest.kind, newest.deleting, newest.start)
        ORDER BY kind DESC, deleting DESC, since DESC
        LIMIT 1
    ) AS next
)
SELECT
    newest.kind,
    newest.deleting,
    (SELECT min(number) FROM band WHERE start = newest.start) AS band,
    counted.resources,
    date_part('epoch', now() - greatest(least(counted.since, now()), 'epoch')) AS oldest,
    counted.age_sum,
    0::bigint AS undated,
    CASE WHEN newest.start > now() THEN counted.resources ELSE 0 END AS future,
    0::bigint AS fresh
FROM newest
CROSS JOIN LATERAL (
    SELECT
        count(*) AS resources,
        min(since) AS since,
        sum(date_part('epoch', now() - greatest(least(since, now()), 'epoch'))) AS age_sum
    FROM unsettled_resources
    WHERE state = 'pending' AND kind = newest.kind AND deleting = newest.deleting
        AND since BETWEEN newest.start AND newest.since
) AS counted
WHERE $2::float8 IS NULL
UNION ALL
-- The few that have no time of transition are counted above, and told apart here.
SELECT kind, deleting, 0, 0, 0, 0, count(*), 0, 0
FROM unsettled_resources
WHERE undated AND $2::float8 IS NULL
GROUP BY kind, deleting
