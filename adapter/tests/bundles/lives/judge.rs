//! Judges a write before it is sent, and what is left in the end, by what is on the server at that moment.
//!
//! In: the write, what is on the server, and what the life demands. Fails: with the invariant that is broken.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::cluster::{CONTENT, Cluster, LABELS, OWNER, PART_OF, is_inside, is_member, is_ready, is_terminating, label};
use super::life::{Kind, Shape};
use crate::world::{ADAPTER, ENTRY, text};

const DISOWNED: &str = "hyperfleet.io/disowned";

/// A write of an object of the life, or of the parent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Write<'a> {
    /// With the kind of the object.
    Create(&'a str),
    Update,
    /// Of what a member says of its own deletion, and nothing else.
    Depart,
    Disown,
    Delete,
}

/// What the life demands.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    /// The names of the objects by their places.
    pub(crate) names: Vec<String>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) is_wanted: Vec<bool>,
    /// How often the content of each object changed.
    pub(crate) contents: Vec<u32>,
    pub(crate) is_deleting: bool,
    pub(crate) is_disowning: bool,
}

/// When an object is applied: the order of its wave, and whether it comes late in the wave, as instances do.
type Turn = (i16, bool);

impl Demand {
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.shapes.len()
    }

    pub(crate) fn wanted(&self) -> impl Iterator<Item = usize> {
        self.places().filter(|place| self.is_wanted[*place])
    }

    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|it| it == name)
    }

    /// Whether the object of this name is not wanted any more.
    pub(crate) fn is_to_go(&self, name: &str) -> bool {
        self.is_deleting || self.is_disowning || !self.place(name).is_some_and(|place| self.is_wanted[place])
    }

    /// The place of the namespace or type with which an object goes.
    pub(crate) fn outer(&self, place: usize) -> Option<usize> {
        let outer = self.shapes[place].kind.outer()?;
        self.shapes.iter().position(|shape| shape.kind == outer)
    }

    /// Whether an object has served, and is wanted only for that.
    fn has_served(&self, place: usize, cluster: &Cluster) -> bool {
        self.shapes[place].settings.purge_order.is_some() && cluster.has_served(&self.names[place])
    }

    fn turn(&self, place: usize) -> Turn {
        let Shape { kind, settings } = &self.shapes[place];
        let has_type = || self.outer(place).is_some_and(|outer| self.is_wanted[outer]);
        (settings.apply_order, *kind == Kind::Instance && has_type())
    }

    /// A wanted object of an earlier turn, or of any without one, that neither is ready nor has served.
    fn unready(&self, cluster: &Cluster, before: Option<Turn>) -> Option<&str> {
        let earlier = self.wanted().filter(|it| before.is_none_or(|turn| self.turn(*it) < turn));
        let works = |name: &str| cluster.objects.get(name).is_some_and(|object| is_member(object) && is_ready(object));
        let mut unready = earlier.filter(|place| !works(&self.names[*place]) && !self.has_served(*place, cluster));
        unready.next().map(|place| self.names[place].as_str())
    }

    /// Fails unless everything is there that comes before an object.
    fn judge_turn(&self, place: usize, cluster: &Cluster) -> Result<()> {
        let outer = self.outer(place).filter(|outer| self.is_wanted[*outer]).map(|outer| &self.names[outer]);
        ensure!(outer.is_none_or(|it| cluster.objects.contains_key(it)), "it is written before {outer:?} is there");
        let (turn, unready) = (self.turn(place), self.unready(cluster, Some(self.turn(place))));
        ensure!(unready.is_none(), "its turn is {turn:?}, and {unready:?} is not ready");
        Ok(())
    }
}

/// The delete policy and the delete order with which a member was written last.
pub(crate) fn departure(object: &Value) -> Result<(&str, i16)> {
    let annotations = &object["metadata"]["annotations"];
    let said = annotations["hyperfleet.io/deletion"].as_str().context("no annotation `deletion`")?;
    let (policy, rest) = said.split_once(',').context("no order")?;
    Ok((policy, rest.split(',').next().unwrap_or_default().parse()?))
}

/// When a member is removed: namespaces last, then by its delete order; in a wave, instances of the bundle's types, then the
/// types, then the rest.
fn removal_turn(demand: &Demand, cluster: &Cluster, name: &str, object: &Value) -> Result<(bool, i16, u8)> {
    let place = demand.place(name).context("it is at no place of the life")?;
    let has_type = || {
        let outer = demand.outer(place).and_then(|outer| cluster.objects.get(&demand.names[outer]));
        outer.is_some_and(is_member)
    };
    let kind = demand.shapes[place].kind;
    let stage = match kind {
        Kind::Instance if has_type() => 0,
        Kind::Type => 1,
        _ => 2,
    };
    Ok((kind == Kind::Namespace, departure(object)?.1, stage))
}

