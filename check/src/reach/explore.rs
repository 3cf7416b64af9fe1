//! Runs the decision table with every combination of answers that an event can bring.
//!
//! In: a resource of a task, and the situations. Out: one [`Run`] for each combination: the table's questions,
//! their answers, and the decision. A script of choices says which answer each question gets. After a run, the
//! last choice that has another answer moves to that answer, until no choice has one (depth first).

use std::collections::BTreeMap;

use lifecycle_core::decision::{NotYet, Resent};
use lifecycle_core::manifest;
use lifecycle_core::outcome::GateAnswer;
use lifecycle_core::plan::decide::{Decided, Gate, Questions, Rendered, decide};
use lifecycle_core::plan::gates::{Configured, configured, is_behind};
use lifecycle_core::plan::requirement::{Requirement, refused};
use lifecycle_core::task::{Task, TransportKind};
use lifecycle_language::cel::{Expression, Possible};
use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::observation::Version;

use super::answers::answers;
use super::found::Found;
use super::situations::{self, Situation};
use super::{Asks, End};
use crate::gate_values::Own;

/// One run of the decision table for an explored resource: the questions, their answers and the decision.
pub(super) struct Run {
    /// The questions and their answers, in order.
    pub(super) asked: Vec<(Asks, Reply)>,
    /// The row that matched in this run, with its decision.
    pub(super) end: End,
}

/// The answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// The answer in words, as explanations print it.
    Answer(&'static str),
    /// No answer, for this reason.
    Failure(FailReason),
}

/// The possible results of each gate, by the gate's name and whether the resource has an object.
type Answers = BTreeMap<(String, bool), Possible>;

/// One resource of the task whose reachable rows are explored.
pub(super) struct Explored<'t> {
    own: Own<'t>,
    found: Found,
    /// Whether a resource comes before this one: any resource can fail, and then stops later ones.
    has_earlier: bool,
    others_can_be_disowned: bool,
    /// Whether the versions are those that only the search for a deletion finds, at any place.
    is_former: bool,
}

impl<'t> Explored<'t> {
    pub(super) fn of(task: &'t Task, index: usize) -> Self {
        let resource = &task.resources[index];
        let found = Found::of(task, resource);
        let others_can_be_disowned = task.others_can_be_disowned(index);
        Self { own: Own::of(task, resource), found, has_earlier: index > 0, others_can_be_disowned, is_former: false }
    }

    /// The same resource, with versions that only the search for a deletion finds.
    pub(super) fn at_former_places(mut self) -> Self {
        (self.found.is_single, self.found.is_named, self.is_former) = (false, false, true);
        self
    }

    /// Every run, over all situations that fit the resource.
    pub(super) fn runs(&self, situations: &[Situation]) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut answers = Answers::new();
        let fits = |situation: &&Situation| situation.fits(&self.found) && (!self.is_former || situation.is_owned());
        for situation in situations.iter().filter(fits) {
            let mut script = Some(Vec::new());
            while let Some(choices) = script {
                let mut explorer = Explorer::new(self, &mut answers, situation.versions(), choices);
                let end = explorer.run(situation);
                script = following(&explorer.choices);
                runs.push(Run { asked: explorer.asked, end });
            }
        }
        runs
    }
}

/// A choice among `of` answers.
#[derive(Debug, Clone, Copy)]
struct Choice {
    made: usize,
    of: usize,
}

/// The script of the next run, in which the last choice with an answer left takes that answer; none after the
/// last run.
fn following(choices: &[Choice]) -> Option<Vec<usize>> {
    let last = choices.iter().rposition(|choice| choice.made + 1 < choice.of)?;
    let mut script: Vec<usize> = choices.iter().take(last + 1).map(|choice| choice.made).collect();
    *script.last_mut()? += 1;
    Some(script)
}

