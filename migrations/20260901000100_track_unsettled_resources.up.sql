-- Keeps what the exporter reads at each scrape as small as the number of resources that are not settled.
--
-- The API rewrites all conditions of a resource by delete and insert, whatever changed. So nothing is concluded from
-- one row's change: deferred triggers compare, at commit, what the transaction leaves behind with what is recorded
-- here. A rewrite that changes nothing finds the record right and writes nothing.

-- One row for each resource that is
--   pending:  its condition Reconciled is False,
--   missing:  it has no condition Reconciled that is True or False (also: all resources of kinds without adapters),
--   deleting: it is Reconciled, but is being deleted and still there.
CREATE TABLE unsettled_resources (
    resource_id varchar(255) PRIMARY KEY REFERENCES resources (id) ON DELETE CASCADE,
    kind        varchar(100) NOT NULL,
    owner_id    varchar(255),
    deleting    boolean      NOT NULL,
    state       text         NOT NULL CHECK (state IN ('pending', 'missing', 'deleting')),
    -- pending: the condition's last transition; missing: creation, or when the condition went; deleting: deletion.
    since       timestamptz  NOT NULL
);
-- A scrape counts ranges of this index, and reads nothing else.
CREATE INDEX unsettled_resources_pending ON unsettled_resources (kind, deleting, since) WHERE state = 'pending';
-- Separate, because kinds without adapters fill it.
CREATE INDEX unsettled_resources_missing ON unsettled_resources (kind, since, deleting) WHERE state = 'missing';
-- The oldest first, for people.
CREATE INDEX unsettled_resources_since ON unsettled_resources (since, resource_id) WHERE state = 'pending';
CREATE INDEX unsettled_resources_owner ON unsettled_resources (owner_id) WHERE deleting;

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
        ORDER BY id LIMIT 1
        FOR UPDATE SKIP LOCKED
    );
    IF NOT FOUND THEN
        INSERT INTO reconciliation_transitions (kind, is_delete, total) VALUES (of_kind, of_deletion, 1);
    END IF;
END
$$;

-- Makes the record of one resource true. `missing_since` counts if the condition is found to be missing.
CREATE FUNCTION settle_resource(subject varchar, missing_since timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    was unsettled_resources;
    now_is unsettled_resources;
BEGIN
    SELECT r.id, r.kind, r.owner_id, r.deleted_time IS NOT NULL,
        CASE
            WHEN c.status = 'False' THEN 'pending'
            WHEN c.status IS DISTINCT FROM 'True' THEN 'missing'
            WHEN r.deleted_time IS NOT NULL THEN 'deleting'
        END,
        CASE
            WHEN c.status = 'False' THEN coalesce(c.last_transition_time, r.created_time)
            WHEN c.status IS DISTINCT FROM 'True' THEN missing_since
            ELSE r.deleted_time
        END
    INTO now_is
    FROM resources r
    LEFT JOIN resource_conditions c ON c.resource_id = r.id AND c.type = 'Reconciled'
    WHERE r.id = subject;
    IF NOT FOUND THEN
        RETURN; -- Its record went with it.
    END IF;

    SELECT * INTO was FROM unsettled_resources WHERE resource_id = subject;
    IF now_is.state IS NULL THEN
        IF was.state IS NOT NULL THEN
            DELETE FROM unsettled_resources WHERE resource_id = subject;
        END IF;
        RETURN;
    END IF;
    IF now_is.state = 'missing' AND was.state = 'missing' THEN
        now_is.since := was.since;
    END IF;
    IF now_is IS NOT DISTINCT FROM was THEN
        RETURN;
    END IF;

    INSERT INTO unsettled_resources VALUES (now_is.*)
    ON CONFLICT (resource_id) DO UPDATE SET
        kind = excluded.kind, owner_id = excluded.owner_id, deleting = excluded.deleting,
        state = excluded.state, since = excluded.since;
    IF now_is.state = 'pending' AND was.state IS DISTINCT FROM 'pending' THEN
        PERFORM count_reconciliation_transition(now_is.kind, now_is.deleting);
    END IF;
END
$$;

CREATE FUNCTION reconciled_was_written() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    known unsettled_resources;
BEGIN
    -- The two rewrites that change nothing end here. The row may be outdated by a later write of the same
    -- transaction; that one has an event of its own.
    SELECT * INTO known FROM unsettled_resources WHERE resource_id = NEW.resource_id;
    IF known.state IS NULL THEN
        IF NEW.status = 'True' THEN
            RETURN NULL;
        END IF;
    ELSIF known.state = 'pending' AND NEW.status = 'False' AND known.since = NEW.last_transition_time THEN
        RETURN NULL;
    END IF;
    PERFORM settle_resource(NEW.resource_id, now());
    RETURN NULL;
END
$$;

CREATE FUNCTION reconciled_was_removed() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM resource_conditions WHERE resource_id = OLD.resource_id AND type = 'Reconciled';
    IF NOT FOUND THEN
        PERFORM settle_resource(OLD.resource_id, now());
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION resource_was_written() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM settle_resource(NEW.id, CASE WHEN TG_OP = 'INSERT' THEN NEW.created_time ELSE now() END);
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER reconciled_written AFTER INSERT OR UPDATE ON resource_conditions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.type = 'Reconciled')
    EXECUTE FUNCTION reconciled_was_written();
CREATE CONSTRAINT TRIGGER reconciled_removed AFTER DELETE ON resource_conditions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.type = 'Reconciled')
    EXECUTE FUNCTION reconciled_was_removed();
CREATE CONSTRAINT TRIGGER resource_created AFTER INSERT ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION resource_was_written();
CREATE CONSTRAINT TRIGGER resource_changed AFTER UPDATE ON resources
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.deleted_time IS DISTINCT FROM NEW.deleted_time
        OR OLD.kind IS DISTINCT FROM NEW.kind
        OR OLD.owner_id IS DISTINCT FROM NEW.owner_id)
    EXECUTE FUNCTION resource_was_written();

-- What is there already. It is not counted: nobody saw these transitions.
INSERT INTO unsettled_resources
SELECT r.id, r.kind, r.owner_id, r.deleted_time IS NOT NULL,
    CASE WHEN c.status = 'False' THEN 'pending' WHEN c.status = 'True' THEN 'deleting' ELSE 'missing' END,
    CASE
        WHEN c.status = 'False' THEN coalesce(c.last_transition_time, r.created_time)
        WHEN c.status = 'True' THEN r.deleted_time
        ELSE r.created_time
    END
FROM resources r
LEFT JOIN resource_conditions c ON c.resource_id = r.id AND c.type = 'Reconciled'
WHERE c.status IS DISTINCT FROM 'True' OR r.deleted_time IS NOT NULL;
