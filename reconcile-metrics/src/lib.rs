//! Which resources of the lifecycle API are not reconciled, since when, and what they wait on.
//!
//! ```text
//!  PostgreSQL ──▶ store ──▶ figures ───▶ samples ──▶ exposition ──▶ /metrics
//!                   │         (pure)      (pure)                     server
//!                   └─────▶ diagnosis ──▶ stuck_text ─────────────▶ `stuck`
//!                             (pure)         └──▶ stuck_page ─────▶ /stuck
//! ```
//!
//! In: rows of the API's tables, and its kinds with the adapters that they require. Out: metrics at scrape time, and the names
//! behind them. What can fail is the database, and it fails as a figure that is left out, never as a scrape. [`scrape`] shares
//! one reading between scrapers; [`migrations`] and [`prepare`] are the only modules that write, each by a command of its own.

pub mod args;
pub mod causes;
pub mod commands;
pub mod config;
pub mod diagnosis;
pub mod exposition;
pub mod figures;
pub mod listing;
pub mod migrations;
pub mod prepare;
pub mod samples;
pub mod scrape;
pub mod server;
pub mod store;
pub mod stuck_page;
pub mod stuck_text;
