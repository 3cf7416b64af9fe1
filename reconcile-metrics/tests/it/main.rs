//! Tests of the exporter on a real PostgreSQL server, which all tests share; each test has a database of its own.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cli;
mod coverage;
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
