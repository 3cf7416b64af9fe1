//! The server keeps the contract, clause by clause: raw messages and requests against a running server.

mod consumers;
mod deletion;
mod faults;
mod lists;
mod publish;
mod search;
mod security;
mod status;
mod wire;
mod world;
