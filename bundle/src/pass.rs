//! The pass of a bundle: one machine, from what was rendered to a report, as far as one event goes.
//!
//! In: the [`Intent`], the rendered objects, and what the set remembers; then what came of each [`Need`]. Out: one need after the
//! other, and in the end a [`Report`]. Fails: if the members cannot be read; whatever else fails is part of the report.
//!
//! ```text
//! Reading ─▶ Sorted ─▶ Working ─▶ LookingAgain ─▶ Over
//! ```
//!
//! | phase | needs |
//! | --- | --- |
//! | reading | the members: one list for each kind and namespace; unread, if one failed |
//! | sorted | what other entries render, if a member is rendered no longer |
//! | working | the requests of one step after the other, that the memory is kept, and what other entries render, if one of them may have given an object up |
//! | looking again | the members once more, before the memory goes |
//!
//! | intent | steps, one after the other |
//! | --- | --- |
//! | apply | each wave by `apply-order`: its objects, types before their instances; then what has served. Then what is no longer wanted, by `delete-order` |
//! | delete | each wave by `delete-order`, instances before their types, and namespaces once nothing of the bundle is in them |
//! | disown | all members at once |
//!
//! A step ends when each of its objects is ready, or gone. If one is not, the pass stops there: the objects of later steps
//! wait, and the report says for what. Inside a step the objects of one priority come before those of the next.
//!
//! The memory is kept before the first object of a generation, a kind or a namespace, before an object that serves once is created,
//! once it has served, and in the end if it changed. Of two passes that keep it at the same time, only one goes on.

mod answers;
mod finish;
mod gather;
mod reading;
mod set;
mod steps;
mod work;

use std::collections::BTreeMap;

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::observation::Query;

use super::member::Rendered;
use super::memory::{Remembering, Stored};
use super::need::{Answer, Need, Request, Response};
use super::report::{Report, Stop};
use super::setting::Setting;
use super::table::Intent;
use reading::{FoundMembers, queries};
use set::Set;
use work::Work;

/// What a pass begins with.
#[derive(Debug)]
pub struct Beginning<'t> {
    /// What stays the same.
    pub setting: Setting<'t>,
    /// What the bundle is to become.
    pub intent: Intent,
    /// The rendered objects. Only where they are counts, if the bundle is to go.
    pub rendered: Vec<Rendered>,
    /// What the set remembers; none if nothing is kept.
    pub memory: Option<Stored>,
    /// Whether the memory goes once the pass is complete. Then the members are read once more before: a pass that began earlier may
    /// have created some since, and nobody finds them without the memory.
    pub is_last: bool,
}

/// The pass of one bundle.
#[derive(Debug)]
pub struct Pass<'t> {
    set: Set<'t>,
    is_last: bool,
    /// The lists of the members.
    queries: Vec<Query>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// The members are still to be read.
    Reading(Vec<Rendered>),
    /// The members could not be read.
    Unread(Failure),
    /// The members are sorted. These kinds could not be listed, with the cause.
    Sorted(BTreeMap<GroupKind, String>),
    /// One step after the other.
    Working(Work),
    /// The members are read once more.
    LookingAgain,
    /// Nothing is left to do.
    Over,
}

impl<'t> Pass<'t> {
    /// Begins a pass.
    #[must_use]
    pub fn new(beginning: Beginning<'t>) -> Self {
        let Beginning { setting, intent, rendered, memory, is_last } = beginning;
        let mut memory = Remembering::new(memory, &setting.namespace, setting.generation);
        for object in &rendered {
            memory.grow(&object.draft.reference.kind, object.identity.namespace.as_deref());
        }
        let queries = queries(&setting, &memory);
        let rendered = if intent == Intent::Apply { rendered } else { Vec::new() };
        let set = Set::new(setting, intent, memory);
        Self { set, is_last, queries, phase: Phase::Reading(rendered) }
    }

    /// What the pass needs, whose [`answer`](Self::answer) is due before the next call; none once it is over.
    pub fn next_need(&mut self) -> Option<Need> {
        loop {
            match &mut self.phase {
                Phase::Reading(_) if !self.queries.is_empty() => {
                    return Some(Need::Request(Request::Read(self.queries.clone())));
                }
                Phase::Reading(rendered) => {
                    let rendered = std::mem::take(rendered);
                    self.sort(rendered, FoundMembers::default());
                }
                Phase::Sorted(_) if self.set.asks_siblings() => return Some(Need::Siblings),
                Phase::Sorted(unread) => {
                    let mut work = Work::plan(&mut self.set, unread);
                    let obstacle = (self.set.intent == Intent::Apply).then(|| self.set.obstacle()).flatten();
                    self.phase = match obstacle {
                        Some(obstacle) => {
                            work.stop(&mut self.set, Stop::before(obstacle));
                            Phase::Over
                        }
                        None => {
                            work.begin(&mut self.set);
                            Phase::Working(work)
                        }
                    }
                }
                Phase::Working(work) => match work.next(&mut self.set) {
                    Some(need) => return Some(need),
                    None => return self.end(),
                },
                Phase::LookingAgain => return Some(Need::Request(Request::Read(self.queries.clone()))),
                Phase::Unread(_) | Phase::Over => return None,
            }
        }
    }

