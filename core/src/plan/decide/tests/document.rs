//! Compares the decision table in `docs/lifecycle.md` with the code.

use std::collections::BTreeSet;

use super::gates::unanswered;
use crate::decision::Decision;
use crate::row::Row;

const PAGE: &str = include_str!("../../../../../docs/lifecycle.md");

/// The cells of the table's rows: number, condition, asks, decision, finalized.
fn rows() -> Vec<Vec<&'static str>> {
    let table = PAGE.lines().skip_while(|line| !line.starts_with("| # |")).skip(2);
    table
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// Returns the texts between backticks in a table cell.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn documented_rows_are_those_of_the_code_in_order() {
    let written: Vec<_> = rows().iter().map(|cells| (cells[0], cells[1])).collect();
    let rows: Vec<_> = Row::ALL.iter().map(|row| (row.number(), row.condition())).collect();
    assert_eq!(written, rows);
}

#[test]
fn documented_rows_ask_the_gates_that_the_code_asks() {
    let written: BTreeSet<_> =
        rows().iter().flat_map(|cells| quoted(cells[2]).into_iter().map(|gate| (cells[0], gate))).collect();
    let asked: BTreeSet<_> = unanswered().into_iter().map(|(row, gate, _)| (row, gate)).collect();
    assert_eq!(written, asked);
}

#[test]
fn page_lists_exactly_the_decisions_of_the_code() {
    let is_label = |text: &&str| {
        let mut words = text.split(' ');
        matches!((words.next(), words.next(), words.next()), (Some(kind), Some(_), None) if !kind.contains('.'))
    };
    let cells = rows();
    let written: BTreeSet<String> =
        cells.iter().flat_map(|cells| quoted(cells[3])).filter(is_label).map(str::to_owned).collect();
    let labels = Decision::labels();
    let decisions: BTreeSet<String> = labels.iter().map(|(kind, reason)| format!("{kind} {reason}")).collect();
    assert!(written.is_subset(&decisions), "{:?}", written.difference(&decisions));
    let missing: Vec<_> = decisions.difference(&written).filter(|decision| !decision.starts_with("fail ")).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn page_states_finalized_for_each_decision() {
    let finalized =
        |word: &str| -> Vec<_> { rows().into_iter().filter(|cells| cells[4] == word).map(|cells| cells[0]).collect() };
    assert_eq!(finalized("yes"), ["2", "3", "4", "7"]);
    assert_eq!(finalized("if foreign"), ["5", "6"]);
    assert!(rows().iter().all(|cells| matches!(cells[4], "yes" | "no" | "if foreign")));
}
