-- Counts pending resources by kind, deletion and interval of age, and returns the age of a standby.
-- $1: the bounds of the intervals, in seconds, ascending.
-- With the indexes of `reconcile-metrics prepare` both sides of the join are index-only scans.
WITH bound AS (
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
), counted AS (
    SELECT
        kind,
        deleting,
        cardinality($1::float8[]) - width_bucket(since, (SELECT times FROM bound)) AS bucket,
        count(*) AS resources,
        date_part('epoch', now() - greatest(least(min(since), now()), 'epoch')) AS oldest,
        sum(date_part('epoch', now() - greatest(least(since, now()), 'epoch'))) AS age_sum,
        count(*) FILTER (WHERE undated) AS undated,
        count(*) FILTER (WHERE since > now() + interval '5 minutes') AS future
    FROM pending
    GROUP BY 1, 2, 3
)
SELECT standby.age AS standby_age, counted.*
FROM (
    SELECT CASE WHEN pg_is_in_recovery() THEN date_part('epoch', now() - pg_last_xact_replay_timestamp()) ELSE 0 END AS age
) AS standby
LEFT JOIN counted ON true
