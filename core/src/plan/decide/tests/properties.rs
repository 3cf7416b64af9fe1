//! Tests that the decision function agrees with the text of the decision table for any input.

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::Generation;
use proptest::prelude::*;

use super::situation::{Live, Situation, gate_failed, no_answer};
use crate::decision::{Decision, DisownReason, NotYet, SkipReason, WaitReason};
use crate::outcome::GateAnswer;
use crate::plan::decide::Rendered;
use crate::row::Row;

/// Whether a row's condition holds as the table's text states it, without regard to earlier rows; `None` if the
/// condition has no answer.
pub(super) fn matches(row: Row, situation: &Situation) -> Option<bool> {
    let versions = situation.versions.as_deref().unwrap_or_default();
    let is_known = situation.versions.is_some();
    let absent = is_known && versions.is_empty();
    let live = versions.iter().any(|version| !version.terminating);
    let terminating = !versions.is_empty() && !live;
    let and = |observed: bool, gate: &GateAnswer, wanted: &GateAnswer| match gate {
        _ if !observed => Some(false),
        GateAnswer::Failed(_) => None,
        GateAnswer::Holds | GateAnswer::DoesNotHold => Some(gate == wanted),
    };
    let (yes, no) = (GateAnswer::Holds, GateAnswer::DoesNotHold);
    match row {
        Row::Unknown => Some(!is_known),
        Row::AlreadyDisowned => Some(versions.iter().any(|version| version.disowned)),
        Row::Disown => and(live, &situation.orphan, &yes),
        Row::NothingToDisown => and(absent, &situation.orphan, &yes),
        Row::Delete => and(live, &situation.delete, &yes),
        Row::Deleting => and(terminating, &situation.delete, &yes),
        Row::AlreadyAbsent => and(absent, &situation.delete, &yes),
        Row::EarlierFailure => Some(situation.failed_earlier),
        Row::WhenFalse => and(true, &situation.when, &no),
        Row::Terminating => Some(terminating),
        Row::CreateGateFalse => and(absent, &situation.create, &no),
        Row::ApplyGateFalseAbsent => and(absent, &situation.apply, &no),
        Row::Absent => match (absent, &situation.rendered) {
            (true, Err(_)) => None,
            (absent, _) => Some(absent),
        },
        Row::Stale => {
            let wanted = situation.rendered.as_ref().ok()?;
            Some(versions.iter().any(|version| version.generation > Some(wanted.generation.0)))
        }
        Row::Recreate => and(live, &situation.recreate, &yes),
        Row::Patch => Some(live && !situation.patches.as_ref().ok()?.is_empty()),
        Row::ApplyGateFalse => and(live, &situation.apply, &no),
        Row::SameGeneration => {
            let wanted = situation.rendered.as_ref().ok()?;
            let has_it = current(versions, wanted.generation.0)
                .is_some_and(|version| version.generation == Some(wanted.generation.0));
            if has_it { situation.has_its_owner.clone().ok() } else { Some(false) }
        }
        Row::NewName => {
            let wanted = situation.rendered.as_ref().ok()?;
            Some(live && versions.iter().all(|version| version.name != wanted.name))
        }
        Row::Update => Some(live),
        // Its own tests vary what is unobserved.
        Row::NotObserved => Some(false),
    }
}

/// The current version, by another implementation than the planner's.
fn current(versions: &[Live], desired: i64) -> Option<&Live> {
    let live: Vec<&Live> = versions.iter().filter(|version| !version.terminating).collect();
    let wanted: Vec<&Live> = live.iter().copied().filter(|version| version.generation == Some(desired)).collect();
    let all: Vec<&Live> = versions.iter().collect();
    let candidates = [wanted, live, all].into_iter().find(|versions| !versions.is_empty())?;
    candidates.into_iter().max_by_key(|version| (version.day, version.name))
}

fn answers() -> impl Strategy<Value = GateAnswer> {
    prop_oneof![4 => Just(GateAnswer::Holds), 4 => Just(GateAnswer::DoesNotHold), 1 => Just(no_answer())]
}

