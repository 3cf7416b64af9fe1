//! Tests that a gate without an answer fails the row that evaluates it, and that the adapter then writes
//! nothing.

use lifecycle_objects::failure::{FailReason, Failure};

use super::situation::{LIVE, Situation, found, gate_failed, no_answer, nothing};
use crate::decision::Decision;
use crate::outcome::GateAnswer::Holds;

/// For each row and each of its gates: the row's number, the gate, and a situation in which that gate has no
/// answer.
pub(super) fn unanswered() -> Vec<(&'static str, &'static str, Situation)> {
    let live = || found([LIVE.generation(1)]);
    let dying = || found([LIVE.terminating()]);
    vec![
        ("3", "orphan", Situation { orphan: no_answer(), ..live() }),
        ("4", "orphan", Situation { orphan: no_answer(), ..nothing() }),
        ("5", "delete", Situation { delete: no_answer(), ..live() }),
        ("6", "delete", Situation { delete: no_answer(), ..dying() }),
        ("7", "delete", Situation { delete: no_answer(), ..nothing() }),
        ("8", "when", Situation { when: no_answer(), ..live() }),
        ("8", "when", Situation { when: no_answer(), ..dying() }),
        ("8", "when", Situation { when: no_answer(), ..nothing() }),
        ("10", "create", Situation { create: no_answer(), ..nothing() }),
        ("11", "apply", Situation { apply: no_answer(), ..nothing() }),
        ("14", "recreate", Situation { recreate: no_answer(), ..live() }),
        ("14", "create", Situation { recreate: Holds, create: no_answer(), ..live() }),
        ("15", "patch", Situation { patches: Err(gate_failed()), ..live() }),
        ("16", "apply", Situation { apply: no_answer(), ..live() }),
    ]
}

#[test]
fn gate_without_an_answer_fails_its_row() {
    for (row, gate, situation) in unanswered() {
        let verdict = situation.decide();
        assert_eq!(verdict.outcome(), (row, &Decision::Fail(gate_failed())), "{gate} at row {row}");
        assert_eq!(verdict.asked.last(), Some(&gate), "nothing is asked after it");
    }
}

#[test]
fn gate_that_no_row_reaches_may_lack_an_answer() {
    let live = || found([LIVE.generation(1)]);
    let unasked = Situation {
        when: no_answer(),
        create: no_answer(),
        apply: no_answer(),
        recreate: no_answer(),
        patches: Err(gate_failed()),
        ..nothing()
    };
    let with = |versions, orphan, delete| Situation { versions: Some(versions), orphan, delete, ..unasked.clone() };
    let no = || crate::outcome::GateAnswer::DoesNotHold;
    let cases = [
        ("2", Situation { orphan: no_answer(), delete: no_answer(), ..with(vec![LIVE.disowned()], no(), no()) }),
        ("3", with(vec![LIVE], Holds, no())),
        ("4", with(vec![], Holds, no_answer())),
        ("5", with(vec![LIVE], no(), Holds)),
        ("6", with(vec![LIVE.terminating()], no_answer(), Holds)),
        ("7", with(vec![], no(), Holds)),
        ("7a", Situation { failed_earlier: true, ..with(vec![LIVE], no(), no()) }),
        ("9", Situation { when: Holds, ..with(vec![LIVE.terminating()], no_answer(), no()) }),
        ("12", Situation { recreate: no_answer(), patches: Err(gate_failed()), ..nothing() }),
        ("13", Situation { create: no_answer(), recreate: no_answer(), ..found([LIVE.generation(4)]) }),
        ("15", Situation { create: no_answer(), apply: no_answer(), patches: Ok(vec![1]), ..live() }),
        ("19", Situation { create: no_answer(), ..live() }),
    ];
    for (row, situation) in cases {
        let verdict = situation.decide();
        assert_eq!(verdict.decided.row.number(), row);
        assert!(!matches!(verdict.decided.decision, Decision::Fail(_)), "row {row}: {verdict:?}");
    }
}

#[test]
fn failure_names_the_first_gate_without_an_answer() {
    let told = |cause: &str| crate::outcome::GateAnswer::Failed(cause.to_owned());
    let situation = Situation { delete: told("delete"), when: told("when"), ..found([LIVE]) };
    let failure = Failure::new(FailReason::GateFailed, "delete");
    assert_eq!(situation.decide().outcome(), ("5", &Decision::Fail(failure)));
}
