//! Random lives of a bundle on a real API server: sets, orders and policies, what people do between events, and passes that end
//! after any call, or whose requests and answers get lost.
//!
//! These invariants hold in every life. [`Witness`] checks the first four before each write:
//!
//! * nothing of others is deleted or disowned, and nothing of others is changed that the policy does not adopt;
//! * nothing is written before every object of an earlier wave is ready or has served, nothing leaves before all are, and nothing
//!   is deleted before what has a lower `delete-order` is gone;
//! * the parent names the kind of each object before the object is created, and goes after all members;
//! * an object that is wanted is deleted only to be purged or recreated, and one that is not wanted as its policy says;
//! * an event after which nothing changed writes nothing;
//! * a life whose passes are broken off ends, after each step, as the same life without interruptions;
//! * at rest, each wanted object is there with its content, and no other is a member, unless somebody else has its name;
//! * a deleted bundle leaves no member behind, and of the objects that it created only those that somebody gave away.
//!
//! `LIFECYCLE_MODEL_BUNDLE_LIVES` is the number of lives, `LIFECYCLE_MODEL_SEED` selects others, and
//! `LIFECYCLE_MODEL_BUNDLE_SHRINKS` is the number of smaller variants that are tried of one that breaks an invariant.

mod life;
mod witness;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use futures::future::join_all;
use lifecycle_e2e::fault::{Fault, When};
use proptest::strategy::ValueTree;
use serde_json::{Map, Value, json};

use crate::breaking::Breaking;
use crate::state::state;
use crate::world::{ADAPTER, ENTRY, World, annotated};
use life::{Act, Interruption, Kind, Life, Mark, Settings, Step, tree};
use witness::{Cluster, Demand, LABELS, OWNER, PART_OF, Witness, is_member, is_terminating, label, name};

/// How many lives there are by default. They take half a minute.
const LIVES: u32 = 26;
/// How many lives go on at the same time.
const PARALLEL: usize = 4;
/// How many passes a bundle may need to come to rest. One that needs more never does.
const PATIENCE: usize = 14;
/// How many smaller variants of a life that fails are tried.
const SHRINKS: u32 = 30;
/// The annotation with an object's content, which every kind can have.
const CONTENT: &str = "example.com/content";

/// A life under way.
struct Model {
    world: World,
    witness: Witness,
    demand: Demand,
    contents: Vec<u32>,
    /// What happened so far, to print.
    journal: String,
}

impl Model {
    async fn new(life: &Life) -> Result<Self> {
        let count = life.shapes.len();
        let world = World::new().await?;
        let witness = Witness::new(world.transport.clone(), world.client.clone(), world.ns());
        let demand = Demand { shapes: life.shapes.clone(), is_wanted: vec![true; count], is_deleting: false };
        let mut model = Self { world, witness, demand, contents: vec![0; count], journal: String::new() };
        for place in 0..count {
            model.reset(place, &life.shapes[place].settings);
            let object = model.manifest(place);
            model.world.know(&object);
        }
        Ok(model)
    }

    fn reset(&mut self, place: usize, settings: &Settings) {
        let shape = &mut self.demand.shapes[place];
        shape.settings = settings.clone();
        // A Secret cannot be purged.
        shape.settings.purge_order = settings.purge_order.filter(|_| shape.kind != Kind::Secret);
    }

    fn manifest(&self, place: usize) -> Value {
        let shape = &self.demand.shapes[place];
        let content = self.contents[place];
        let object = match shape.kind {
            Kind::Map => self.world.map(&name(place), &content.to_string()),
            Kind::Secret => self.world.secret(&name(place)),
            Kind::Foo => self.world.foo(&name(place), content),
        };
        let Settings { apply_order, delete_order, purge_order, adoption, reconcile, update, delete } = &shape.settings;
        let (apply_order, delete_order) = (apply_order.to_string(), delete_order.to_string());
        let purge_order = purge_order.map(|order| order.to_string());
        let mut annotations = vec![
            ("apply-order", apply_order.as_str()),
            ("delete-order", &delete_order),
            ("adoption-policy", adoption),
            ("reconcile-policy", reconcile),
            ("update-policy", update),
            ("delete-policy", delete),
        ];
        annotations.extend(purge_order.as_deref().map(|order| ("purge-order", order)));
        let mut object = annotated(object, &annotations);
        object["metadata"]["annotations"][CONTENT] = json!(content.to_string());
        object
    }

