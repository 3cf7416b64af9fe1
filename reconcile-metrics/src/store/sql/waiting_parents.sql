-- The ancestors that are being deleted, too, of some resources. $1: the resources' parents.
-- Nothing in the schema forbids a cycle of owners: the depth does.
WITH RECURSIVE up(place, id, depth) AS (
    SELECT n.place, n.owner, 1 FROM unnest($1::text[]) WITH ORDINALITY AS n(owner, place)
    UNION
    SELECT up.place, r.owner_id::text, up.depth + 1
    FROM up
    JOIN resources r ON r.id = up.id
    WHERE r.owner_id IS NOT NULL AND up.depth < 8
)
SELECT DISTINCT up.place, r.id, r.kind, r.name
FROM up
JOIN resources r ON r.id = up.id
WHERE r.deleted_time IS NOT NULL
ORDER BY up.place, r.id
