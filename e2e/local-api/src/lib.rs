//! A HyperFleet lifecycle API for development and tests: the real API's answers, on PostgreSQL, without authentication.
//!
//! In: HTTP requests of users, of adapters and of the Sentinel. Out: API resources in the tables of `migrations/`, each
//! with the conditions that the reports of its adapters result in. Fails: with problem documents (RFC 9457), whose
//! codes are those of the real API.
//!
//! ```text
//!  request ─▶ routes ─▶ changes ──▶ store ──▶ PostgreSQL
//!               │          │
//!               │          ├─▶ admission    is the report stored, discarded or refused?
//!               │          └─▶ aggregation  what do all reports make of the resource?
//!               └─▶ list ─▶ search          which resources, in what order?
//! ```
//!
//! `admission`, `aggregation`, `registry` and `search` are pure: they know neither HTTP nor the clock. A request that
//! changes something is one transaction, which locks the resource, and the answer follows the commit.
//!
//! There is no authentication, no tenancy, no CEL mapping of conditions and no validation of `spec` by a schema. What
//! the real API does wrong and this one does right stands in `README.md`.

pub mod admission;
pub mod aggregation;
pub mod args;
pub mod body;
pub mod changes;
pub mod commands;
pub mod config;
pub mod list;
pub mod listing;
pub mod metrics;
pub mod model;
pub mod problem;
pub mod registry;
pub mod routes;
pub mod search;
pub mod store;
