-- Removes the API's tables and everything in them.

DROP TABLE adapter_statuses;
DROP TABLE resource_references;
DROP TABLE resource_labels;
DROP TABLE resource_conditions;
DROP TABLE resources;
