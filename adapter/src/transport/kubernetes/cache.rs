//! The adapter's own objects, as watches last told of them.
//!
//! In: the kinds of a task. Out: for a [`Query`], the objects that it would find, or `None`: read live. One watch for
//! each kind, over all namespaces, of what carries the label `hyperfleet.io/adapter` with this adapter's name. It takes
//! the right to `list` and `watch` those kinds cluster-wide; without it every answer is `None`, with a warning in the log.
//!
//! # When there is no answer
//!
//! * Until a first list is complete, and from the moment on in which a watch breaks.
//! * For what is absent or terminating as far as the watch has told.
//! * For a selector that does not itself ask for the adapter's label: it may find what is not watched.
//!
//! # How old an answer can be
//!
//! As old as a watch event is under way: milliseconds. The exception is a connection that dies without a word. The server
//! ends each watch after [`WATCH_SECONDS`], so a dead one is noticed 5 s after that, and given up when the next one
//! is not answered within [`ANSWER_TIMEOUT`]: about a minute in all. What an old answer can do is up to the
//! caller; see [`crate::settled`].
//!
//! # What it costs
//!
//! Memory for every such object, without `metadata.managedFields`, and one long request for each kind. A watch that
//! breaks is begun anew with a list, after the library's backoff of 0.8 s to 30 s with jitter. Independent of that, no
//! kind takes more than one request per second. None of them count against the client's rate limit, and no event waits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, TypeMeta};
use kube::client::Body;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, DefaultBackoff, Event};
use kube::{Client, ResourceExt, runtime};
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::keys;
use lifecycle_core::observation::{Query, QueryBy};
use lifecycle_core::write::WriteError;
use serde_json::Value;
use tokio::task::JoinSet;
use tower::BoxError;

use super::KubernetesTransport;
use super::call::{Call, Verb};
use super::kinds::Kinds;
use super::rate_limit::RateLimit;
use super::request;
use crate::transport::subject::Subject;

/// How long one watch lasts. Short, as it bounds how long a dead connection passes for a quiet one.
const WATCH_SECONDS: u32 = 30;

/// How long the server may take to begin an answer, and then between two objects of the first list.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Requests per second and their burst, for each kind. The library begins a watch that ended in good order again at once:
/// this is for something in between that ends all of them. The burst is what the pages of a list need.
const PACE: (f64, u32) = (1.0, 20);

/// Watches some kinds, until it is dropped.
pub struct WatchCache {
    adapter: String,
    kinds: BTreeMap<GroupVersionKind, Shelf>,
    _watches: JoinSet<()>,
}

impl KubernetesTransport {
    /// Begins to watch this adapter's objects of the given kinds. It neither waits nor fails.
    #[must_use]
    pub fn watch(&self, kinds: impl IntoIterator<Item = GroupVersionKind>) -> WatchCache {
        let mut watches = JoinSet::new();
        let own = BTreeMap::from([(keys::ADAPTER.to_owned(), self.field_manager.clone())]);
        let mut shelves = BTreeMap::new();
        match request::selector(&own) {
            Ok(selector) => {
                for kind in kinds.into_iter().collect::<BTreeSet<_>>() {
                    let shelf = Shelf::default();
                    let watch = Watch {
                        client: paced(self.calls.client().clone()),
                        kinds: Arc::clone(&self.kinds),
                        subject: Subject { kind: kind.clone(), namespace: None, name: None },
                        selector: selector.clone(),
                        shelf: shelf.clone(),
                    };
                    watches.spawn(watch.follow());
                    shelves.insert(kind, shelf);
                }
            }
            Err(error) => tracing::warn!(error, "the adapter's name cannot be a label: nothing is watched"),
        }
        WatchCache { adapter: self.field_manager.clone(), kinds: shelves, _watches: watches }
    }
}

impl WatchCache {
    /// Finds live objects without a request, if they are certain enough: at least one, and none terminating.
    #[must_use]
    pub fn find(&self, query: &Query) -> Option<Vec<Value>> {
        let stock = self.kinds.get(&query.kind)?.stock()?;
        let found = match &query.by {
            QueryBy::Name(_) => stock.get(&Subject::from(query))?,
            QueryBy::Labels(labels) if labels.get(keys::ADAPTER) == Some(&self.adapter) => {
                stock.select(&Subject::from(query), labels)
            }
            QueryBy::Labels(_) => return None,
        };
        let certain = !found.is_empty() && found.iter().all(|object| object.metadata.deletion_timestamp.is_none());
        if !certain {
            return None;
        }
        found.iter().map(|object| serde_json::to_value(&**object).ok()).collect()
    }
}

impl fmt::Debug for WatchCache {
    /// Kinds only: objects may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchCache").field("kinds", &self.kinds.keys()).finish_non_exhaustive()
    }
}

/// Where a watch keeps what it knows; nothing while it knows nothing for certain.
#[derive(Clone, Default)]
struct Shelf(Arc<RwLock<Option<Stock>>>);

impl Shelf {
    fn stock(&self) -> Option<Stock> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces what is known; returns what was.
    fn put(&self, stock: Option<Stock>) -> Option<Stock> {
        std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), stock)
    }
}

