//! Tests each row by its number: its decision, and the gates that the table evaluates before it.

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::Generation;

use super::situation::{LIVE, Situation, foreign, found, no_answer, nothing};
use crate::decision::{Decision, DisownReason, NotYet, Resent, SkipReason, UpdateReason, VersionReason, WaitReason};
use crate::outcome::GateAnswer::{DoesNotHold, Holds};

/// The gates that the table evaluates for a live version before it may be written.
const LIVE_BEFORE_WRITES: [&str; 3] = ["orphan", "delete", "when"];

#[track_caller]
fn check(situation: &Situation, row: &str, decision: &Decision, gates: &[&str]) {
    let verdict = situation.decide();
    assert_eq!(verdict.outcome(), (row, decision));
    assert_eq!(verdict.gates(), gates, "the gates that row {row} asks");
}

#[track_caller]
fn check_live(situation: &Situation, row: &str, decision: &Decision, gates: &[&str]) {
    check(situation, row, decision, &[&LIVE_BEFORE_WRITES, gates].concat());
}

#[test]
fn row_1_unread_resource_fails_and_is_not_written() {
    let situation = Situation { versions: None, delete: Holds, orphan: Holds, ..nothing() };
    check(&situation, "1", &Decision::Fail(Failure::new(FailReason::DiscoveryFailed, "connection refused")), &[]);
}

#[test]
fn row_2_disowned_object_is_never_written_again() {
    for version in [LIVE.disowned(), LIVE.generation(1).disowned(), LIVE.disowned().terminating()] {
        check(&found([version]), "2", &Decision::Skip(SkipReason::Disowned), &[]);
    }
    let beside_a_dying_one = found([LIVE.disowned(), LIVE.named("b").terminating()]);
    check(&beside_a_dying_one, "2", &Decision::Skip(SkipReason::Disowned), &[]);
}

#[test]
fn row_2_versions_beside_a_disowned_one_are_disowned() {
    let situation = found([LIVE, LIVE.named("b").disowned()]);
    check(&situation, "2", &Decision::Disown(DisownReason::Disowned), &[]);
}

#[test]
fn row_3_live_object_is_disowned_if_the_orphan_gate_holds() {
    let situation = Situation { orphan: Holds, ..found([LIVE, LIVE.named("b").terminating()]) };
    check(&situation, "3", &Decision::Disown(DisownReason::GateHolds), &["orphan", "delete"]);
    assert_eq!(situation.decide().conflicts, []);
}

#[test]
fn row_3_orphan_gate_wins_over_the_delete_gate_with_a_warning() {
    for delete in [Holds, no_answer()] {
        let situation = Situation { orphan: Holds, delete: delete.clone(), ..found([LIVE]) };
        check(&situation, "3", &Decision::Disown(DisownReason::GateHolds), &["orphan", "delete"]);
        assert_eq!(situation.decide().conflicts, [delete]);
    }
}

#[test]
fn row_4_absent_object_needs_no_disowning() {
    let situation = Situation { orphan: Holds, ..nothing() };
    check(&situation, "4", &Decision::Skip(SkipReason::NothingToDisown), &["orphan"]);
}

#[test]
fn row_5_live_object_is_deleted_if_the_delete_gate_holds() {
    for versions in [vec![LIVE], vec![LIVE.generation(9)], vec![LIVE, LIVE.named("b").terminating()]] {
        let situation = Situation { delete: Holds, ..found(versions) };
        check(&situation, "5", &Decision::Delete, &["orphan", "delete"]);
    }
}

#[test]
fn row_5_deletion_does_not_render_the_manifest() {
    let unrenderable = Err(Failure::new(FailReason::RenderFailed, "no entry for key"));
    let situation = Situation { delete: Holds, rendered: unrenderable, ..found([LIVE]) };
    check(&situation, "5", &Decision::Delete, &["orphan", "delete"]);
}

