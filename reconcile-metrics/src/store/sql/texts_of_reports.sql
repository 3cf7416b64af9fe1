-- Reason and message of the last report of each adapter on some resources.
-- $1, $2: kinds and ids; $3: whether each is being deleted; $4: the most characters of each text.
SELECT n.place, s.adapter, condition.reason, condition.message
FROM unnest($1::text[], $2::text[], $3::boolean[]) WITH ORDINALITY AS n(kind, id, deleting, place)
JOIN adapter_statuses s ON s.resource_type = n.kind AND s.resource_id = n.id
JOIN LATERAL (
    SELECT left(e ->> 'reason', $4) AS reason, left(e ->> 'message', $4) AS message
    FROM jsonb_array_elements(CASE jsonb_typeof(s.conditions) WHEN 'array' THEN s.conditions ELSE '[]' END) AS e
    WHERE e ->> 'type' = 'Available' OR (n.deleting AND e ->> 'type' = 'Finalized')
    -- In a deletion take the texts of Finalized. If Finalized is True, the adapter is not done because of its Available, so
    -- take those.
    ORDER BY e ->> 'type' = 'Finalized' AND e ->> 'status' = 'True', e ->> 'type' DESC
    LIMIT 1
) AS condition ON true
