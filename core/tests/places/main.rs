//! Tests what happens when an expression fails or has no value, for each key that can have an expression.
//! `docs/cel.md` documents the same behaviour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod gates;
mod params;
mod payloads;
mod phases;
mod preconditions;
mod secrets;
mod world;
