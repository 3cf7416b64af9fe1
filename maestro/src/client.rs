//! One call of each kind on `ManifestWorks`.
//!
//! In: works as Kubernetes objects, and fenced targets. Out: works as Maestro stored them. Fails with core's
//! [`WriteError`]; nothing is sent twice.
//!
//! | call | requests |
//! | --- | --- |
//! | get, check | one read |
//! | list | one read for 50 works, more for works of many MiB |
//! | create | one event; the result is known from its acknowledgement |
//! | update, patch | one read, and an event if something changes: Maestro counts the version up even if nothing does; and a version alone does not tell a work from one that was created again |
//! | delete | one read, one event: Maestro ignores the version of a deletion, so it is compared before |
//!
//! Deleting a work that keeps its objects takes two deletions: the first stores the delete option, and the second, after
//! the agent has seen it, deletes. An agent that gets both at once may delete by the option that it knew.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_api_client::token::TokenFile;
use lifecycle_objects::keys;
use lifecycle_objects::write::{Deletion, Target, WriteError, WriteErrorKind};
use serde_json::{Map, Value, json};

use crate::call::{CallObserver, Watch};
use crate::event::{self, Action, Write};
use crate::fence::fence;
use crate::grpc::{self, Publisher};
use crate::identity::{id_of, resource_id};
use crate::limits;
use crate::place::Place;
use crate::refusal::Refusal;
use crate::rest::{self, PAGE, Page, Reader};
use crate::search::Search;
use crate::tls::Files;
use crate::work;

/// Where Maestro is, and how the client proves who it is.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Host and port of the gRPC server.
    pub grpc_address: String,
    /// The URL of the REST server.
    pub http_address: String,
    /// The source of all events; it owns the works.
    pub source: String,
    /// The limit of each request.
    pub timeout: Duration,
    /// TLS of the gRPC server; plain text if `None`.
    pub grpc_files: Option<Files>,
    /// The authorities of the REST server; its certificate is not verified if `None`.
    pub http_files: Option<Files>,
    /// A file with a bearer token, read again when it changes.
    pub token: Option<PathBuf>,
}

/// Why there can be no client.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The gRPC server's address or files.
    #[error("failed to set up Maestro's gRPC client")]
    Grpc(#[from] grpc::NotSetUp),
    /// The REST server's address or files.
    #[error("failed to set up Maestro's REST client")]
    Rest(#[from] rest::NotSetUp),
}

/// A client of one Maestro, in the name of one source.
#[derive(Clone)]
pub struct Maestro {
    inner: Arc<Inner>,
}

struct Inner {
    source: String,
    publisher: Publisher,
    reader: Reader,
}

impl fmt::Debug for Maestro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maestro").field("source", &self.inner.source).finish_non_exhaustive()
    }
}

impl Maestro {
    /// Builds a client, which connects with its first calls.
    ///
    /// # Errors
    /// An address or a file cannot be used.
    pub fn new(settings: Settings, observer: CallObserver) -> Result<Self, SettingsError> {
        let Settings { grpc_address, http_address, source, timeout, grpc_files, http_files, token } = settings;
        let watch = Watch::new(observer);
        let publisher = Publisher::new(&grpc_address, grpc_files.as_ref(), token.clone(), timeout, watch.clone())?;
        let token = token.map(|path| TokenFile::new(path, Duration::ZERO));
        let reader = Reader::new(&http_address, http_files.as_ref(), token, timeout, watch)?;
        Ok(Self { inner: Arc::new(Inner { source, publisher, reader }) })
    }

    /// Asks both of Maestro's servers: the REST server for a work that does not exist, and the gRPC server to store what is no
    /// work.
    ///
    /// # Errors
    /// One of them did not answer, or another server did in its place.
    pub async fn probe(&self) -> Result<(), Refusal> {
        self.inner.reader.get("probe", &self.id("", "")).await?;
        self.inner.publisher.probe().await
    }

