//! A model of the election: two to five replicas with their real [`Machine`](super::machine::Machine)s, an API server in
//! memory, and simulated time. Four invariants must hold in every run.
//!
//! * **I1** No two claims hold at the same instant. A claim counts until its deadline, also while its replica is
//!   paused or cut off.
//! * **I2** No call that one replica was permitted is under way when another one's term begins.
//! * **I3** The number of each term of a Lease is higher than all numbers before it.
//! * **I4** Once the faults end, somebody leads within a bound, and stays leader.
//!
//! A run has, besides its replicas, a list of faults, and random fates of requests: lost, delayed, carried out
//! without an answer. The replicas' clocks run up to 7 % too slow or too fast, and their wall clocks differ by hours.
//! Their settings may differ.
//!
//! `LIFECYCLE_MODEL_RUNS` is the number of runs, and `LIFECYCLE_MODEL_SEED` selects others. The tests named `sabotage`
//! take one fence after the other out, and check that the model notices.

#![expect(clippy::panic, reason = "tests")]

mod run;
mod server;
mod simulation;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use self::run::{Run, runs};
use self::simulation::{Simulation, Violation};

/// The number of runs by default: as many as a debug build does in a minute.
const RUNS: u32 = 10_000;

/// A fence that a simulation takes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sabotage {
    /// The server accepts writes with an outdated resource version.
    VersionIgnored,
    /// Replicas compare their wall clock with `renewTime` instead of watching the Lease.
    WallClocksCompared,
    /// The claim lasts from the arrival of the renewal's answer.
    CountedFromAnswer,
    /// Calls are made after the deadline, until the loop ends the term.
    DeadlineNotAsked,
    /// A Lease that did not exist is taken as soon as it is created.
    CreatedTakenAtOnce,
    /// A Lease without a holder is taken at once.
    EmptiedTakenAtOnce,
    /// A write that changed nothing counts as a renewal.
    UnchangedCounts,
    /// The Lease is given back while calls are under way.
    PermitsIgnored,
    /// The clocks' rates differ by more than the settings allow.
    ClocksOutOfBounds,
}

fn variable(name: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return default };
    text.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn runner(config: Config, seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[test]
fn no_two_replicas_may_delete_at_the_same_time() {
    let cases = u32::try_from(variable("LIFECYCLE_MODEL_RUNS", RUNS.into())).unwrap_or(u32::MAX);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let terms = std::cell::Cell::new(0);
    let outcome = runner(config, variable("LIFECYCLE_MODEL_SEED", 1)).run(&runs(), |run| {
        let ended =
            Simulation::new(&run, None).check().map_err(|violation| TestCaseError::fail(violation.to_string()))?;
        terms.set(terms.get() + ended);
        Ok(())
    });
    match outcome {
        Ok(()) => assert!(terms.get() > cases * 2, "{} terms in {cases} runs: too few to mean anything", terms.get()),
        Err(TestError::Fail(reason, run)) => panic!("{reason}\n{run:#?}\n{}", Simulation::new(&run, None).trace()),
        Err(error @ TestError::Abort(_)) => panic!("{error}"),
    }
}

/// Runs until a violation of the kind that the sabotage must cause.
fn first_violation(sabotage: Sabotage, is_expected: fn(&Violation) -> bool) {
    let mut runner = runner(Config::default(), 7);
    let mut others = Vec::new();
    for _ in 0..2000 {
        let run: Run = runs().new_tree(&mut runner).unwrap_or_else(|error| panic!("{error}")).current();
        match Simulation::new(&run, Some(sabotage)).check() {
            Ok(_) => {}
            Err(violation) if is_expected(&violation) => return,
            Err(violation) => others.push(violation.to_string()),
        }
    }
    panic!("{sabotage:?} is not noticed, but {:?}", others.first());
}

#[test]
fn sabotage_of_each_fence_is_noticed() {
    let two_claims: fn(&Violation) -> bool = |violation| matches!(violation, Violation::TwoClaims { .. });
    let call_under_way: fn(&Violation) -> bool = |violation| matches!(violation, Violation::CallUnderWay { .. });
    for (sabotage, is_expected) in [
        (Sabotage::VersionIgnored, two_claims),
        (Sabotage::WallClocksCompared, two_claims),
        (Sabotage::CountedFromAnswer, two_claims),
        (Sabotage::DeadlineNotAsked, two_claims),
        (Sabotage::CreatedTakenAtOnce, two_claims),
        (Sabotage::EmptiedTakenAtOnce, two_claims),
        (Sabotage::UnchangedCounts, two_claims),
        (Sabotage::PermitsIgnored, call_under_way),
        (Sabotage::ClocksOutOfBounds, two_claims),
    ] {
        first_violation(sabotage, is_expected);
    }
}
