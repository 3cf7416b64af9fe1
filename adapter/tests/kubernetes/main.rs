//! The Kubernetes transport and the executor against a real API server.

mod world;

mod faults;
mod fences;
mod kinds;
mod many;
mod migration;
mod patch;
mod release;
mod writes;
