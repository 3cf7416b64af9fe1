//! The vocabulary and the decisions of resource lifecycle management, without I/O.
//!
//! One event about one API resource is one *pass*:
//!
//! ```text
//! Event ─▶ params ─▶ precondition ─▶ plan ─▶ post
//!            │            │            │       │
//!          Needs        Needs      Decisions  Needs      (the caller answers them)
//! ```
//!
//! Core never reads a clock, a file, the environment or a socket. Where a stage needs something from
//! outside it yields a need, the caller answers, and the stage goes on; where something has to be
//! written it yields a decision, the caller executes it and hands back the outcome.

pub mod api_call;
pub mod cel;
pub mod condition;
pub mod destination;
pub mod event;
pub mod execution;
pub mod field;
pub mod host;
pub mod id;
pub mod keys;
pub mod manifest;
pub mod nested;
pub mod object_ref;
pub mod observation;
pub mod outcome;
pub mod overlay;
pub mod ownership;
pub mod params;
mod patch;
pub mod payload;
pub mod plan;
pub mod post;
pub mod precondition;
pub mod proof;
pub mod re2;
pub mod scope;
pub mod stage;
pub mod task;
pub mod template;
pub mod value;
pub mod write;
