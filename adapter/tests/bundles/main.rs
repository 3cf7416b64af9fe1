//! Tests of bundles through the pipeline and the Kubernetes transport, with a real API server.

mod breaking;
mod state;
mod table;
mod world;

mod adoption;
mod apply;
mod calls;
mod crash;
mod faults;
mod guard;
mod jobs;
mod kinds;
mod kubectl;
mod lives;
mod moves;
mod namespaces;
mod printed;
mod removal;
mod webhooks;
