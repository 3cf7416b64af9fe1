//! User journeys: the real sweeper program with a real API server and the fake of the HyperFleet API.
//!
//! Each file is one thing that a user does or that happens to the sweeper; `island`, `program` and `world` are shared. Every test
//! has its own namespace, adapter, API and Lease, so that all tests can run at the same time.

mod island;
mod program;
mod world;

mod breaker;
mod cluster_scoped;
mod doubts;
mod dry_run;
mod exit_codes;
mod fences;
mod force_delete;
mod goes_along;
mod inventory;
mod late_word;
mod ready;
mod replicas;
mod unknown_answers;
mod works;
