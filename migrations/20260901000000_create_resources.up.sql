-- The five tables of the HyperFleet API, with the keys and indexes that its specification names.

CREATE TABLE resources (
    id           varchar(255) PRIMARY KEY,
    created_time timestamptz  NOT NULL DEFAULT now(),
    updated_time timestamptz  NOT NULL DEFAULT now(),
    deleted_time timestamptz,
    kind         varchar(100) NOT NULL,
    name         varchar(100) NOT NULL,
    href         varchar(500),
    created_by   varchar(255) NOT NULL,
    updated_by   varchar(255) NOT NULL,
    deleted_by   varchar(255),
    owner_id     varchar(255),
    owner_kind   varchar(100),
    owner_href   varchar(500),
    spec         jsonb        NOT NULL,
    generation   integer      NOT NULL DEFAULT 1,
    tenancy      jsonb        NOT NULL DEFAULT '{}'
);
CREATE INDEX idx_resources_kind ON resources (kind);
CREATE UNIQUE INDEX idx_resources_kind_name ON resources (kind, name, tenancy)
    WHERE owner_id IS NULL AND deleted_time IS NULL;
CREATE UNIQUE INDEX idx_resources_kind_owner_name ON resources (kind, owner_id, name)
    WHERE owner_id IS NOT NULL AND deleted_time IS NULL;
CREATE INDEX idx_resources_owner_id ON resources (owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX idx_resources_deleted_time ON resources (deleted_time) WHERE deleted_time IS NOT NULL;
CREATE INDEX idx_resources_tenancy ON resources USING gin (tenancy jsonb_path_ops);

CREATE TABLE resource_conditions (
    resource_id          varchar(255) NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
    type                 varchar(100) NOT NULL,
    status               varchar(10)  NOT NULL,
    reason               text,
    message              text,
    observed_generation  integer      NOT NULL DEFAULT 0,
    created_time         timestamptz,
    last_updated_time    timestamptz,
    last_transition_time timestamptz,
    PRIMARY KEY (resource_id, type)
);
CREATE INDEX idx_resource_conditions_type_status ON resource_conditions (type, status) WHERE status = 'False';

CREATE TABLE resource_labels (
    resource_id varchar(255) NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
    key         varchar(255) NOT NULL,
    value       varchar(255) NOT NULL,
    PRIMARY KEY (resource_id, key)
);

CREATE TABLE resource_references (
    source_id   varchar(255) NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
    ref_type    varchar(255) NOT NULL,
    target_id   varchar(255) NOT NULL REFERENCES resources (id) ON DELETE RESTRICT,
    target_kind varchar(100) NOT NULL,
    PRIMARY KEY (source_id, ref_type, target_id)
);
CREATE INDEX idx_resource_references_target ON resource_references (target_id);

-- As long as resources.kind: a shorter column would refuse reports on kinds with long names.
CREATE TABLE adapter_statuses (
    id                  varchar(255) PRIMARY KEY,
    created_time        timestamptz  NOT NULL DEFAULT now(),
    updated_time        timestamptz  NOT NULL DEFAULT now(),
    resource_type       varchar(100) NOT NULL,
    resource_id         varchar(255) NOT NULL,
    adapter             varchar(255) NOT NULL,
    observed_generation integer      NOT NULL,
    last_report_time    timestamptz  NOT NULL,
    conditions          jsonb        NOT NULL,
    data                jsonb,
    metadata            jsonb
);
CREATE INDEX idx_adapter_statuses_resource ON adapter_statuses (resource_type, resource_id);
CREATE UNIQUE INDEX idx_adapter_statuses_unique ON adapter_statuses (resource_type, resource_id, adapter);
