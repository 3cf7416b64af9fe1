-- The same on the API's own schema: by the partial index of conditions that are False, and the key of resources.
-- $2: when the previous snapshot was taken; transitions since then are counted as fresh. Null for none.
-- One that is dated ahead is fresh in the reading that reaches its time, and in no other.
WITH edge AS (
    SELECT array_agg(now() - make_interval(secs => age) ORDER BY age DESC) AS times FROM unnest($1::float8[]) AS age
), pending AS (
    SELECT
        r.kind,
        r.deleted_time IS NOT NULL AS deleting,
        coalesce(c.last_transition_time, r.created_time) AS since,
        c.last_transition_time IS NULL AS undated
    FROM resource_conditions c
    JOIN resources r ON r.id = c.resource_id
    WHERE c.type = 'Reconciled' AND c.status = 'False'
)
SELECT
    kind,
    deleting,
    cardinality($1::float8[]) - width_bucket(since, (SELECT times FROM edge)) AS band,
    count(*),
    date_part('epoch', now() - greatest(least(min(since), now()), 'epoch')) AS oldest,
    sum(date_part('epoch', now() - greatest(least(since, now()), 'epoch'))) AS age_sum,
    count(*) FILTER (WHERE undated) AS undated,
    count(*) FILTER (WHERE since > now() + interval '5 minutes') AS future,
    count(*) FILTER (WHERE since > to_timestamp($2::float8) AND since <= now() AND NOT undated) AS fresh
FROM pending
GROUP BY 1, 2, 3
