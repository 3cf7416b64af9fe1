//! Calculates what a larger fleet needs from what was measured with a smaller one.
//!
//! In: the [`Costs`] of a pass and of a listed cluster, and a [`Fleet`]. Out: its [`Needs`]. Pure. Every cost is taken to
//! grow in proportion, so the result is a lower bound where a cost grows faster, as that of late pages of a list.

use std::array::from_fn;
use std::ops::{Add, Index, IndexMut, Mul};

/// What a load consists of. Parts are measured in CPU seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Adapters,
    Sentinel,
    Api,
    Database,
    Broker,
    Kubernetes,
    ApiRequests,
    KubernetesRequests,
    Transactions,
    RowsWritten,
    RowsRead,
}

impl Of {
    pub(super) const ALL: [Self; 11] = [
        Self::Adapters,
        Self::Sentinel,
        Self::Api,
        Self::Database,
        Self::Broker,
        Self::Kubernetes,
        Self::ApiRequests,
        Self::KubernetesRequests,
        Self::Transactions,
        Self::RowsWritten,
        Self::RowsRead,
    ];
}

/// An amount of everything that a load consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Load([f64; Of::ALL.len()]);

/// What was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Costs {
    /// One reconcile pass of one adapter that changes nothing, with its share of the event.
    pub(super) pass: Load,
    /// One cluster in one poll of the Sentinel.
    pub(super) listed: Load,
    /// The seconds that a poll lasts for each cluster.
    pub(super) poll_seconds: f64,
    /// The size of the database for each cluster.
    pub(super) database_bytes: f64,
}

/// A fleet, and the Sentinel's cadence in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fleet {
    pub(super) clusters: f64,
    pub(super) adapters: f64,
    /// The part of the clusters that is not reconciled, from 0 to 1.
    pub(super) unreconciled: f64,
    pub(super) poll_interval: f64,
    pub(super) age_unreconciled: f64,
    pub(super) age_reconciled: f64,
}

/// What a fleet needs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Needs {
    /// Each second: events of the Sentinel, and passes of all adapters.
    pub(super) events: f64,
    pub(super) passes: f64,
    /// Each second: so the amount of a part is its number of busy cores.
    pub(super) load: Load,
    /// Replicas of each adapter.
    pub(super) replicas: f64,
    /// Messages by which the queue of an adapter with one replica grows each second.
    pub(super) growth: f64,
    /// The seconds that these replicas need for one event about each cluster, as after a long outage.
    pub(super) drain_seconds: f64,
    /// The seconds that one poll lasts: a poll longer than the interval delays all events.
    pub(super) poll_seconds: f64,
    pub(super) database_bytes: f64,
}

/// The part of a core that a replica is planned to use, which leaves it room for bursts.
const PLANNED: f64 = 0.5;
/// The fewest replicas, so that one may end.
const FEWEST: f64 = 2.0;

/// Calculates what a fleet needs.
pub(super) fn needs(costs: &Costs, fleet: &Fleet) -> Needs {
    let unreconciled = fleet.clusters * fleet.unreconciled;
    // The Sentinel announces a cluster at the first poll at which its age is reached.
    let period = |age: f64| (age / fleet.poll_interval).ceil() * fleet.poll_interval;
    let events =
        unreconciled / period(fleet.age_unreconciled) + (fleet.clusters - unreconciled) / period(fleet.age_reconciled);
    let passes = events * fleet.adapters;
    let pass = costs.pass[Of::Adapters];
    let replicas = (events * pass / PLANNED).ceil().max(FEWEST);
    Needs {
        events,
        passes,
        load: costs.pass * passes + costs.listed * (fleet.clusters / fleet.poll_interval),
        replicas,
        growth: if pass > 0.0 { (events - 1.0 / pass).max(0.0) } else { 0.0 },
        drain_seconds: fleet.clusters * pass / replicas,
        poll_seconds: fleet.clusters * costs.poll_seconds,
        database_bytes: fleet.clusters * costs.database_bytes,
    }
}

impl Index<Of> for Load {
    type Output = f64;

    fn index(&self, of: Of) -> &f64 {
        &self.0[of as usize]
    }
}

impl IndexMut<Of> for Load {
    fn index_mut(&mut self, of: Of) -> &mut f64 {
        &mut self.0[of as usize]
    }
}

impl Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(from_fn(|index| self.0[index] + other.0[index]))
    }
}

impl Mul<f64> for Load {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self(self.0.map(|amount| amount * factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_follow_from_costs_and_cadence() {
        let load = |pairs: &[(Of, f64)]| {
            let mut load = Load::default();
            for (of, amount) in pairs {
                load[*of] = *amount;
            }
            load
        };
        let costs = Costs {
            pass: load(&[(Of::Adapters, 0.002), (Of::Api, 0.001), (Of::ApiRequests, 3.0)]),
            listed: load(&[(Of::Sentinel, 0.0001), (Of::Api, 0.0002)]),
            poll_seconds: 0.0005,
            database_bytes: 2000.0,
        };
        let fleet = |clusters, unreconciled| Fleet {
            clusters,
            adapters: 2.0,
            unreconciled,
            poll_interval: 5.0,
            age_unreconciled: 10.0,
            age_reconciled: 1800.0,
        };
        // Clusters, part unreconciled; events, passes, adapters' cores, API's cores, API requests, replicas, growth,
        // seconds to drain, seconds of a poll.
        let cases = [
            (1_800.0, 0.0, [1.0, 2.0, 0.004, 0.074, 6.0, 2.0, 0.0, 1.8, 0.9]),
            (18_000.0, 0.0, [10.0, 20.0, 0.04, 0.74, 60.0, 2.0, 0.0, 18.0, 9.0]),
            (10_000.0, 1.0, [1000.0, 2000.0, 4.0, 2.4, 6000.0, 4.0, 500.0, 5.0, 5.0]),
            (18_000.0, 0.5, [905.0, 1810.0, 3.62, 2.53, 5430.0, 4.0, 405.0, 9.0, 9.0]),
        ];
        for (clusters, unreconciled, expected) in cases {
            let needs = needs(&costs, &fleet(clusters, unreconciled));
            let found = [
                needs.events,
                needs.passes,
                needs.load[Of::Adapters],
                needs.load[Of::Api],
                needs.load[Of::ApiRequests],
                needs.replicas,
                needs.growth,
                needs.drain_seconds,
                needs.poll_seconds,
            ];
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{clusters} {unreconciled}: {found} instead of {expected}");
            }
        }
    }

    #[test]
    fn age_between_two_polls_lasts_until_the_later_one() {
        let mut fleet = Fleet {
            clusters: 100.0,
            adapters: 1.0,
            unreconciled: 1.0,
            poll_interval: 4.0,
            age_unreconciled: 10.0,
            age_reconciled: 1800.0,
        };
        for (age, expected) in [(8.0, 12.5), (10.0, 100.0 / 12.0), (12.0, 100.0 / 12.0)] {
            fleet.age_unreconciled = age;
            let events = needs(&Costs::default(), &fleet).events;
            assert!((events - expected).abs() < 1e-9, "{age}: {events}");
        }
    }
}
