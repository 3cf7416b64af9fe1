//! The Kubernetes transport and the executor against a real API server.

mod world;

mod faults;
mod fences;
mod kinds;
mod many;
mod patch;
mod release;
mod take_over;
mod writes;
