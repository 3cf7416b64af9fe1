//! The steps of a pass under way.
//!
//! In: the members, and the answers to each request. Out: the next request, until the last step has ended or one stops the pass.
//! Nothing here fails: what fails stops the pass, and is part of the report.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::SignedDuration;
use lifecycle_objects::failure::Failure;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::write::{Command, WriteError};

use super::set::Set;
use super::steps::{Act, Planning, Step};
use crate::guard;
use crate::member::{Circumstances, Member};
use crate::need::{Need, Request};
use crate::report::{Stop, StoppedBy};
use crate::setting::Barrier;
use crate::table::Intent;

/// Whose answer is awaited.
#[derive(Debug)]
pub(super) enum Asked {
    /// The member of this index.
    Member(usize),
    /// A namespace that members lacked.
    Namespace(String),
}

/// The steps that are left, and the one under way.
#[derive(Debug)]
pub(super) struct Work {
    steps: VecDeque<Step>,
    /// The UIDs of the members that were found, if inspections have to know them.
    uids: BTreeSet<String>,
    /// The members of the step under way that are decided.
    pub(super) decided: BTreeSet<usize>,
    /// Those whose answers are awaited.
    pub(super) asked: Vec<Asked>,
    /// The namespaces that are to be created, because members could not be.
    pub(super) missing: BTreeSet<String>,
    /// The namespaces whose creation was tried, with its failure.
    pub(super) tried: BTreeMap<String, Option<Failure>>,
    /// The steps and intervals of which objects are applied again.
    due: BTreeSet<(Arc<str>, SignedDuration)>,
}

