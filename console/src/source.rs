//! Asks the sources.
//!
//! In: a question, such as "the reports about this resource". Out: the answer. Fails: with [`Away`], which says which source has no
//! answer and why, so that no page takes silence for "all well".
//!
//! An answer counts for a second: however many readers a page has, each source gets a question once in that time, and readers who ask
//! at once share one request. A number that the API counted slowly counts for longer, and that a source did not answer in time, too.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use moka::Expiry;
use moka::future::Cache;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

mod api;
mod peer;

pub use api::{Count, Filter, State};
pub use peer::Replica;

use crate::config::{Config, PeerConfig};
use crate::model::{Passes, Plan, StuckList, Task};
use api::Api;
use peer::{Peers, TOO_LONG};

/// How long an answer counts.
const FRESH: Duration = Duration::from_secs(1);
/// A number counts for so many times what the API took to count it. A fleet of 100,000 is counted in a second; each open page would
/// otherwise keep a core of the API's database busy, and each page of the list would wait for numbers that hardly change.
const REST: u32 = 10;
/// The longest that a number counts.
const OLDEST: Duration = Duration::from_secs(30);
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

/// The answers that count, by the question; that a source has none is an answer, too, or a source in trouble would be asked again for
/// each reader.
#[derive(Debug, Clone)]
struct Answers(Cache<String, Kept>);

type Answer = Result<Arc<str>, Away>;

/// An answer, and how long it counts.
#[derive(Debug, Clone)]
struct Kept {
    answer: Answer,
    asked: Timestamp,
    fresh: Duration,
}

impl Kept {
    /// Asks; the answer counts for `rest` times what it took.
    async fn of(rest: u32, ask: impl Future<Output = Result<String, Away>>) -> Self {
        let (asked, begun) = (Timestamp::now(), Instant::now());
        let answer = ask.await.map(Arc::from);
        let fresh = match &answer {
            Ok(_) => begun.elapsed() * rest,
            // A shorter answer to another question stands in for it, and this one costs 16 MiB to ask.
            Err(away) if away.reason == TOO_LONG => OLDEST,
            // Else each page would wait again for a source that does not answer.
            Err(_) => begun.elapsed(),
        };
        Self { answer, asked, fresh: fresh.clamp(FRESH, OLDEST) }
    }
}

struct Age;

impl Expiry<String, Kept> for Age {
    fn expire_after_create(&self, _: &String, kept: &Kept, _: std::time::Instant) -> Option<Duration> {
        Some(kept.fresh)
    }
}

impl Answers {
    fn new() -> Self {
        let weigh = |question: &String, kept: &Kept| {
            let answer = kept.answer.as_ref().map_or_else(|away| away.reason.len(), |answer| answer.len());
            u32::try_from(question.len() + answer).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(CACHE_BYTES).weigher(weigh).expire_after(Age).build())
    }

    /// Returns the answer to a question: a fresh one that is known, or that of `ask`.
    async fn of(&self, question: String, ask: impl Future<Output = Result<String, Away>>) -> Answer {
        self.0.get_with(question, Kept::of(0, ask)).await.answer
    }

