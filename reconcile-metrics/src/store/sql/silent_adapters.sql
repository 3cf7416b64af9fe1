-- Finds required adapters that never reported on any resource of a kind, and some adapters that did.
-- $1, $2: pairs of a kind and an adapter.
SELECT
    t.kind, t.adapter,
    ARRAY(
        SELECT DISTINCT sampled.adapter::text
        FROM (SELECT s.adapter FROM adapter_statuses s WHERE s.resource_type = t.kind LIMIT 1000) AS sampled
        ORDER BY 1
    ) AS reporting
FROM unnest($1::text[], $2::text[]) AS t(kind, adapter)
WHERE NOT EXISTS (SELECT FROM adapter_statuses s WHERE s.resource_type = t.kind AND s.adapter = t.adapter)
