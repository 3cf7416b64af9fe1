//! Merges runs of the decision table into one tree of questions.

use super::explore::{Reply, Run};
use super::{Asks, End, Question, Step};

/// A node of the tree. Runs that begin with the same answers share their first nodes.
pub(super) struct Tree {
    asks: Option<Asks>,
    replies: Vec<(Reply, Tree)>,
    /// The decision at a node without a question.
    end: End,
}

impl Tree {
    /// A tree that ends at its root, without a question.
    pub(super) fn new(end: End) -> Self {
        Self { asks: None, replies: Vec::new(), end }
    }

    /// Adds the questions and answers of one run to the tree.
    pub(super) fn insert(&mut self, run: Run) {
        let mut tree = self;
        for (asks, reply) in run.asked {
            tree.asks.get_or_insert(asks);
            let place = tree.replies.iter().position(|(known, _)| *known == reply);
            let place = place.unwrap_or_else(|| {
                tree.replies.push((reply, Self::new(run.end)));
                tree.replies.len() - 1
            });
            tree = &mut tree.replies[place].1;
        }
    }

    /// The tree without questions whose answers all lead to the same step. Answers that lead to a decision come
    /// first.
    pub(super) fn into_step(self) -> Step {
        let Some(asks) = self.asks else { return Step::End(self.end) };
        let mut answers = Vec::new();
        let mut unanswered = Vec::new();
        for (reply, tree) in self.replies {
            match (reply, tree.into_step()) {
                (Reply::Failure(_), Step::End(end)) if end.is_failure() => unanswered.push(end),
                (Reply::Failure(_), step) => answers.push(("no answer", step)),
                (Reply::Answer(answer), step) => answers.push((answer, step)),
            }
        }
        let makes_no_difference = unanswered.is_empty() && answers.windows(2).all(|pair| pair[0].1 == pair[1].1);
        if makes_no_difference && let Some((_, step)) = answers.pop() {
            return step;
        }
        answers.sort_by_key(|(_, step)| matches!(step, Step::Question(_)));
        Step::Question(Question { asks, answers, unanswered })
    }
}