    /// Takes what came of the last need.
    pub fn answer(&mut self, answer: Answer) {
        match (&mut self.phase, answer) {
            (Phase::Reading(rendered), Answer::Response(Response::Read(observations))) => {
                match reading::read(&self.queries, observations, rendered, self.set.intent) {
                    Ok(found) => {
                        let rendered = std::mem::take(rendered);
                        self.sort(rendered, found);
                    }
                    Err(failure) => self.phase = Phase::Unread(failure),
                }
            }
            (Phase::LookingAgain, Answer::Response(Response::Read(observations))) => {
                self.set.found_again(&self.queries, observations);
                self.phase = Phase::Over;
            }
            (Phase::Working(work), Answer::Response(Response::Written(answers))) => work.record(&mut self.set, answers),
            (Phase::Working(work), Answer::Response(Response::Inspected(found))) => {
                work.inspected(&mut self.set, found)
            }
            (_, Answer::Siblings(siblings)) => self.set.know_siblings(siblings),
            (_, Answer::Remembered(Ok(()))) => self.set.memory.note_kept(),
            (phase, Answer::Remembered(Err(not_kept))) => {
                let stop = self.set.without_memory(not_kept);
                if let Phase::Working(work) = phase {
                    work.stop(&mut self.set, stop);
                } else {
                    self.set.stopped = Some(stop);
                }
                self.phase = Phase::Over;
            }
            // An answer to another question.
            (_, Answer::Response(_)) => {}
        }
    }

    /// Sorts what was found.
    fn sort(&mut self, rendered: Vec<Rendered>, found: FoundMembers) {
        let FoundMembers { versions, unread } = found;
        self.phase = match self.set.gather(rendered, versions) {
            None => Phase::Sorted(unread),
            Some(lost) => {
                Work::plan(&mut self.set, &unread).stop(&mut self.set, Stop::before(lost));
                Phase::Over
            }
        };
    }

    /// Ends the work: the memory is kept if it changed, and the members are read once more if it is to go.
    fn end(&mut self) -> Option<Need> {
        if self.set.intent == Intent::Apply {
            self.set.shrink();
            self.phase = Phase::Over;
            return self.set.memory.is_changed().then(|| Need::Remember(self.set.memory.memory().clone()));
        }
        if !self.is_last || self.queries.is_empty() || !self.set.is_complete() {
            self.phase = Phase::Over;
            return None;
        }
        self.phase = Phase::LookingAgain;
        self.next_need()
    }

    /// What the pass would do with each object if its turn came, by the table that decides when it does come; nothing is written. It is
    /// asked for in the place of the next need, once the members were read.
    ///
    /// # Errors
    /// [`FailReason::DiscoveryFailed`]: the members were not read.
    pub fn plan(mut self) -> Result<Report, Failure> {
        if let Phase::Sorted(unread) = &self.phase {
            let mut work = Work::plan(&mut self.set, unread);
            match self.set.obstacle().filter(|_| self.set.intent == Intent::Apply) {
                Some(obstacle) => work.stop(&mut self.set, Stop::before(obstacle)),
                None => {
                    work.begin(&mut self.set);
                    work.decide_all(&mut self.set);
                }
            }
            self.phase = Phase::Over;
        }
        self.report()
    }

    /// Whether answers to commands of members are awaited. If not, a write that the caller made keeps the memory.
    #[must_use]
    pub fn awaits_commands(&self) -> bool {
        matches!(&self.phase, Phase::Working(work) if !work.asked.is_empty())
    }

    /// What the bundle is to become.
    #[must_use]
    pub fn intent(&self) -> Intent {
        self.set.intent
    }

    /// What the pass did.
    ///
    /// # Errors
    /// [`FailReason::DiscoveryFailed`]: the members could not be read, and nothing was written.
    pub fn report(self) -> Result<Report, Failure> {
        match self.phase {
            Phase::Unread(failure) => Err(failure),
            Phase::Reading(_) => Err(Failure::new(FailReason::DiscoveryFailed, "the members were not read")),
            Phase::LookingAgain => Ok(self.set.into_report(Some(unread_once_more()))),
            Phase::Sorted(_) | Phase::Working(_) => {
                Ok(self.set.into_report(Some(Stop::before("the pass was broken off".to_owned()))))
            }
            Phase::Over => Ok(self.set.into_report(None)),
        }
    }
}

/// The stop of a pass that has to look once more, and got no answer.
fn unread_once_more() -> Stop {
    Stop::by_question(None, Failure::new(FailReason::DiscoveryFailed, "the members were not read once more"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests;
