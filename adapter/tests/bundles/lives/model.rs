//! A life under way: the bundle, the events, and what the life demands.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use lifecycle_e2e::fault::{Fault, When};
use serde_json::{Value, json};

use super::cluster::{CONTENT, Site, THING};
use super::judge::{Demand, judge_handover, judge_remains, judge_rest, judge_strangers};
use super::life::{Act, Interruption, Kind, Life, Mark, Settings, Shape, Step};
use super::witness::Witness;
use crate::breaking::Breaking;
use crate::state::neutral;
use crate::world::{World, annotated, definition};

/// How many passes a bundle may need to come to rest. One that needs more never does.
const PATIENCE: usize = 16;

/// A life under way.
pub(crate) struct Model {
    pub(crate) world: World,
    pub(crate) site: Site,
    pub(crate) witness: Witness,
    pub(crate) demand: Demand,
    /// The UIDs of what strangers made, and did not take away.
    pub(crate) strangers: BTreeSet<String>,
    /// What happened so far, to print.
    pub(crate) journal: String,
}

impl Model {
    pub(crate) async fn new(life: &Life) -> Result<Self> {
        let shapes = life.shapes.clone();
        let world = World::with(json!({ "policies": { "missing_namespaces": "ignore" } })).await?;
        let site = Site {
            namespace: world.ns().to_owned(),
            team: format!("{}-team", world.ns()),
            group: world.group.clone(),
            has_outer: shapes.iter().any(|shape| shape.kind.is_outer()),
        };
        let names = shapes.iter().enumerate().map(|(place, shape)| site.name(place, shape.kind)).collect();
        let mut model = Self {
            witness: Witness::new(world.transport.clone(), world.client.clone(), site.clone()),
            demand: Demand {
                names,
                is_wanted: vec![true; shapes.len()],
                contents: vec![0; shapes.len()],
                shapes,
                is_deleting: false,
                is_disowning: false,
            },
            strangers: BTreeSet::new(),
            journal: String::new(),
            world,
            site,
        };
        for place in model.demand.places() {
            model.reset(place, &life.shapes[place].settings);
            let object = model.manifest(place);
            model.world.know(&object);
        }
        Ok(model)
    }

    pub(crate) fn reset(&mut self, place: usize, settings: &Settings) {
        let Shape { kind, settings: own } = &mut self.demand.shapes[place];
        *own = settings.clone();
        // The bundle refuses what would wait for ever: content that comes before its namespace or goes after it, and so on.
        match kind {
            // A Secret cannot be purged.
            Kind::Secret => own.purge_order = None,
            Kind::Content | Kind::Instance => {
                own.apply_order = own.apply_order.max(1);
                own.delete_order = own.delete_order.min(1);
            }
            Kind::Namespace | Kind::Type => {
                (own.apply_order, own.delete_order, own.purge_order) = (1, 1, None);
                own.update = if own.update == "recreate" { "apply" } else { own.update };
            }
            Kind::Map | Kind::Foo => {}
        }
    }

    pub(crate) fn manifest(&self, place: usize) -> Value {
        let (shape, name) = (&self.demand.shapes[place], &self.demand.names[place]);
        let content = self.demand.contents[place];
        let mut object = match shape.kind {
            Kind::Map | Kind::Content => self.world.map(name, &content.to_string()),
            Kind::Secret => self.world.secret(name),
            Kind::Foo => self.world.foo(name, content),
            Kind::Instance => self.world.own(THING, name),
            Kind::Namespace => json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
            Kind::Type => definition(&self.site.group, THING, "Namespaced"),
        };
        if shape.kind == Kind::Content {
            object["metadata"]["namespace"] = json!(self.site.team);
        }
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
        object = annotated(object, &annotations);
        object["metadata"]["annotations"][CONTENT] = json!(content.to_string());
        object
    }

    /// Handles one event. Returns the writing calls.
    async fn pass(&mut self, interruption: Option<Interruption>) -> Result<Vec<String>> {
        self.world.manifests = self.demand.wanted().map(|place| self.manifest(place)).collect();
        // No manifest at all is a mistake in a task; one that renders to nothing is none.
        self.world.manifests.push(json!("# that is all"));
        (self.world.is_deleting, self.world.is_disowning) = (self.demand.is_deleting, self.demand.is_disowning);
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
        if !self.strangers.is_empty() {
            judge_strangers(&self.strangers, &self.witness.cluster().await?)?;
        }
        writeln!(self.journal, "  pass {interruption:?}: {calls:?} {end}")?;
        Ok(calls)
    }

