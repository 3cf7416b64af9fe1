//! Runs the model on Maestro: all objects are works of a consumer.
//!
//! The server is `local-maestro`, in the test's process; between it and the engine is the client of production. An arena
//! is a server, and each run of a sequence has a consumer of its own. The model plays the consumer's agent, which acts only between passes: it applies each version
//! of a work that it has not seen, and confirms deletions.
//!
//! There are these differences to the model in memory. No call stays unanswered, and the server's clock cannot be set.
//! Works have no owners. A deletion waits for the agent, so each deleted work is terminating for a while; one that somebody
//! *holds* stays until nobody holds it. A status is the agent's report on the work's version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use futures::future::try_join_all;
use jiff::Timestamp;
use lifecycle_e2e::unique;
use lifecycle_maestro::{Maestro, Settings as Client};
use lifecycle_transport::maestro::MaestroTransport;
use local_maestro::{Bundle, LocalMaestro, Options};
use serde_json::Value;

use crate::arena::{Arena, explore, first_violation};
use crate::drive::{Coverage, Failure, Settings, run};
use crate::findings::{delivered, event, gate, next_event, sequence};
use crate::generate::Profile;
use crate::ground::Ground;
use crate::journal::Journal;
use crate::memory::setting;
use crate::object::{is_terminating, name};
use crate::oracle::Invariant;
use crate::sequence::{Act, Age, Delivery, Fault, Meanwhile, Sequence};
use crate::shape::{Atom, Flag, ResourceShape, TaskShape};
use crate::tamper::Tampering;

/// The number of sequences by default.
const SEQUENCES: u32 = 200;
/// The number of sequences that run concurrently.
const ARENAS: usize = 4;
/// The maximum number of sequences in a test of the model itself.
const SABOTAGED_SEQUENCES: u32 = 500;

/// A server with its client, for one sequence after another.
struct Server {
    server: LocalMaestro,
    client: Maestro,
    transport: Arc<MaestroTransport>,
}

/// A consumer of a server, during one sequence.
struct Consumer {
    arena: Arc<Server>,
    name: String,
    /// The ids of the works that somebody holds.
    held: Mutex<BTreeSet<String>>,
}

impl Server {
    async fn new() -> Result<Arc<Self>> {
        let server = LocalMaestro::start(Options::default()).await?;
        let settings = Client {
            grpc_address: server.grpc_url().trim_start_matches("http://").to_owned(),
            http_address: server.rest_url().to_owned(),
            source: "model".to_owned(),
            timeout: Duration::from_secs(10),
            grpc_files: None,
            http_files: None,
            token: None,
        };
        let client = Maestro::new(settings, Arc::new(|| Box::new(|_| ())))?;
        let transport = Arc::new(MaestroTransport::new(client.clone()));
        Ok(Arc::new(Self { server, client, transport }))
    }

    fn consumer(self: &Arc<Self>) -> Consumer {
        let name = unique("remote");
        self.server.register(&name);
        Consumer { arena: Arc::clone(self), name, held: Mutex::default() }
    }
}

impl Consumer {
    fn held(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self, work: &Value) -> String {
        self.arena.client.id(&self.name, name(work))
    }

    /// Does what the agent has to do for one work.
    fn act(&self, bundle: &Bundle) -> Result<()> {
        let reported = bundle.status.as_ref().map(|status| status.version);
        if bundle.deleted_at.is_some() {
            if !self.held().contains(&bundle.id) {
                self.arena.server.finish_delete(&bundle.id)?;
            }
        } else if reported != Some(bundle.version) {
            self.arena.server.apply(&bundle.id)?;
        }
        Ok(())
    }
}

impl Ground for Consumer {
    type Transport = MaestroTransport;

    fn store(&self) -> Arc<MaestroTransport> {
        Arc::clone(&self.arena.transport)
    }

    fn wire(&self, _: usize) -> Arc<MaestroTransport> {
        Arc::clone(&self.arena.transport)
    }

    fn namespace(&self) -> &str {
        &self.name
    }

    fn group(&self) -> &str {
        "model.example.com"
    }

    fn set_now(&self, _: Timestamp) {}

    fn inject(&self, _: usize, faults: BTreeMap<usize, Fault>) -> BTreeMap<usize, Fault> {
        faults
    }

    fn heal(&self, _: usize) -> usize {
        0
    }

    async fn settle(&self, _: &Journal<MaestroTransport>) -> Result<()> {
        let bundles = self.arena.server.bundles();
        bundles.iter().filter(|bundle| bundle.consumer == self.name).try_for_each(|bundle| self.act(bundle))
    }

    fn is_busy(&self, _: &TaskShape) -> bool {
        true
    }

    fn is_held(&self, work: &Value) -> bool {
        self.held().contains(&self.id(work))
    }

