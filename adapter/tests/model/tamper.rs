//! Breaks the adapter on purpose, to check that the model notices.
//!
//! The tampering transport stands between the engine and the watched transport. It changes requests on their
//! way out and results on their way in. Each [`Tampering`] simulates a defect that an engine could have.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use lifecycle_bundle::guard::Members;
use lifecycle_objects::destination::Destination;
use lifecycle_objects::identity::Identity;
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::{Query, QueryBy, Version};
use lifecycle_objects::write::{Deletion, PropagationPolicy, Target, UpdateMode, WriteError, WriteErrorKind};
use lifecycle_transport::Transport;
use serde_json::{Value, json};

use crate::object::{created, is_written, label, name};
use crate::people::target;
use crate::watch::Watched;

/// A defect that the transport simulates, which the oracle must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tampering {
    /// Writes and deletes without the resource version that was read.
    NoVersionFence,
    /// Writes and deletes the object that has the name now, also if its UID is another.
    NoFence,
    /// Writes and deletes the object that has the name now, if its resource version is the one that was read.
    NoUidFence,
    /// Ignores disowned objects found by their mark.
    SkipsDisowned,
    /// Does not see the mark of disowned objects.
    IgnoresMark,
    /// Sees the generation 0 on every live object.
    StaleWins,
    /// Deletes the newest version instead of the chosen one.
    PrunesCurrent,
    /// Treats a failed read as absence.
    UnreadIsAbsent,
    /// Sees no generation on any object.
    ForgetsGenerations,
    /// Sees the generation 0 on objects that no adapter wrote.
    ClaimsForeign,
    /// Finds no object by labels, like a cache that is not filled yet.
    EmptyCache,
    /// Treats a taken name as free in a dry run.
    IgnoresTakenNames,
    /// Treats a failed write as done, and never repeats it.
    GivesUp,
}

/// The transport of an engine with or without a simulated defect.
pub(crate) struct Tampered<T> {
    inner: Watched<T>,
    how: Option<Tampering>,
    given_up: Mutex<BTreeSet<String>>,
}

impl<T: Transport> Tampered<T> {
    pub(crate) fn new(inner: Watched<T>, how: Option<Tampering>) -> Self {
        Self { inner, how, given_up: Mutex::default() }
    }

    fn is(&self, how: Tampering) -> bool {
        self.how == Some(how)
    }

    /// The target that is sent instead of the engine's.
    async fn redirected(&self, meant: &Target) -> Target {
        let mut sent = meant.clone();
        if self.is(Tampering::NoVersionFence) || self.is(Tampering::NoFence) {
            sent.resource_version.clear();
        }
        let live = self.inner.journal().objects().await.unwrap_or_default();
        if (self.is(Tampering::NoFence) || self.is(Tampering::NoUidFence))
            && let Some(holder) =
                live.iter().find(|object| name(object) == meant.name && object["kind"] == meant.kind.kind)
        {
            target(holder).uid.clone_into(&mut sent.uid);
        }
        sent
    }

    /// The newest object of the same resource, as a target.
    async fn newest(&self, meant: &Target) -> Target {
        let live = self.inner.journal().objects().await.unwrap_or_default();
        let of = |object: &Value| label(object, "hyperfleet.io/resource").map(str::to_owned);
        let wanted = live.iter().find(|object| name(object) == meant.name).and_then(of);
        let newest =
            live.iter().filter(|object| of(object) == wanted).max_by_key(|object| (created(object), name(object)));
        newest.map_or_else(|| meant.clone(), target)
    }

    fn gave_up(&self, name: &str) -> bool {
        self.is(Tampering::GivesUp) && self.given_up.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    fn note<R>(&self, name: &str, answer: &Result<R, WriteError>) {
        if answer.is_err() {
            self.given_up.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        }
    }

    fn tampered(&self, mut object: Value) -> Value {
        if self.is(Tampering::ClaimsForeign)
            && !is_written(&object)
            && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("annotations".to_owned(), json!({ "hyperfleet.io/generation": "0" }));
        }
        let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        match (self.how, annotations) {
            (Some(Tampering::StaleWins), Some(annotations)) => {
                annotations.insert("hyperfleet.io/generation".to_owned(), json!("0"));
            }
            (Some(Tampering::ForgetsGenerations), Some(annotations)) => {
                annotations.remove("hyperfleet.io/generation");
            }
            (Some(Tampering::IgnoresMark), _) => {
                if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
                    labels.remove("hyperfleet.io/disowned");
                }
            }
            _ => {}
        }
        object
    }
}

impl<T: Transport> Transport for Tampered<T> {
    async fn find(&self, query: &Query) -> Result<Vec<Value>, WriteError> {
        let found = self.inner.find(query).await;
        let labels = match &query.by {
            QueryBy::Name(_) => None,
            QueryBy::Labels(labels) => Some(labels),
        };
        let by_mark = labels.is_some_and(|labels| labels.contains_key("hyperfleet.io/disowned"));
        let is_hidden = match self.how {
            Some(Tampering::SkipsDisowned) => by_mark,
            Some(Tampering::EmptyCache) => labels.is_some(),
            Some(Tampering::UnreadIsAbsent) => found.is_err(),
            _ => false,
        };
        if is_hidden {
            return Ok(Vec::new());
        }
        Ok(found?.into_iter().map(|object| self.tampered(object)).collect())
    }

    async fn inspect(&self, inspection: &Inspection, members: &Members) -> Result<Option<Identity>, WriteError> {
        self.inner.inspect(inspection, members).await
    }

    async fn create(&self, desired: &Value, destination: &Destination) -> Result<Value, WriteError> {
        if self.gave_up(name(desired)) {
            return Ok(desired.clone());
        }
        let answer = self.inner.create(desired, destination).await;
        self.note(name(desired), &answer);
        answer
    }

    async fn dry_run_create(&self, desired: &Value, destination: &Destination) -> Result<(), WriteError> {
        match self.inner.dry_run_create(desired, destination).await {
            Err(error) if error.kind == WriteErrorKind::AlreadyExists && self.is(Tampering::IgnoresTakenNames) => {
                Ok(())
            }
            answer => answer,
        }
    }

    async fn update(
        &self,
        desired: &Value,
        target: &Target,
        live: &Version,
        mode: UpdateMode,
    ) -> Result<Value, WriteError> {
        if self.gave_up(&target.name) {
            return Ok(desired.clone());
        }
        let answer = self.inner.update(desired, &self.redirected(target).await, live, mode).await;
        self.note(&target.name, &answer);
        answer
    }

    async fn patch(&self, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        self.inner.patch(document, &self.redirected(target).await).await
    }

    async fn delete(&self, target: &Target, propagation: PropagationPolicy) -> Result<Deletion, WriteError> {
        let target = if self.is(Tampering::PrunesCurrent) { self.newest(target).await } else { target.clone() };
        self.inner.delete(&self.redirected(&target).await, propagation).await
    }
}
