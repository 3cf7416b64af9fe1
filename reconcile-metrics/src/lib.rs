//! A Prometheus exporter that counts unreconciled resources of the HyperFleet API, and lists those that are stuck.
//!
//! ```text
//!  PostgreSQL ──▶ store ──▶ figures ───▶ samples ──▶ exposition ──▶ /metrics
//!                   │         (pure)      (pure)                     server
//!                   └─────▶ diagnosis ──▶ stuck_text ─────────────▶ `stuck`
//!                             (pure)         └──▶ stuck_page ─────▶ /stuck
//! ```
//!
//! In: rows of the API's tables, and the configured kinds with their required adapters. Out: metrics at each scrape, and
//! lists of stuck resources. Fails: if the database cannot be read, `/metrics` still answers, without the figures that
//! are unknown. Only [`lifecycle_migrations`] and [`prepare`] write to the database, each in a command of its own.

pub mod args;
pub mod commands;
pub mod config;
pub mod diagnosis;
pub mod error_text;
mod exposition;
pub mod figures;
pub mod listing;
pub mod prepare;
pub mod samples;
pub mod scrape;
pub mod server;
pub mod store;
pub mod stuck_page;
pub mod stuck_text;
