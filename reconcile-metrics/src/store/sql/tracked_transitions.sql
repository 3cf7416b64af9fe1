-- Every transition to False that was committed.
SELECT kind, is_delete, sum(total)::bigint FROM reconciliation_transitions GROUP BY kind, is_delete
