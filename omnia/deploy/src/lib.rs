//! Deploys packs of PromptKit to Omnia: agents on Kubernetes.
//!
//! ```text
//! pack · arena config · deploy config ─▶ desired: five kinds, in order, as the target writes them
//!                          │                │          └─▶ engine ─▶ set engine ─▶ account: events, errors, state
//!                        names           labels ─▶ marks ──┘  │
//!                                                          workspace ─▶ rest, or Kubernetes
//! ```
//!
//! | modules | idea |
//! | --- | --- |
//! | [`config`], [`kinds`], [`names`], [`labels`], [`binding`], [`desired`], [`intent`], [`readiness`] | computed from values: they say what a target cannot express before anything is written |
//! | [`marks`], [`engine`], [`plan`] | the pack's objects as a set of `lifecycle-bundle`, and how they are called |
//! | [`deployment`] | plan, apply, destroy and status, wherever objects are written |
//! | [`rest`], [`workspace`], [`failure`], [`errors`] | requests to a workspace, as the set engine makes them, and what a refusal means |
//! | [`login`] | the page where a person logs in, and the token that it gives |
//! | [`provider`] | all of it behind the protocol |

pub mod binding;
pub mod config;
pub mod deployment;
pub mod desired;
pub mod engine;
pub mod errors;
pub mod failure;
pub mod intent;
pub mod kinds;
pub mod labels;
pub mod login;
pub mod marks;
pub mod names;
pub mod plan;
pub mod provider;
pub mod readiness;
pub mod rest;
pub mod workspace;
