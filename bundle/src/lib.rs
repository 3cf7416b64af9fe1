//! Keeps many objects as one set, in waves, with policies for each object.
//!
//! ```text
//! manifests ─▶ drafts ─▶ prepare ─▶  pass   ─▶ commands, wave by wave ─▶ report
//!                ▲                     ▲  │
//!              policy, digest       table, order, readiness
//!                                      │
//!                        parent (applyset) and members, as they were read
//! ```
//!
//! In: the rendered objects of the set, its parent, and its live members. Out: commands in batches, and a
//! [`Report`](report::Report) of each object. Fails: with all bad annotations at once, before anything is written; later with
//! what the report says of an object.
//!
//! `docs/adr/0031-a-bundle-is-an-entry-whose-object-is-its-parent.md` says why there is a parent and no inventory.

pub mod applyset;
pub mod checks;
pub mod departure;
pub mod digest;
pub mod draft;
pub mod guard;
pub mod member;
pub mod memory;
pub mod need;
pub mod order;
pub mod parent;
pub mod pass;
pub mod policy;
pub mod prepare;
pub mod ready;
pub mod report;
mod serving;
pub mod setting;
pub mod siblings;
pub mod table;