    async fn cluster(&self) -> Result<Cluster> {
        Cluster::read(&self.world.client, self.world.ns()).await
    }

    async fn merge(&self, name: &str, metadata: Value) -> Result<()> {
        self.world.merge("person", name, &json!({ "metadata": metadata })).await
    }

    async fn strip(&self, name: &str) -> Result<()> {
        let gone: Map<String, Value> = LABELS.into_iter().map(|key| (key.to_owned(), Value::Null)).collect();
        self.merge(name, json!({ "labels": gone })).await
    }

    /// Does what people do. What is impossible is not done.
    async fn act(&mut self, act: &Act) -> Result<()> {
        writeln!(self.journal, "{act:?}")?;
        let count = self.demand.shapes.len();
        let cluster = self.cluster().await?;
        match act {
            Act::Change(place) => self.contents[place % count] += 1,
            Act::Toggle(place) => self.demand.is_wanted[place % count] ^= true,
            Act::Reset(place, settings) => self.reset(place % count, settings),
            Act::Wait => self.world.now += jiff::SignedDuration::from_mins(61),
            Act::Generation => self.world.generation += 1,
            Act::EditParent if cluster.parent.is_some() => {
                let keys = ["tooling", "contains-group-kinds", "additional-namespaces"];
                let gone: Map<String, Value> =
                    keys.map(|key| (format!("applyset.kubernetes.io/{key}"), Value::Null)).into_iter().collect();
                self.world.know(&self.world.map(ENTRY, ""));
                self.merge(ENTRY, json!({ "annotations": gone })).await?;
            }
            Act::EditParent => {}
            Act::Squat(place, is_owned) => {
                let place = place % count;
                if !cluster.objects.contains_key(&name(place)) {
                    let mut object = self.manifest(place);
                    object["metadata"]["annotations"] = json!({ "of": "somebody" });
                    if *is_owned {
                        object["metadata"]["labels"] = json!({ OWNER: "other" });
                    }
                    self.world.create(&object).await?;
                }
            }
            Act::Observe(place)
            | Act::Remove(place)
            | Act::Edit(place)
            | Act::Strip(place)
            | Act::Unmark(place, _)
            | Act::Hold(place) => {
                let name = name(place % count);
                if let Some(object) = cluster.objects.get(&name) {
                    self.act_on(act, &name, object).await?;
                }
            }
        }
        Ok(())
    }

