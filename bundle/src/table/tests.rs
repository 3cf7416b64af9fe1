use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const DIGEST: &str = "new~new";

/// A rendered object with default policies.
fn wanted() -> Wanted<'static> {
    Wanted {
        policies: Policies::default(),
        digest: DIGEST,
        is_completed: false,
        is_to_be_purged: false,
        is_due_again: false,
        goes_otherwise: false,
    }
}

fn with(change: impl FnOnce(&mut Wanted<'static>)) -> Option<Wanted<'static>> {
    let mut wanted = wanted();
    change(&mut wanted);
    Some(wanted)
}

fn member(digest: Option<&'static str>) -> Found<'static> {
    Found::Member { digest, is_terminating: false, delete: Delete::Delete }
}

fn kept(delete: Delete) -> Found<'static> {
    Found::Member { digest: Some(DIGEST), is_terminating: false, delete }
}

const GOING_MEMBER: Found<'_> = Found::Member { digest: Some(DIGEST), is_terminating: true, delete: Delete::Orphan };
const UNOWNED: Found<'_> = Found::Other { owner: None, is_terminating: false };
const FOREIGN: Found<'_> = Found::Other { owner: Some("adapter x"), is_terminating: false };

#[test]
fn each_situation_has_the_row_and_the_decision_of_the_table() {
    use Intent::{Apply, Delete as Remove, Disown};
    let adopting = |adoption| with(|it| it.policies.adoption = adoption);
    let wait = || Decision::Wait(GOING.to_owned());
    let later = Some("wave 0 is not ready");
    let skip = Decision::Skip;
    let cases = [
        (
            "a member of a disowned bundle",
            Disown,
            Some(wanted()),
            member(Some("x")),
            None,
            Row::Disown,
            Decision::Disown(DisownReason::BundleDisowned),
        ),
        ("a terminating member of a disowned bundle", Disown, None, GOING_MEMBER, None, Row::NothingToDisown, wait()),
        (
            "another's object of a disowned bundle",
            Disown,
            Some(wanted()),
            FOREIGN,
            None,
            Row::NothingToDisown,
            skip(SkipReason::NotOurs),
        ),
        (
            "an absent object of a disowned bundle",
            Disown,
            Some(wanted()),
            Found::Nothing,
            None,
            Row::NothingToDisown,
            skip(SkipReason::Gone),
        ),
        (
            "a member of a deleted bundle",
            Remove,
            Some(wanted()),
            member(Some("x")),
            None,
            Row::Redundant,
            Decision::Delete(DeleteReason::BundleDeleted),
        ),
        (
            "a completed member of a deleted bundle",
            Remove,
            with(|it| it.is_completed = true),
            Found::Nothing,
            None,
            Row::Gone,
            skip(SkipReason::Gone),
        ),
        (
            "another's object of a deleted bundle",
            Remove,
            Some(wanted()),
            FOREIGN,
            None,
            Row::NoMember,
            skip(SkipReason::NotOurs),
        ),
        (
            "a member that left the set",
            Apply,
            None,
            member(Some("x")),
            None,
            Row::Redundant,
            Decision::Delete(DeleteReason::NotWanted),
        ),
        (
            "a member that left the set and is going, whatever its policy",
            Apply,
            None,
            GOING_MEMBER,
            None,
            Row::Going,
            wait(),
        ),
        (
            "a member that goes later",
            Apply,
            None,
            member(None),
            later,
            Row::GoesLater,
            Decision::Wait("wave 0 is not ready".to_owned()),
        ),
        (
            "a member that stays although it left the set",
            Apply,
            None,
            kept(Delete::OrphanOnApply),
            None,
            Row::Kept,
            Decision::Disown(DisownReason::Policy),
        ),
        (
            "the same with the bundle deleted",
            Remove,
            None,
            kept(Delete::OrphanOnApply),
            None,
            Row::Redundant,
            Decision::Delete(DeleteReason::BundleDeleted),
        ),
        (
            "a member that stays when the bundle is deleted",
            Remove,
            None,
            kept(Delete::OrphanOnDelete),
            None,
            Row::Kept,
            Decision::Disown(DisownReason::Policy),
        ),
        (
            "the same after it left the set",
            Apply,
            None,
            kept(Delete::OrphanOnDelete),
            None,
            Row::Redundant,
            Decision::Delete(DeleteReason::NotWanted),
        ),
        (
            "a member that stays always",
            Remove,
            None,
            kept(Delete::Orphan),
            None,
            Row::Kept,
            Decision::Disown(DisownReason::Policy),
        ),
        (
            "a completed object",
            Apply,
            with(|it| it.is_completed = true),
            Found::Nothing,
            later,
            Row::Completed,
            skip(SkipReason::Completed),
        ),
        (
            "a completed object whose name another took",
            Apply,
            with(|it| it.is_completed = true),
            FOREIGN,
            None,
            Row::Completed,
            skip(SkipReason::Completed),
        ),
        (
            "a completed object that is to be purged and going",
            Apply,
            with(|it| (it.is_completed, it.is_to_be_purged) = (true, true)),
            GOING_MEMBER,
            None,
            Row::Completing,
            wait(),
        ),
        (
            "a completed object that is purged later",
            Apply,
            with(|it| it.is_completed = true),
            member(Some(DIGEST)),
            None,
            Row::Completed,
            skip(SkipReason::Completed),
        ),
        (
            "a member that stays although it left the set, while others go first",
            Apply,
            None,
            kept(Delete::Orphan),
            later,
            Row::GoesLater,
            Decision::Wait("wave 0 is not ready".to_owned()),
        ),
        (
            "an object that has served",
            Apply,
            with(|it| it.is_to_be_purged = true),
            member(Some(DIGEST)),
            None,
            Row::Purge,
            Decision::Delete(DeleteReason::Purged),
        ),
        (
            "an object that went before it had served",
            Apply,
            with(|it| it.is_to_be_purged = true),
            Found::Nothing,
            None,
            Row::Absent,
            Decision::Create,
        ),
        (
            "an object of a later wave",
            Apply,
            Some(wanted()),
            member(Some("old")),
            later,
            Row::NotYet,
            Decision::Wait("wave 0 is not ready".to_owned()),
        ),
        ("a terminating member", Apply, Some(wanted()), GOING_MEMBER, None, Row::Terminating, wait()),
        (
            "another's object that is going",
            Apply,
            Some(wanted()),
            Found::Other { owner: Some("x"), is_terminating: true },
            None,
            Row::Terminating,
            wait(),
        ),
        ("an absent object", Apply, Some(wanted()), Found::Nothing, None, Row::Absent, Decision::Create),
        ("nobody's object", Apply, Some(wanted()), UNOWNED, None, Row::Adopt, Decision::Update(UpdateReason::Adopted)),
        ("another's object", Apply, Some(wanted()), FOREIGN, None, Row::Taken, Decision::Taken("adapter x".to_owned())),
        (
            "another's object, always adopted",
            Apply,
            adopting(Adoption::Always),
            FOREIGN,
            None,
            Row::Adopt,
            Decision::Update(UpdateReason::Adopted),
        ),
        (
            "nobody's object that would be recreated",
            Apply,
            with(|it| it.policies.update = Update::Recreate),
            UNOWNED,
            None,
            Row::Adopt,
            Decision::Update(UpdateReason::Adopted),
        ),
        (
            "nobody's object, never adopted",
            Apply,
            adopting(Adoption::Never),
            UNOWNED,
            None,
            Row::Taken,
            Decision::Taken("nobody, and its policy is to adopt no object".to_owned()),
        ),
        (
            "an object that is written once",
            Apply,
            with(|it| (it.policies.reconcile, it.digest, it.is_due_again) = (Reconcile::Once, ONCE, true)),
            member(Some(ONCE)),
            None,
            Row::Once,
            skip(SkipReason::Once),
        ),
        (
            "the same that is to go otherwise than it says",
            Apply,
            with(|it| (it.policies.reconcile, it.digest, it.goes_otherwise) = (Reconcile::Once, ONCE, true)),
            member(Some(ONCE)),
            None,
            Row::Changed,
            Decision::Update(UpdateReason::Departure),
        ),
        (
            "an object that is from now on written once",
            Apply,
            with(|it| (it.policies.reconcile, it.digest) = (Reconcile::Once, ONCE)),
            member(Some("old")),
            None,
            Row::Changed,
            Decision::Update(UpdateReason::Changed),
        ),
        (
            "an object that is no longer written once",
            Apply,
            Some(wanted()),
            member(Some(ONCE)),
            None,
            Row::Changed,
            Decision::Update(UpdateReason::Changed),
        ),
        (
            "a changed object",
            Apply,
            Some(wanted()),
            member(Some("old")),
            None,
            Row::Changed,
            Decision::Update(UpdateReason::Changed),
        ),
        (
            "an object whose digest somebody removed",
            Apply,
            Some(wanted()),
            member(None),
            None,
            Row::Changed,
            Decision::Update(UpdateReason::Changed),
        ),
        (
            "an object whose policies changed, and that would be recreated",
            Apply,
            with(|it| it.policies.update = Update::Recreate),
            member(Some("old~new")),
            None,
            Row::Changed,
            Decision::Update(UpdateReason::Changed),
        ),
        (
            "an object that would be recreated, and whose digest somebody removed",
            Apply,
            with(|it| it.policies.update = Update::Recreate),
            member(None),
            None,
            Row::Changed,
            Decision::Update(UpdateReason::Changed),
        ),
        (
            "a changed object that is recreated",
            Apply,
            with(|it| it.policies.update = Update::Recreate),
            member(Some("old~old")),
            None,
            Row::Recreate,
            Decision::Recreate,
        ),
        (
            "an object that is due again",
            Apply,
            with(|it| it.is_due_again = true),
            member(Some(DIGEST)),
            None,
            Row::DueAgain,
            Decision::Update(UpdateReason::DueAgain),
        ),
        (
            "an object that is due again, and would be recreated",
            Apply,
            with(|it| (it.policies.update, it.is_due_again) = (Update::Recreate, true)),
            member(Some(DIGEST)),
            None,
            Row::DueAgain,
            Decision::Update(UpdateReason::DueAgain),
        ),
        ("an object in sync", Apply, Some(wanted()), member(Some(DIGEST)), None, Row::InSync, skip(SkipReason::InSync)),
    ];
    for (name, intent, wanted, found, waits_for, row, decision) in cases.clone() {
        let situation = Situation { intent, wanted, found, waits_for, claim: None };
        assert_eq!(decide(&situation), (row, decision), "{name}");
    }
    let is_claimed = |row: &Row| matches!(row, Row::HandedOver | Row::MayBeClaimed);
    let is_missing = |row: &Row| !is_claimed(row) && !cases.iter().any(|case| case.5 == *row);
    let missing: Vec<Row> = Row::ALL.into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "no case comes to {missing:?}");
}

#[test]
fn object_that_another_entry_wants_is_handed_over_and_one_that_it_may_want_stays() {
    use Intent::{Apply, Delete as Remove};
    let (by, unknown) = (Claim::By("next".to_owned()), Claim::Unknown("nobody knows".to_owned()));
    let is_to_take = "the entry `next` renders it, and is to take it over";
    let cases = [
        (Apply, kept(Delete::Delete), &by, Row::HandedOver, Decision::HandOver("next".to_owned())),
        (Apply, kept(Delete::Orphan), &by, Row::HandedOver, Decision::HandOver("next".to_owned())),
        (Remove, kept(Delete::Delete), &by, Row::HandedOver, Decision::Wait(is_to_take.to_owned())),
        (Apply, kept(Delete::Delete), &unknown, Row::MayBeClaimed, Decision::Wait("nobody knows".to_owned())),
        (Apply, GOING_MEMBER, &by, Row::Going, Decision::Wait(GOING.to_owned())),
        (Apply, Found::Nothing, &by, Row::Gone, Decision::Skip(SkipReason::Gone)),
        (Apply, UNOWNED, &by, Row::NoMember, Decision::Skip(SkipReason::NotOurs)),
    ];
    for (intent, found, claim, row, decision) in cases {
        for waits_for in [None, Some("others")] {
            let situation = Situation { intent, wanted: None, found, waits_for, claim: Some(claim) };
            assert_eq!(decide(&situation), (row, decision.clone()), "{situation:?}");
        }
    }
}

/// The rows of the table with these words in its header: number, condition and decision.
fn rows(page: &'static str, start: &str) -> Vec<[&'static str; 3]> {
    let lines = page.lines().map(|line| line.strip_prefix("//! ").unwrap_or(line));
    let table = lines.skip_while(|line| !line.starts_with(start)).skip(2);
    let cells = table.take_while(|line| line.starts_with('|')).map(|line| line.trim_matches('|').split('|'));
    cells.filter_map(|cells| cells.map(str::trim).collect::<Vec<_>>().try_into().ok()).collect()
}

#[test]
fn documented_rows_are_those_of_the_code_in_order() {
    let of_module = rows(include_str!("../table.rs"), "| row |");
    let written: Vec<_> = of_module.iter().map(|[number, condition, _]| (*number, *condition)).collect();
    let of_code: Vec<_> = Row::ALL.iter().map(|row| (row.number(), row.condition())).collect();
    assert_eq!(written, of_code);
    assert_eq!(rows(include_str!("../../../docs/bundles.md"), "| row |"), of_module);
}

fn found() -> impl Strategy<Value = Found<'static>> {
    let deletes = vec![Delete::Delete, Delete::Orphan, Delete::OrphanOnApply, Delete::OrphanOnDelete];
    let digest = select(vec![None, Some(DIGEST), Some("old"), Some(ONCE)]);
    let member = (digest, any::<bool>(), select(deletes)).prop_map(|(digest, is_terminating, delete)| Found::Member {
        digest,
        is_terminating,
        delete,
    });
    let other = (select(vec![None, Some("adapter x")]), any::<bool>())
        .prop_map(|(owner, is_terminating)| Found::Other { owner, is_terminating });
    prop_oneof![Just(Found::Nothing), member, other]
}

