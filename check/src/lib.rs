//! Finds out what a task does before there is an event, for the adapter's command `check`.
//!
//! In: a compiled [`Task`](lifecycle_core::task::Task), and the document that it was compiled from, for places. Out:
//! diagnostics ([`lint`](lint::lint)), the rows of the decision table that each resource can reach
//! ([`reach`](reach::reach)), its [rights](rights::rights), what each resource waits for ([`order`](order::order)), and whether a text
//! tells API resources apart ([`identity`]). Nothing here can fail.
//!
//! The crate reads no clock, file, environment variable or socket, and knows no live object and no event: it finds what
//! is true of every event, and says nothing where events differ. No pass depends on it.

mod api_resource;
mod gate_values;
pub mod identity;
pub mod lint;
pub mod manifests;
pub mod members;
pub mod order;
pub mod reach;
pub mod rights;
mod written;