/// Judges a write of the object with this name.
pub(crate) fn judge(write: Write<'_>, name: &str, cluster: &Cluster, demand: &Demand) -> Result<()> {
    if name == ENTRY { judge_parent(write, cluster) } else { judge_object(write, name, cluster, demand) }
}

/// Fails unless all is there that strangers made, by the UIDs.
pub(crate) fn judge_strangers(made: &BTreeSet<String>, cluster: &Cluster) -> Result<()> {
    let there = cluster.strangers.iter().filter(|object| !is_terminating(object));
    let there: Vec<&str> = there.map(|object| text(object, "/metadata/uid")).collect();
    let gone: Vec<&String> = made.iter().filter(|uid| !there.contains(&uid.as_str())).collect();
    ensure!(gone.is_empty(), "what strangers made is gone: {gone:?}");
    Ok(())
}

fn judge_parent(write: Write<'_>, cluster: &Cluster) -> Result<()> {
    if matches!(write, Write::Delete | Write::Disown) {
        let left: Vec<_> = cluster.members().map(|(name, _)| name).collect();
        ensure!(left.is_empty(), "{left:?} are still members");
    }
    Ok(())
}

fn judge_object(write: Write<'_>, name: &str, cluster: &Cluster, demand: &Demand) -> Result<()> {
    let place = demand.place(name).context("it is at no place of the life")?;
    let live = cluster.objects.get(name);
    let is_wanted = !demand.is_to_go(name);
    match write {
        // The server refuses it.
        Write::Create(_) if live.is_some() => Ok(()),
        Write::Create(kind) => {
            ensure!(is_wanted, "it is not wanted");
            ensure!(cluster.names("contains-group-kinds", kind), "the parent does not name the kind {kind}");
            if demand.shapes[place].kind == Kind::Content {
                let namespace = demand.outer(place).map(|outer| &*demand.names[outer]).unwrap_or_default();
                let is_named = cluster.names("additional-namespaces", namespace);
                ensure!(is_named, "the parent does not name the namespace {namespace}");
            }
            demand.judge_turn(place, cluster)
        }
        Write::Update => {
            ensure!(is_wanted, "it is not wanted");
            let live = live.context("there is no such object")?;
            ensure!(!is_terminating(live), "it is terminating");
            if !is_member(live) {
                judge_adoption(demand.shapes[place].settings.adoption, live, cluster)?;
            }
            demand.judge_turn(place, cluster)
        }
        Write::Depart => {
            let live = live.context("there is no such object")?;
            ensure!(is_wanted && is_member(live), "it is no wanted member: {live}");
            let settings = &demand.shapes[place].settings;
            ensure!(settings.reconcile == "once", "it is not written once, but {}", settings.reconcile);
            ensure!(departure(live)? != (settings.delete, settings.delete_order), "it says so already");
            demand.judge_turn(place, cluster)
        }
        Write::Disown | Write::Delete => {
            let live = live.context("there is no such object")?;
            // One that lost a label of its owner is still to lose the others with a disowned bundle.
            let is_anothers = label(live, OWNER).is_some_and(|owner| owner != ADAPTER);
            let is_lost = demand.is_disowning && label(live, PART_OF).is_some() && !is_anothers;
            let is_ours = is_member(live) || is_lost;
            ensure!(is_ours, "it is no member: {live}");
            match write {
                Write::Delete if demand.is_disowning => anyhow::bail!("it is handed over"),
                _ if demand.is_disowning => Ok(()),
                Write::Delete if is_wanted => judge_renewal(place, cluster, demand),
                _ if is_wanted => anyhow::bail!("it is wanted"),
                _ => judge_removal(write, name, live, cluster, demand),
            }
        }
    }
}

/// Judges the update of an object that is no member.
fn judge_adoption(policy: &str, live: &Value, cluster: &Cluster) -> Result<()> {
    ensure!(label(live, DISOWNED).is_none(), "it was disowned");
    let set = label(cluster.parent.as_ref().context("no parent")?, "applyset.kubernetes.io/id");
    let is_anothers = label(live, OWNER).is_some_and(|owner| owner != ADAPTER)
        || label(live, PART_OF).is_some_and(|part| Some(part) != set);
    let may_adopt = match policy {
        "always" => true,
        "if-unowned" => !is_anothers,
        _ => false,
    };
    ensure!(may_adopt, "it is somebody else's, and its policy is {policy}: {live}");
    Ok(())
}