impl Work {
    /// Plans the steps, once it is known which objects stay because another entry wants them.
    pub(super) fn plan(set: &mut Set<'_>, unread: &BTreeMap<GroupKind, String>) -> Self {
        let planning = Planning { setting: &set.setting, members: &set.all, unread, intent: set.intent };
        let steps: VecDeque<Step> = planning.steps().into();
        let inspects = steps.iter().any(|step| !step.inspections.is_empty());
        // What another entry takes over does not go with a type or a namespace of this one.
        let of_bundle = set.all.iter().filter(|member| inspects && member.claim.is_none());
        let uids = of_bundle.filter_map(Member::uid).map(str::to_owned).collect();
        let named = steps.iter().filter(|step| !step.members.is_empty());
        set.steps = named.map(|step| Arc::clone(&step.name)).collect();
        Self {
            steps,
            uids,
            decided: BTreeSet::new(),
            asked: Vec::new(),
            missing: BTreeSet::new(),
            tried: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Begins the first step.
    pub(super) fn begin(&mut self, set: &mut Set<'_>) {
        if set.intent == Intent::Apply {
            set.forget_served();
            self.note_due(set);
        }
    }

    /// Finds out which objects are to be applied again.
    fn note_due(&mut self, set: &mut Set<'_>) {
        let mut known = BTreeSet::new();
        for step in self.steps.iter().filter(|step| step.act == Act::Apply) {
            let intervals = step.members.iter().filter_map(|(_, index)| set.all[*index].interval());
            for interval in intervals.collect::<BTreeSet<_>>() {
                if set.memory.is_due(&step.name, interval, set.setting.now) {
                    self.due.insert((Arc::clone(&step.name), interval));
                }
                known.insert((step.name.to_string(), interval));
            }
        }
        set.memory.keep_applied(&known);
    }

    /// What the steps need next; none once they are over.
    pub(super) fn next(&mut self, set: &mut Set<'_>) -> Option<Need> {
        loop {
            if set.asks_siblings() {
                return Some(Need::Siblings);
            }
            if !self.missing.is_empty() {
                return Some(write(self.missing_namespaces(set)));
            }
            let step = self.steps.front()?;
            if let Some(obstacle) = &step.obstacle {
                let stop = Stop { step: Some(Arc::clone(&step.name)), by: StoppedBy::Obstacle, why: obstacle.clone() };
                self.stop(set, stop);
                return None;
            }
            if !step.inspections.is_empty() {
                let members = guard::Members { labels: set.setting.marks.selector().clone(), uids: self.uids.clone() };
                return Some(Need::Request(Request::Inspect(step.inspections.clone(), members)));
            }
            if set.intent == Intent::Apply {
                if step.act == Act::Apply && !set.memory.is_ours() && step.members.iter().any(|(_, it)| set.is_new(*it))
                {
                    set.memory.claim();
                }
                if set.memory.precedes_members() {
                    return Some(Need::Remember(set.memory.memory().clone()));
                }
            }
            let batch = batch(step, &self.decided, set);
            if batch.is_empty() {
                self.end_step(set);
                continue;
            }
            let commands = self.commands(set, &batch);
            if !commands.is_empty() {
                return Some(write(commands));
            }
        }
    }

    /// Takes what each inspection found: the first object of others, if there is one.
    pub(super) fn inspected(&mut self, set: &mut Set<'_>, found: Vec<Result<Option<Identity>, WriteError>>) {
        let Some(step) = self.steps.front_mut() else { return };
        let questions = std::mem::take(&mut step.inspections).len();
        let is_whole = found.len() >= questions;
        let name = Arc::clone(&step.name);
        let obstacle = found.into_iter().find_map(|found| match found {
            Ok(found) => {
                let found = found?;
                let why = format!("{found} is not of this bundle; the deletion waits until it is gone");
                Some(Stop { step: Some(Arc::clone(&name)), by: StoppedBy::Others(found), why })
            }
            Err(error) => Some(Stop::by_question(Some(Arc::clone(&name)), Failure::from(&error))),
        });
        let unanswered = || {
            let why = "it is not known what would go".to_owned();
            (!is_whole).then(|| Stop { step: Some(Arc::clone(&name)), by: StoppedBy::Obstacle, why })
        };
        if let Some(stop) = obstacle.or_else(unanswered) {
            self.stop(set, stop);
        }
    }

    /// Decides about the members of all steps, each as if its turn had come.
    pub(super) fn decide_all(&mut self, set: &mut Set<'_>) {
        for step in std::mem::take(&mut self.steps) {
            for (_, index) in &step.members {
                self.decide(set, &step, *index);
            }
        }
    }

    /// Decides about a member of a step.
    fn decide(&self, set: &mut Set<'_>, step: &Step, index: usize) {
        let is_completed = set.has_served(&set.all[index]);
        let member = &mut set.all[index];
        let is_due_again = member.interval().is_some_and(|it| self.due.contains(&(Arc::clone(&step.name), it)));
        let is_to_be_purged = step.act == Act::Purge;
        let waits_for = step.obstacle.as_deref();
        let circumstances = Circumstances { is_completed, is_to_be_purged, is_due_again, waits_for };
        member.decide(set.intent, &*set.setting.marks, circumstances);
        set.handled_in[index] = Some(Arc::clone(&step.name));
    }

    /// Decides about these members of the step, and returns the commands of those that are to be written.
    fn commands(&mut self, set: &mut Set<'_>, batch: &[usize]) -> Vec<Command> {
        let Some(step) = self.steps.front() else { return Vec::new() };
        let mut commands = Vec::new();
        for &index in batch {
            self.decide(set, step, index);
            self.decided.insert(index);
            if let Some(command) = set.all[index].command(&set.setting) {
                self.asked.push(Asked::Member(index));
                commands.push(command);
            }
        }
        commands
    }

    /// Ends a step: the next one begins, or the pass stops here.
    fn end_step(&mut self, set: &mut Set<'_>) {
        let Some(step) = self.steps.pop_front() else { return };
        let now = set.setting.now;
        let handled = step.members.iter().map(|(_, index)| *index).filter(|index| self.decided.contains(index));
        let handled: Vec<usize> = handled.collect();
        let (mut failed, mut kept_out, mut unready) = (None, None, None);
        for &index in &handled {
            let has_served = set.has_served(&set.all[index]);
            let member = &mut set.all[index];
            let why = match step.act {
                Act::Apply => {
                    let why = member.blocker(has_served, set.setting.ready, now);
                    if let (None, Some(rendered), true) = (&why, &member.wanted, member.is_to_be_remembered()) {
                        set.memory.complete(&rendered.identity, &rendered.digest);
                    }
                    why
                }
                Act::Purge | Act::Remove => member.why_left(),
                Act::Disown => member.failure(),
            };
            let slot = match member.failure() {
                Some(_) => &mut failed,
                None if member.waits_for_namespace() => &mut kept_out,
                None => &mut unready,
            };
            if slot.is_none() {
                *slot = why.map(|why| (member.identity.clone(), why));
            }
        }
        // A refused write explains more than an object that is not ready yet.
        let waits = set.setting.barrier == Barrier::Ready || step.act != Act::Apply;
        let blocker = failed.or(kept_out).or(unready.filter(|_| waits));
        // Where one could not be applied again, all are due with the next event. An object that fails for another reason, such as a
        // taken name, may fail for ever, and must not have the others written with every event.
        let has_failed = handled.iter().any(|index| set.all[*index].has_failed_to_be_applied_again());
        for (name, interval) in self.due.iter().filter(|(name, _)| *name == step.name && !has_failed) {
            set.memory.applied(name, *interval, now);
        }
        self.decided.clear();
        let act = step.act;
        if let Some((identity, why)) = blocker {
            let stop = Stop { step: Some(Arc::clone(&step.name)), by: StoppedBy::Object(identity), why };
            match set.setting.barrier {
                Barrier::Ready => {
                    self.steps.push_front(step);
                    return self.stop(set, stop);
                }
                Barrier::Attempted => drop(set.stopped.get_or_insert(stop)),
            }
        }
        let removes = |step: &Step| matches!(step.act, Act::Remove | Act::Purge);
        let stop = set.stopped.clone().filter(|_| act == Act::Apply && self.steps.front().is_some_and(removes));
        if let Some(stop) = stop {
            self.stop(set, stop);
        }
    }

    /// Ends the pass early: the objects that are left wait.
    pub(super) fn stop(&mut self, set: &mut Set<'_>, stop: Stop) {
        let why = stop.to_string();
        for step in std::mem::take(&mut self.steps) {
            for (_, index) in step.members {
                let has_served = set.has_served(&set.all[index]);
                let member = &mut set.all[index];
                if member.verdict.is_none() && member.failure().is_none() {
                    let circumstances =
                        Circumstances { waits_for: Some(&why), is_completed: has_served, ..Circumstances::default() };
                    member.decide(set.intent, &*set.setting.marks, circumstances);
                    set.handled_in[index] = Some(Arc::clone(&step.name));
                }
            }
        }
        set.stopped = Some(stop);
    }
}

fn write(commands: Vec<Command>) -> Need {
    Need::Request(Request::Write(commands))
}

/// The members of the step that are handled next: those of the lowest priority that are not decided. None are left once all are
/// decided, or once an object was not written that those of the next priority may need.
fn batch(step: &Step, decided: &BTreeSet<usize>, set: &Set<'_>) -> Vec<usize> {
    let is_unwritten = |member: &Member| member.failure().is_some() || member.waits_for_namespace();
    let has_failed = |(_, index): &(i8, usize)| decided.contains(index) && is_unwritten(&set.all[*index]);
    let mut undecided = step.members.iter().filter(|(_, index)| !decided.contains(index)).peekable();
    let Some((first, _)) = undecided.peek().copied() else { return Vec::new() };
    let earlier = step.members.iter().take_while(|(priority, _)| priority < first);
    let is_barred = set.setting.barrier == Barrier::Ready && step.act == Act::Apply;
    if is_barred && earlier.into_iter().any(has_failed) {
        return Vec::new();
    }
    undecided.take_while(|(priority, _)| priority == first).map(|(_, index)| *index).collect()
}