/// Answers the table's questions by a script, and records questions and answers.
struct Explorer<'e, 't> {
    explored: &'e Explored<'t>,
    answers: &'e mut Answers,
    versions: &'e [Version],
    script: Vec<usize>,
    choices: Vec<Choice>,
    asked: Vec<(Asks, Reply)>,
}

impl<'e, 't> Explorer<'e, 't> {
    fn new(explored: &'e Explored<'t>, answers: &'e mut Answers, versions: &'e [Version], script: Vec<usize>) -> Self {
        Self { explored, answers, versions, script, choices: Vec::new(), asked: Vec::new() }
    }

    fn run(&mut self, situation: &Situation) -> End {
        let decided = decide(&situation.seen(), self);
        let Decided { row, decision } = if self.explored.is_former { decided.of_former() } else { decided };
        let mut requirements = Requirement::of(&decision).iter();
        match requirements.find_map(|requirement| self.require(*requirement).err()) {
            Some(failure) => End::of(row, &refused(decision, failure)),
            None => End::of(row, &decision),
        }
    }

    /// Returns the answer that the script chooses; the first one if the script has ended.
    fn choose<T>(&mut self, asks: Asks, replies: Vec<(Reply, T)>) -> Option<T> {
        let choice =
            Choice { made: self.script.get(self.choices.len()).copied().unwrap_or_default(), of: replies.len() };
        let (reply, answer) = replies.into_iter().nth(choice.made)?;
        self.choices.push(choice);
        self.asked.push((asks, reply));
        Some(answer)
    }

    fn yes_or_no(&mut self, asks: &'static str) -> bool {
        let replies = vec![(Reply::Answer("yes"), true), (Reply::Answer("no"), false)];
        self.choose(Asks::Fact(asks), replies).unwrap_or_default()
    }

    /// The possible results of a gate in this situation.
    fn possible(&mut self, name: &str, expression: &Expression, is_lenient: bool) -> Possible {
        let is_present = !self.versions.is_empty();
        let own = &self.explored.own;
        let known = self.answers.entry((name.to_owned(), is_present));
        *known.or_insert_with(|| answers(own, is_present, expression, is_lenient))
    }

    /// Answers whether the decision's write meets a requirement.
    fn require(&mut self, requirement: Requirement) -> Result<(), Failure> {
        let Explored { own, found, .. } = self.explored;
        let is_certain = match requirement {
            Requirement::Owner => own.resource.owner.is_none(),
            Requirement::Discovery => found.is_found_again,
            Requirement::Selector => found.is_found_patched,
            Requirement::Mark => false,
        };
        if is_certain {
            return Ok(());
        }
        let reason = requirement.reason();
        let replies = vec![(Reply::Answer("yes"), Ok(())), failure(reason)];
        self.choose(Asks::Fact(requirement.asks()), replies).unwrap_or(Ok(()))
    }
}

fn failure<T>(reason: FailReason) -> (Reply, Result<T, Failure>) {
    (Reply::Failure(reason), Err(Failure::new(reason, "")))
}

/// A gate's answer in words.
fn word(holds: bool) -> Reply {
    Reply::Answer(if holds { "holds" } else { "does not hold" })
}

impl Questions for Explorer<'_, '_> {
    fn gate(&mut self, gate: Gate) -> GateAnswer {
        let (name, expression) = match configured(&self.explored.own.resource.gates, gate) {
            Configured::Never(answer) => return answer,
            Configured::OnChange(name) => {
                let versions: Vec<&Version> = self.versions.iter().collect();
                let is_behind = is_behind(&versions, situations::rendered().generation);
                self.asked.push((Asks::Gates(vec![name.to_owned()]), word(is_behind)));
                return GateAnswer::of(is_behind);
            }
            Configured::When(name, expression) => (name, expression),
        };
        let possible = self.possible(name, expression, gate.is_lenient());
        let failed = (Reply::Failure(FailReason::GateFailed), GateAnswer::Failed(String::new()));
        let replies = [
            possible.holds.then(|| (word(true), GateAnswer::Holds)),
            possible.does_not_hold.then(|| (word(false), GateAnswer::DoesNotHold)),
            possible.fails.then_some(failed),
        ];
        let asks = Asks::Gates(vec![name.to_owned()]);
        self.choose(asks, replies.into_iter().flatten().collect()).unwrap_or(GateAnswer::DoesNotHold)
    }

