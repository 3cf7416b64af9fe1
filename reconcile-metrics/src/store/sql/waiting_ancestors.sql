-- Finds the ancestors of some resources that are being deleted. $1: the ids of the resources' parents; null for none.
-- The API's tables allow a cycle of owners, so the depth is limited.
WITH RECURSIVE up(place, id, depth) AS (
    SELECT n.place, n.owner, 1 FROM unnest($1::text[]) WITH ORDINALITY AS n(owner, place) WHERE n.owner IS NOT NULL
    UNION
    SELECT up.place, r.owner_id::text, up.depth + 1
    FROM up
    JOIN resources r ON r.id = up.id
    WHERE r.owner_id IS NOT NULL AND up.depth < 8
)
SELECT DISTINCT up.place, r.id
FROM up
JOIN resources r ON r.id = up.id
WHERE r.deleted_time IS NOT NULL
ORDER BY up.place, r.id
