//! Random runs: replicas and faults.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::{Just, any};
use proptest::prop_oneof;
use proptest::strategy::Strategy;

use crate::leader::settings::Settings;

/// When the last fault ends, in milliseconds.
pub(super) const FAULTS_END: u32 = 90_000;

#[derive(Debug, Clone)]
pub(super) struct Run {
    /// Selects the fates of the requests.
    pub(super) seed: u64,
    /// Whether a released Lease exists at the start.
    pub(super) has_lease: bool,
    pub(super) replicas: Vec<Replica>,
    /// Faults, by the millisecond at which they happen.
    pub(super) faults: Vec<(u32, Fault)>,
}

#[derive(Debug, Clone)]
pub(super) struct Replica {
    /// When the replica starts, in milliseconds.
    pub(super) start: u32,
    /// How much its clock gains in a second, in millionths, as a share of the bound.
    pub(super) drift: i8,
    pub(super) wall_hours: i8,
    pub(super) durations: Durations,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Durations {
    pub(super) lease: Duration,
    pub(super) deadline: Duration,
    pub(super) retry: Duration,
}

impl Durations {
    const fn new(lease: u64, deadline: u64, retry: u64) -> Self {
        Self {
            lease: Duration::from_secs(lease),
            deadline: Duration::from_millis(deadline),
            retry: Duration::from_millis(retry),
        }
    }

    pub(super) fn settings(self) -> Settings {
        Settings { duration: self.lease, renew_deadline: self.deadline, retry: self.retry, ..Settings::default() }
    }
}

/// A fault. `replica` is taken modulo the number of replicas, times are in milliseconds.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The process does not run.
    Pause { replica: usize, time: u32 },
    /// All requests and answers of the replica are lost.
    Partition { replica: usize, time: u32 },
    /// Nobody reaches the server.
    Outage { time: u32 },
    /// SIGTERM; the replica starts again after `time`, at the earliest when it has ended.
    Stop { replica: usize, time: u32 },
    /// SIGKILL; the replica starts again after `time`.
    Crash { replica: usize, time: u32 },
    /// The wall clock is set by some minutes.
    SetWall { replica: usize, minutes: i16 },
    /// The wall clock stands still.
    FreezeWall { replica: usize, time: u32 },
    /// A person deletes the Lease. Only in runs whose replicas have the same settings.
    Delete,
    /// A person empties the holder.
    Empty,
    /// A person annotates the Lease.
    Annotate,
}

/// Settings whose lease duration exceeds the deadline by at least 17 %, as the drift of the clocks demands.
const DURATIONS: [Durations; 4] = [
    Durations::new(15, 10_000, 2000),
    Durations::new(15, 12_700, 2000),
    Durations::new(6, 4000, 500),
    Durations::new(30, 20_000, 5000),
];

fn faults() -> impl Strategy<Value = Fault> {
    let replica = || 0_usize..5;
    let time = || prop_oneof![0_u32..4000, 0_u32..40_000];
    prop_oneof![
        4 => (replica(), time()).prop_map(|(replica, time)| Fault::Pause { replica, time }),
        6 => (replica(), time()).prop_map(|(replica, time)| Fault::Partition { replica, time }),
        1 => time().prop_map(|time| Fault::Outage { time }),
        3 => (replica(), time()).prop_map(|(replica, time)| Fault::Stop { replica, time }),
        2 => (replica(), time()).prop_map(|(replica, time)| Fault::Crash { replica, time }),
        1 => (replica(), any::<i16>()).prop_map(|(replica, minutes)| Fault::SetWall { replica, minutes }),
        1 => (replica(), time()).prop_map(|(replica, time)| Fault::FreezeWall { replica, time }),
        1 => Just(Fault::Delete),
        1 => Just(Fault::Empty),
        2 => Just(Fault::Annotate),
    ]
}

fn replicas() -> impl Strategy<Value = Vec<Replica>> {
    let durations = prop_oneof![
        3 => (0..DURATIONS.len()).prop_map(|index| vec![DURATIONS[index]; 5]),
        1 => vec((0..DURATIONS.len()).prop_map(|index| DURATIONS[index]), 5),
    ];
    let replica = (0_u32..10_000, -100_i8..=100, -12_i8..=12);
    (vec(replica, 2..=5), durations).prop_map(|(replicas, durations)| {
        let replicas = replicas.into_iter().zip(durations);
        let replicas =
            replicas.map(|((start, drift, wall_hours), durations)| Replica { start, drift, wall_hours, durations });
        replicas.collect()
    })
}

pub(super) fn runs() -> impl Strategy<Value = Run> {
    let faults = vec((0..FAULTS_END, faults()), 0..12);
    (any::<u64>(), any::<bool>(), replicas(), faults).prop_map(|(seed, has_lease, replicas, faults)| Run {
        seed,
        has_lease,
        replicas,
        faults,
    })
}