    /// The id of a work.
    #[must_use]
    pub fn id(&self, consumer: &str, name: &str) -> String {
        resource_id(&self.inner.source, consumer, name).to_string()
    }

    /// Reads a work; `None` if Maestro has none.
    ///
    /// # Errors
    /// It is unknown whether the work exists.
    pub async fn get(&self, consumer: &str, name: &str) -> Result<Option<Value>, WriteError> {
        self.read(Place { verb: "get", consumer, name }).await
    }

    /// Reads all works of a consumer that have these labels.
    ///
    /// # Errors
    /// It is unknown which works there are.
    pub async fn list(&self, consumer: &str, labels: &BTreeMap<String, String>) -> Result<Vec<Value>, WriteError> {
        self.list_at(Some(consumer), labels).await
    }

    /// Reads all works of this source that have these labels, whoever their consumers are.
    ///
    /// # Errors
    /// It is unknown which works there are.
    pub async fn list_everywhere(&self, labels: &BTreeMap<String, String>) -> Result<Vec<Value>, WriteError> {
        self.list_at(None, labels).await
    }

    async fn list_at(
        &self,
        consumer: Option<&str>,
        labels: &BTreeMap<String, String>,
    ) -> Result<Vec<Value>, WriteError> {
        let place = Place { verb: "list", consumer: consumer.unwrap_or_default(), name: "" };
        let search = Search { source: Some(&self.inner.source), consumer, labels, ..Search::default() };
        let is_there = |work: &Value| consumer.is_none_or(|consumer| work["metadata"]["namespace"] == consumer);
        let has = |work: &Value| labels.iter().all(|(key, value)| work["metadata"]["labels"][key] == value.as_str());
        let mut works = Vec::new();
        let each = &mut |work: Value| {
            // Maestro compares labels its own way; what it showed is compared again.
            if is_there(&work) && has(&work) {
                works.push(work);
            }
        };
        self.search(place, &search, each).await?;
        Ok(works)
    }

    /// Passes the works that the search selects to `each`; holds one page at a time.
    pub(crate) async fn search(
        &self,
        place: Place<'_>,
        search: &Search<'_>,
        each: &mut (dyn FnMut(Value) + Send),
    ) -> Result<(), WriteError> {
        let (mut after, mut size) = (None::<String>, PAGE);
        loop {
            let page = Box::pin(self.inner.reader.page(search, after.as_deref(), size)).await;
            let bundles = match page.map_err(|refusal| place.refused(refusal))? {
                Page::Bundles(bundles) => bundles,
                Page::TooLarge if size > 1 => {
                    size /= 2;
                    continue;
                }
                Page::TooLarge => {
                    return Err(place.error(WriteErrorKind::Unavailable, "one work takes more than 32 MiB"));
                }
            };
            for bundle in &bundles {
                each(work::of_bundle(bundle));
            }
            if bundles.len() < size {
                return Ok(());
            }
            after = bundles.last().and_then(|bundle| bundle["id"].as_str()).map(str::to_owned);
        }
    }

    /// Creates a work, and returns it as Maestro stored it.
    ///
    /// # Errors
    /// [`AlreadyExists`](WriteErrorKind::AlreadyExists) if there is a work of this name, also one that is being deleted.
    pub async fn create(&self, desired: &Value, consumer: &str) -> Result<Value, WriteError> {
        let place = Place { verb: "create", consumer, name: name(desired) };
        if let Some(fault) = limits::fault(desired) {
            return Err(place.error(WriteErrorKind::Invalid, fault));
        }
        let id = self.id(consumer, name(desired));
        let metadata = work::metadata(desired, consumer, &id);
        self.publish(place, &id, Action::Create, 0, &metadata, Some(&work::bundle(desired))).await?;
        Ok(work::sent(desired, metadata, 1, None))
    }

