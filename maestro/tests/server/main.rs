//! The client against a stand-in of Maestro, which follows the contract and shares no code with it.
#![expect(clippy::unwrap_used, reason = "tests")]

mod fleet;
mod reads;
mod security;
mod world;
mod writes;
