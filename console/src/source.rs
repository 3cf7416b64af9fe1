//! Asks the sources.
//!
//! In: a question, such as "the reports about this resource". Out: the answer. Fails: with [`Away`], which says which source has no
//! answer and why, so that no page takes silence for "all well".
//!
//! An answer counts for a second: however many readers a page has, each source gets a question once in that time, and readers who ask
//! at once share one request.

use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;
use serde::de::DeserializeOwned;

mod api;
mod peer;

pub use api::{Filter, State};
pub use peer::Replica;

use crate::config::{Config, PeerConfig};
use crate::model::{Passes, Plan, StuckList, Task};
use api::Api;
use peer::Peers;

/// How long an answer counts.
const FRESH: Duration = Duration::from_secs(1);
/// The most bytes of answers that are kept.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// A source has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name} is away: {reason}")]
pub struct Away {
    /// The source, such as `API` or `adapter dns`.
    pub source_name: String,
    /// Why it has no answer.
    pub reason: String,
}

/// The answers of the last second, by the question; that a source has none is an answer, too, or a source in trouble would be asked
/// again for each reader.
#[derive(Debug, Clone)]
struct Answers(Cache<String, Answer>);

type Answer = Result<Arc<str>, Away>;

impl Answers {
    /// Returns the answer to a question: a fresh one that is known, or that of `ask`.
    async fn of(&self, question: String, ask: impl Future<Output = Result<String, Away>>) -> Answer {
        self.0.get_with(question, async { ask.await.map(Arc::from) }).await
    }
}

/// All sources.
#[derive(Debug)]
pub struct Sources {
    /// The HyperFleet API.
    pub api: Api,
    peers: Peers,
    exporter: Option<PeerConfig>,
    exporter_turn: tokio::sync::Mutex<()>,
    adapters: Vec<(String, PeerConfig)>,
    sweeper: Option<PeerConfig>,
}

impl Sources {
    /// Builds the clients of all sources; asks none.
    ///
    /// # Errors
    /// TLS or a client cannot be set up.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let weigh = |question: &String, answer: &Answer| {
            let answer = answer.as_ref().map_or_else(|away| away.reason.len(), |answer| answer.len());
            u32::try_from(question.len() + answer).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(CACHE_BYTES).weigher(weigh).time_to_live(FRESH).build();
        let answers = Answers(cache);
        Ok(Self {
            api: Api::new(&config.api, answers.clone())?,
            peers: Peers::new(config.api.timeout, answers)?,
            exporter: config.exporter.clone(),
            exporter_turn: tokio::sync::Mutex::default(),
            adapters: config.adapters.clone(),
            sweeper: config.sweeper.clone(),
        })
    }

    /// The names of the configured adapters, in the order of the file.
    pub fn adapters(&self) -> impl Iterator<Item = &str> {
        self.adapters.iter().map(|(name, _)| name.as_str())
    }

    /// Whether there is an exporter to ask.
    #[must_use]
    pub fn has_exporter(&self) -> bool {
        self.exporter.is_some()
    }

    /// The oldest stuck resources; none if no exporter is configured.
    pub async fn stuck(&self, limit: u32) -> Option<Result<StuckList, Away>> {
        self.ask_exporter(&format!("/stuck?format=json&size={limit}")).await
    }

    /// The oldest stalled deletions, which are not among the stuck resources; none if no exporter is configured.
    pub async fn stalled(&self, limit: u32) -> Option<Result<StuckList, Away>> {
        self.ask_exporter(&format!("/stuck?format=json&stalled=true&size={limit}")).await
    }

    async fn ask_exporter(&self, path: &str) -> Option<Result<StuckList, Away>> {
        let exporter = self.exporter.as_ref()?;
        // The exporter answers one reader at a time, and refuses others.
        let _turn = self.exporter_turn.lock().await;
        Some(self.peers.any("exporter", exporter, path).await)
    }

    /// The recent passes of each replica of an adapter, of all resources or of one; none if the adapter is not configured.
    pub async fn passes(&self, adapter: &str, resource: Option<&str>, limit: u32) -> Option<Vec<Replica<Passes>>> {
        let (name, peer) = self.adapters.iter().find(|(name, _)| name == adapter)?;
        let of = resource.map(|id| format!("&resource_id={}", api::encoded(id))).unwrap_or_default();
        let mut replicas =
            self.peers.all::<Passes>(&format!("adapter {name}"), peer, &format!("/passes?limit={limit}{of}")).await;
        for replica in &mut replicas {
            if let Ok(passes) = &replica.answer
                && passes.adapter != *name
            {
                let reason = format!("the adapter at its address is `{}`", passes.adapter);
                replica.answer = Err(Away { source_name: format!("adapter {name}"), reason });
            }
        }
        Some(replicas)
    }

    /// The picture of an adapter's task; none if the adapter is not configured.
    pub async fn task(&self, adapter: &str) -> Option<Result<Task, Away>> {
        let (name, peer) = self.adapters.iter().find(|(name, _)| name == adapter)?;
        Some(self.peers.any(&format!("adapter {name}"), peer, "/task").await)
    }

    /// What each replica of the sweeper knows; none if no sweeper is configured.
    pub async fn plan(&self) -> Option<Vec<Replica<Plan>>> {
        let sweeper = self.sweeper.as_ref()?;
        Some(self.peers.all("sweeper", sweeper, "/plan").await)
    }
}

/// Decodes an answer.
fn decode<T: DeserializeOwned>(source_name: &str, answer: &str) -> Result<T, Away> {
    serde_json::from_str(answer).map_err(|error| Away {
        source_name: source_name.to_owned(),
        reason: format!("its answer cannot be read: {error}"),
    })
}