    /// Does what people do to an object that is there.
    async fn act_on(&mut self, act: &Act, name: &str, object: &Value) -> Result<()> {
        match act {
            Act::Observe(_) if object["kind"] == "Foo" => self.world.ready(name).await,
            Act::Remove(_) => self.world.delete(name).await,
            Act::Edit(_) => self.merge(name, json!({ "annotations": { CONTENT: "edited" } })).await,
            Act::Strip(_) => {
                self.witness.give_away(object);
                self.strip(name).await
            }
            Act::Unmark(_, Mark::Owner) => self.merge(name, json!({ "labels": { OWNER: null } })).await,
            Act::Unmark(_, Mark::Digest) => {
                self.merge(name, json!({ "annotations": { "hyperfleet.io/digest": null } })).await
            }
            Act::Hold(_) => match object["metadata"].get("finalizers") {
                Some(_) => self.world.release(name).await,
                None if !is_terminating(object) => self.world.hold(name).await,
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Handles one event. Returns the writing calls.
    async fn pass(&mut self, interruption: Option<Interruption>) -> Result<Vec<String>> {
        let wanted = (0..self.demand.shapes.len()).filter(|place| self.demand.is_wanted[*place]);
        self.world.manifests = wanted.map(|place| self.manifest(place)).collect();
        // No manifest at all is a mistake in a task; one that renders to nothing is none.
        self.world.manifests.push(json!("# that is all"));
        self.world.is_deleting = self.demand.is_deleting;
        self.witness.expect(self.demand.clone());
        let last = if let Some(Interruption::Crash(calls)) = interruption { calls } else { usize::MAX };
        let lost = match interruption {
            Some(Interruption::LostRequest(nth)) => Some((nth, Fault::ResetBefore)),
            Some(Interruption::LostAnswer(nth)) => Some((nth, Fault::ResetAfter)),
            Some(Interruption::Crash(_)) | None => None,
        };
        if let Some((nth, fault)) = lost {
            self.world.proxy.inject(When::any().nth(nth), fault);
        }
        let report = Breaking::new(self.witness.clone(), last).pass(&mut self.world).await?;
        self.world.proxy.heal();
        let end = match report {
            Some(report) => format!("{} {}", self.world.keep(report)?.result.as_str(), self.world.why()),
            None => "broken off".to_owned(),
        };
        let calls = self.witness.calls()?;
        writeln!(self.journal, "  pass {interruption:?}: {calls:?} {end}")?;
        Ok(calls)
    }

    async fn step(&mut self, step: &Step, is_twin: bool, is_disturbed: bool) -> Result<()> {
        for act in &step.acts {
            self.act(act).await?;
        }
        let interruption = step.interruption.filter(|_| is_disturbed);
        if !is_twin || interruption.is_some() {
            self.pass(interruption).await?;
        }
        if is_twin {
            self.rest().await?;
        }
        Ok(())
    }

    /// Handles events until one changes nothing.
    async fn rest(&mut self) -> Result<()> {
        for _ in 0..PATIENCE {
            let before = state(&self.world).await?;
            let calls = self.pass(None).await?;
            // Whatever is in a bundle's way is tried again with each event.
            if calls.is_empty() || !self.world.why().is_empty() && state(&self.world).await? == before {
                return Ok(());
            }
        }
        anyhow::bail!("the bundle does not come to rest in {PATIENCE} passes: {}", self.world.why())
    }

    /// Has people end whatever keeps the bundle from its end, and controllers observe everything.
    async fn mend(&mut self) -> Result<()> {
        for (name, object) in &self.cluster().await?.objects {
            if object["metadata"].get("finalizers").is_some() {
                self.world.release(name).await?;
                if is_terminating(object) {
                    continue;
                }
            }
            let has_digest = object["metadata"]["annotations"].get("hyperfleet.io/digest").is_some();
            if label(object, PART_OF).is_some() && !(is_member(object) && has_digest) {
                self.witness.give_away(object);
                self.strip(name).await?;
            }
            if object["kind"] == "Foo" {
                self.world.ready(name).await?;
            }
        }
        Ok(())
    }

    /// Handles events, with people and controllers who help, until one changes nothing.
    async fn come_to_its_end(&mut self) -> Result<()> {
        for _ in 0..PATIENCE {
            self.mend().await?;
            let before = state(&self.world).await?;
            self.rest().await?;
            if state(&self.world).await? == before {
                return Ok(());
            }
        }
        anyhow::bail!("the bundle does not come to its end: {}", self.world.why())
    }

    /// Judges a bundle that is to be applied, once nobody is in its way.
    async fn judge_end(&mut self) -> Result<()> {
        self.world.now += jiff::SignedDuration::from_mins(61);
        self.come_to_its_end().await?;
        let cluster = self.cluster().await?;
        let wanted: Vec<usize> = (0..self.demand.shapes.len()).filter(|place| self.demand.is_wanted[*place]).collect();
        let is_taken = |place: &&usize| {
            let live = cluster.objects.get(&name(**place));
            live.is_some_and(|object| !is_member(object)) && !cluster.has_served(&name(**place))
        };
        if let Some(taken) = wanted.iter().find(is_taken) {
            ensure!(!self.world.why().is_empty(), "{} is somebody else's, and nothing is said of it", name(*taken));
            return Ok(());
        }
        ensure!(self.world.why().is_empty(), "nobody is in its way, but: {}", self.world.why());
        for (member, _) in cluster.members() {
            ensure!(wanted.iter().any(|place| name(*place) == *member), "{member} is not wanted, and still a member");
        }
        for place in wanted {
            let (name, settings) = (name(place), &self.demand.shapes[place].settings);
            if cluster.has_served(&name) {
                continue;
            }
            let live = cluster.objects.get(&name).with_context(|| format!("{name} is not there"))?;
            let content = live["metadata"]["annotations"][CONTENT].as_str().unwrap_or_default();
            let is_content = *content == self.contents[place].to_string();
            ensure!(is_content || settings.reconcile == "once", "{name} has another content: {live}");
        }
        Ok(())
    }

    /// Judges what a deleted bundle has left.
    async fn judge_remains(&mut self) -> Result<()> {
        self.come_to_its_end().await?;
        let cluster = self.cluster().await?;
        ensure!(cluster.parent.is_none(), "the parent is still there: {}", self.world.why());
        for (name, object) in &cluster.objects {
            ensure!(!is_member(object), "{name} is still a member");
            ensure!(!self.witness.has_created(object), "{name} was created, and is left: {object}");
            ensure!(label(object, OWNER) != Some(ADAPTER), "{name} is left as the adapter's: {object}");
        }
        Ok(())
    }

    async fn live(&mut self, life: &Life, is_disturbed: bool) -> Result<Vec<Vec<Value>>> {
        let mut states = Vec::new();
        for step in &life.steps {
            self.step(step, life.is_twin, is_disturbed).await?;
            states.push(state(&self.world).await?);
        }
        self.judge_end().await?;
        self.demand.is_deleting = true;
        writeln!(self.journal, "the API resource is deleted")?;
        for step in &life.deletion {
            self.step(step, life.is_twin, is_disturbed).await?;
            states.push(state(&self.world).await?);
        }
        self.judge_remains().await?;
        Ok(states)
    }
}

/// Lives a life. Fails with what happened in it.
async fn play(life: &Life, is_disturbed: bool) -> Result<Vec<Vec<Value>>> {
    let mut model = Model::new(life).await?;
    let states = model.live(life, is_disturbed).await;
    states.with_context(|| format!("{life:?}\n{}", model.journal))
}

async fn check(life: &Life) -> Result<()> {
    let states = play(life, true).await?;
    if life.is_twin {
        let undisturbed = play(life, false).await?;
        for (step, (found, expected)) in states.iter().zip(&undisturbed).enumerate() {
            ensure!(
                found == expected,
                "{life:?}\nafter step {step}, the interrupted life has {found:#?}\ninstead of {expected:#?}"
            );
        }
    }
    Ok(())
}

/// Lives lives until none is left. Fails with the smallest variant that was found of the first one that breaks an invariant.
async fn explore(next: &AtomicU32, count: u32, seed: u32) -> Result<()> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return Ok(());
        }
        let mut tree = tree(seed, number)?;
        let Err(mut smallest) = check(&tree.current()).await else { continue };
        // One finding is enough, and its smaller variants need the time.
        next.store(count, Ordering::Relaxed);
        let mut is_worth_it = tree.simplify();
        for _ in 0..setting("LIFECYCLE_MODEL_BUNDLE_SHRINKS", SHRINKS) {
            if !is_worth_it {
                break;
            }
            is_worth_it = match check(&tree.current()).await {
                Ok(()) => tree.complicate(),
                Err(error) => {
                    smallest = error;
                    tree.simplify()
                }
            };
        }
        return Err(smallest.context(format!("life {number} of seed {seed}")));
    }
}

fn setting(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_lives_keep_all_invariants_on_a_real_server() -> Result<()> {
    let (count, seed) = (setting("LIFECYCLE_MODEL_BUNDLE_LIVES", LIVES), setting("LIFECYCLE_MODEL_SEED", 0));
    let (begun, next) = (Instant::now(), AtomicU32::new(0));
    let found = join_all((0..PARALLEL).map(|_| explore(&next, count, seed))).await;
    eprintln!("{count} lives in {:.0?}", begun.elapsed());
    let found: Vec<String> = found.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    ensure!(found.is_empty(), "{}", found.join("\n\n"));
    Ok(())
}
