//! From what the database counted to what is exposed; pure.
//!
//! In: groups of pending resources, each with how many there are between two ages, and the configured kinds. Out:
//! for each type and for deletions apart, how many are pending, how many of them are stuck, for how long, and how
//! old they are. Nothing can fail: a row that makes no sense is counted where it belongs, and counted as odd.
//!
//! The set of types is closed: the configured ones always, others up to a limit, the rest as [`OTHER`].

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Kinds;

/// The type under which kinds are counted that nobody configured and that are too many to name.
pub const OTHER: &str = "other";
/// Kinds beyond the configured ones that are named.
const DISCOVERED_KINDS: usize = 20;

/// A type, and whether its resources are being deleted: the labels of most series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The kind in lower case.
    pub resource_type: String,
    /// Whether they are being deleted.
    pub is_delete: bool,
}

/// The ages between which resources are told apart, in seconds, ascending and distinct.
#[derive(Debug, Clone, PartialEq)]
pub struct Edges(Vec<f64>);

impl Edges {
    /// The bounds of the histogram and every threshold: so both can be told from the same counts.
    #[must_use]
    pub fn new(buckets: &[f64], kinds: &Kinds) -> Self {
        let thresholds = kinds.all().iter().flat_map(|kind| [kind.stuck_after, kind.stuck_after_deleting]);
        let thresholds = thresholds.chain([kinds.default_stuck_after()]).map(|threshold| threshold.as_secs_f64());
        let mut edges: Vec<f64> = buckets.iter().copied().chain(thresholds).collect();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        Self(edges)
    }

    /// The edges in seconds.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// How many edges an age is beyond.
    #[must_use]
    pub fn band(&self, age: f64) -> usize {
        self.0.iter().filter(|edge| age > **edge).count()
    }

    /// Whether the ages of a band are beyond `edge`, which is one of the edges.
    fn is_beyond(&self, band: usize, edge: f64) -> bool {
        band > self.0.iter().filter(|other| **other < edge).count()
    }
}

/// Pending resources of one kind whose ages lie between the same two edges.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Group {
    /// The kind as written.
    pub kind: String,
    /// Whether they are being deleted.
    pub deleting: bool,
    /// How many edges their ages are beyond.
    pub band: usize,
    /// How many they are.
    pub count: u64,
    /// The greatest age, in seconds.
    pub oldest: f64,
    /// The sum of their ages, in seconds.
    pub age_sum: f64,
    /// How many have no time of transition, and are aged from their creation.
    pub undated: u64,
    /// How many have a time of transition well in the future, and count as new.
    pub future: u64,
}

/// What is known of one [`Flow`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// How many are pending.
    pub pending: u64,
    /// How many of these are beyond their threshold.
    pub stuck: u64,
    /// The greatest age of a stuck one, in seconds; zero if none is stuck.
    pub longest_stuck: f64,
    /// How many are at most as old as each bound of the histogram.
    pub at_most: Vec<u64>,
    /// The sum of all ages, in seconds.
    pub age_sum: f64,
}

/// The figures of one snapshot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Population {
    /// By flow; both flows of every known type are there.
    pub flows: BTreeMap<Flow, Figures>,
    /// Pending resources whose kind is not configured; 0 if the configuration lists no kinds.
    pub unknown_kind: u64,
    /// Pending resources without a time of transition.
    pub undated: u64,
    /// Pending resources whose time of transition lies in the future.
    pub future: u64,
}

/// Names types: the configured ones, some that were found, and [`OTHER`].
///
/// A name once given stays: whoever counts, and whenever, says the same of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Types {
    named: BTreeSet<String>,
    /// How many of them nobody configured.
    discovered: usize,
}

impl Types {
    /// The configured kinds, and of `found` as many as are named, in alphabetical order.
    #[must_use]
    pub fn new<'k>(kinds: &Kinds, found: impl IntoIterator<Item = &'k str>) -> Self {
        let named = kinds.all().iter().map(|kind| kind.name.to_lowercase()).collect();
        let mut types = Self { named, discovered: 0 };
        types.name(found);
        types
    }

    /// Names what was found, too, in alphabetical order and as long as there is room.
    pub fn name<'k>(&mut self, found: impl IntoIterator<Item = &'k str>) {
        let found: BTreeSet<_> = found.into_iter().map(str::to_lowercase).collect();
        for kind in found {
            if self.discovered < DISCOVERED_KINDS && self.named.insert(kind) {
                self.discovered += 1;
            }
        }
    }

    /// The label of a kind.
    #[must_use]
    pub fn label(&self, kind: &str) -> String {
        let label = kind.to_lowercase();
        if self.named.contains(&label) { label } else { OTHER.to_owned() }
    }

    /// Every label, without [`OTHER`].
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(String::as_str)
    }
}

/// Counts groups by type.
#[must_use]
pub fn population(groups: &[Group], edges: &Edges, buckets: &[f64], kinds: &Kinds, types: &Types) -> Population {
    let zero = Figures { at_most: vec![0; buckets.len()], ..Figures::default() };
    let mut population = Population::default();
    for resource_type in types.all() {
        for is_delete in [false, true] {
            let flow = Flow { resource_type: resource_type.to_owned(), is_delete };
            population.flows.insert(flow, zero.clone());
        }
    }
    for group in groups {
        let flow = Flow { resource_type: types.label(&group.kind), is_delete: group.deleting };
        let figures = population.flows.entry(flow).or_insert_with(|| zero.clone());
        figures.pending += group.count;
        figures.age_sum += group.age_sum;
        for (bound, at_most) in buckets.iter().zip(&mut figures.at_most) {
            if !edges.is_beyond(group.band, *bound) {
                *at_most += group.count;
            }
        }
        let threshold = kinds.stuck_after(&group.kind, group.deleting).as_secs_f64();
        if edges.is_beyond(group.band, threshold) {
            figures.stuck += group.count;
            figures.longest_stuck = figures.longest_stuck.max(group.oldest);
        }
        population.undated += group.undated;
        population.future += group.future;
        if !kinds.all().is_empty() && kinds.get(&group.kind).is_none() {
            population.unknown_kind += group.count;
        }
    }
    population
}

#[cfg(test)]
mod tests;
