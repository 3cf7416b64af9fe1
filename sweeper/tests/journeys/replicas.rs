//! Several replicas: the leader is killed, cut off, or paused between any two calls by which it deletes objects.
//!
//! Each time another replica ends the job, and the rules of [`Scene::ends_well`] hold.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use lifecycle_e2e::PATIENCE;
use lifecycle_e2e::fault::{Fault, Gate, Proxy, Request, When};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::island::Island;
use crate::program::Sweeper;
use crate::world::World;

/// The calls by which a leader deletes two orphans: it reads, deletes and announces one after the other.
const CALLS: usize = 6;
/// So many orphans that a leader which gets no answers is not done with them when another replica leads.
const MANY: usize = 6;
const GRACE: SignedDuration = SignedDuration::from_secs(1);
/// How many scenes run at the same time.
const AT_ONCE: usize = 12;

/// When the accident happens: while this call, counted from 1, is under way to the API server, or its answer is.
#[derive(Debug, Clone, Copy)]
struct Moment {
    call: usize,
    is_carried_out: bool,
}

/// Plays a scene for each moment of a deleting pass.
async fn at_each_moment(scene: impl AsyncFn(Moment) -> Result<()>) -> Result<()> {
    let moments = (1..=CALLS).flat_map(|call| [false, true].map(|is_carried_out| Moment { call, is_carried_out }));
    let scenes = moments.map(async |moment| scene(moment).await.with_context(|| format!("{moment:?}")));
    stream::iter(scenes).buffer_unordered(AT_ONCE).try_collect().await
}

struct Replica {
    sweeper: Sweeper,
    /// The replica's own way to the API server.
    kubernetes: Proxy,
    audit: PathBuf,
    namespace: String,
}

impl Replica {
    async fn start(world: &World, name: &str, kubernetes: Proxy, island: Option<&Island>) -> Result<Self> {
        let audit = world.audit().with_file_name(name);
        let setup = world.sweeper()?.with("kubernetes.kubeconfig", json!(kubernetes.access()?.kubeconfig));
        let setup = setup.with("audit.file", json!(audit)).with("limits.deletions_at_once", 1);
        let setup = setup.with("interval", "500ms");
        let setup = setup.with("lease.duration", "6s").with("lease.renew_deadline", "4s");
        let sweeper = match island {
            Some(island) => island.inhabit(world, &kubernetes, setup).await?.run()?,
            None => setup.run()?,
        };
        Ok(Self { sweeper, kubernetes, audit, namespace: world.namespace.name().to_owned() })
    }

    async fn await_message(&self, message: &str) -> Result<Timestamp> {
        time(&self.sweeper.await_log(message, |entry| entry["message"] == message).await?["timestamp"])
    }

    /// The calls by which the replica deletes objects, in the order of their arrival.
    fn calls(&self) -> Vec<Request> {
        let all = self.kubernetes.requests().into_iter();
        all.filter(|request| is_deleting(&self.namespace, request)).collect()
    }

    /// Checks each deletion of this replica, and returns the terms that it led.
    fn terms(&self) -> Result<BTreeSet<u64>> {
        let began = self.sweeper.entries(|entry| entry["message"] == BEGAN);
        let waits = self.sweeper.entries(|entry| entry["message"] == WAITS);
        for record in fs::read_to_string(&self.audit)?.lines() {
            let record: Value = serde_json::from_str(record)?;
            let began = began.iter().find(|entry| entry["term"] == record["term"]).context("a term of its own")?;
            let (began, gone) = (time(&began["timestamp"])?, time(&record["gone_since"])?);
            ensure!(began <= gone, "the replica that deletes has seen itself that the cluster is gone: {record}");
            ensure!(waits.iter().any(|entry| entry["term"] == record["term"]), "the leader said that it looks twice");
            ensure!(time(&record["time"])?.duration_since(gone) >= GRACE, "before the grace: {record}");
        }
        for call in self.calls() {
            ensure!(call.method == "POST" || call.path.contains("/configmaps/orphan-"), "{call}");
        }
        began.iter().map(|entry| entry["term"].as_u64().context("a number")).collect()
    }
}

const BEGAN: &str = "Term began: this replica leads";
const WAITS: &str = "No object is deleted before this term has lasted for the grace";
const ENDED: &str = "Term ended";

