//! The exporter against a real PostgreSQL: one server for the run, one database for each test.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod cli;
mod coverage;
mod dashboard;
mod exposition;
mod figures;
mod grants;
mod plans;
mod prepare;
mod promtool;
mod round_trips;
mod serve;
mod soak;
mod stalled;
mod standby;
mod stuck;
mod trouble;
mod world;
