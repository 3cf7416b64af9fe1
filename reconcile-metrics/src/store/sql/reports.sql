-- What adapters last said about some resources. $1, $2: kinds and ids; $3: whether each is being deleted;
-- $4: the most characters of a text, 0 for no texts.
SELECT
    n.place, s.adapter, s.observed_generation::bigint,
    date_part('epoch', greatest(least(s.last_report_time, now()), 'epoch')) AS last_report,
    s.conditions @> '[{"type": "Available", "status": "True"}]' AS available,
    -- A report that knows nothing of what is available is one that the API leaves out.
    s.conditions @> '[{"type": "Finalized", "status": "True"}]'
        AND (s.conditions @> '[{"type": "Available", "status": "True"}]'
            OR s.conditions @> '[{"type": "Available", "status": "False"}]') AS finalized,
    said.reason, said.message
FROM unnest($1::text[], $2::text[], $3::boolean[]) WITH ORDINALITY AS n(kind, id, deleting, place)
JOIN adapter_statuses s ON s.resource_type = n.kind AND s.resource_id = n.id
LEFT JOIN LATERAL (
    SELECT left(e ->> 'reason', $4) AS reason, left(e ->> 'message', $4) AS message
    FROM jsonb_array_elements(CASE jsonb_typeof(s.conditions) WHEN 'array' THEN s.conditions ELSE '[]' END) AS e
    WHERE $4::int > 0 AND (e ->> 'type' = 'Available' OR (n.deleting AND e ->> 'type' = 'Finalized'))
    -- What is not yet so. One that says Finalized is waited for by what it says of Available.
    ORDER BY e ->> 'type' = 'Finalized' AND e ->> 'status' = 'True', e ->> 'type' DESC
    LIMIT 1
) AS said ON true
ORDER BY n.place, s.adapter