    /// Returns the answer to a question that may take the source long, and when it was asked: the longer the answer took, the longer
    /// it counts.
    async fn of_slow(&self, question: String, ask: impl Future<Output = Result<String, Away>>) -> (Answer, Timestamp) {
        let kept = self.0.get_with(question, Kept::of(REST, ask)).await;
        (kept.answer, kept.asked)
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
        let answers = Answers::new();
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
        let mut replicas = Vec::new();
        // Passes of large bundles are long: of fewer, the answer is short enough.
        for limit in [limit, limit.div_ceil(10), 1] {
            replicas =
                self.peers.all::<Passes>(&format!("adapter {name}"), peer, &format!("/passes?limit={limit}{of}")).await;
            if !replicas.iter().any(|replica| replica.answer.as_ref().is_err_and(|away| away.reason == TOO_LONG)) {
                break;
            }
        }
        name_replicas(&mut replicas);
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

/// Writes its replica to each pass of an adapter that has several.
fn name_replicas(replicas: &mut [Replica<Passes>]) {
    if replicas.len() > 1 {
        for passes in replicas.iter_mut().filter_map(|replica| replica.answer.as_mut().ok()) {
            passes.passes.iter_mut().for_each(|pass| pass.replica = Some(passes.replica.clone()));
        }
    }
}

/// Decodes an answer.
fn decode<T: DeserializeOwned>(source_name: &str, answer: &str) -> Result<T, Away> {
    serde_json::from_str(answer).map_err(|error| Away {
        source_name: source_name.to_owned(),
        reason: format!("its answer cannot be read: {error}"),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use lifecycle_e2e::scripted::Scripted;

    use super::*;
    use crate::config::ApiConfig;
    use crate::model::Pass;

    async fn answer_after(took: Duration, answer: Result<&str, Away>) -> Result<String, Away> {
        tokio::time::sleep(took).await;
        answer.map(str::to_owned)
    }

    #[tokio::test]
    async fn token_is_sent_to_the_api_with_the_configured_scheme() {
        let token = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(token.path(), "t0ken").unwrap();
        for (word, auth_scheme) in lifecycle_api_client::AuthScheme::CHOICES {
            let server = Scripted::start([]).await.unwrap();
            let config = ApiConfig {
                base_url: server.url(),
                version: String::new(),
                timeout: Duration::from_secs(10),
                token_file: Some(token.path().to_owned()),
                auth_scheme,
                kinds: Vec::new(),
            };
            drop(Api::new(&config, Answers::new()).unwrap().resource("a").await);
            assert_eq!(server.header(0, "authorization"), Some(format!("{word} t0ken")));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answer_that_took_long_counts_for_longer() {
        let of = |reason: &str| Away { source_name: "API".to_owned(), reason: reason.to_owned() };
        let away = || of("it is busy");
        let cases = [
            ("at once", 0, Ok("1"), FRESH),
            ("in a second", 1_000, Ok("1"), Duration::from_secs(10)),
            ("in the last moment", 5_000, Ok("1"), OLDEST),
            ("too long", 0, Err(of(TOO_LONG)), OLDEST),
            ("refused at once", 0, Err(away()), FRESH),
            ("not in time", 5_000, Err(away()), Duration::from_secs(5)),
        ];
        for (name, took, answer, expected) in cases {
            let kept = Kept::of(REST, answer_after(Duration::from_millis(took), answer)).await;
            assert_eq!(kept.fresh, expected, "{name}");
        }
    }

    #[test]
    fn pass_names_its_replica_if_there_are_several() {
        let replica = |name: &str| Replica {
            address: None,
            answer: Ok(Passes { replica: name.to_owned(), passes: vec![Pass::default()], ..Passes::default() }),
        };
        let named = |mut replicas: Vec<Replica<Passes>>| {
            name_replicas(&mut replicas);
            replicas.into_iter().map(|replica| replica.answer.unwrap().passes.remove(0).replica).collect::<Vec<_>>()
        };
        assert_eq!(named(vec![replica("jobs-0")]), [None]);
        let both = ["jobs-0", "jobs-1"];
        assert_eq!(named(both.map(replica).to_vec()), both.map(|name| Some(name.to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_kept_while_it_counts() {
        let answers = Answers::new();
        // The time of the cache goes on while that of the runtime is paused: this answer counts for half a minute of it.
        let slow = answer_after(Duration::from_secs(5), Ok("1"));
        let first = answers.of_slow("slow".to_owned(), slow).await;
        assert_eq!(first, answers.of_slow("slow".to_owned(), answer_after(FRESH, Ok("2"))).await);
        let kept = Kept { answer: first.0, asked: first.1, fresh: OLDEST };
        let age = Age.expire_after_create(&"slow".to_owned(), &kept, std::time::Instant::now());
        assert_eq!(age, Some(OLDEST));
    }
}