    fn patches(&mut self) -> Result<Vec<usize>, Failure> {
        let patches = &self.explored.own.resource.gates.patches;
        let names: Vec<String> = (0..patches.len()).map(|place| format!("patch[{place}]")).collect();
        let gates: Vec<Possible> =
            patches.iter().zip(&names).map(|(patch, name)| self.possible(name, &patch.when, true)).collect();
        let all = |is_so: &dyn Fn(&Possible) -> bool| gates.iter().all(is_so);
        let holding: Vec<usize> = (0..gates.len()).filter(|&place| gates[place].holds).collect();
        let mut replies = Vec::new();
        if !holding.is_empty() && all(&|gate| gate.holds || gate.does_not_hold) {
            replies.push((Reply::Answer("one holds"), Ok(holding)));
            replies.push(failure(FailReason::RenderFailed));
        }
        if all(&|gate| gate.does_not_hold) {
            replies.push((Reply::Answer("none holds"), Ok(Vec::new())));
        }
        if !all(&|gate| !gate.fails) {
            replies.push(failure(FailReason::GateFailed));
        }
        self.choose(Asks::Gates(names), replies).unwrap_or(Ok(Vec::new()))
    }

    fn rendered(&mut self) -> Result<Rendered, Failure> {
        let rendered = (Reply::Answer("yes"), Ok(situations::rendered()));
        let replies = std::iter::once(rendered).chain(manifest::FAILURES.map(failure)).collect();
        let asks = Asks::Fact("does the manifest render?");
        self.choose(asks, replies).unwrap_or_else(|| Ok(situations::rendered()))
    }

    fn has_its_owner(&mut self, _: &Version) -> Result<bool, Failure> {
        if self.explored.own.resource.owner.is_none() {
            return Ok(true);
        }
        let replies = vec![
            (Reply::Answer("yes"), Ok(true)),
            (Reply::Answer("no"), Ok(false)),
            failure(FailReason::OwnerUnavailable),
        ];
        self.choose(Asks::Fact("does the object name its owner?"), replies).unwrap_or(Ok(true))
    }

    fn pending_disowning(&mut self) -> Option<String> {
        let is_pending = self.explored.others_can_be_disowned
            && self.yes_or_no("is an object of another resource still to be disowned?");
        is_pending.then(String::new)
    }

    fn not_yet(&mut self) -> Option<NotYet> {
        self.explored.own.resource.gates.reads_clock.then(|| NotYet { gate: String::new(), holds_back: false })
    }

    fn resends(&mut self, versions: &[&Version]) -> Option<Resent> {
        let is_remote = matches!(self.explored.own.resource.transport, TransportKind::Maestro { .. });
        let is_left = is_remote && self.yes_or_no("is the last write unobserved for too long?");
        let is_terminating = versions.iter().all(|version| version.is_terminating());
        is_left.then_some(if is_terminating { Resent::Deletion } else { Resent::Content })
    }

    fn adopts(&self) -> bool {
        self.explored.own.resource.adopt
    }

    fn keeps_a_set(&self) -> bool {
        self.explored.own.resource.bundle.is_some()
    }

    fn retains_versions(&self) -> bool {
        self.explored.own.resource.retention.is_some()
    }

    fn failed_earlier(&mut self) -> bool {
        self.explored.has_earlier && self.yes_or_no("did an earlier resource fail?")
    }

    fn note_conflict(&mut self, _: GateAnswer) {}

    fn note_fact(&mut self, asks: &'static str, answer: &'static str) {
        self.asked.push((Asks::Fact(asks), Reply::Answer(answer)));
    }
}
