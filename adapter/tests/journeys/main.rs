//! What people do with an adapter, done to the real program before real servers.
//!
//! One file is one thing that somebody does or suffers; `adapter`, `task` and `world` are what they share. Every test
//! has a namespace, an API, an exchange and adapters of its own, so all of them run at the same time.

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
mod foreign_objects;
mod history;
mod http_input;
mod latency;
mod memory;
mod operations;
mod ordering;
mod owner;
mod patch;
mod recreate;
mod release;
mod replicas;
mod scale;
mod shutdown;
mod signing;
mod update;
mod versions;
