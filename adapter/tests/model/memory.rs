//! Runs the model on the API server in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use lifecycle_core::row::Row;
use lifecycle_transport::memory::MemoryTransport;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::drive::{Coverage, Failure, Settings, run};
use crate::generate::{Profile, sequences};
use crate::ground::Ground;
use crate::journal::Journal;
use crate::oracle::Invariant;
use crate::sequence::{Delivery, Fault, Sequence};
use crate::shape::TaskShape;
use crate::tamper::Tampering;

/// The number of sequences by default.
const SEQUENCES: u32 = 2000;
/// The number of seeds, each explored in its own thread. Independent of the number of processors, so that the
/// same settings give the same sequences on every machine.
const SHARDS: u32 = 8;

struct Memory(Arc<MemoryTransport>);

impl Memory {
    fn new(start: Timestamp) -> Self {
        Self(Arc::new(MemoryTransport::new(start)))
    }
}

impl Ground for Memory {
    type Transport = MemoryTransport;

    fn store(&self) -> Arc<MemoryTransport> {
        Arc::clone(&self.0)
    }

    fn wire(&self, _: usize) -> Arc<MemoryTransport> {
        Arc::clone(&self.0)
    }

    fn namespace(&self) -> &str {
        "space"
    }

    fn group(&self) -> &str {
        "model.example.com"
    }

    fn set_now(&self, now: Timestamp) {
        self.0.set_now(now);
    }

    fn inject(&self, _: usize, faults: BTreeMap<usize, Fault>) -> BTreeMap<usize, Fault> {
        faults
    }

    fn heal(&self, _: usize) -> usize {
        0
    }

    async fn settle(&self, _: &Journal<MemoryTransport>) -> anyhow::Result<()> {
        self.0.collect_garbage();
        Ok(())
    }

    fn is_busy(&self, _: &TaskShape) -> bool {
        false
    }
}

/// Runs one sequence in its own runtime, with a paused clock that advances only to deadlines.
pub(crate) fn check(sequence: &Sequence, settings: Settings) -> Result<Coverage, Failure> {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(run(sequence, (Memory::new(start), "c1"), (Memory::new(start), "c1"), start, settings))
}

/// Runs `count` random sequences from one seed. Returns their coverage, or the smallest finding.
pub(crate) fn explore(count: u32, seed: u64) -> Result<Coverage, String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases: count, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let coverage = std::cell::RefCell::new(Coverage::default());
    let outcome = runner.run(&sequences(Profile::Memory), |sequence| match check(&sequence, Settings::default()) {
        Ok(covered) => {
            coverage.borrow_mut().add(&covered);
            Ok(())
        }
        Err(failure) => Err(proptest::test_runner::TestCaseError::fail(failure.to_string())),
    });
    match outcome {
        Ok(()) => Ok(coverage.into_inner()),
        Err(TestError::Fail(reason, sequence)) => Err(format!("{reason}\n{sequence:#?}")),
        Err(error @ TestError::Abort(_)) => Err(error.to_string()),
    }
}

/// Runs up to `count` random sequences with a broken adapter; returns the number of the first one that breaks
/// the invariant.
pub(crate) fn first_violation(invariant: Invariant, count: u32, tampering: Tampering) -> Result<u32, String> {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let mut others = BTreeSet::new();
    for number in 1..=count {
        let tree = sequences(Profile::Memory).new_tree(&mut runner).map_err(|reason| reason.to_string())?;
        match check(&tree.current(), Settings { tampering: Some(tampering), ..Settings::default() }) {
            Ok(_) => {}
            Err(Failure::Finding(finding)) if finding.breaks(invariant) => return Ok(number),
            Err(Failure::Finding(finding)) => others.extend(finding.violations.iter().map(|other| other.invariant)),
            Err(failure @ Failure::Model(_)) => return Err(failure.to_string()),
        }
    }
    Err(format!("{tampering:?} does not break {invariant:?} in {count} sequences, but {others:?}"))
}

pub(crate) fn setting(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_sequences_break_no_invariant() {
    let count = setting("LIFECYCLE_MODEL_SEQUENCES", SEQUENCES);
    let seed = u64::from(setting("LIFECYCLE_MODEL_SEED", 0));
    let outcomes: Vec<Result<Coverage, String>> = std::thread::scope(|scope| {
        let explore = |shard| scope.spawn(move || explore(count.div_ceil(SHARDS), seed << 8 | u64::from(shard)));
        let shards: Vec<_> = (0..SHARDS).map(explore).collect();
        shards.into_iter().map(|shard| shard.join().unwrap_or_else(|_| Err("the model panicked".to_owned()))).collect()
    });
    let mut covered = Coverage::default();
    let mut findings = String::new();
    for outcome in &outcomes {
        match outcome {
            Ok(coverage) => covered.add(coverage),
            Err(finding) => findings = findings + "\n=== " + finding,
        }
    }
    eprintln!("{count} sequences: {covered}");
    assert!(findings.is_empty(), "{findings}");
    if count >= SEQUENCES {
        // Only on a remote cluster does an agent observe a write later.
        let can_come = |row: &Row| *row != Row::NotObserved;
        let missing: Vec<Row> = Row::ALL.into_iter().filter(|row| can_come(row) && !covered.has(*row)).collect();
        assert!(missing.is_empty(), "no sequence comes to the rows {missing:?}");
        assert!(covered.pruned > 0 && covered.compared > count as usize / 3, "{covered}");
    }
}

/// Crashes the first pass of an event at each of its calls, before and after the call, or loses the call's answer.
#[test]
fn next_event_converges_after_a_crash_at_any_call() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[3; 32]));
    let faults = [Fault::Crash { done: false }, Fault::Crash { done: true }, Fault::LostAnswer];
    let mut covered = Coverage::default();
    for _ in 0..setting("LIFECYCLE_MODEL_SEQUENCES", SEQUENCES) / 100 {
        let tree = sequences(Profile::Memory).new_tree(&mut runner).unwrap_or_else(|reason| panic!("{reason}"));
        let calm = Sequence { disturbances: Vec::new(), ..tree.current() };
        let run =
            |sequence: &Sequence| check(sequence, Settings::default()).unwrap_or_else(|failure| panic!("{failure}"));
        let without = run(&calm).disturbed;
        for fault in faults {
            for call in 1.. {
                let delivery = Delivery { faults: BTreeMap::from([(call, fault)]), ..Delivery::default() };
                let disturbed = run(&Sequence { disturbances: vec![delivery], ..calm.clone() });
                covered.add(&disturbed);
                if disturbed.disturbed == without {
                    // The fault was not hit, so the pass has no further call.
                    break;
                }
            }
        }
    }
    assert!(covered.compared > covered.disturbed / 10, "{covered}");
}
