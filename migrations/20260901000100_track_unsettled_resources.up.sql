-- Keeps what the exporter reads at each scrape as small as the number of resources that are not settled.
--
-- The API rewrites all conditions of a resource by delete and insert, whatever changed. So nothing is concluded from
-- one row's change: deferred triggers compare, at commit, what the transaction leaves behind with what is recorded
-- here.
--
-- The most frequent write is a rewrite that changes nothing. Most of them fire no trigger, which leaves unseen what hardly
-- happens: a condition that goes for good, and one that has changed and bears other times than a change does. The exporter
-- compares the record with the conditions, and reads these where the two disagree: see docs/adr/0020.

-- Writers of resources and conditions wait from the first trigger to the end, and a pass over all resources is in between:
-- see migrations/README.md. The limit keeps them from queueing behind this while it waits for its own locks.
SET LOCAL lock_timeout = '5s';
-- The functions below keep this path, so that they find these tables whatever path a writer has, and nothing of the writer's.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- One row for each resource that is
--   pending:  its condition Reconciled is False,
--   missing:  it has no condition Reconciled that is True or False (also: all resources of kinds without adapters).
CREATE TABLE unsettled_resources (
    resource_id varchar(255) PRIMARY KEY REFERENCES resources (id) ON DELETE CASCADE,
    kind        varchar(100) NOT NULL,
    deleting    boolean      NOT NULL,
    state       text         NOT NULL CHECK (state IN ('pending', 'missing')),
    -- pending: the condition's last transition; missing: the resource's creation.
    since       timestamptz  NOT NULL,
    -- It is pending, and the condition has no time of transition: the creation's stands in.
    undated     boolean      NOT NULL
);
-- A scrape counts ranges of this index, and reads nothing else that grows.
CREATE INDEX unsettled_resources_pending ON unsettled_resources (kind, deleting, since) WHERE state = 'pending';
-- Separate, because kinds without adapters fill it.
CREATE INDEX unsettled_resources_missing ON unsettled_resources (kind, since, deleting) WHERE state = 'missing';
-- The oldest first, for people.
CREATE INDEX unsettled_resources_since ON unsettled_resources (since, resource_id) WHERE state = 'pending';
-- Next to always empty.
CREATE INDEX unsettled_resources_undated ON unsettled_resources (kind, deleting) WHERE undated;

-- What the record is to be: the one place that says so.
CREATE VIEW unsettled_resources_now AS
SELECT
    r.id AS resource_id,
    r.kind,
    r.deleted_time IS NOT NULL AS deleting,
    CASE WHEN c.status = 'False' THEN 'pending' ELSE 'missing' END AS state,
    CASE WHEN c.status = 'False' THEN coalesce(c.last_transition_time, r.created_time) ELSE r.created_time END AS since,
    c.status IS NOT DISTINCT FROM 'False' AND c.last_transition_time IS NULL AS undated
FROM resources r
LEFT JOIN resource_conditions c ON c.resource_id = r.id AND c.type = 'Reconciled'
WHERE c.status IS DISTINCT FROM 'True';

-- Transitions of Reconciled to False. A pair has as many rows as transactions counted it at the same time: each takes
-- a row that nobody holds, so counting neither waits nor deadlocks. The pair's counter is the sum.
CREATE TABLE reconciliation_transitions (
    id        bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind      varchar(100) NOT NULL,
    is_delete boolean      NOT NULL,
    total     bigint       NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX reconciliation_transitions_pair ON reconciliation_transitions (kind, is_delete);

CREATE FUNCTION count_reconciliation_transition(of_kind varchar, of_deletion boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE reconciliation_transitions SET total = total + 1
    WHERE id = (
        SELECT id FROM reconciliation_transitions
        WHERE kind = of_kind AND is_delete = of_deletion
            -- Beyond READ COMMITTED a row that somebody has counted in since the snapshot cannot be taken: that would fail the writer.
            AND (xmax = 0 OR current_setting('transaction_isolation') = 'read committed')
        ORDER BY id LIMIT 1
        FOR UPDATE SKIP LOCKED
    );
    IF NOT FOUND THEN
        INSERT INTO reconciliation_transitions (kind, is_delete, total) VALUES (of_kind, of_deletion, 1);
    END IF;
END
$$;

-- Makes the record of one resource true. A transition to False is counted if `counts`.
CREATE FUNCTION settle_resource(subject varchar, counts boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    was unsettled_resources;
    now_is unsettled_resources;
BEGIN
    SELECT * INTO now_is FROM unsettled_resources_now WHERE resource_id = subject;
    SELECT * INTO was FROM unsettled_resources WHERE resource_id = subject;
    IF now_is IS NOT DISTINCT FROM was THEN
        RETURN;
    END IF;
    IF now_is.state IS NULL THEN
        DELETE FROM unsettled_resources WHERE resource_id = subject;
        RETURN;
    END IF;

    INSERT INTO unsettled_resources VALUES (now_is.*)
    ON CONFLICT (resource_id) DO UPDATE SET
        kind = excluded.kind, deleting = excluded.deleting, state = excluded.state, since = excluded.since,
        undated = excluded.undated;
    IF counts AND now_is.state = 'pending' AND was.state IS DISTINCT FROM 'pending' THEN
        PERFORM count_reconciliation_transition(now_is.kind, now_is.deleting);
    END IF;
END
$$;

-- The triggers' functions run as the owner of the record: who writes resources needs no grants on it, and may not touch it.

CREATE FUNCTION reconciled_was_written() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    was unsettled_resources;
BEGIN
    -- What is on record already ends here. The row may be outdated by a later write of the same transaction; one that changes
    -- something has an event of its own.
    SELECT * INTO was FROM unsettled_resources WHERE resource_id = NEW.resource_id;
    IF NEW.status = 'True' AND was.state IS NULL
        OR NEW.status = 'False' AND was.state = 'pending' AND was.since = NEW.last_transition_time AND NOT was.undated
    THEN
        RETURN NULL;
    END IF;
    PERFORM settle_resource(NEW.resource_id, true);
    RETURN NULL;
END
$$;

CREATE FUNCTION reconciled_was_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM settle_resource(NEW.resource_id, true);
    IF OLD.resource_id <> NEW.resource_id THEN
        PERFORM settle_resource(OLD.resource_id, true);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION resource_was_written() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM settle_resource(NEW.id, true);
    RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION
    count_reconciliation_transition, settle_resource, reconciled_was_written, reconciled_was_changed, resource_was_written
    FROM PUBLIC;

-- To the API a condition's transition is its last update when it is new or has changed, and lies before it once more was reported.
CREATE CONSTRAINT TRIGGER reconciled_written AFTER INSERT ON resource_conditions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.type = 'Reconciled' AND (NEW.last_transition_time < NEW.last_updated_time) IS NOT TRUE)
    EXECUTE FUNCTION reconciled_was_written();
CREATE CONSTRAINT TRIGGER reconciled_changed AFTER UPDATE ON resource_conditions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.type = 'Reconciled' OR NEW.type = 'Reconciled')
    EXECUTE FUNCTION reconciled_was_changed();
CREATE CONSTRAINT TRIGGER resource_created AFTER INSERT ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION resource_was_written();
CREATE CONSTRAINT TRIGGER resource_changed AFTER UPDATE ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.deleted_time IS DISTINCT FROM NEW.deleted_time
        OR OLD.kind IS DISTINCT FROM NEW.kind)
    EXECUTE FUNCTION resource_was_written();

-- What is there already. It is not counted: nobody saw these transitions.
INSERT INTO unsettled_resources SELECT * FROM unsettled_resources_now;