fn time(text: &Value) -> Result<Timestamp> {
    Ok(text.as_str().context("a time")?.parse()?)
}

/// Whether a request reads, deletes or announces an object: a pass lists the objects of all namespaces at once.
fn is_deleting(namespace: &str, request: &Request) -> bool {
    request.path.starts_with(&format!("/api/v1/namespaces/{namespace}/"))
}

/// Orphans, a living object, and a leader that waits at a gate in the middle of their deletion.
struct Scene {
    world: World,
    leader: Replica,
    gate: Gate,
    followers: Vec<Replica>,
    orphans: Vec<String>,
    living: Option<String>,
}

impl Scene {
    async fn new(moment: Moment, orphans: usize, followers: usize) -> Result<Self> {
        Self::with_leader_on(None, moment, orphans, followers).await
    }

    async fn with_leader_on(island: Option<&Island>, moment: Moment, orphans: usize, followers: usize) -> Result<Self> {
        let world = World::new().await?;
        world.living("living").await?;
        let living = world.objects.get("living").await?.metadata.uid;
        let orphans: Vec<_> = (1..=orphans).map(|number| format!("orphan-{number}")).collect();
        for name in &orphans {
            world.orphan(name).await?;
        }
        let kubernetes = world.control_plane.proxy().await?;
        let namespace = world.namespace.name().to_owned();
        let call = When::any().and(move |request| is_deleting(&namespace, request)).nth(moment.call);
        let gate = if moment.is_carried_out { kubernetes.hold_answer(call) } else { kubernetes.hold(call) };
        let leader = Replica::start(&world, "leader", kubernetes, island).await?;
        leader.await_message(BEGAN).await?;
        let mut others = Vec::new();
        for number in 0..followers {
            let kubernetes = world.control_plane.proxy().await?;
            others.push(Replica::start(&world, &format!("follower-{number}"), kubernetes, None).await?);
        }
        timeout(PATIENCE, gate.reached()).await.context("the call was never made")?;
        Ok(Self { world, leader, gate, followers: others, orphans, living })
    }

