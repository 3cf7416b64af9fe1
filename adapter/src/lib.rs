//! The adapter: receives events, reconciles Kubernetes objects, and reports their conditions to the HyperFleet
//! API.
//!
//! ```text
//! consumer ─▶ dispatch ─▶ handler ─▶ pipeline ─▶ fetch ─▶ api
//! ```
//!
//! The crate `lifecycle-core` makes every decision. This crate does the I/O: it fetches the values that core
//! requests, has `lifecycle-transport` write the objects that core decided on, and logs and counts the results.

pub mod admin;
pub mod api;
pub mod args;
mod backoff;
pub mod commands;
pub mod config;
pub mod consumer;
pub mod dependency;
pub mod dispatch;
pub mod dry_run;
pub mod fetch;
pub mod field_types;
pub mod handler;
pub mod input_metrics;
pub mod metrics;
pub mod pass;
pub mod passes;
pub mod pipeline;
pub mod readiness;
pub mod redact;
pub mod secret;
pub mod serve;
pub mod task_page;
pub mod trace;
