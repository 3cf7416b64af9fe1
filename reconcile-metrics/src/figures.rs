//! Computes the figures of a scrape from the rows of one SQL statement; without I/O.
//!
//! In: groups of pending resources, each with a count for one interval of ages, and the configured kinds. Out: for each
//! type, and separately for deletions, how many resources are pending and stuck, the longest time, and a histogram of
//! ages. Cannot fail: resources with unusual rows are counted, and counted once more as odd.
//!
//! The number of types is limited, because each is a label value: all configured kinds, up to 20 others, and [`OTHER`].

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Kinds;

/// The type of all kinds beyond the limit.
pub const OTHER: &str = "other";
/// How many kinds that are not configured get a type of their own.
const DISCOVERED_KINDS: usize = 20;

/// The labels `resource_type` and `is_delete`, which most series have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The kind in lower case.
    pub resource_type: String,
    /// Whether its resources are being deleted.
    pub is_delete: bool,
}

/// The bounds of the intervals of age by which PostgreSQL counts, in seconds, ascending and distinct.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds(Vec<f64>);

impl Bounds {
    /// Merges the histogram's bounds with every threshold, so that the same counts give the histogram and the stuck
    /// resources.
    #[must_use]
    pub fn new(buckets: &[f64], kinds: &Kinds) -> Self {
        let thresholds = kinds.all().iter().flat_map(|kind| [kind.stuck_after, kind.stuck_after_deleting]);
        let thresholds = thresholds.chain([kinds.default_stuck_after()]).map(|threshold| threshold.as_secs_f64());
        let mut bounds: Vec<f64> = buckets.iter().copied().chain(thresholds).collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        Self(bounds)
    }

    /// Returns the bounds in seconds.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// Returns the index of the interval that contains an age: the number of bounds below it.
    #[must_use]
    pub fn bucket(&self, age: f64) -> usize {
        self.0.iter().filter(|bound| age > **bound).count()
    }

    /// Whether the ages of an interval are above `bound`, which must be one of the bounds.
    fn is_beyond(&self, bucket: usize, bound: f64) -> bool {
        bucket > self.0.iter().filter(|other| **other < bound).count()
    }
}

/// Pending resources of one kind whose ages lie in the same interval: one row of `pending.sql`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Group {
    /// The kind, as the API writes it.
    pub kind: String,
    /// Whether they are being deleted.
    pub deleting: bool,
    /// The index of the interval, from [`Bounds::bucket`].
    pub bucket: usize,
    /// The number of resources of this kind in this interval.
    pub count: u64,
    /// The greatest age, in seconds.
    pub oldest: f64,
    /// The sum of their ages, in seconds.
    pub age_sum: f64,
    /// How many have no `last_transition_time`, so that their age counts from their creation.
    pub undated: u64,
    /// How many have a `last_transition_time` more than five minutes in the future; they count as new.
    pub future: u64,
}

/// The figures of one [`Flow`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// The number of resources that are not yet reconciled.
    pub pending: u64,
    /// How many of these are older than their threshold.
    pub stuck: u64,
    /// The greatest age of a stuck resource, in seconds; zero if none is stuck.
    pub longest_stuck: f64,
    /// For each bound of the histogram, how many are at most that old.
    pub at_most: Vec<u64>,
    /// The sum of all ages, in seconds.
    pub age_sum: f64,
}

/// The figures of one snapshot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Population {
    /// The figures by flow; contains both flows of every known type.
    pub flows: BTreeMap<Flow, Figures>,
    /// Pending resources whose kind is not configured; 0 if the configuration lists no kinds.
    pub unknown_kind: u64,
    /// Pending resources without a `last_transition_time`.
    pub undated: u64,
    /// Pending resources whose `last_transition_time` lies in the future.
    pub future: u64,
}

/// Maps kinds to types, the values of the label `resource_type`.
///
/// A kind keeps its type while the process runs, so that a series does not change its meaning between two scrapes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Types {
    named: BTreeSet<String>,
    /// How many types in `named` are not configured.
    discovered: usize,
}

impl Types {
    /// Creates types for the configured kinds, and for kinds in `found` up to the limit.
    #[must_use]
    pub fn new<'k>(kinds: &Kinds, found: impl IntoIterator<Item = &'k str>) -> Self {
        let named = kinds.all().iter().map(|kind| kind.name.to_lowercase()).collect();
        let mut types = Self { named, discovered: 0 };
        types.name(found);
        types
    }

    /// Adds types for kinds that a reading found, in alphabetical order, up to the limit.
    pub fn name<'k>(&mut self, found: impl IntoIterator<Item = &'k str>) {
        let found: BTreeSet<_> = found.into_iter().map(str::to_lowercase).collect();
        for kind in found {
            if self.discovered < DISCOVERED_KINDS && self.named.insert(kind) {
                self.discovered += 1;
            }
        }
    }

    /// Returns the type of a kind.
    #[must_use]
    pub fn label(&self, kind: &str) -> String {
        let label = kind.to_lowercase();
        if self.named.contains(&label) { label } else { OTHER.to_owned() }
    }

    /// Returns every type except [`OTHER`].
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(String::as_str)
    }
}

/// Adds up the groups by type.
#[must_use]
pub fn population(groups: &[Group], bounds: &Bounds, buckets: &[f64], kinds: &Kinds, types: &Types) -> Population {
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
            if !bounds.is_beyond(group.bucket, *bound) {
                *at_most += group.count;
            }
        }
        let threshold = kinds.stuck_after(&group.kind, group.deleting).as_secs_f64();
        if bounds.is_beyond(group.bucket, threshold) {
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
