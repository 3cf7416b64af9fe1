//! Tests pairs of rows that match in the same situation: the earlier row decides.

use super::situation::{LIVE, Situation, found, nothing};
use crate::outcome::GateAnswer::{DoesNotHold, Holds};
use crate::row::Row;

/// Pairs of rows that match in one situation: the earlier row, the later row, the reason why both match, and
/// the situation.
fn pairs() -> Vec<(Row, Row, &'static str, Situation)> {
    let live = || found([LIVE.generation(1)]);
    let same = || found([LIVE]);
    let dying = || found([LIVE.terminating()]);
    let disowned = || found([LIVE.generation(1).disowned()]);
    let stale = || found([LIVE.generation(4), LIVE.named("b").generation(1)]);
    let elsewhere = || found([LIVE.named("b").generation(1)]);
    vec![
        (
            Row::AlreadyDisowned,
            Row::Disown,
            "what was disowned is not disowned again",
            Situation { orphan: Holds, ..disowned() },
        ),
        (
            Row::AlreadyDisowned,
            Row::Delete,
            "what was disowned is not deleted",
            Situation { delete: Holds, ..disowned() },
        ),
        (
            Row::AlreadyDisowned,
            Row::Deleting,
            "nor waited for",
            Situation { delete: Holds, ..found([LIVE.disowned().terminating()]) },
        ),
        (
            Row::AlreadyDisowned,
            Row::EarlierFailure,
            "it says so after a failure, too",
            Situation { failed_earlier: true, ..disowned() },
        ),
        (
            Row::AlreadyDisowned,
            Row::WhenFalse,
            "and when nothing may be written",
            Situation { when: DoesNotHold, ..disowned() },
        ),
        (Row::AlreadyDisowned, Row::Terminating, "and on its way out", found([LIVE.disowned().terminating()])),
        (Row::AlreadyDisowned, Row::Stale, "and on a late event", found([LIVE.generation(4).disowned()])),
        (Row::AlreadyDisowned, Row::Recreate, "it is not replaced", Situation { recreate: Holds, ..disowned() }),
        (Row::AlreadyDisowned, Row::Patch, "nor patched", Situation { patches: Ok(vec![0]), ..disowned() }),
        (Row::AlreadyDisowned, Row::SameGeneration, "nor taken for managed", found([LIVE.disowned()])),
        (Row::AlreadyDisowned, Row::Update, "nor updated", disowned()),
        (
            Row::Disown,
            Row::Delete,
            "release comes before deletion",
            Situation { orphan: Holds, delete: Holds, ..live() },
        ),
        (
            Row::Disown,
            Row::EarlierFailure,
            "and goes on after a failure",
            Situation { orphan: Holds, failed_earlier: true, ..live() },
        ),
        (
            Row::Disown,
            Row::WhenFalse,
            "and needs no permission to write",
            Situation { orphan: Holds, when: DoesNotHold, ..live() },
        ),
        (Row::Disown, Row::Stale, "and no event in time", Situation { orphan: Holds, ..stale() }),
        (Row::Disown, Row::Update, "what is disowned is not updated", Situation { orphan: Holds, ..live() }),
        (
            Row::NothingToDisown,
            Row::AlreadyAbsent,
            "nothing to disown comes before nothing to delete",
            Situation { orphan: Holds, delete: Holds, ..nothing() },
        ),
        (
            Row::NothingToDisown,
            Row::Absent,
            "what is to be disowned is not created",
            Situation { orphan: Holds, ..nothing() },
        ),
        (
            Row::Delete,
            Row::EarlierFailure,
            "deletion goes on after a failure",
            Situation { delete: Holds, failed_earlier: true, ..live() },
        ),
        (
            Row::Delete,
            Row::WhenFalse,
            "and needs no permission to write",
            Situation { delete: Holds, when: DoesNotHold, ..live() },
        ),
        (Row::Delete, Row::Stale, "and no event in time", Situation { delete: Holds, ..stale() }),
        (
            Row::Delete,
            Row::Recreate,
            "what is to go is not replaced",
            Situation { delete: Holds, recreate: Holds, ..live() },
        ),
        (Row::Delete, Row::SameGeneration, "however fresh it is", Situation { delete: Holds, ..same() }),
        (
            Row::Deleting,
            Row::EarlierFailure,
            "it is waited for after a failure",
            Situation { delete: Holds, failed_earlier: true, ..dying() },
        ),
        (
            Row::Deleting,
            Row::WhenFalse,
            "and without permission to write",
            Situation { delete: Holds, when: DoesNotHold, ..dying() },
        ),
        (Row::Deleting, Row::Terminating, "whoever deleted it", Situation { delete: Holds, ..dying() }),
        (
            Row::AlreadyAbsent,
            Row::EarlierFailure,
            "what is gone is gone after a failure",
            Situation { delete: Holds, failed_earlier: true, ..nothing() },
        ),
        (
            Row::AlreadyAbsent,
            Row::WhenFalse,
            "and without permission to write",
            Situation { delete: Holds, when: DoesNotHold, ..nothing() },
        ),
        (
            Row::AlreadyAbsent,
            Row::CreateGateFalse,
            "deletion comes before the create gate",
            Situation { delete: Holds, create: DoesNotHold, ..nothing() },
        ),
        (
            Row::AlreadyAbsent,
            Row::Absent,
            "what is to be gone is not created",
            Situation { delete: Holds, ..nothing() },
        ),
        (
            Row::EarlierFailure,
            Row::WhenFalse,
            "no gate of a write is asked after a failure",
            Situation { failed_earlier: true, when: DoesNotHold, ..live() },
        ),
        (
            Row::EarlierFailure,
            Row::Terminating,
            "nor is anything waited for",
            Situation { failed_earlier: true, ..dying() },
        ),
        (
            Row::EarlierFailure,
            Row::Absent,
            "nothing is created after a failure",
            Situation { failed_earlier: true, ..nothing() },
        ),
        (Row::EarlierFailure, Row::Stale, "nothing is compared", Situation { failed_earlier: true, ..stale() }),
        (
            Row::EarlierFailure,
            Row::Recreate,
            "nothing is replaced",
            Situation { failed_earlier: true, recreate: Holds, ..live() },
        ),
        (
            Row::EarlierFailure,
            Row::Patch,
            "nothing is patched",
            Situation { failed_earlier: true, patches: Ok(vec![0]), ..live() },
        ),
        (Row::EarlierFailure, Row::Update, "nothing is updated", Situation { failed_earlier: true, ..live() }),
        (
            Row::WhenFalse,
            Row::Terminating,
            "without permission to write nothing is waited for",
            Situation { when: DoesNotHold, ..dying() },
        ),
        (
            Row::WhenFalse,
            Row::CreateGateFalse,
            "`when` comes before `create`",
            Situation { when: DoesNotHold, create: DoesNotHold, ..nothing() },
        ),
        (
            Row::WhenFalse,
            Row::ApplyGateFalseAbsent,
            "and before `apply`",
            Situation { when: DoesNotHold, apply: DoesNotHold, ..nothing() },
        ),
        (Row::WhenFalse, Row::Absent, "nothing is created", Situation { when: DoesNotHold, ..nothing() }),
        (Row::WhenFalse, Row::Stale, "nothing is compared", Situation { when: DoesNotHold, ..stale() }),
        (
            Row::WhenFalse,
            Row::Recreate,
            "nothing is replaced",
            Situation { when: DoesNotHold, recreate: Holds, ..live() },
        ),
        (
            Row::WhenFalse,
            Row::Patch,
            "nothing is patched",
            Situation { when: DoesNotHold, patches: Ok(vec![0]), ..live() },
        ),
        (Row::WhenFalse, Row::Update, "nothing is updated", Situation { when: DoesNotHold, ..live() }),
        (
            Row::CreateGateFalse,
            Row::ApplyGateFalseAbsent,
            "`create` comes before `apply`",
            Situation { create: DoesNotHold, apply: DoesNotHold, ..nothing() },
        ),
        (
            Row::CreateGateFalse,
            Row::Absent,
            "what may not be created is not",
            Situation { create: DoesNotHold, ..nothing() },
        ),
        (
            Row::ApplyGateFalseAbsent,
            Row::Absent,
            "nor is what may not be applied",
            Situation { apply: DoesNotHold, ..nothing() },
        ),
        (Row::Stale, Row::Recreate, "a late event replaces nothing", Situation { recreate: Holds, ..stale() }),
        (Row::Stale, Row::Patch, "and patches nothing", Situation { patches: Ok(vec![0]), ..stale() }),
        (Row::Stale, Row::ApplyGateFalse, "and asks for no permission", Situation { apply: DoesNotHold, ..stale() }),
        (
            Row::Stale,
            Row::SameGeneration,
            "also where its own generation is live",
            found([LIVE, LIVE.named("b").generation(4)]),
        ),
        (Row::Stale, Row::NewName, "and adds no version", found([LIVE.named("b").generation(4)])),
        (Row::Stale, Row::Update, "and updates nothing", found([LIVE.generation(4)])),
        (
            Row::Recreate,
            Row::Patch,
            "what is replaced is not patched",
            Situation { recreate: Holds, patches: Ok(vec![0]), ..live() },
        ),
        (
            Row::Recreate,
            Row::ApplyGateFalse,
            "replacing is not applying",
            Situation { recreate: Holds, apply: DoesNotHold, ..live() },
        ),
        (
            Row::Recreate,
            Row::SameGeneration,
            "what has this generation is replaced, too",
            Situation { recreate: Holds, ..same() },
        ),
        (
            Row::Recreate,
            Row::NewName,
            "one of another name is replaced, not joined",
            Situation { recreate: Holds, ..elsewhere() },
        ),
        (Row::Recreate, Row::Update, "what is replaced is not updated", Situation { recreate: Holds, ..live() }),
        (
            Row::Patch,
            Row::ApplyGateFalse,
            "patching is not applying",
            Situation { patches: Ok(vec![0]), apply: DoesNotHold, ..live() },
        ),
        (
            Row::Patch,
            Row::SameGeneration,
            "what has this generation is patched, too",
            Situation { patches: Ok(vec![0]), ..same() },
        ),
        (
            Row::Patch,
            Row::NewName,
            "the current one is patched, whatever its name",
            Situation { patches: Ok(vec![0]), ..elsewhere() },
        ),
        (Row::Patch, Row::Update, "what is patched is not updated", Situation { patches: Ok(vec![0]), ..live() }),
        (
            Row::ApplyGateFalse,
            Row::SameGeneration,
            "`apply` comes before the generation",
            Situation { apply: DoesNotHold, ..same() },
        ),
        (Row::ApplyGateFalse, Row::NewName, "no version is added", Situation { apply: DoesNotHold, ..elsewhere() }),
        (Row::ApplyGateFalse, Row::Update, "nothing is updated", Situation { apply: DoesNotHold, ..live() }),
        (Row::SameGeneration, Row::NewName, "a name that varies makes no version by itself", found([LIVE.named("b")])),
        (Row::SameGeneration, Row::Update, "what is settled is not updated", same()),
        (Row::NewName, Row::Update, "what has another name is not updated", elsewhere()),
    ]
}

