-- The last report of each adapter on some resources, without reasons and messages. $1, $2: kinds and ids of the resources.
SELECT
    n.place, s.adapter, s.observed_generation::bigint,
    date_part('epoch', greatest(least(s.last_report_time, now()), 'epoch')) AS last_report,
    s.conditions @> '[{"type": "Available", "status": "True"}]' AS available,
    -- The API ignores a report whose Available is neither True nor False.
    s.conditions @> '[{"type": "Finalized", "status": "True"}]'
        AND (s.conditions @> '[{"type": "Available", "status": "True"}]'
            OR s.conditions @> '[{"type": "Available", "status": "False"}]') AS finalized
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n(kind, id, place)
JOIN adapter_statuses s ON s.resource_type = n.kind AND s.resource_id = n.id
ORDER BY n.place, s.adapter
