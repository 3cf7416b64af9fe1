//! What the sweeper answers about its last pass, its plan, and what it did.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::or_default;

/// What one replica of the sweeper knows.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Plan {
    /// The version of the program.
    #[serde(default)]
    pub version: String,
    /// The replica, by its host name.
    #[serde(default)]
    pub replica: String,
    /// Whether this replica sweeps.
    #[serde(default)]
    pub leads: bool,
    /// The replica that sweeps, if it is known.
    pub holder: Option<String>,
    /// Why the last request about the Lease failed; none if it succeeded.
    pub trouble: Option<String>,
    /// Whether it only reports what it would delete.
    #[serde(default)]
    pub dry_run: bool,
    /// The time between two passes, in seconds.
    #[serde(default)]
    pub interval_seconds: f64,
    /// How long a resource has to be gone, in seconds.
    #[serde(default)]
    pub grace_seconds: f64,
    /// The last pass; none before the first.
    pub pass: Option<Sweep>,
    /// The command that approves the held plan; none if there is nothing to approve.
    pub approve: Option<String>,
    /// Its attempts to delete objects, the newest first.
    #[serde(default)]
    pub history: Vec<Deed>,
    /// Since when the history tells.
    pub history_since: Option<Timestamp>,
}

/// A pass of the sweeper.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Sweep {
    /// When the API was asked.
    pub time: Option<Timestamp>,
    /// The plan's hash, by which it is approved.
    #[serde(default)]
    pub plan: String,
    /// Whether the pass might delete: nothing spoke against that, or a person approved the plan.
    #[serde(default)]
    pub released: bool,
    /// What became of the pass: `done`, `held`, `dry_run` or `failed`.
    #[serde(default)]
    pub result: String,
    /// What speaks against deleting anything.
    #[serde(default)]
    pub holds: Vec<String>,
    /// The number of objects that are no orphans, as far as known, by the reason to keep them, such as `owner_exists`.
    #[serde(default)]
    pub kept: BTreeMap<String, u64>,
    /// The number of labelled objects.
    #[serde(default)]
    pub inventory: u64,
    /// The number of API resources that they name.
    #[serde(default)]
    pub owners: u64,
    /// The objects whose API resource is gone.
    #[serde(default)]
    pub objects: Vec<Orphan>,
    /// The number of such objects, if not all are listed.
    pub objects_total: Option<u64>,
}

/// An object whose API resource is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Orphan {
    /// The kind.
    #[serde(default)]
    pub kind: String,
    /// The namespace; none if it has none.
    #[serde(default, deserialize_with = "or_default")]
    pub namespace: String,
    /// The name.
    #[serde(default)]
    pub name: String,
    /// The adapter that wrote it.
    #[serde(default)]
    pub adapter: String,
    /// The API resource that is gone.
    #[serde(default)]
    pub resource_id: String,
    /// What the pass says about it: `delete` if it is due, else why it is kept.
    #[serde(default)]
    pub verdict: String,
    /// What became of it; none if the pass did not try to delete it.
    pub outcome: Option<String>,
    /// When the API first answered that its resource is gone.
    pub first_strike: Option<Timestamp>,
}

/// An attempt of the sweeper to delete an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Deed {
    /// When.
    pub time: Option<Timestamp>,
    /// The kind.
    #[serde(default)]
    pub kind: String,
    /// The namespace; empty if it has none.
    #[serde(default, deserialize_with = "or_default")]
    pub namespace: String,
    /// The name.
    #[serde(default)]
    pub name: String,
    /// The adapter that wrote the object.
    #[serde(default)]
    pub adapter: String,
    /// The API resource that was gone.
    #[serde(default)]
    pub resource_id: String,
    /// What became of the object, such as `deleted`.
    #[serde(default)]
    pub result: String,
    /// The same as a sentence, with the server's words if the attempt failed.
    #[serde(default)]
    pub message: String,
}