#[test]
fn row_6_terminating_object_is_not_disowned() {
    let situation = Situation { orphan: Holds, delete: Holds, ..found([LIVE.terminating()]) };
    check(&situation, "6", &Decision::Wait(WaitReason::Deleting), &["delete"]);
}

#[test]
fn row_7_absent_object_needs_no_deletion() {
    let situation = Situation { delete: Holds, ..nothing() };
    check(&situation, "7", &Decision::Skip(SkipReason::AlreadyAbsent), &["orphan", "delete"]);
}

#[test]
fn row_7a_earlier_failure_prevents_writes() {
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
fn row_8_false_when_prevents_writes() {
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
fn row_9_creation_waits_for_a_terminating_object() {
    let situation = found([LIVE.terminating(), LIVE.named("b").generation(9).terminating()]);
    check(&situation, "9", &Decision::Wait(WaitReason::Terminating), &["delete", "when"]);
}

#[test]
fn row_10_false_create_gate_prevents_a_creation() {
    let situation = Situation { create: DoesNotHold, ..nothing() };
    check_live(&situation, "10", &Decision::Skip(SkipReason::CreateGateFalse), &["create"]);
}

#[test]
fn row_11_false_apply_gate_prevents_a_creation() {
    let situation = Situation { apply: DoesNotHold, ..nothing() };
    check_live(&situation, "11", &Decision::Skip(SkipReason::ApplyGateFalse), &["create", "apply"]);
}

#[test]
fn row_12_absent_object_is_created_not_patched() {
    let situation = Situation { recreate: Holds, patches: Ok(vec![0]), ..nothing() };
    check_live(&situation, "12", &Decision::Create, &["create", "apply"]);
}

#[test]
fn row_12_manifest_that_fails_to_render_fails_the_resource() {
    let failure = Failure::new(FailReason::RenderFailed, "no entry for key");
    let situation = Situation { rendered: Err(failure.clone()), ..nothing() };
    check_live(&situation, "12", &Decision::Fail(failure), &["create", "apply"]);
}

#[test]
fn row_13_late_event_leaves_newer_objects_unchanged() {
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
fn row_14_true_recreate_gate_recreates_the_object() {
    let situation = Situation { recreate: Holds, ..found([LIVE]) };
    check_live(&situation, "14", &Decision::Recreate { from: Some(Generation(3)) }, &["recreate", "create"]);
}

#[test]
fn row_14_false_create_gate_prevents_a_recreation() {
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
fn row_14_retention_creates_a_version_beside_the_others() {
    let situation = Situation { recreate: Holds, retains_versions: true, ..found([LIVE.named("old")]) };
    check_live(&situation, "14", &Decision::CreateVersion(VersionReason::RecreateGateHolds), &["recreate"]);
}

#[test]
fn row_14_version_with_a_taken_name_fails() {
    for version in [LIVE, LIVE.terminating()] {
        let situation = Situation { recreate: Holds, retains_versions: true, ..found([version, LIVE.named("b")]) };
        let verdict = situation.decide();
        let Decision::Fail(failure) = &verdict.decided.decision else { unreachable!("{verdict:?}") };
        assert_eq!((verdict.decided.row.number(), failure.reason), ("14", FailReason::VersionNameTaken));
        assert!(failure.message.contains("which is the name of a version that is kept"), "{failure}");
    }
}

#[test]
fn row_15_only_patches_with_true_gates_are_sent() {
    let situation = Situation { patches: Ok(vec![0, 2]), ..found([LIVE.generation(1)]) };
    check_live(&situation, "15", &Decision::Patch(vec![0, 2]), &["recreate", "patch"]);
}

#[test]
fn row_16_false_apply_gate_prevents_an_update() {
    let situation = Situation { apply: DoesNotHold, ..found([LIVE.generation(1)]) };
    check_live(&situation, "16", &Decision::Skip(SkipReason::ApplyGateFalse), &["recreate", "patch", "apply"]);
}

#[test]
fn row_17_object_of_the_desired_generation_is_not_updated() {
    let same = Decision::Skip(SkipReason::SameGeneration(Generation(3)));
    for versions in [vec![LIVE], vec![LIVE.named("b"), LIVE.generation(2)]] {
        check_live(&found(versions), "17", &same, &["recreate", "patch", "apply"]);
    }
}

#[test]
fn row_17_unavailable_owner_fails_the_resource() {
    let failure = Failure::new(FailReason::OwnerUnavailable, "it is absent");
    let situation = Situation { has_its_owner: Err(failure.clone()), ..found([LIVE]) };
    check_live(&situation, "17", &Decision::Fail(failure), &["recreate", "patch", "apply"]);
}

#[test]
fn row_18_new_name_creates_a_version() {
    let situation = found([LIVE.named("old").generation(2)]);
    let decision = Decision::CreateVersion(VersionReason::NewName);
    check_live(&situation, "18", &decision, &["recreate", "patch", "apply"]);
}

#[test]
fn row_19_object_of_another_generation_is_updated() {
    for generation in [Some(2), None] {
        let from = generation.map(Generation);
        let decision = Decision::Update { from, because: UpdateReason::GenerationChanged };
        let version = super::situation::Live { generation, ..LIVE };
        check_live(&found([version]), "19", &decision, &["recreate", "patch", "apply"]);
    }
}

#[test]
fn row_19_object_with_another_owner_is_updated() {
    let situation = Situation { has_its_owner: Ok(false), ..found([LIVE]) };
    let decision = Decision::Update { from: Some(Generation(3)), because: UpdateReason::OwnerChanged };
    check_live(&situation, "19", &decision, &["recreate", "patch", "apply"]);
}

#[test]
fn row_19_update_waits_for_a_terminating_namesake() {
    let situation = found([LIVE.generation(2).terminating(), LIVE.named("old").generation(2)]);
    check_live(&situation, "19", &Decision::Wait(WaitReason::Terminating), &["recreate", "patch", "apply"]);
}

#[test]
fn rows_5_and_14_deletions_wait_for_a_pending_disowning() {
    let pending_disowning = Some("ConfigMap b has to be disowned first".to_owned());
    let wait = Decision::Wait(WaitReason::DisownPending("ConfigMap b has to be disowned first".to_owned()));
    let deleted = Situation { delete: Holds, pending_disowning: pending_disowning.clone(), ..found([LIVE]) };
    check(&deleted, "5", &wait, &["orphan", "delete"]);
    let recreated = Situation { recreate: Holds, pending_disowning: pending_disowning.clone(), ..found([LIVE]) };
    check_live(&recreated, "14", &wait, &["recreate", "create"]);
    // A recreation with `retention` deletes nothing, so it does not wait for the disowning.
    let beside = Situation { retains_versions: true, recreate: Holds, ..found([LIVE.named("old")]) };
    let beside = Situation { pending_disowning: pending_disowning.clone(), ..beside };
    check_live(&beside, "14", &Decision::CreateVersion(VersionReason::RecreateGateHolds), &["recreate"]);
    let gone = Situation { delete: Holds, pending_disowning, ..nothing() };
    check(&gone, "7", &Decision::Skip(SkipReason::AlreadyAbsent), &["orphan", "delete"]);
}

#[test]
fn rows_3_5_and_6_leave_a_foreign_object_alone() {
    let not_ours = Decision::Skip(SkipReason::NotOurs);
    for adopts in [false, true] {
        let live = || Situation { adopts, ..foreign([LIVE]) };
        check(&Situation { orphan: Holds, delete: Holds, ..live() }, "3", &not_ours, &["orphan"]);
        check(&Situation { delete: Holds, ..live() }, "5", &not_ours, &["orphan", "delete"]);
        let going = Situation { delete: Holds, adopts, ..foreign([LIVE.terminating()]) };
        check(&going, "6", &not_ours, &["delete"]);
    }
    let pending_disowning = Some("ConfigMap b has to be disowned first".to_owned());
    let waits_for_nothing = Situation { delete: Holds, pending_disowning, ..foreign([LIVE]) };
    check(&waits_for_nothing, "5", &not_ours, &["orphan", "delete"]);
}

#[test]
fn rows_14_18_and_19_fail_for_a_foreign_object() {
    let cases = [
        ("14", true, Situation { recreate: Holds, ..foreign([LIVE]) }, "a recreation would delete it"),
        ("18", true, foreign([LIVE.named("old")]), "the manifest has another name"),
        ("19", false, foreign([LIVE]), "to take it over, write `adopt: true`"),
    ];
    for (row, adopts, situation, told) in cases {
        let verdict = Situation { adopts, ..situation }.decide();
        let Decision::Fail(failure) = &verdict.decided.decision else { unreachable!("{verdict:?}") };
        assert_eq!((verdict.decided.row.number(), failure.reason), (row, FailReason::NotOurs));
        assert!(failure.message.contains(told), "{failure}");
    }
}

#[test]
fn row_15_patches_a_foreign_object() {
    let situation = Situation { patches: Ok(vec![0]), ..foreign([LIVE]) };
    check_live(&situation, "15", &Decision::Patch(vec![0]), &["recreate", "patch"]);
    let unpatched = Situation { apply: DoesNotHold, ..foreign([LIVE]) };
    check_live(&unpatched, "16", &Decision::Skip(SkipReason::ApplyGateFalse), &["recreate", "patch", "apply"]);
}

#[test]
fn row_19_adopts_a_foreign_object_if_the_entry_says_so() {
    let adopted = Decision::Update { from: None, because: UpdateReason::GenerationChanged };
    let situation = Situation { adopts: true, ..foreign([LIVE]) };
    check_live(&situation, "19", &adopted, &["recreate", "patch", "apply"]);
}

#[test]
fn row_8_false_gate_that_reads_the_clock_is_a_wait() {
    let not_yet = NotYet { gate: "timestamp(now()) > due".to_owned(), holds_back: true };
    for versions in [vec![], vec![LIVE.generation(1)]] {
        let situation = Situation { when: DoesNotHold, not_yet: Some(not_yet.clone()), ..found(versions) };
        let wait = Decision::Wait(WaitReason::NotYet(not_yet.clone()));
        check(&situation, "8", &wait, &["orphan", "delete", "when"]);
    }
}

#[test]
fn row_20_sends_again_only_where_nothing_else_is_written() {
    let late = |situation: Situation| Situation { resends: Some(Resent::Content), ..situation };
    let again = Decision::Resend(Resent::Content);
    let newer = found([LIVE.generation(4)]);
    let silent = Situation { when: DoesNotHold, ..found([LIVE]) };
    let kept = Situation { apply: DoesNotHold, ..found([LIVE]) };
    for situation in [found([LIVE]), newer, silent, kept, found([LIVE.terminating()])] {
        assert_eq!(late(situation).decide().outcome(), ("20", &again));
    }
    let terminating = Situation { delete: Holds, ..found([LIVE.terminating()]) };
    let deletion = Situation { resends: Some(Resent::Deletion), ..terminating };
    assert_eq!(deletion.decide().outcome(), ("20", &Decision::Resend(Resent::Deletion)));
    let others = [
        (nothing(), "12"),
        (foreign([LIVE]), "19"),
        (found([LIVE.generation(2)]), "19"),
        (found([LIVE.disowned()]), "2"),
        (Situation { patches: Ok(vec![0]), ..found([LIVE]) }, "15"),
        (Situation { delete: Holds, ..found([LIVE]) }, "5"),
        (Situation { failed_earlier: true, ..found([LIVE]) }, "7a"),
        (Situation { when: no_answer(), ..found([LIVE]) }, "8"),
    ];
    for (situation, row) in others {
        assert_eq!(late(situation.clone()).decide().decided.row.number(), row, "{situation:?}");
    }
}
