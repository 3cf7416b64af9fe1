//! The data types and the decisions of resource lifecycle management, without I/O.
//!
//! The handling of one event about one API resource is a *pass*, of four stages:
//!
//! ```text
//! Event ─▶ params ─▶ precondition ─▶ plan ─▶ post
//!            │            │            │       │
//!          Needs        Needs      Decisions  Needs      (the caller answers them)
//! ```
//!
//! Core never reads a clock, a file, the environment or a socket. A stage that needs I/O returns a
//! [`Need`](stage::Need); the caller does the I/O and resumes the stage with the answer. The planner returns
//! a [`Command`](lifecycle_objects::write::Command) for each write; the caller executes it and gives back the result.

pub mod api_call;
pub mod bundle;
pub mod condition;
pub mod decision;
pub mod event;
pub mod execution;
pub mod manifest;
pub mod nested_discovery;
pub mod outcome;
pub mod ownership;
pub mod params;
mod patch;
pub mod payload;
pub mod plan;
pub mod post;
pub mod precondition;
pub mod process_variables;
pub mod report_overlay;
pub mod row;
pub mod sensitive;
pub mod stage;
pub mod sweep;
pub mod task;
pub mod warning;
