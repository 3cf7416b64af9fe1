//! Tests of polls and of the program against a real RabbitMQ and a fake of the HyperFleet API.

#![expect(clippy::unwrap_used, reason = "tests")]

mod events;
mod failures;
mod program;
mod world;
