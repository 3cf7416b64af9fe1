//! Tests of the Kubernetes transport and the executor with a real API server.

mod world;

mod admission;
mod disown;
mod faults;
mod fences;
mod kinds;
mod labels;
mod many;
mod migration;
mod modes;
mod patch;
mod strict;
mod writes;
