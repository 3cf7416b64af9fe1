//! The adapter: takes events, reconciles, reports.
//!
//! ```text
//! consumer ─▶ dispatch ─▶ handler ─▶ pipeline ─▶ fetch, observe, executor ─▶ api, transport
//! ```
//!
//! Every decision is core's; what is here fetches what core asks for, writes what core decided, and says what
//! happened.

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
pub mod executor;
pub mod fetch;
pub mod handler;
pub mod input_metrics;
pub mod metrics;
pub mod observe;
pub mod pass;
pub mod pipeline;
pub mod secret;
pub mod serve;
pub mod trace;
pub mod transport;
