//! Each row by its number: what is decided, and what is asked to get there.

use super::situation::{LIVE, Situation, found, no_answer, nothing};
use crate::decision::{
    Decision, DisownReason, FailReason, Failure, SkipReason, UpdateReason, VersionReason, WaitReason,
};
use crate::id::Generation;
use crate::plan::decide::GateAnswer::{DoesNotHold, Holds};

/// The gates that the table evaluates for a live version before it may be written.
const LIVE_BEFORE_WRITES: [&str; 3] = ["orphan", "delete", "when"];

#[track_caller]
fn check(situation: &Situation, row: &str, decision: &Decision, gates: &[&str]) {
    let verdict = situation.decide();
    assert_eq!(verdict.told(), (row, decision));
    assert_eq!(verdict.gates(), gates, "the gates that row {row} asks");
}

#[track_caller]
fn check_live(situation: &Situation, row: &str, decision: &Decision, gates: &[&str]) {
    check(situation, row, decision, &[&LIVE_BEFORE_WRITES, gates].concat());
}

#[test]
fn row_1_what_could_not_be_read_is_left_alone() {
    let situation = Situation { versions: None, delete: Holds, orphan: Holds, ..nothing() };
    check(&situation, "1", &Decision::Fail(Failure::new(FailReason::DiscoveryFailed, "connection refused")), &[]);
}

#[test]
fn row_2_what_was_released_is_never_touched_again() {
    for version in [LIVE.disowned(), LIVE.generation(1).disowned(), LIVE.disowned().terminating()] {
        check(&found([version]), "2", &Decision::Skip(SkipReason::Disowned), &[]);
    }
    let beside_a_dying_one = found([LIVE.disowned(), LIVE.named("b").terminating()]);
    check(&beside_a_dying_one, "2", &Decision::Skip(SkipReason::Disowned), &[]);
}

#[test]
fn row_2_what_is_left_beside_it_is_released_too() {
    let situation = found([LIVE, LIVE.named("b").disowned()]);
    check(&situation, "2", &Decision::Disown(DisownReason::Disowned), &[]);
}

#[test]
fn row_3_what_is_live_is_released_when_the_orphan_gate_holds() {
    let situation = Situation { orphan: Holds, ..found([LIVE, LIVE.named("b").terminating()]) };
    check(&situation, "3", &Decision::Disown(DisownReason::GateHolds), &["orphan", "delete"]);
    assert_eq!(situation.decide().conflicts, []);
}

#[test]
fn row_3_a_delete_gate_that_holds_too_or_has_no_answer_is_told_and_loses() {
    for delete in [Holds, no_answer()] {
        let situation = Situation { orphan: Holds, delete: delete.clone(), ..found([LIVE]) };
        check(&situation, "3", &Decision::Disown(DisownReason::GateHolds), &["orphan", "delete"]);
        assert_eq!(situation.decide().conflicts, [delete]);
    }
}

#[test]
fn row_4_where_nothing_is_there_to_release_nothing_is_done() {
    let situation = Situation { orphan: Holds, ..nothing() };
    check(&situation, "4", &Decision::Skip(SkipReason::NothingToDisown), &["orphan"]);
}

#[test]
fn row_5_what_is_live_is_deleted_when_the_delete_gate_holds() {
    for versions in [vec![LIVE], vec![LIVE.generation(9)], vec![LIVE, LIVE.named("b").terminating()]] {
        let situation = Situation { delete: Holds, ..found(versions) };
        check(&situation, "5", &Decision::Delete, &["orphan", "delete"]);
    }
}

#[test]
fn row_5_deletion_needs_no_manifest_that_renders() {
    let unrenderable = Err(Failure::new(FailReason::RenderFailed, "no entry for key"));
    let situation = Situation { delete: Holds, rendered: unrenderable, ..found([LIVE]) };
    check(&situation, "5", &Decision::Delete, &["orphan", "delete"]);
}

#[test]
fn row_6_what_is_on_its_way_out_is_waited_for_and_not_released() {
    let situation = Situation { orphan: Holds, delete: Holds, ..found([LIVE.terminating()]) };
    check(&situation, "6", &Decision::Wait(WaitReason::Deleting), &["delete"]);
}

#[test]
fn row_7_what_is_gone_needs_no_deletion() {
    let situation = Situation { delete: Holds, ..nothing() };
    check(&situation, "7", &Decision::Skip(SkipReason::AlreadyAbsent), &["orphan", "delete"]);
}

