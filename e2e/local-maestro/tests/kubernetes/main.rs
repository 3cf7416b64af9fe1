//! The agent and a real API server.

mod agent;
mod deletion;
mod world;
