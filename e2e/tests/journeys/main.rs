//! Journeys of users through the whole system: the local API on PostgreSQL, the local Sentinel, RabbitMQ, the adapters, the
//! exporter, the sweeper, a Kubernetes control plane. Only cadences and thresholds are shorter than in production.

mod cluster;
mod disowned;
mod force_delete;
mod hour;
mod invariants;
mod metrics;
mod node_pools;
mod outages;
mod permission;
mod replicas;
mod scale;
mod system;
mod takeover;