fn versions() -> impl Strategy<Value = Vec<Live>> {
    let name = prop_oneof![Just("a"), Just("b"), Just("c")];
    let version =
        (name, prop::option::of(0_i64..5), prop::bool::weighted(0.3), prop::bool::weighted(0.1), 1..9_u32).prop_map(
            |(name, generation, terminating, disowned, day)| Live { name, generation, terminating, disowned, day },
        );
    prop::collection::vec(version, 0..4).prop_map(|mut versions| {
        // Kubernetes allows one object for each name.
        versions.sort_by_key(|version| version.name);
        versions.dedup_by_key(|version| version.name);
        versions
    })
}

fn situations() -> impl Strategy<Value = Situation> {
    let gates = (answers(), answers(), answers(), answers(), answers(), answers());
    let patches = prop_oneof![
        4 => Just(Ok(Vec::new())),
        2 => Just(Ok(vec![0, 1])),
        1 => Just(Err(gate_failed())),
    ];
    let rendered = prop_oneof![
        9 => (0_i64..5).prop_map(|generation| {
            Ok(Rendered { generation: Generation(generation), namespace: String::new(), name: "a".to_owned() })
        }),
        1 => Just(Err(Failure::new(FailReason::RenderFailed, "no entry for key"))),
    ];
    let owner = prop_oneof![
        4 => any::<bool>().prop_map(Ok),
        1 => Just(Err(Failure::new(FailReason::OwnerUnavailable, "it is absent"))),
    ];
    let versions = prop_oneof![1 => Just(None), 9 => versions().prop_map(Some)];
    let pending_disowning = prop::option::weighted(0.2, Just("ConfigMap b has to be disowned first".to_owned()));
    let not_yet = any::<Option<bool>>().prop_map(|holds_back| {
        holds_back.map(|holds_back| NotYet { gate: "timestamp(now()) > due".to_owned(), holds_back })
    });
    let whose = (prop::bool::weighted(0.3), any::<bool>(), not_yet);
    (versions, gates, patches, rendered, owner, any::<bool>(), prop::bool::weighted(0.2), pending_disowning, whose)
        .prop_map(
            |(
                versions,
                gates,
                patches,
                rendered,
                has_its_owner,
                retains_versions,
                failed_earlier,
                pending_disowning,
                whose,
            )| {
                let (orphan, delete, when, create, apply, recreate) = gates;
                let (is_foreign, adopts, not_yet) = whose;
                let written = |version: Live| match is_foreign {
                    true => Live { generation: None, disowned: false, ..version },
                    false => version,
                };
                let versions = versions.map(|versions| versions.into_iter().map(written).collect());
                Situation {
                    versions,
                    is_foreign,
                    adopts,
                    not_yet,
                    resends: None,
                    orphan,
                    delete,
                    when,
                    create,
                    apply,
                    recreate,
                    patches,
                    rendered,
                    has_its_owner,
                    pending_disowning,
                    retains_versions,
                    failed_earlier,
                }
            },
        )
}

