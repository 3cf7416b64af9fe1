//! The vocabulary of objects: what one is called, where it lives, what was read of it, what is written to it, and how ready it is.
//!
//! Everything that reads or writes Kubernetes' objects shares these types: the clients, the set of a bundle, the planner and the
//! sweeper. Nothing here knows tasks, expressions or events, and nothing does I/O.
//!
//! ```text
//! id · destination ─▶ object_ref · identity ─▶ observation ─▶ write ─▶ failure · fence · apply
//! keys · labels · proof ─▶ stamp            kinds            readiness
//! ```

pub mod apply;
pub mod contents;
pub mod destination;
pub mod failure;
pub mod fence;
pub mod id;
pub mod identity;
pub mod inspection;
pub mod keys;
pub mod kinds;
pub mod labels;
pub mod merge_keys;
pub mod object_ref;
pub mod observation;
pub mod pod;
pub mod proof;
pub mod quantity;
pub mod readiness;
pub mod secret;
pub mod server_set;
pub mod stamp;
#[cfg(any(test, feature = "store"))]
pub mod store;
mod table;
pub mod type_pattern;
pub mod write;
