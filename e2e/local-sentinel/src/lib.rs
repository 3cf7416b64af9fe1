//! A Sentinel for development and tests: tells adapters which API resources to reconcile.
//!
//! In: the resources of one type, which it reads from the HyperFleet API in polls. Out: a CloudEvent on RabbitMQ
//! for each resource that the default rule of the Sentinel chooses. Fails: only at the start; afterwards an API
//! or a broker that does not answer is logged and counted, and the next poll tries again.
//!
//! | module | idea |
//! | --- | --- |
//! | [`resource`] | what the rule and the events need of an API resource |
//! | [`decision`] | the default rule, as a pure function |
//! | [`listing`] | reads all pages of the resources |
//! | [`publisher`] | keeps a connection to the broker, and publishes with confirms |
//! | [`sentinel`] | one poll: read, decide, publish |
//! | [`metrics`] | the real Sentinel's metrics, with closed sets of reasons |
//! | [`config`] | the real Sentinel's configuration keys, and two ages of its own |
//! | [`run`] | polls on a schedule, serves probes and metrics, ends on a signal |
//!
//! `README.md` lists the differences from the real Sentinel.

pub mod args;
pub mod commands;
pub mod config;
pub mod decision;
pub mod listing;
pub mod metrics;
pub mod publisher;
pub mod resource;
pub mod run;
pub mod sentinel;

/// The name of the program: of its pages, and of a Sentinel without a name.
pub const PROGRAM: &str = "local-sentinel";