fn situation() -> impl Strategy<Value = Situation<'static>> {
    let policies = (
        select(vec![Adoption::Never, Adoption::IfUnowned, Adoption::Always]),
        select(vec![Reconcile::OnObjectChange, Reconcile::Once]),
        select(vec![Update::Apply, Update::ApplyOverride, Update::Replace, Update::Recreate]),
    );
    let wanted = (policies, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let wanted = wanted.prop_map(
        |((adoption, reconcile, update), is_completed, is_to_be_purged, is_due_again, goes_otherwise)| Wanted {
            policies: Policies { adoption, reconcile, update, ..Policies::default() },
            digest: if reconcile == Reconcile::Once { ONCE } else { DIGEST },
            is_completed,
            is_to_be_purged,
            is_due_again,
            goes_otherwise,
        },
    );
    let intent = select(vec![Intent::Apply, Intent::Delete, Intent::Disown]);
    (intent, proptest::option::of(wanted), found(), select(vec![None, Some("others")]))
        .prop_map(|(intent, wanted, found, waits_for)| Situation { intent, wanted, found, waits_for, claim: None })
}

proptest! {
    #[test]
    fn what_belongs_to_others_is_neither_deleted_nor_disowned(situation in situation()) {
        let (_, decision) = decide(&situation);
        if matches!(situation.found, Found::Other { .. }) {
            let is_harmful = matches!(decision, Decision::Delete(_) | Decision::Disown(_) | Decision::Recreate);
            prop_assert!(!is_harmful, "{decision}");
        }
    }

    #[test]
    fn what_is_terminating_is_never_written(situation in situation()) {
        let (_, decision) = decide(&situation);
        let is_going = matches!(
            situation.found,
            Found::Member { is_terminating: true, .. } | Found::Other { is_terminating: true, .. }
        );
        if is_going {
            prop_assert!(matches!(decision, Decision::Wait(_) | Decision::Skip(_)), "{decision}");
        }
    }

    #[test]
    fn what_waits_for_others_is_not_applied_and_not_deleted_with_the_bundle(situation in situation()) {
        let situation = Situation { waits_for: Some("others"), ..situation };
        let (_, decision) = decide(&situation);
        let is_early = matches!(
            decision,
            Decision::Create | Decision::Update(_) | Decision::Recreate
                | Decision::Delete(DeleteReason::BundleDeleted | DeleteReason::NotWanted)
                | Decision::Disown(DisownReason::Policy)
        );
        prop_assert!(!is_early, "{decision}");
    }

    #[test]
    fn member_in_sync_is_not_written(situation in situation()) {
        let (row, decision) = decide(&situation);
        if row == Row::InSync {
            prop_assert_eq!(decision, Decision::Skip(SkipReason::InSync));
            let found = matches!(situation.found, Found::Member { digest: Some(_), is_terminating: false, .. });
            prop_assert!(found && situation.waits_for.is_none() && situation.intent == Intent::Apply);
        }
    }
}
