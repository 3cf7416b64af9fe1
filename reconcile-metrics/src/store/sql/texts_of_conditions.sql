-- The beginnings of the reason and the message of some resources' condition Reconciled. $1, $2: kinds and ids; $3: the most
-- characters of a text. The older schema has a statement of its own.
SELECT n.place, left(c.reason, $3) AS reason, left(c.message, $3) AS message
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n(kind, id, place)
JOIN resource_conditions c ON c.resource_id = n.id AND c.type = 'Reconciled'
