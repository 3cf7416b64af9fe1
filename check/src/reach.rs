//! Finds the rows of the decision table that a resource can reach, and the questions that lead to each, for
//! `check --explain` and `check --graph`.
//!
//! In: a compiled task. Out: for each resource the [`Reached`] rows, and the tree of [`Step`]s that leads to
//! them. The explorer runs the decision table itself, [`decide`](lifecycle_core::plan::decide::decide), on every canonical
//! situation and with every answer that a gate can give, and then checks the requirements of the decision's
//! write. No event reaches a row that is left out. A row that is listed may still be unreachable, because gates
//! can depend on each other. Answers of the API server to a write are not explored. Fails: nothing.

mod answers;
mod explore;
mod found;
mod situations;
mod tree;

use std::collections::BTreeMap;

use self::explore::Explored;
use self::situations::Situation;
use self::tree::Tree;
use crate::members::{Members, members};
use lifecycle_core::decision::Decision;
use lifecycle_core::row::Row;
use lifecycle_core::task::{Resource, Task};

/// The rows and decisions that one resource can reach.
#[derive(Debug)]
pub struct Reach<'t> {
    /// The resource of the task that was explored.
    pub resource: &'t Resource,
    /// The rows that the resource can reach, in the table's order.
    pub rows: Vec<Reached>,
    /// The first question of the tree that leads to the rows.
    pub root: Step,
    /// What the objects of the resource's bundle can come to; none for a resource without one.
    pub members: Option<Members>,
}

/// One step on the way through the decision table: a question, or the row that decides.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The table asks a question; each answer leads to another step.
    Question(Question),
    /// A row matches, which ends the way through the table.
    End(End),
}

/// A question of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The subject of the question.
    pub asks: Asks,
    /// The possible answers, each with the step that follows.
    pub answers: Vec<(&'static str, Step)>,
    /// The decisions if the question has no answer, such as a gate that fails; empty if it always has one.
    pub unanswered: Vec<End>,
}

/// The subject of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    /// A fact about the live objects or the rendered manifest, as a question in words.
    Fact(&'static str),
    /// Gates, by the names that [`Gates::expression`](lifecycle_core::task::Gates::expression) knows. Only
    /// `recreate_on_change` has no expression.
    Gates(Vec<String>),
}

/// A row that matches, with its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The row of the decision table that matches.
    pub row: Row,
    /// The decision's kind, as in logs and metrics.
    pub decision: &'static str,
    /// The decision's reason, as in logs and metrics.
    pub reason: &'static str,
}

/// A row that can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The row of the decision table that the resource can reach.
    pub row: Row,
    /// The decisions of the row, each with its reason; failures stand last.
    pub decisions: Vec<(&'static str, &'static str)>,
}

impl End {
    fn of(row: Row, decision: &Decision) -> Self {
        Self { row, decision: decision.kind().as_str(), reason: decision.reason() }
    }

    /// Whether the decision is a failure.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.decision == "fail"
    }
}

/// Explores the decision table for every resource of a task, in the task's order.
#[must_use]
pub fn reach(task: &Task) -> Vec<Reach<'_>> {
    let situations = Situation::all();
    let resources = task.resources.iter().enumerate();
    resources
        .filter_map(|(index, resource)| {
            let runs = Explored::of(task, index).runs(&situations);
            let mut tree = Tree::new(runs.first()?.end);
            let mut rows = Rows::new();
            for run in runs {
                add(&mut rows, run.end);
                tree.insert(run);
            }
            let gates = &resource.gates;
            let mut removing = gates.delete.iter().map(|delete| &delete.when).chain(&gates.orphan);
            let holds_of_nothing = rows.contains_key(&Row::AlreadyAbsent) || rows.contains_key(&Row::NothingToDisown);
            if holds_of_nothing && removing.any(|gate| !gate.resource_reads().is_empty()) {
                // The gate need not hold about an object that is then found at a former place.
                let runs = Explored::of(task, index).at_former_places().runs(&situations);
                runs.iter().for_each(|run| add(&mut rows, run.end));
            }
            let rows = rows.into_iter().map(|(row, mut decisions)| {
                decisions.sort_by_key(|(decision, _)| *decision == "fail");
                Reached { row, decisions }
            });
            let members = members(task, index);
            Some(Reach { resource, rows: rows.collect(), root: tree.into_step(), members })
        })
        .collect()
}

type Rows = BTreeMap<Row, Vec<(&'static str, &'static str)>>;

fn add(rows: &mut Rows, end: End) {
    let decisions = rows.entry(end.row).or_default();
    let decision = (end.decision, end.reason);
    if !decisions.contains(&decision) {
        decisions.push(decision);
    }
}

#[cfg(test)]
mod tests;
