//! Judges a write before it is sent, by what is on the server at that moment.
//!
//! In: the write, what is on the server, and what the life demands. Fails: with the invariant that the write would break.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::cluster::{Cluster, OWNER, PART_OF, is_member, is_ready, is_terminating, label};
use super::life::{Kind, Shape};
use crate::world::{ADAPTER, ENTRY, text};

const DISOWNED: &str = "hyperfleet.io/disowned";

/// A write of an object of the life, or of the parent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Write<'a> {
    /// With the kind of the object.
    Create(&'a str),
    Update,
    Patch,
    Delete,
}

/// What the life demands.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    /// The names of the objects by their places.
    pub(crate) names: Vec<String>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) is_wanted: Vec<bool>,
    pub(crate) is_deleting: bool,
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
        self.is_deleting || !self.place(name).is_some_and(|place| self.is_wanted[place])
    }

    /// The place of the namespace or type with which an object goes.
    pub(crate) fn outer(&self, place: usize) -> Option<usize> {
        let outer = self.shapes[place].kind.outer()?;
        self.shapes.iter().position(|shape| shape.kind == outer)
    }

    fn turn(&self, place: usize) -> Turn {
        let Shape { kind, settings } = &self.shapes[place];
        let has_type = || self.outer(place).is_some_and(|outer| self.is_wanted[outer]);
        (settings.apply_order, *kind == Kind::Instance && has_type())
    }

    /// A wanted object of an earlier turn, or of any without one, that neither is ready nor has served.
    fn unready(&self, cluster: &Cluster, before: Option<Turn>) -> Option<&str> {
        let earlier = self.wanted().filter(|it| before.is_none_or(|turn| self.turn(*it) < turn));
        let names = earlier.map(|place| self.names[place].as_str());
        let works = |name: &str| cluster.objects.get(name).is_some_and(|object| is_member(object) && is_ready(object));
        names.into_iter().find(|name| !works(name) && !cluster.has_served(name))
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
fn departure(object: &Value) -> Result<(&str, i16)> {
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
    if matches!(write, Write::Delete) {
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
        Write::Patch | Write::Delete => {
            let live = live.context("there is no such object")?;
            ensure!(is_member(live), "it is no member: {live}");
            match write {
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
    if let Some(purge) = settings.purge_order.filter(|_| cluster.has_served(&demand.names[place])) {
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
    let is_kept =
        policy == "orphan" || policy == if demand.is_deleting { "orphan-on-delete" } else { "orphan-on-apply" };
    ensure!(is_kept == matches!(write, Write::Patch), "its policy is {policy}");
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
