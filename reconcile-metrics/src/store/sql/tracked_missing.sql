-- Resources past their threshold without a condition Reconciled, of kinds that are to have one.
-- $1, $2, $3: kinds, and their thresholds in seconds, live and being deleted.
SELECT u.kind, u.deleting, count(*)
FROM unnest($1::text[], $2::float8[], $3::float8[]) AS t(kind, live, deletion)
JOIN unsettled_resources u ON u.kind = t.kind
WHERE u.state = 'missing'
    AND u.since < now() - make_interval(secs => least(t.live, t.deletion))
    AND u.since < now() - make_interval(secs => CASE WHEN u.deleting THEN t.deletion ELSE t.live END)
GROUP BY u.kind, u.deleting
