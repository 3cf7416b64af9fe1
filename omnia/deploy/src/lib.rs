//! Deploys packs of PromptKit to Omnia: agents on Kubernetes.
//!
//! ```text
//! pack · arena config · deploy config ─▶ desired: five kinds, in order, as the target writes them
//!                          │                │
//!                        names           labels, by which a pack knows its objects again
//! ```
//!
//! These are computed from values, and say what a target cannot express before anything is written to it. [`rest`] alone does I/O:
//! it reads and writes the objects of a workspace, and [`readiness`] says what their status means.

pub mod binding;
pub mod config;
pub mod deployment;
pub mod desired;
pub mod engine;
pub mod errors;
pub mod intent;
pub mod labels;
pub mod marks;
pub mod names;
pub mod plan;
pub mod provider;
pub mod readiness;
pub mod rest;
pub mod workspace;
