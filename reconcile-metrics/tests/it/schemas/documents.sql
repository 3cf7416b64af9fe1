-- The API's schema before v0.3.1, as far as its contract names it: a table for each kind, conditions in JSONB.

CREATE TABLE clusters (
    id                varchar(255) PRIMARY KEY,
    created_time      timestamptz NOT NULL DEFAULT now(),
    updated_time      timestamptz NOT NULL DEFAULT now(),
    deleted_time      timestamptz,
    name              varchar(53) NOT NULL,
    spec              jsonb       NOT NULL DEFAULT '{}',
    labels            jsonb,
    generation        integer     NOT NULL DEFAULT 1,
    status_conditions jsonb
);

-- Older still: other names of the times.
CREATE TABLE node_pools (
    id                varchar(255) PRIMARY KEY,
    created_at        timestamptz NOT NULL DEFAULT now(),
    deleted_at        timestamptz,
    owner_id          varchar(255) NOT NULL,
    name              varchar(15) NOT NULL,
    generation        integer     NOT NULL DEFAULT 1,
    status_conditions jsonb
);

CREATE TABLE adapter_statuses (
    id                  varchar(255) PRIMARY KEY,
    created_time        timestamptz  NOT NULL DEFAULT now(),
    resource_type       varchar(20)  NOT NULL,
    resource_id         varchar(255) NOT NULL,
    adapter             varchar(255) NOT NULL,
    observed_generation integer      NOT NULL,
    last_report_time    timestamptz  NOT NULL,
    conditions          jsonb        NOT NULL,
    data                jsonb,
    metadata            jsonb
);
CREATE UNIQUE INDEX idx_adapter_statuses_unique ON adapter_statuses (resource_type, resource_id, adapter);
