//! Tests of whole passes over an in-memory [`store`]: what a pass writes, what its gates read, and that a
//! second pass of the same event writes nothing.

mod apply;
mod belonging;
mod bundle;
mod current;
mod deletion;
mod destinations;
mod disown_first;
mod disowned;
mod finalized;
mod foreign;
mod former;
mod moves;
mod names;
mod nested;
mod not_observed;
mod not_yet;
mod orphan;
mod owner;
mod owner_lost;
mod patch;
mod prune;
mod reading;
mod retention;
mod same_again;
mod stamping;
mod survey;
mod terminating_namespace;
mod visible;

use lifecycle_objects::store;

use super::harness::passes;
