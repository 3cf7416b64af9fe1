//! The model notices an adapter that is broken: each mistake of [`Tampering`] breaks the invariant that it should.

use crate::memory::first_to_break;
use crate::oracle::Invariant;
use crate::tamper::Tampering;

/// Far more than any of them needs, so that another draw of sequences does not make a test fail.
const SEQUENCES: u32 = 3000;

fn breaks(tampering: Tampering, invariant: Invariant) {
    match first_to_break(invariant, SEQUENCES, tampering) {
        Ok(number) => eprintln!("{tampering:?} breaks {invariant:?} in sequence {number}"),
        Err(nothing) => panic!("{nothing}"),
    }
}

#[test]
fn without_a_fence_what_nobody_judged_is_deleted() {
    breaks(Tampering::NoFence, Invariant::DeletedUntold);
}

#[test]
fn who_takes_a_taken_name_for_free_deletes_for_nothing() {
    breaks(Tampering::TakesTakenForFree, Invariant::DeletedUntold);
}

#[test]
fn without_a_version_fence_what_was_released_is_touched() {
    breaks(Tampering::NoVersionFence, Invariant::ReleasedTouched);
}

#[test]
fn without_a_version_fence_a_stale_generation_wins() {
    breaks(Tampering::NoVersionFence, Invariant::StaleWon);
}

#[test]
fn who_skips_what_was_released_creates_it_again() {
    breaks(Tampering::SkipsReleased, Invariant::ReleasedTouched);
}

#[test]
fn who_does_not_know_the_mark_touches_what_was_released() {
    breaks(Tampering::BlindToMark, Invariant::ReleasedTouched);
}

#[test]
fn who_takes_every_generation_for_the_oldest_rolls_back() {
    breaks(Tampering::StaleWins, Invariant::StaleWon);
}

#[test]
fn who_prunes_the_newest_prunes_the_current() {
    breaks(Tampering::PrunesCurrent, Invariant::CurrentPruned);
}

#[test]
fn who_takes_the_unread_for_absent_deletes_untold() {
    breaks(Tampering::UnreadIsAbsent, Invariant::DeletedUntold);
}

#[test]
fn who_takes_the_unread_for_absent_writes_untold() {
    breaks(Tampering::UnreadIsAbsent, Invariant::WrittenUntold);
}

#[test]
fn who_forgets_generations_never_comes_to_rest() {
    breaks(Tampering::ForgetsGenerations, Invariant::NotAtRest);
}

#[test]
fn an_empty_cache_creates_twice() {
    breaks(Tampering::EmptyCache, Invariant::CreatedTwice);
}

#[test]
fn who_gives_up_is_not_healed() {
    breaks(Tampering::GivesUp, Invariant::NotHealed);
}
