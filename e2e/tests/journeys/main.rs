//! Journeys of users through the whole system: the local API on PostgreSQL, the local Sentinel, RabbitMQ, two adapters,
//! a Kubernetes control plane. Only the Sentinel's cadences are shorter than in production.

mod cluster;
mod force_delete;
mod invariants;
mod outages;
mod system;
