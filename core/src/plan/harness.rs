//! Runs whole passes of the planner over an in-memory [`store`](store::Store), for tests.
//!
//! In: a task, objects, and the variables of an event. Out: the outcomes of the pass, and the writes. Panics on a task
//! that does not compile. Other crates get this module by the feature `harness`.

pub mod passes;