#[test]
fn row_7a_after_an_earlier_failure_nothing_is_written() {
    for (versions, gates) in [
        (vec![], vec!["orphan", "delete"]),
        (vec![LIVE.generation(1)], vec!["orphan", "delete"]),
        (vec![LIVE.terminating()], vec!["delete"]),
    ] {
        let situation = Situation { failed_earlier: true, ..found(versions) };
        check(&situation, "7a", &Decision::Skip(SkipReason::EarlierFailure), &gates);
    }
}

#[test]
fn row_8_where_when_does_not_hold_nothing_is_written() {
    for (versions, gates) in [
        (vec![], vec!["orphan", "delete", "when"]),
        (vec![LIVE.generation(1)], vec!["orphan", "delete", "when"]),
        (vec![LIVE.terminating()], vec!["delete", "when"]),
    ] {
        let situation = Situation { when: DoesNotHold, ..found(versions) };
        check(&situation, "8", &Decision::Skip(SkipReason::WhenFalse), &gates);
    }
}

#[test]
fn row_9_nothing_is_created_beside_what_is_on_its_way_out() {
    let situation = found([LIVE.terminating(), LIVE.named("b").generation(9).terminating()]);
    check(&situation, "9", &Decision::Wait(WaitReason::Terminating), &["delete", "when"]);
}

#[test]
fn row_10_what_may_not_be_created_is_not() {
    let situation = Situation { create: DoesNotHold, ..nothing() };
    check_live(&situation, "10", &Decision::Skip(SkipReason::CreateGateFalse), &["create"]);
}

#[test]
fn row_11_what_may_not_be_applied_is_not_created() {
    let situation = Situation { apply: DoesNotHold, ..nothing() };
    check_live(&situation, "11", &Decision::Skip(SkipReason::ApplyGateFalse), &["create", "apply"]);
}

#[test]
fn row_12_what_is_absent_is_created_and_never_patched() {
    let situation = Situation { recreate: Holds, patches: Ok(vec![0]), ..nothing() };
    check_live(&situation, "12", &Decision::Create, &["create", "apply"]);
}

#[test]
fn row_12_what_does_not_render_is_not_created() {
    let failure = Failure::new(FailReason::RenderFailed, "no entry for key");
    let situation = Situation { rendered: Err(failure.clone()), ..nothing() };
    check_live(&situation, "12", &Decision::Fail(failure), &["create", "apply"]);
}

#[test]
fn row_13_a_late_event_rolls_nothing_back() {
    let stale = Decision::Skip(SkipReason::StaleEvent { live: Generation(4), desired: Generation(3) });
    for versions in [
        vec![LIVE.generation(4)],
        vec![LIVE, LIVE.named("b").generation(4)],
        vec![LIVE, LIVE.named("b").generation(4).terminating()],
    ] {
        check_live(&found(versions), "13", &stale, &[]);
    }
}

#[test]
fn row_14_what_has_to_be_replaced_is_recreated() {
    let situation = Situation { recreate: Holds, ..found([LIVE]) };
    check_live(&situation, "14", &Decision::Recreate { from: Some(Generation(3)) }, &["recreate", "create"]);
}

#[test]
fn row_14_what_may_not_be_created_is_not_deleted_to_make_room_for_it() {
    let situation = Situation { recreate: Holds, create: DoesNotHold, ..found([LIVE]) };
    check_live(&situation, "14", &Decision::Skip(SkipReason::CreateGateFalse), &["recreate", "create"]);
}

#[test]
fn row_14_recreation_waits_while_a_version_terminates() {
    for versions in [[LIVE.terminating(), LIVE.named("b")], [LIVE, LIVE.named("b").terminating()]] {
        let situation = Situation { recreate: Holds, ..found(versions) };
        check_live(&situation, "14", &Decision::Wait(WaitReason::Terminating), &["recreate", "create"]);
    }
    let sentence = Decision::Wait(WaitReason::Terminating).sentence();
    assert_eq!(sentence, "a version is terminating, and has to be gone first", "the current version is live");
    let versions = [LIVE.named("b"), LIVE.named("c").terminating()];
    let kept = Situation { recreate: Holds, retains_versions: true, ..found(versions) };
    let decision = Decision::CreateVersion(VersionReason::RecreateGateHolds);
    check_live(&kept, "14", &decision, &["recreate"]);
}

#[test]
fn row_14_with_retention_a_version_is_created_beside_the_others() {
    let situation = Situation { recreate: Holds, retains_versions: true, ..found([LIVE.named("old")]) };
    check_live(&situation, "14", &Decision::CreateVersion(VersionReason::RecreateGateHolds), &["recreate"]);
}

