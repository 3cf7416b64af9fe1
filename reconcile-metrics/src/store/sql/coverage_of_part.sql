-- Counts one part of the resources by kind, with those that lack the condition. $1: the id before the part; $2: its size.
-- The last column is the part's last id in the order of the database, whose collation may not be that of bytes.
WITH part AS MATERIALIZED (
    SELECT
        r.id, r.kind,
        (SELECT c.status FROM resource_conditions c WHERE c.resource_id = r.id AND c.type = 'Reconciled') AS status
    FROM resources r
    WHERE r.id > $1::text
    ORDER BY r.id
    LIMIT $2
)
SELECT
    kind,
    count(*),
    count(*) FILTER (WHERE (status IN ('True', 'False')) IS NOT TRUE),
    (array_agg(id::text ORDER BY id) FILTER (WHERE (status IN ('True', 'False')) IS NOT TRUE))[1:5],
    (SELECT max(id) FROM part)
FROM part
GROUP BY kind
