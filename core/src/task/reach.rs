//! Which rows of the decision table a resource can reach, and which questions lead there.
//!
//! In: a compiled task. Out: for each resource the [`Reached`] rows, and the tree of [`Step`]s that leads to them. The
//! explorer runs [`decide`](crate::plan::decide::decide) itself on every canonical situation, with every answer that an
//! event can bring, and then asks for what the decision's write requires: the table has no second description here. A gate
//! that can never hold has no row of its own, and one that always holds hides the rows after it. What is left out
//! is certain; what is left may still be impossible for reasons that the task does not tell. What the API server answers
//! to a write is no part of it. Nothing can fail.

mod answers;
mod explore;
mod found;
mod situations;
mod tree;

use std::collections::BTreeMap;

use self::explore::Explored;
use self::situations::Situation;
use self::tree::Tree;
use super::{Resource, Task};
use crate::plan::decision::Decision;
use crate::plan::row::Row;

/// What can become of one resource.
#[derive(Debug)]
pub struct Reach<'t> {
    /// The resource.
    pub resource: &'t Resource,
    /// The rows that it can reach, in the table's order.
    pub rows: Vec<Reached>,
    /// The questions that lead there.
    pub root: Step,
}

/// One step through the table.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The table asks, and the answer leads on.
    Question(Question),
    /// A row matches.
    End(End),
}

/// A question of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What the table asks.
    pub asks: Asks,
    /// The answers that the question can have, each with the step that follows.
    pub answers: Vec<(&'static str, Step)>,
    /// The decisions without an answer; empty if there always is an answer.
    pub unanswered: Vec<End>,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    /// What is live, or what was rendered for the event.
    Fact(&'static str),
    /// Gates, by the names that [`Gates::expression`](crate::task::Gates::expression) knows. Only `recreate_on_change`
    /// has no expression.
    Gates(Vec<String>),
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
    /// The decisions of the row, each with its reason; failures stand last.
    pub decisions: Vec<(&'static str, &'static str)>,
}

impl End {
    fn of(row: Row, decision: &Decision) -> Self {
        Self { row, decision: decision.kind(), reason: decision.reason() }
    }

    /// Whether the decision is a failure.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.decision == "fail"
    }
}

/// What can become of every resource of a task, in its order.
#[must_use]
pub fn reach(task: &Task) -> Vec<Reach<'_>> {
    let situations = Situation::all();
    let resources = task.resources.iter().enumerate();
    resources
        .filter_map(|(index, resource)| {
            let runs = Explored::of(task, index).runs(&situations);
            let mut tree = Tree::new(runs.first()?.end);
            let mut rows = BTreeMap::new();
            for run in runs {
                let decisions: &mut Vec<_> = rows.entry(run.end.row).or_default();
                let decision = (run.end.decision, run.end.reason);
                if !decisions.contains(&decision) {
                    decisions.push(decision);
                }
                tree.insert(run);
            }
            let rows = rows.into_iter().map(|(row, mut decisions)| {
                decisions.sort_by_key(|(decision, _)| *decision == "fail");
                Reached { row, decisions }
            });
            Some(Reach { resource, rows: rows.collect(), root: tree.into_step() })
        })
        .collect()
}

#[cfg(test)]
mod tests;
