//! Tests of the model itself: it notices each defect of [`Tampering`] as a violation of the right invariant.

use crate::memory::first_violation;
use crate::oracle::Invariant;
use crate::tamper::Tampering;

/// The maximum number of sequences per test. Far more than needed, so that another seed does not make a test fail.
const SEQUENCES: u32 = 3000;

fn assert_breaks(tampering: Tampering, invariant: Invariant) {
    match first_violation(invariant, SEQUENCES, tampering) {
        Ok(number) => eprintln!("{tampering:?} breaks {invariant:?} in sequence {number}"),
        Err(nothing) => panic!("{nothing}"),
    }
}

#[test]
fn missing_fence_causes_unjustified_deletions() {
    assert_breaks(Tampering::NoFence, Invariant::UnjustifiedDeletion);
}

#[test]
fn ignoring_taken_names_causes_unjustified_deletions() {
    assert_breaks(Tampering::IgnoresTakenNames, Invariant::UnjustifiedDeletion);
}

#[test]
fn missing_version_fence_changes_disowned_objects() {
    assert_breaks(Tampering::NoVersionFence, Invariant::DisownedChanged);
}

#[test]
fn missing_version_fence_lets_stale_events_win() {
    assert_breaks(Tampering::NoVersionFence, Invariant::StaleWrite);
}

#[test]
fn skipping_disowned_objects_creates_them_again() {
    assert_breaks(Tampering::SkipsDisowned, Invariant::DisownedChanged);
}

#[test]
fn ignoring_the_mark_changes_disowned_objects() {
    assert_breaks(Tampering::IgnoresMark, Invariant::DisownedChanged);
}

#[test]
fn ignoring_live_generations_lets_stale_events_win() {
    assert_breaks(Tampering::StaleWins, Invariant::StaleWrite);
}

#[test]
fn pruning_the_newest_version_prunes_the_current_one() {
    assert_breaks(Tampering::PrunesCurrent, Invariant::CurrentPruned);
}

#[test]
fn taking_unread_for_absent_causes_unjustified_deletions() {
    assert_breaks(Tampering::UnreadIsAbsent, Invariant::UnjustifiedDeletion);
}

#[test]
fn taking_unread_for_absent_causes_forbidden_writes() {
    assert_breaks(Tampering::UnreadIsAbsent, Invariant::ForbiddenWrite);
}

#[test]
fn hiding_generations_writes_on_every_event() {
    assert_breaks(Tampering::ForgetsGenerations, Invariant::NotIdempotent);
}

#[test]
fn claiming_foreign_objects_writes_them() {
    assert_breaks(Tampering::ClaimsForeign, Invariant::ForeignWritten);
}

#[test]
fn empty_cache_creates_duplicates() {
    assert_breaks(Tampering::EmptyCache, Invariant::DuplicateCreation);
}

#[test]
fn never_retrying_does_not_converge() {
    assert_breaks(Tampering::GivesUp, Invariant::NotConverged);
}