/// Returns the kind of write that a decision leads to, in a word; none if it leads to no write.
fn sends(decision: &Decision) -> Option<&'static str> {
    match decision {
        Decision::Wait(_) | Decision::Skip(_) | Decision::Fail(_) => None,
        Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Disown(_)
        | Decision::Resend(_)
        | Decision::Delete => Some(decision.kind().as_str()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn first_row_that_matches_or_fails_decides(situation in situations()) {
        let verdict = situation.decide();
        let first = Row::ALL.into_iter().find(|row| matches(*row, &situation) != Some(false));
        prop_assert_eq!(Some(verdict.decided.row), first, "{:?}", verdict);
        if first.is_some_and(|row| matches(row, &situation).is_none()) {
            prop_assert!(matches!(verdict.decided.decision, Decision::Fail(_)), "{:?}", verdict);
        }
    }

    #[test]
    fn each_question_is_asked_once_and_gates_in_order(situation in situations()) {
        let verdict = situation.decide();
        let asked = &verdict.asked;
        let mut once = asked.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), asked.len(), "{:?}", asked);
        // Two rows evaluate the create gate, at different places, so the order does not contain it twice.
        let order = ["orphan", "delete", "when", "recreate", "create", "patch", "apply"];
        let places: Vec<_> = verdict.gates().iter().map(|gate| order.iter().position(|other| other == gate)).collect();
        prop_assert!(places.is_sorted(), "{:?}", asked);
    }

    #[test]
    fn only_definite_answers_delete_or_disown(situation in situations()) {
        let verdict = situation.decide();
        let is_live = situation.versions.iter().flatten().any(|version| !version.terminating);
        if matches!(sends(&verdict.decided.decision), Some("delete" | "recreate")) {
            prop_assert!(situation.pending_disowning.is_none());
        }
        match sends(&verdict.decided.decision) {
            Some("delete") => prop_assert!(is_live && situation.delete == GateAnswer::Holds),
            Some("recreate") => {
                prop_assert!(is_live && situation.recreate == GateAnswer::Holds && situation.create == GateAnswer::Holds);
                prop_assert!(!situation.retains_versions, "what keeps versions deletes none to make a new one");
            }
            _ => {}
        }
    }

    #[test]
    fn unread_objects_and_false_gates_prevent_writes(situation in situations()) {
        let verdict = situation.decide();
        let Some(sent) = sends(&verdict.decided.decision) else { return Ok(()) };
        prop_assert!(situation.versions.is_some(), "nothing is sent after a failed read");
        if matches!(sent, "delete" | "disown") {
            return Ok(());
        }
        prop_assert!(!situation.failed_earlier && situation.when == GateAnswer::Holds);
        prop_assert!(!matches!(sent, "create" | "create_version" | "update")
            || situation.apply == GateAnswer::Holds
            || situation.recreate == GateAnswer::Holds);
        let wanted = situation.rendered.as_ref().map(|wanted| wanted.generation.0);
        let newest = situation.versions.iter().flatten().filter_map(|version| version.generation).max();
        prop_assert!(newest <= wanted.ok(), "a late event writes nothing");
    }

    #[test]
    fn foreign_object_is_only_patched_or_adopted(situation in situations()) {
        let verdict = situation.decide();
        let is_foreign = situation.is_foreign && situation.versions.iter().flatten().next().is_some();
        let decision = &verdict.decided.decision;
        let is_not_ours = *decision == Decision::Skip(SkipReason::NotOurs)
            || matches!(decision, Decision::Fail(failure) if failure.reason == FailReason::NotOurs);
        prop_assert!(is_foreign || !is_not_ours, "{:?}", verdict);
        match sends(decision).filter(|_| is_foreign) {
            None | Some("patch") => {}
            Some("update") => prop_assert!(situation.adopts, "{:?}", verdict),
            Some(other) => prop_assert!(false, "{other}: {:?}", verdict),
        }
        let rows = [Row::Disown, Row::Delete, Row::Deleting];
        if is_foreign && rows.contains(&verdict.decided.row) && !matches!(decision, Decision::Fail(_)) {
            prop_assert_eq!(decision, &Decision::Skip(SkipReason::NotOurs));
        }
    }

    #[test]
    fn false_gate_that_reads_the_clock_is_a_wait(situation in situations()) {
        let verdict = situation.decide();
        if verdict.decided.row == Row::WhenFalse && situation.when == GateAnswer::DoesNotHold {
            let expected = match &situation.not_yet {
                Some(not_yet) => Decision::Wait(WaitReason::NotYet(not_yet.clone())),
                None => Decision::Skip(SkipReason::WhenFalse),
            };
            prop_assert_eq!(verdict.decided.decision, expected);
        } else {
            prop_assert!(!matches!(verdict.decided.decision, Decision::Wait(WaitReason::NotYet(_))));
        }
    }

    #[test]
    fn disowned_resource_is_only_disowned_further(mut situation in situations(), mark in any::<prop::sample::Index>()) {
        let Some(versions) = situation.versions.as_mut().filter(|versions| !versions.is_empty()) else { return Ok(()) };
        let mark = mark.index(versions.len());
        versions[mark].disowned = true;
        situation.is_foreign = false;
        let verdict = situation.decide();
        let expected = [Decision::Disown(DisownReason::Disowned), Decision::Skip(SkipReason::Disowned)];
        prop_assert!(expected.contains(&verdict.decided.decision), "{:?}", verdict);
    }
}
