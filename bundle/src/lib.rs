//! Keeps many objects as one set, in waves, with policies for each object.
//!
//! ```text
//! objects ─▶ drafts ─▶ prepare ─▶ pass ─▶ needs, wave by wave ─▶ report
//!              ▲                   ▲  ▲
//!   policy, digest, departure      │  members, known by their marks, as they were read: table, order, guard, readiness
//!                                memory: what the set remembers, which its parent (applyset) keeps
//! ```
//!
//! In: the rendered objects of the set, what it remembers, and its live members. Out: one [`Need`](need::Need) after the other, and a
//! [`Report`](report::Report) of each object. Fails: with all bad annotations at once, before anything is written; later with
//! what the report says of an object.
//!
//! `docs/adr/0031-a-bundle-is-an-entry-whose-object-is-its-parent.md` says why there is a parent and no inventory.

pub mod applyset;
pub mod checks;
pub mod departure;
pub mod digest;
pub mod draft;
pub mod drift;
pub mod guard;
pub mod marks;
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
