//! The sweeper: deletes Kubernetes objects whose API resource no longer exists.
//!
//! A force-delete removes a resource from the HyperFleet API without waiting for its adapters, and so leaves
//! their Kubernetes objects behind: *orphans*. The sweeper finds objects by the label
//! `hyperfleet.io/adapter`, asks the API for the resource that each names by `hyperfleet.io/resource-id`, and
//! deletes those whose resource the API itself twice said not to exist. `lifecycle_core::sweep` decides; this
//! crate reads, asks, deletes and reports.

pub mod act;
pub mod all_objects;
pub mod api;
pub mod approval;
pub mod args;
pub mod audit;
pub mod canary;
pub mod commands;
pub mod config;
pub mod connect;
pub mod http_api;
pub mod inventory;
pub mod kube_objects;
pub mod leader;
pub mod lease_notes;
pub mod maestro_objects;
pub mod metrics;
pub mod objects;
pub mod owners;
pub mod pass;
pub mod plan_page;
pub mod readiness;
pub mod recheck;
pub mod report;
pub mod restore;
pub mod rights;
pub mod run;
pub mod scenario;
pub mod survey;
pub mod world;