    async fn step(&mut self, step: &Step, is_twin: bool, is_disturbed: bool) -> Result<Option<Vec<Value>>> {
        for act in &step.acts {
            self.act(act).await?;
        }
        let interruption = step.interruption.filter(|_| is_disturbed);
        if !is_twin || interruption.is_some() {
            self.pass(interruption).await?;
        }
        if !is_twin {
            return Ok(None);
        }
        self.rest().await?;
        Ok(Some(self.state().await?))
    }

    /// What is on the server, to compare it with what another life left.
    async fn state(&self) -> Result<Vec<Value>> {
        let cluster = self.witness.cluster().await?;
        let all = cluster.objects.into_values().chain(cluster.strangers).chain(cluster.parent);
        all.map(|object| neutral(&self.world, object)).collect()
    }

    /// Handles events until one changes nothing. Returns whether one before it changed something.
    async fn rest(&mut self) -> Result<bool> {
        let mut before = self.state().await?;
        for passes in 0..PATIENCE {
            self.settle().await?;
            if self.pass(None).await?.is_empty() {
                return Ok(passes > 0);
            }
            let after = self.state().await?;
            // Whatever is in a bundle's way is tried again with each event.
            if !self.world.why().is_empty() && after == before {
                return Ok(passes > 0);
            }
            before = after;
        }
        anyhow::bail!("the bundle does not come to rest in {PATIENCE} passes: {}", self.world.why())
    }

    /// Handles events, with people and controllers who help, until one changes nothing.
    async fn come_to_its_end(&mut self) -> Result<()> {
        for _ in 0..PATIENCE {
            self.mend().await?;
            if !self.rest().await? {
                return Ok(());
            }
        }
        anyhow::bail!("the bundle does not come to its end: {}", self.world.why())
    }

    /// Judges a bundle that is to be applied, once nobody is in its way, and once more after its policies changed.
    async fn judge_end(&mut self) -> Result<()> {
        self.world.now += jiff::SignedDuration::from_mins(61);
        // What is in a namespace leaves the manifests with it, and so do the instances of a type.
        for place in self.demand.places() {
            let stays = self.demand.outer(place).is_none_or(|outer| self.demand.is_wanted[outer]);
            self.demand.is_wanted[place] &= stays;
        }
        self.come_to_its_end().await?;
        judge_rest(&self.witness.cluster().await?, &self.demand, &self.world.why())?;
        writeln!(self.journal, "each object gets the policies of the next one")?;
        let of_all: Vec<Settings> = self.demand.shapes.iter().map(|shape| shape.settings.clone()).collect();
        for (place, next) in of_all.iter().cycle().skip(1).take(of_all.len()).enumerate() {
            // What is written once stays so.
            let settings = Settings { reconcile: of_all[place].reconcile, ..next.clone() };
            self.reset(place, &settings);
        }
        self.come_to_its_end().await?;
        judge_rest(&self.witness.cluster().await?, &self.demand, &self.world.why())
    }

    /// Judges what a bundle has left that was deleted or disowned.
    async fn judge_remains(&mut self) -> Result<()> {
        self.rest().await?;
        self.come_to_its_end().await?;
        let cluster = self.witness.cluster().await?;
        let judged = if self.demand.is_disowning {
            judge_handover(&cluster)
        } else {
            judge_remains(&cluster, |object| self.witness.has_created(object))
        };
        judged.with_context(|| format!("in the end: {}", self.world.why()))
    }

    /// Lives a life. Returns what is on the server after each step of a twin.
    pub(crate) async fn live(&mut self, life: &Life, is_disturbed: bool) -> Result<Vec<Vec<Value>>> {
        let mut states = Vec::new();
        for step in &life.steps {
            states.extend(self.step(step, life.is_twin, is_disturbed).await?);
        }
        self.judge_end().await?;
        if life.is_disowned {
            // People have removed marks that a disowning removes.
            self.act(&Act::Unmark(life.steps.len(), Mark::Owner)).await?;
            self.act(&Act::Unmark(life.end.len(), Mark::Digest)).await?;
        }
        (self.demand.is_deleting, self.demand.is_disowning) = (!life.is_disowned, life.is_disowned);
        writeln!(self.journal, "{}", if life.is_disowned { "it is disowned" } else { "the API resource is deleted" })?;
        for step in &life.end {
            states.extend(self.step(step, life.is_twin, is_disturbed).await?);
        }
        self.judge_remains().await?;
        Ok(states)
    }
}