    /// Checks a work that is to be created later, as far as that is possible without creating it. The work is checked before
    /// its name is looked up, as an API server does.
    ///
    /// # Errors
    /// [`AlreadyExists`](WriteErrorKind::AlreadyExists) if the name is taken; another kind if the work would not be applied,
    /// or if it is unknown whether the name is taken.
    pub async fn check(&self, desired: &Value, consumer: &str) -> Result<(), WriteError> {
        let place = Place { verb: "create", consumer, name: name(desired) };
        if let Some(fault) = limits::fault(desired) {
            return Err(place.error(WriteErrorKind::Invalid, fault));
        }
        match self.read(place).await? {
            None => Ok(()),
            Some(_) => Err(place.error(WriteErrorKind::AlreadyExists, "a work of this name exists")),
        }
    }

    /// Replaces the `spec` of exactly the work that `target` names; adds labels and annotations, and keeps the others.
    ///
    /// # Errors
    /// [`Conflict`](WriteErrorKind::Conflict) if the work is not the one that was read.
    pub async fn update(&self, consumer: &str, desired: &Value, target: &Target) -> Result<Value, WriteError> {
        let place = Place { verb: "update", consumer, name: &target.name };
        let Some(live) = self.read(place).await? else {
            return Err(place.error(WriteErrorKind::Conflict, "the work was deleted since it was read"));
        };
        let mut changed = desired.clone();
        for key in ["labels", "annotations"] {
            let of = |work: &Value| work["metadata"].get(key).and_then(Value::as_object).cloned().unwrap_or_default();
            let all: Map<String, Value> = of(&live).into_iter().chain(of(desired)).collect();
            if !all.is_empty() {
                changed["metadata"][key] = Value::Object(all);
            }
        }
        for key in ["finalizers", "ownerReferences"] {
            if let Some(value) = live["metadata"].get(key) {
                changed["metadata"][key] = value.clone();
            }
        }
        self.replace(place, &changed, target, &live).await
    }

    /// Publishes exactly the work that `target` names once more, as a new version of the same content, because no agent has
    /// observed it. `stored` is the work as it was read, with the executor that Maestro does not show.
    ///
    /// # Errors
    /// [`Conflict`](WriteErrorKind::Conflict) if the work is not the one that was read.
    pub async fn resend(&self, consumer: &str, stored: &Value, target: &Target) -> Result<Value, WriteError> {
        let place = Place { verb: "update", consumer, name: &target.name };
        let Some(live) = self.read(place).await? else {
            return Err(place.error(WriteErrorKind::Conflict, "the work was deleted since it was read"));
        };
        let version = fence(place, target, &live)?;
        let Some(since) = live.pointer("/unobserved/since") else { return Ok(live) };
        let id = self.id(consumer, &target.name);
        let metadata = work::metadata(stored, consumer, &id);
        let mut marked = metadata.clone();
        marked["annotations"][keys::UNOBSERVED_SINCE] = since.clone();
        self.publish(place, &id, Action::Update, version, &marked, Some(&work::bundle(stored))).await?;
        Ok(work::sent(stored, metadata, version + 1, Some(&live)))
    }