#[test]
fn earlier_of_two_matching_rows_wins() {
    for (earlier, later, name, situation) in pairs() {
        assert!(earlier < later, "{name}");
        for row in [earlier, later] {
            assert!(super::properties::matches(row, &situation) == Some(true), "{name}: {row} has to match by itself");
        }
        assert_eq!(situation.decide().decided.row, earlier, "{name}");
    }
}

#[test]
fn pairs_contain_all_neighbours_that_match_together() {
    // Rows in different groups never match together: an unread resource, a live one, a terminating one, an
    // absent one.
    let apart = [
        (Row::Unknown, Row::AlreadyDisowned),
        (Row::Disown, Row::NothingToDisown),
        (Row::NothingToDisown, Row::Delete),
        (Row::Delete, Row::Deleting),
        (Row::Deleting, Row::AlreadyAbsent),
        (Row::Terminating, Row::CreateGateFalse),
        (Row::Absent, Row::Stale),
        // Row 20 takes the place of rows that write nothing; a test of its own has those that it leaves.
        (Row::Update, Row::NotObserved),
    ];
    let pairs = pairs();
    for neighbours in Row::ALL.windows(2) {
        let [earlier, later] = neighbours else { unreachable!("windows of two") };
        let is_tested = pairs.iter().any(|(a, b, ..)| (a, b) == (earlier, later));
        assert_ne!(is_tested, apart.contains(&(*earlier, *later)), "{earlier} and {later}");
    }
}
