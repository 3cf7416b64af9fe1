//! What the Lease says beside who leads: which plan is held, a person's approval, the doubts of all terms, and whose
//! installation leads.
//!
//! In: the annotations of the Lease, as the API server has them now. Out: the same, read; the leader's own, written.
//! Fails: with a sentence, if the Lease cannot be read or written, or is another term's by now.
//!
//! Each write names the resource version of a Lease that carries the number of the leader's own term. So no leader can
//! overwrite what a later one wrote, however late its request arrives.

use std::collections::BTreeSet;

use lifecycle_core::sweep::{Approval, Doubt};
use lifecycle_kube::{Cluster, Fence};
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::WriteErrorKind;
use serde_json::{Value, json};

use crate::leader::Lease;

/// How often a write is tried whose Lease was changed meanwhile. The election changes the Lease every few seconds.
const ATTEMPTS: usize = 5;

/// What a pass reads from the Lease, and leaves there.
#[expect(async_fn_in_trait, reason = "a pass runs on one thread, so its futures need not be Send")]
pub trait Notes {
    /// What a person approves now.
    async fn approval(&self) -> Option<Approval>;

    /// Keeps the doubts for the next leader, and the hash of the plan that is held, so that no other one is approved; both
    /// in place of what was kept before. Logs a failure: the doubts then still count for this leader, and people cannot
    /// approve the plan before the next pass.
    async fn keep(&self, doubts: &[Doubt], held: Option<&str>);
}

/// Where the notes of every term are.
pub struct Notebook {
    cluster: Cluster,
    /// The Lease.
    object: ObjectRef,
    /// The adapters of this installation.
    adapters: String,
}

/// The notes of one term.
pub struct LeaseNotes<'a> {
    book: &'a Notebook,
    term: u32,
    /// The doubts that earlier terms left in the Lease.
    doubts: Vec<Doubt>,
}

impl Notebook {
    /// Reads and writes annotations of the Lease through `cluster`; sends no request yet.
    #[must_use]
    pub fn new(cluster: Cluster, lease: ObjectRef, adapters: &BTreeSet<String>) -> Self {
        let adapters = adapters.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        Self { cluster, object: lease, adapters }
    }

    /// Reads the doubts of earlier terms, and writes for which adapters this term sweeps.
    ///
    /// # Errors
    ///
    /// The Lease could not be read or written, or names another term.
    pub async fn begin(&self, term: u32) -> Result<LeaseNotes<'_>, String> {
        let mut notes = LeaseNotes { book: self, term, doubts: Vec::new() };
        let lease = notes.write(&[(keys::SWEEP_ADAPTERS, Some(&self.adapters))]).await?;
        notes.doubts = annotation(&lease, keys::SWEEP_DOUBTS).map(Doubt::read).unwrap_or_default();
        Ok(notes)
    }

    /// Says that the holder of the Lease sweeps for other adapters, if it does.
    #[must_use]
    pub fn other_installation(&self, lease: &Lease) -> Option<String> {
        let theirs = lease.annotations.get(keys::SWEEP_ADAPTERS).filter(|theirs| **theirs != self.adapters)?;
        Some(format!(
            "the Lease is held for the adapters {theirs}, and this sweeper is to sweep for {}; if that is no rollout, give \
             each installation a `lease.name` of its own",
            self.adapters
        ))
    }

    async fn read(&self) -> Result<Value, String> {
        let lease = self.cluster.get(&self.object).await.map_err(|error| error.to_string())?;
        lease.ok_or_else(|| format!("{} does not exist", self.object))
    }
}

impl LeaseNotes<'_> {
    /// The doubts that earlier terms left.
    #[must_use]
    pub fn doubts(&self) -> Vec<Doubt> {
        self.doubts.clone()
    }

    /// Sets annotations, and removes those without a value; returns the Lease as it was read. Sends no write if the Lease
    /// has them so already.
    async fn write(&self, annotations: &[(&str, Option<&str>)]) -> Result<Value, String> {
        let Notebook { cluster, object, .. } = self.book;
        let mut refused = String::new();
        for _ in 0..ATTEMPTS {
            let lease = self.book.read().await?;
            let term = lease.pointer("/spec/leaseTransitions").unwrap_or(&Value::Null);
            if *term != json!(self.term) {
                return Err(format!("{object} names the term {term}, and this is {}", self.term));
            }
            if annotations.iter().all(|(key, value)| annotation(&lease, key) == *value) {
                return Ok(lease);
            }
            let annotations: serde_json::Map<_, _> =
                annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
            let patch = json!({ "metadata": { "annotations": annotations } });
            match cluster.merge_patch(&patch, object, Fence::of(&lease)).await {
                Ok(Some(_)) => return Ok(lease),
                Ok(None) => return Err(format!("{object} does not exist")),
                Err(error) if error.kind == WriteErrorKind::Conflict => refused = error.to_string(),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(refused)
    }
}

impl Notes for LeaseNotes<'_> {
    async fn approval(&self) -> Option<Approval> {
        let lease = self.book.read().await;
        let lease = lease.inspect_err(|error| tracing::warn!(error, "The approval could not be read")).ok()?;
        parse_approval(&self.book.object, annotation(&lease, keys::SWEEP_APPROVAL)?)
    }

    async fn keep(&self, doubts: &[Doubt], held: Option<&str>) {
        let doubts = Doubt::write(doubts);
        let annotations = [(keys::SWEEP_DOUBTS, doubts.as_deref()), (keys::SWEEP_HELD, held)];
        if let Err(error) = self.write(&annotations).await {
            tracing::error!(error, "The Lease could not be told the doubts about the API and the plan that is held");
        }
    }
}

/// Reads an approval; logs one that is malformed.
pub fn parse_approval(lease: &ObjectRef, text: &str) -> Option<Approval> {
    text.parse().inspect_err(|error| tracing::warn!(%lease, "The annotation {} {error}", keys::SWEEP_APPROVAL)).ok()
}

fn annotation<'a>(lease: &'a Value, key: &str) -> Option<&'a str> {
    lease.get("metadata")?.get("annotations")?.get(key)?.as_str()
}