    /// Applies a merge patch (RFC 7396) to exactly the work that `target` names; `None` if there is none.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub async fn patch(&self, consumer: &str, document: &Value, target: &Target) -> Result<Option<Value>, WriteError> {
        let place = Place { verb: "patch", consumer, name: &target.name };
        if let Some(fault) = limits::patch_fault(document) {
            return Err(place.error(WriteErrorKind::Invalid, fault));
        }
        let Some(live) = self.read(place).await? else { return Ok(None) };
        let mut changed = live.clone();
        json_patch::merge(&mut changed, document);
        self.replace(place, &changed, target, &live).await.map(Some)
    }

    /// Deletes exactly the work that `target` names, with its objects, or without them.
    ///
    /// # Errors
    /// [`Conflict`](WriteErrorKind::Conflict) if the work is not the one that was read.
    pub async fn delete(&self, consumer: &str, target: &Target, keeps_objects: bool) -> Result<Deletion, WriteError> {
        let place = Place { verb: "delete", consumer, name: &target.name };
        let Some(live) = self.read(place).await? else { return Ok(Deletion::Gone) };
        let version = fence(place, target, &live)?;
        // What is being deleted is deleted once more: whoever asks for that has seen that no agent acts.
        let is_terminating = !live["metadata"]["deletionTimestamp"].is_null();
        if keeps_objects && !is_terminating {
            if live["spec"]["deleteOption"] != orphaning() {
                let mut changed = live.clone();
                changed["spec"]["deleteOption"] = orphaning();
                return self.replace(place, &changed, target, &live).await.map(Deletion::Pending);
            }
            if !work::is_applied(&live) {
                // The agent may not yet know the option, and would delete by the one that it knows.
                return Ok(Deletion::Pending(live));
            }
        }
        self.publish_deletion(place, version, live).await
    }

    /// Deletes the version `version` of the work `live`, which was just read.
    pub(crate) async fn publish_deletion(
        &self,
        place: Place<'_>,
        version: i64,
        mut live: Value,
    ) -> Result<Deletion, WriteError> {
        let id = id_of(live["metadata"]["uid"].as_str().unwrap_or_default()).to_owned();
        self.publish(place, &id, Action::Delete, version, &live["metadata"], None).await?;
        if live["metadata"]["deletionTimestamp"].is_null() {
            live["metadata"]["deletionTimestamp"] = work::time(Timestamp::now());
        }
        Ok(Deletion::Pending(live))
    }

    /// Sends `changed` in the place of `live`, unless that would change nothing.
    async fn replace(
        &self,
        place: Place<'_>,
        changed: &Value,
        target: &Target,
        live: &Value,
    ) -> Result<Value, WriteError> {
        let version = fence(place, target, live)?;
        if let Some(fault) = limits::fault(changed) {
            return Err(place.error(WriteErrorKind::Invalid, fault));
        }
        let id = self.id(place.consumer, place.name);
        let metadata = |work: &Value| work::metadata(work, place.consumer, &id);
        let (bundle, metadata_of_live) = (work::bundle(changed), metadata(live));
        let metadata = metadata(changed);
        if bundle == work::bundle(live) && metadata == metadata_of_live {
            return Ok(live.clone());
        }
        self.publish(place, &id, Action::Update, version, &metadata, Some(&bundle)).await?;
        Ok(work::sent(changed, metadata, version + 1, Some(live)))
    }

    async fn read(&self, place: Place<'_>) -> Result<Option<Value>, WriteError> {
        let id = self.id(place.consumer, place.name);
        // Boxed as the other requests are: the futures of HTTP clients are large, and each pass would hold several of them.
        let bundle =
            Box::pin(self.inner.reader.get(place.verb, &id)).await.map_err(|refusal| place.refused(refusal))?;
        let Some(bundle) = bundle else { return Ok(None) };
        let work = work::of_bundle(&bundle);
        let (name, namespace) = (&work["metadata"]["name"], &bundle["consumer_name"]);
        if name != place.name || namespace != place.consumer {
            let message = format!("the answer is about another work, {namespace}/{name}");
            return Err(place.error(WriteErrorKind::Unavailable, message));
        }
        Ok(Some(work))
    }

    async fn publish(
        &self,
        place: Place<'_>,
        id: &str,
        action: Action,
        version: i64,
        metadata: &Value,
        bundle: Option<&Value>,
    ) -> Result<(), WriteError> {
        let source = &self.inner.source;
        let write = Write { action, source, consumer: place.consumer, id, version, metadata, bundle };
        let request = event::request(&write, std::time::SystemTime::now().into())
            .map_err(|error| place.error(WriteErrorKind::Invalid, error.to_string()))?;
        let sent = Box::pin(self.inner.publisher.publish(place.verb, request)).await;
        sent.map_err(|refusal| place.refused(refusal))
    }
}

fn name(work: &Value) -> &str {
    work.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// The delete option of a work whose objects stay.
fn orphaning() -> Value {
    json!({"propagationPolicy": "Orphan"})
}
