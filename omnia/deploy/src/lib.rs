//! Deploys packs of PromptKit to Omnia: agents on Kubernetes.
//!
//! ```text
//! pack · arena config · deploy config ─▶ desired: five kinds, in order, as the target writes them
//!                          │                │
//!                        names           labels, by which a pack knows its objects again
//! ```
//!
//! Everything here is computed from values; nothing does I/O. The modules say what a target cannot express before anything is
//! written to it.

pub mod binding;
pub mod config;
pub mod desired;
pub mod labels;
pub mod names;