/// The objects of one kind.
#[derive(Clone)]
struct Stock {
    resource: ApiResource,
    store: Store<DynamicObject>,
}

impl Stock {
    /// A cluster-scoped object is found in whatever namespace, as everywhere in this transport.
    fn get(&self, subject: &Subject) -> Option<Vec<Arc<DynamicObject>>> {
        let mut key = ObjectRef::new_with(subject.name.as_deref()?, self.resource.clone());
        key.namespace.clone_from(&subject.namespace);
        self.store.get(&key).map(|object| vec![object])
    }

    /// In the server's order.
    fn select(&self, subject: &Subject, labels: &BTreeMap<String, String>) -> Vec<Arc<DynamicObject>> {
        let mut found = self.store.state_filter(|object| {
            let elsewhere = object.metadata.namespace.is_some()
                && subject.namespace.is_some()
                && object.metadata.namespace != subject.namespace;
            !elsewhere && labels.iter().all(|(key, value)| object.labels().get(key) == Some(value))
        });
        found.sort_by_cached_key(|object| (object.namespace(), object.name_any()));
        found
    }
}

/// Why a watch ended.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("failed to find out how the kind is served")]
    Kind(#[source] WriteError),
    #[error("failed to list or watch")]
    Watch(#[source] watcher::Error),
    #[error("the first list came to a halt")]
    Halted,
    #[error("the watch ended")]
    Ended,
}

/// The watch of one kind.
struct Watch {
    client: Client,
    kinds: Arc<Kinds>,
    subject: Subject,
    selector: String,
    shelf: Shelf,
}

impl Watch {
    /// Watches for ever. Each failure is followed by a pause, and by a list.
    async fn follow(self) {
        let mut backoff = DefaultBackoff::default();
        let mut told = false;
        loop {
            let broken = self.once().await;
            let knew = self.shelf.put(None).is_some();
            let kind = &self.subject.kind.kind;
            let error = chain(&broken);
            // Once for each time that it breaks, not for each attempt after that.
            if knew || !told {
                tracing::warn!(kind, error, "the watch broke: objects are read live until it is back");
            } else {
                tracing::debug!(kind, error, "the watch is still broken");
            }
            told = true;
            if broken.is_unserved_path() {
                self.kinds.forget(&self.subject.kind);
            }
            tokio::time::sleep(backoff.next().unwrap_or(ANSWER_TIMEOUT)).await;
        }
    }

    /// Lists, then watches until something goes wrong.
    async fn once(&self) -> Broken {
        let call = Call { verb: Verb::List, subject: &self.subject };
        let served = match self.kinds.resolve(&call).await {
            Ok(served) => served,
            Err(error) => return Broken::Kind(error),
        };
        let kind = &self.subject.kind;
        let resource = ApiResource {
            group: kind.group.clone(),
            version: kind.version.clone(),
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            plural: served.plural,
        };
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let config = watcher::Config::default().labels(&self.selector).timeout(WATCH_SECONDS);
        let mut events = pin!(runtime::watcher(api, config));
        let mut writer = Writer::new(resource.clone());
        let mut listed = false;
        loop {
            let next = if listed {
                events.next().await
            } else {
                match tokio::time::timeout(ANSWER_TIMEOUT * 2, events.next()).await {
                    Ok(next) => next,
                    Err(_) => return Broken::Halted,
                }
            };
            let event = match next {
                Some(Ok(event)) => event.modify(|object| strip(object, &resource)),
                Some(Err(error)) => return Broken::Watch(error),
                None => return Broken::Ended,
            };
            writer.apply_watcher_event(&event);
            if let Event::InitDone = event {
                listed = true;
                let stock = Stock { resource: resource.clone(), store: writer.as_reader() };
                tracing::info!(kind = kind.kind, objects = stock.store.len(), "the watch is up");
                self.shelf.put(Some(stock));
            }
        }
    }
}

impl Broken {
    /// Whether the server no longer knows the path that the kind was resolved to.
    fn is_unserved_path(&self) -> bool {
        let (Self::Watch(watcher::Error::InitialListFailed(error))
        | Self::Watch(watcher::Error::WatchStartFailed(error))) = self
        else {
            return false;
        };
        matches!(error, kube::Error::Api(status) if status.code == 404)
    }
}

/// Drops what no expression needs and is most of the bytes, and adds what the items of a list lack.
fn strip(object: &mut DynamicObject, resource: &ApiResource) {
    object.metadata.managed_fields = None;
    object.types = Some(TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() });
}

/// The client with a limit of its own on how often it asks, and on how long an answer may take to begin.
fn paced(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let (per_second, burst) = PACE;
    let pace = RateLimit::new(per_second, burst).map(Arc::new);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, pace) = (client.clone(), pace.clone());
        async move {
            if let Some(pace) = pace {
                pace.turn().await;
            }
            Ok::<_, BoxError>(tokio::time::timeout(ANSWER_TIMEOUT, client.send(request)).await??)
        }
    });
    Client::new(service, namespace)
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests;
