-- Reason and message of the condition Reconciled of some resources. $1: ids; $2: the most characters of each text.
SELECT n.place, left(c.reason, $2) AS reason, left(c.message, $2) AS message
FROM unnest($1::text[]) WITH ORDINALITY AS n(id, place)
JOIN resource_conditions c ON c.resource_id = n.id AND c.type = 'Reconciled'