#[test]
fn row_14_with_retention_a_version_needs_a_name_of_its_own() {
    for version in [LIVE, LIVE.terminating()] {
        let situation = Situation { recreate: Holds, retains_versions: true, ..found([version, LIVE.named("b")]) };
        let verdict = situation.decide();
        let Decision::Fail(failure) = &verdict.decided.decision else { unreachable!("{verdict:?}") };
        assert_eq!((verdict.decided.row.number(), failure.reason), ("14", FailReason::VersionNameTaken));
        assert!(failure.message.contains("which is the name of a version that is kept"), "{failure}");
    }
}

#[test]
fn row_15_patches_that_hold_are_sent_and_nothing_else() {
    let situation = Situation { patches: Ok(vec![0, 2]), ..found([LIVE.generation(1)]) };
    check_live(&situation, "15", &Decision::Patch(vec![0, 2]), &["recreate", "patch"]);
}

#[test]
fn row_16_what_may_not_be_applied_is_left_as_it_is() {
    let situation = Situation { apply: DoesNotHold, ..found([LIVE.generation(1)]) };
    check_live(&situation, "16", &Decision::Skip(SkipReason::ApplyGateFalse), &["recreate", "patch", "apply"]);
}

#[test]
fn row_17_what_was_written_for_this_generation_is_left_as_it_is() {
    let same = Decision::Skip(SkipReason::SameGeneration(Generation(3)));
    for versions in [vec![LIVE], vec![LIVE.named("b"), LIVE.generation(2)]] {
        check_live(&found(versions), "17", &same, &["recreate", "patch", "apply"]);
    }
}

#[test]
fn row_17_an_owner_that_is_not_available_is_told() {
    let failure = Failure::new(FailReason::OwnerUnavailable, "it is absent");
    let situation = Situation { has_its_owner: Err(failure.clone()), ..found([LIVE]) };
    check_live(&situation, "17", &Decision::Fail(failure), &["recreate", "patch", "apply"]);
}

#[test]
fn row_18_a_new_name_makes_a_new_version() {
    let situation = found([LIVE.named("old").generation(2)]);
    let decision = Decision::CreateVersion(VersionReason::NewName);
    check_live(&situation, "18", &decision, &["recreate", "patch", "apply"]);
}

#[test]
fn row_19_what_was_written_for_another_generation_or_for_none_is_updated() {
    for generation in [Some(2), None] {
        let from = generation.map(Generation);
        let decision = Decision::Update { from, because: UpdateReason::GenerationChanged };
        let version = super::situation::Live { generation, ..LIVE };
        check_live(&found([version]), "19", &decision, &["recreate", "patch", "apply"]);
    }
}

#[test]
fn row_19_what_names_another_owner_is_updated() {
    let situation = Situation { has_its_owner: Ok(false), ..found([LIVE]) };
    let decision = Decision::Update { from: Some(Generation(3)), because: UpdateReason::OwnerChanged };
    check_live(&situation, "19", &decision, &["recreate", "patch", "apply"]);
}

#[test]
fn row_19_nothing_is_written_into_a_namesake_on_its_way_out() {
    let situation = found([LIVE.generation(2).terminating(), LIVE.named("old").generation(2)]);
    check_live(&situation, "19", &Decision::Wait(WaitReason::Terminating), &["recreate", "patch", "apply"]);
}

#[test]
fn rows_5_and_14_what_owns_something_that_is_to_be_released_waits_for_the_release() {
    let pending_disowning = Some("ConfigMap b has to be disowned first".to_owned());
    let wait = Decision::Wait(WaitReason::DisownPending("ConfigMap b has to be disowned first".to_owned()));
    let deleted = Situation { delete: Holds, pending_disowning: pending_disowning.clone(), ..found([LIVE]) };
    check(&deleted, "5", &wait, &["orphan", "delete"]);
    let recreated = Situation { recreate: Holds, pending_disowning: pending_disowning.clone(), ..found([LIVE]) };
    check_live(&recreated, "14", &wait, &["recreate", "create"]);
    // What deletes nothing has nothing to wait for.
    let beside = Situation { retains_versions: true, recreate: Holds, ..found([LIVE.named("old")]) };
    let beside = Situation { pending_disowning: pending_disowning.clone(), ..beside };
    check_live(&beside, "14", &Decision::CreateVersion(VersionReason::RecreateGateHolds), &["recreate"]);
    let gone = Situation { delete: Holds, pending_disowning, ..nothing() };
    check(&gone, "7", &Decision::Skip(SkipReason::AlreadyAbsent), &["orphan", "delete"]);
}
