//! Runs random sequences on servers that answer in real time.
//!
//! In: arenas, a number of sequences, and a seed. Out: what the sequences covered. Fails: with the smallest finding of each
//! arena that has one.
//!
//! An arena runs one sequence after another, and all arenas run concurrently, because most of a sequence is waiting.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Result, ensure};
use futures::future::join_all;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::drive::{Coverage, Failure, Settings};
use crate::generate::{Profile, sequences};
use crate::oracle::Invariant;
use crate::sequence::Sequence;
use crate::tamper::Tampering;

/// The maximum number of attempts to shrink a finding.
const SHRINKS: usize = 60;

/// A place on a server, for one sequence after another.
pub(crate) trait Arena {
    /// The sequences that can run here.
    const PROFILE: Profile;

    /// Runs a sequence with names of objects that no other sequence has.
    async fn check(&self, sequence: &Sequence, settings: Settings) -> Result<Coverage, Failure>;
}

/// Runs `count` random sequences, and says what they covered.
pub(crate) async fn explore(arenas: &[impl Arena], count: u32, seed: u32) -> Result<Coverage> {
    let begun = Instant::now();
    let next = AtomicU32::new(0);
    let mut covered = Coverage::default();
    let mut findings = String::new();
    for outcome in join_all(arenas.iter().map(|arena| run_sequences(arena, &next, count, seed))).await {
        match outcome {
            Ok(coverage) => covered.add(&coverage),
            Err(error) => findings += &format!("\n=== {error:#}"),
        }
    }
    eprintln!("{count} sequences in {:.0?}: {covered}", begun.elapsed());
    ensure!(findings.is_empty(), "{findings}");
    Ok(covered)
}

/// Runs sequences until none is left, or one breaks an invariant.
async fn run_sequences<A: Arena>(arena: &A, next: &AtomicU32, count: u32, seed: u32) -> Result<Coverage> {
    let mut covered = Coverage::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return Ok(covered);
        }
        match arena.check(&tree(A::PROFILE, seed, number)?.current(), Settings::default()).await {
            Ok(coverage) => covered.add(&coverage),
            Err(failure) => {
                let failure = smallest(arena, seed, number, failure).await?;
                anyhow::bail!("sequence {number} of seed {seed}: {failure}");
            }
        }
    }
}

/// Runs up to `count` random sequences with a broken adapter; returns the number of the first one that breaks the invariant.
pub(crate) async fn first_violation<A: Arena>(
    arena: &A,
    invariant: Invariant,
    count: u32,
    tampering: Tampering,
) -> Result<u32> {
    let settings = Settings { tampering: Some(tampering), ..Settings::default() };
    for number in 0..count {
        match arena.check(&tree(A::PROFILE, 7, number)?.current(), settings).await {
            Ok(_) => {}
            Err(Failure::Finding(finding)) if finding.breaks(invariant) => return Ok(number),
            Err(Failure::Finding(_)) => {}
            Err(failure @ Failure::Model(_)) => anyhow::bail!("{failure}"),
        }
    }
    anyhow::bail!("{tampering:?} does not break {invariant:?} in {count} sequences")
}

/// The n-th sequence of a seed, with its smaller variants.
fn tree(profile: Profile, seed: u32, number: u32) -> Result<impl ValueTree<Value = Sequence>> {
    let mut bytes = [1; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    sequences(profile).new_tree(&mut runner).map_err(|reason| anyhow::anyhow!("{reason}"))
}

/// Shrinks a failing sequence, and returns the failure of the smallest one found; takes about a minute.
async fn smallest<A: Arena>(arena: &A, seed: u32, number: u32, found: Failure) -> Result<Failure> {
    let mut tree = tree(A::PROFILE, seed, number)?;
    let mut smallest = found;
    for _ in 0..SHRINKS {
        if !tree.simplify() {
            break;
        }
        let mut next = arena.check(&tree.current(), Settings::default()).await;
        while next.is_ok() && tree.complicate() {
            next = arena.check(&tree.current(), Settings::default()).await;
        }
        match next {
            Ok(_) => break,
            Err(failure) => smallest = failure,
        }
    }
    Ok(smallest)
}
