//! Which rows of the decision table a resource can reach, and which questions lead there.
//!
//! In: a compiled task and one of its resources. Out: the [`Step`]s that [`decide`](crate::plan::decide::decide) goes
//! through, without the answers that no event can bring: a gate that can never hold has no row of its own, one that always
//! holds hides the rows after it. What is left out is certain; what is left may still be impossible for reasons that
//! the task does not tell. What a write comes to afterwards is no part of it. Nothing can fail.

mod answers;
mod build;
mod found;

use std::collections::BTreeMap;

use self::build::Builder;
use super::{Resource, Task};
use crate::cel::Expression;
use crate::plan::decision::{Decision, FailReason};
use crate::plan::row::Row;

/// What can become of one resource.
#[derive(Debug)]
pub struct Reach<'t> {
    /// The resource.
    pub resource: &'t Resource,
    /// Where it begins.
    pub root: Step<'t>,
}

/// One step through the table.
#[derive(Debug)]
pub enum Step<'t> {
    /// Something is asked, and the answer leads on.
    Question(Question<'t>),
    /// A row matches.
    End(End),
}

/// What is asked.
#[derive(Debug)]
pub struct Question<'t> {
    /// The row that asks.
    pub row: Row,
    /// What it asks.
    pub asks: Asks<'t>,
    /// The answers that it can have, each with what follows.
    pub answers: Vec<(&'static str, Step<'t>)>,
    /// What the decision fails with if there is no answer; empty if there always is one.
    pub failures: Vec<FailReason>,
}

/// What a question is about.
#[derive(Debug)]
pub enum Asks<'t> {
    /// The world, or what was rendered for the event.
    Fact(&'static str),
    /// Gates, by their names. One without an expression is `recreate_on_change`.
    Gates(Vec<(String, Option<&'t Expression>)>),
}

/// The row that matches, with its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The row.
    pub row: Row,
    /// The decision's kind, as in logs and metrics.
    pub decision: &'static str,
    /// The decision's reason, as in logs and metrics.
    pub reason: &'static str,
}

/// A row that can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The row.
    pub row: Row,
    /// The decisions that it can come to, each with its reason; none if its question never has an answer that stops here.
    pub decisions: Vec<(&'static str, &'static str)>,
    /// The reasons with which it can fail.
    pub failures: Vec<FailReason>,
}

impl End {
    fn of(row: Row, decision: &Decision) -> Self {
        Self { row, decision: decision.kind(), reason: decision.reason() }
    }
}

/// What can become of every resource of a task, in its order.
#[must_use]
pub fn reach(task: &Task) -> Vec<Reach<'_>> {
    let resources = task.resources.iter().enumerate();
    resources.map(|(index, resource)| Reach { resource, root: Builder::of(task, index, resource).root() }).collect()
}

impl Reach<'_> {
    /// The rows that can be reached, in the table's order.
    #[must_use]
    pub fn rows(&self) -> Vec<Reached> {
        let mut rows = BTreeMap::new();
        collect(&self.root, &mut rows);
        rows.into_values().collect()
    }
}

fn collect(step: &Step<'_>, rows: &mut BTreeMap<Row, Reached>) {
    match step {
        Step::End(End { row, decision, reason }) => {
            let decisions = &mut at(rows, *row).decisions;
            if !decisions.contains(&(*decision, *reason)) {
                decisions.push((*decision, *reason));
            }
        }
        Step::Question(question) => {
            for failure in &question.failures {
                let failures = &mut at(rows, question.row).failures;
                if !failures.contains(failure) {
                    failures.push(*failure);
                }
            }
            question.answers.iter().for_each(|(_, step)| collect(step, rows));
        }
    }
}

fn at(rows: &mut BTreeMap<Row, Reached>, row: Row) -> &mut Reached {
    rows.entry(row).or_insert_with(|| Reached { row, decisions: Vec::new(), failures: Vec::new() })
}

#[cfg(test)]
mod tests;