    /// Checks that every orphan goes, that the living object stays, that each replica has seen for the whole grace of
    /// its own term that a cluster is gone before it deletes the cluster's objects, and that no term has two leaders.
    async fn ends_well(&self) -> Result<()> {
        self.world.await_names(&["living"]).await?;
        ensure!(self.world.objects.get("living").await?.metadata.uid == self.living, "it was made anew");
        let mut led = BTreeSet::new();
        for replica in [&self.leader].into_iter().chain(&self.followers) {
            for term in replica.terms()? {
                ensure!(led.insert(term), "term {term} has two leaders");
            }
        }
        for name in &self.orphans {
            let events = self.world.events(name).await?;
            for event in events {
                let message = event.message.unwrap_or_default();
                let announces = |term: &u64| message.ends_with(&format!("(leader's term {term})"));
                ensure!(led.iter().any(announces), "nobody led: {message}");
            }
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_leader_is_replaced_after_each_call() -> Result<()> {
    at_each_moment(async |moment| {
        let mut scene = Scene::new(moment, 2, 2).await?;
        scene.leader.sweeper.signal("KILL").await?;
        scene.leader.sweeper.exit().await?;
        scene.ends_well().await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_that_is_cut_off_sends_nothing_after_its_term() -> Result<()> {
    at_each_moment(async |moment| {
        let scene = Scene::new(moment, MANY, 1).await?;
        let (leader, follower) = (&scene.leader, &scene.followers[0]);
        // Once the network swallows all that the leader sends, and once it breaks all connections.
        let fault = if moment.is_carried_out { Fault::ResetBefore } else { Fault::Silence };
        leader.kubernetes.inject(When::any(), fault);
        let ended = leader.await_message(ENDED).await?;
        let began = follower.await_message(BEGAN).await?;
        ensure!(ended < began, "two leaders: the first until {ended}, the second from {began}");
        scene.ends_well().await?;
        let sent = leader.calls();
        let last = sent.last().context("a call")?;
        ensure!(last.arrived < began, "{last} arrived in another replica's term");

        leader.kubernetes.heal();
        leader.await_message("Another replica holds the Lease").await?;
        scene.world.orphan(&scene.orphans[0]).await?;
        scene.ends_well().await?;
        ensure!(leader.calls().len() == sent.len(), "the former leader deletes: {:?}", leader.calls());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_that_loses_its_lease_ends_no_more_than_one_call() -> Result<()> {
    at_each_moment(async |moment| {
        let scene = Scene::new(moment, 2, 1).await?;
        scene.world.usurp_lease().await?;
        scene.leader.await_message(ENDED).await?;
        scene.gate.release();
        scene.ends_well().await?;
        let calls = scene.leader.calls();
        ensure!(calls.len() == moment.call || scene.leader.terms()?.len() > 1, "{calls:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_that_leads_again_begins_the_grace_anew() -> Result<()> {
    let scene = Scene::new(Moment { call: 1, is_carried_out: false }, 2, 0).await?;
    scene.world.usurp_lease().await?;
    scene.leader.await_message(ENDED).await?;
    scene.gate.release();
    scene.ends_well().await?;
    ensure!(scene.leader.terms()?.len() == 2, "{:?}", scene.leader.terms()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_leader_sends_nothing_when_it_wakes_up_after_its_term() -> Result<()> {
    at_each_moment(async |moment| {
        let scene = Scene::new(moment, 2, 1).await?;
        scene.leader.sweeper.signal("STOP").await?;
        scene.followers[0].await_message(BEGAN).await?;
        // The call that was under way arrives in the term of another replica.
        scene.gate.release();
        scene.leader.sweeper.signal("CONT").await?;
        scene.leader.await_message(ENDED).await?;
        scene.ends_well().await?;
        let calls = scene.leader.calls();
        ensure!(calls.len() == moment.call, "{calls:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn late_deletion_of_a_paused_leader_spares_what_changed_since() -> Result<()> {
    let scene = Scene::new(Moment { call: 2, is_carried_out: false }, 2, 1).await?;
    scene.leader.sweeper.signal("STOP").await?;
    let calls = scene.leader.calls();
    let deletion = calls.iter().find(|call| call.method == "DELETE").context("a deletion")?;
    let name = deletion.path.rsplit('/').next().context("a name")?;
    // The cluster comes back, and its adapter writes the object.
    let object = scene.world.objects.get(name).await?;
    let id = object.metadata.labels.unwrap_or_default().remove("hyperfleet.io/resource-id").context("the id")?;
    scene.world.api.put_cluster(&id, 2).await?;
    scene.world.patch(name, &json!({ "metadata": { "annotations": { "hyperfleet.io/generation": "2" } } })).await?;
    scene.followers[0].await_message(BEGAN).await?;
    scene.gate.release();
    // The API server answers the late deletion while the new leader sweeps.
    scene.world.await_names(&[name, "living"]).await?;
    scene.leader.sweeper.signal("CONT").await?;
    // The time limit of the call is over, so the leader may have given up before it reads the answer.
    let is_end = |entry: &Value| entry["outcome"] == "changed" || entry["outcome"] == "uncertain";
    scene.leader.sweeper.await_log("the end of its attempt", is_end).await?;
    ensure!(scene.world.objects.get(name).await?.metadata.uid == object.metadata.uid, "it was made anew");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_behind_a_cut_link_deletes_nothing_after_its_term() -> Result<()> {
    let Some(island) = Island::new().await else { return Ok(()) };
    let deletion = Moment { call: 2, is_carried_out: true };
    let scene = Scene::with_leader_on(Some(&island), deletion, MANY, 1).await?;
    let (leader, follower) = (&scene.leader, &scene.followers[0]);
    island.cut().await?;
    scene.gate.release();
    let ended = leader.await_message(ENDED).await?;
    let began = follower.await_message(BEGAN).await?;
    ensure!(ended < began, "two leaders: the first until {ended}, the second from {began}");
    scene.ends_well().await?;

    island.heal().await?;
    leader.await_message("Another replica holds the Lease").await?;
    scene.world.orphan(&scene.orphans[0]).await?;
    scene.ends_well().await?;
    // The kernel may deliver now what the leader sent into the cut link: reads that got no answer.
    let mut calls = leader.calls();
    calls.retain(|call| call.method != "GET" && call.arrived >= began);
    ensure!(calls.is_empty(), "{calls:?}");
    Ok(())
}
