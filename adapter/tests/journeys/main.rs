//! User journeys: the real adapter program with real servers.
//!
//! Each file is one thing that a user does or that happens to the adapter; `adapter`, `task` and `world` are
//! shared. Every test has its own namespace, API, exchange and adapters, so that all tests can run at the
//! same time.

mod adapter;
mod task;
mod world;

mod api_outage;
mod apiserver_faults;
mod broker;
mod broker_tls;
mod create;
mod custom_kinds;
mod deletion;
mod dependencies;
mod discarded;
mod disown;
mod foreign_objects;
mod former;
mod history;
mod http_input;
mod latency;
mod maestro;
mod memory;
mod operations;
mod ordering;
mod owner;
mod patch;
mod recreate;
mod replicas;
mod scale;
mod secrets;
mod shutdown;
mod signing;
mod update;
mod versions;
mod workers;
