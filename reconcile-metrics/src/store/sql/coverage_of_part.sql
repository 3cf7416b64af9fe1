-- Counts one part of all resources by kind, and those without a condition Reconciled.
-- $1: the last id of the previous part; $2: the number of resources in a part.
-- last_id is the last id of this part in the database's collation, which may differ from the order of bytes.
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
    count(*) AS resources,
    count(*) FILTER (WHERE (status IN ('True', 'False')) IS NOT TRUE) AS without_condition,
    (array_agg(id::text ORDER BY id) FILTER (WHERE (status IN ('True', 'False')) IS NOT TRUE))[1:5] AS ids,
    (SELECT max(id) FROM part) AS last_id
FROM part
GROUP BY kind