    async fn hold(&self, work: &Value, is_held: bool) -> Result<()> {
        let id = self.id(work);
        if is_held {
            self.held().insert(id)
        } else {
            self.held().remove(&id)
        };
        Ok(())
    }

    async fn report(&self, work: &Value, is_done: bool) -> Result<()> {
        // Agents do not hear of the spec of a work that is being deleted.
        if !is_terminating(work) {
            let id = self.id(work);
            if is_done {
                self.arena.server.apply(&id)?
            } else {
                self.arena.server.fail_apply(&id, "somebody disturbs it")?
            };
        }
        Ok(())
    }
}

impl Arena for Arc<Server> {
    const PROFILE: Profile = Profile::Maestro;

    async fn check(&self, sequence: &Sequence, settings: Settings) -> Result<Coverage, Failure> {
        let start = Timestamp::from_second(Timestamp::now().as_second())?;
        // A deletion searches all consumers for the works of an API resource, so each life has an id of its own.
        let (disturbed, calm) = (unique("d"), unique("c"));
        run(sequence, (self.consumer(), &disturbed), (self.consumer(), &calm), start, settings).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_sequences_keep_all_invariants_on_maestro() -> Result<()> {
    lifecycle_e2e::init();
    let (count, seed) = (setting("LIFECYCLE_MODEL_MAESTRO_SEQUENCES", SEQUENCES), setting("LIFECYCLE_MODEL_SEED", 0));
    let arenas = try_join_all((0..ARENAS).map(async |_| Server::new().await)).await?;
    explore(&arenas, count, seed).await.map(drop)
}

/// Defects of the adapter, and the invariants that they break in one of few sequences.
const DEFECTS: [(Tampering, Invariant); 4] = [
    (Tampering::SkipsDisowned, Invariant::DisownedChanged),
    (Tampering::StaleWins, Invariant::StaleWrite),
    (Tampering::EmptyCache, Invariant::DuplicateCreation),
    (Tampering::GivesUp, Invariant::NotConverged),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_notices_defects_on_maestro() -> Result<()> {
    lifecycle_e2e::init();
    let arena = Server::new().await?;
    for (tampering, invariant) in DEFECTS {
        let number = first_violation(&arena, invariant, SABOTAGED_SEQUENCES, tampering).await?;
        eprintln!("{tampering:?} breaks {invariant:?} in sequence {number}");
    }
    Ok(())
}

/// Runs a sequence, and then with an adapter without a fence, which must break the invariant.
async fn assert_fenced(sequence: &Sequence, tampering: Tampering, invariant: Invariant) -> Result<()> {
    lifecycle_e2e::init();
    let arena = Server::new().await?;
    if let Err(failure) = arena.check(sequence, Settings::default()).await {
        anyhow::bail!("{failure}");
    }
    match arena.check(sequence, Settings { tampering: Some(tampering), ..Settings::default() }).await {
        Err(Failure::Finding(finding)) if finding.breaks(invariant) => Ok(()),
        Err(failure) => anyhow::bail!("{failure}"),
        Ok(_) => anyhow::bail!("{tampering:?} does not break {invariant:?}"),
    }
}

/// A pass reads, then the other replica handles a newer event, then the pass writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_keeps_an_older_event_from_a_newer_work() -> Result<()> {
    let meanwhile = vec![Meanwhile::Event(Some(event(Age::Next, &[])), BTreeMap::new())];
    let delivery = Delivery { pause: Some((2, meanwhile)), ..Delivery::default() };
    let past = vec![next_event(&[]), delivered(event(Age::Next, &[]), delivery)];
    let sequence = sequence(vec![ResourceShape::default()], past, event(Age::Same, &[]), vec![]).of_works();
    assert_fenced(&sequence, Tampering::NoVersionFence, Invariant::StaleWrite).await
}

/// A pass reads, then the work goes and is created again, at the same version and with the same id, then the pass deletes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uid_keeps_a_deletion_from_a_later_work_of_the_same_name() -> Result<()> {
    let going = |value: bool| [(Flag::Going, value)];
    let resource = ResourceShape { delete: gate(&[Atom::Flag(Flag::Going, true)]), ..ResourceShape::default() };
    let meanwhile = vec![
        Meanwhile::Event(None, BTreeMap::new()),
        Meanwhile::Act(Act::CollectGarbage),
        Meanwhile::Event(Some(event(Age::Next, &going(false))), BTreeMap::new()),
    ];
    let delivery = Delivery { pause: Some((4, meanwhile)), ..Delivery::default() };
    let past = vec![next_event(&going(false)), delivered(event(Age::Next, &going(true)), delivery)];
    // The pass reads both resources, and searches for works at former places; it pauses before it updates the first one.
    let sequence =
        sequence(vec![ResourceShape::default(), resource], past, event(Age::Same, &going(false)), vec![]).of_works();
    assert_fenced(&sequence, Tampering::NoUidFence, Invariant::UnjustifiedDeletion).await
}
