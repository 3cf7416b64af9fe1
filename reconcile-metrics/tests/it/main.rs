//! The exporter against a real PostgreSQL: one server for the run, one database for each test.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod api;
mod cli;
mod dashboard;
mod deletions;
mod documents;
mod doubts;
mod exposition;
mod figures;
mod layouts;
mod missing;
mod plans;
mod promtool;
mod record;
mod roles;
mod serve;
mod soak;
mod standby;
mod stuck;
mod transitions;
mod trouble;
mod world;
mod writers;