/// Judges the deletion of a wanted object.
fn judge_renewal(place: usize, cluster: &Cluster, demand: &Demand) -> Result<()> {
    let settings = &demand.shapes[place].settings;
    if let Some(purge) = settings.purge_order.filter(|_| demand.has_served(place, cluster)) {
        let unready = demand.unready(cluster, Some((purge.max(settings.apply_order) + 1, false)));
        ensure!(unready.is_none(), "it is purged before {unready:?} is ready");
        return Ok(());
    }
    ensure!(settings.update == "recreate", "it is wanted, and has not served");
    demand.judge_turn(place, cluster)
}

/// Judges how and when a member goes that is not wanted.
fn judge_removal(write: Write<'_>, name: &str, live: &Value, cluster: &Cluster, demand: &Demand) -> Result<()> {
    let (policy, _) = departure(live)?;
    let keeps = |policy| {
        policy == "orphan" || policy == if demand.is_deleting { "orphan-on-delete" } else { "orphan-on-apply" }
    };
    let is_kept = keeps(policy);
    ensure!(is_kept == matches!(write, Write::Disown), "its policy is {policy}");
    for (outer, object) in cluster.members().filter(|(outer, _)| is_kept && demand.is_to_go(outer)) {
        let is_type = is_inside(live, object) && text(object, "/kind") != "Namespace";
        ensure!(!is_type || keeps(departure(object)?.0), "it is disowned, and {outer} would wait for it for ever");
    }
    if !demand.is_deleting {
        let unready = demand.unready(cluster, None);
        ensure!(unready.is_none(), "something leaves before {unready:?} is ready");
    }
    let turn = removal_turn(demand, cluster, name, live)?;
    for (other, object) in cluster.members().filter(|(other, _)| demand.is_to_go(other)) {
        let theirs = removal_turn(demand, cluster, other, object)?;
        ensure!(theirs >= turn, "it goes in turn {turn:?}, and {other} of turn {theirs:?} is there");
    }
    if !is_kept {
        let taken: Vec<&str> = cluster.inside(live).map(|object| text(object, "/metadata/name")).collect();
        ensure!(taken.is_empty(), "{taken:?} would go with it");
    }
    Ok(())
}

/// Judges a bundle at rest that is to be applied, once nobody is in its way. `why` says what it waits for.
pub(crate) fn judge_rest(cluster: &Cluster, demand: &Demand, why: &str) -> Result<()> {
    let is_taken = |place: &usize| {
        let live = cluster.objects.get(&demand.names[*place]);
        live.is_some_and(|object| !is_member(object)) && !demand.has_served(*place, cluster)
    };
    if let Some(taken) = demand.wanted().find(is_taken) {
        ensure!(!why.is_empty(), "{} is somebody else's, and nothing is said of it", demand.names[taken]);
        return Ok(());
    }
    ensure!(why.is_empty(), "nobody is in its way, but: {why}");
    for (member, _) in cluster.members() {
        ensure!(!demand.is_to_go(member), "{member} is not wanted, and still a member");
    }
    for place in demand.wanted().filter(|place| !demand.has_served(*place, cluster)) {
        let (name, settings) = (&demand.names[place], &demand.shapes[place].settings);
        let live = cluster.objects.get(name).with_context(|| format!("{name} is not there"))?;
        let content = live["metadata"]["annotations"][CONTENT].as_str().unwrap_or_default();
        let is_content = *content == demand.contents[place].to_string();
        ensure!(is_content || settings.reconcile == "once", "{name} has another content: {live}");
        let goes = departure(live)?;
        ensure!(goes == (settings.delete, settings.delete_order), "{name} is to go by {settings:?}, and says {goes:?}");
    }
    Ok(())
}

/// Judges what a deleted bundle has left, of which it created some.
pub(crate) fn judge_remains(cluster: &Cluster, created: impl Fn(&Value) -> bool) -> Result<()> {
    ensure!(cluster.parent.is_none(), "the parent is still there");
    for (name, object) in &cluster.objects {
        ensure!(!is_member(object), "{name} is still a member");
        ensure!(!created(object), "{name} was created, and is left: {object}");
        ensure!(label(object, OWNER) != Some(ADAPTER), "{name} is left as the adapter's: {object}");
    }
    Ok(())
}

/// Judges what a disowned bundle has left: nothing by which somebody would take an object for the adapter's.
pub(crate) fn judge_handover(cluster: &Cluster) -> Result<()> {
    let parent = cluster.parent.as_ref().context("the parent is gone")?;
    ensure!(label(parent, DISOWNED).is_some(), "the parent is not disowned: {parent}");
    for (name, object) in &cluster.objects {
        let is_anothers = label(object, OWNER).is_some_and(|owner| owner != ADAPTER);
        let left = LABELS.into_iter().find(|key| label(object, key).is_some());
        ensure!(is_anothers || left.is_none(), "{name} is left with the label {left:?}: {object}");
    }
    Ok(())
}
