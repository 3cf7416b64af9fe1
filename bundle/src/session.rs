//! The pass of a bundle: from what was read to requests, as far as one pass goes.
//!
//! In: the [`Intent`], the rendered objects, the live members, and the parent. Out: batches of [`Command`]s, which the caller
//! sends at the same time and whose answers it records in the same order; at the end a [`Report`](super::report::Report). Nothing here fails: what fails
//! is part of the report.
//!
//! | intent | stages, one after the other |
//! | --- | --- |
//! | apply | each wave by `apply-order`: its objects, types before their instances; then what has served. Then what is no longer wanted, by `delete-order` |
//! | delete | each wave by `delete-order`, instances before their types, and namespaces once nothing of the bundle is in them |
//! | disown | all members at once |
//!
//! A stage ends when each of its objects is ready, or gone. If one is not, the pass stops there: the objects of later stages
//! wait, and the report says for what. Inside a stage the objects of one priority come before those of the next.
//!
//! The caller writes the parent before the first object of a generation, a kind or a namespace, before an object that serves
//! once is created, once it has served, and in the end if the parent changed. Of two passes that write it at the same time, only one
//! goes on.

mod answers;
mod finish;
mod gather;
mod steps;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::SignedDuration;
use lifecycle_objects::failure::{Failure, namespace_terminating};
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::inspection::Inspection;
use lifecycle_objects::observation::Version;
use lifecycle_objects::write::Command;

use super::checks::Inside;
use super::guard::Members;
use super::member::{Circumstances, Member, Rendered};
use super::parent::Parent;
use super::serving::serves_once;
use super::siblings::Siblings;
use super::table::Intent;
use gather::{Gathered, gather};
use steps::{Act, Planning, Step, stays_served};

pub use super::setting::Setting;

/// What the caller does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Write the parent as it is now, and call [`Session::parent_written`].
    WriteParent,
    /// Send these commands, all at the same time, and pass the answers to [`Session::record`] in the same order.
    Send(Vec<Command>),
    /// Find out what the other entries of the task render, and pass it to [`Session::know_siblings`]. That takes no request.
    AskSiblings,
    /// Look at these, and pass what was found to [`Session::inspected`] in the same order.
    Inspect(Vec<Inspection>),
    /// Nothing: the pass is over.
    Done,
}

/// What the lists of a bundle's kinds found.
#[derive(Debug, Default)]
pub struct FoundMembers {
    /// The objects with the set's label.
    pub versions: Vec<Version>,
    /// The kinds that could not be listed, with the cause, although the bundle may go on: a server serves them that the bundle
    /// itself keeps, and may have to repair. Their objects wait, and nothing is removed.
    pub unread: BTreeMap<GroupKind, String>,
}

/// Whose answer is awaited.
#[derive(Debug)]
enum Asked {
    /// The member of this index.
    Member(usize),
    /// A namespace that members lacked.
    Namespace(String),
}

/// The pass of one bundle.
#[derive(Debug)]
pub struct Session<'t> {
    setting: Setting<'t>,
    intent: Intent,
    members: Vec<Member>,
    parent: Parent,
    /// The UIDs of the members that were found, if inspections have to know them.
    uids: BTreeSet<String>,
    /// The members that were found, by their indexes.
    found: Vec<usize>,
    /// The kinds that could not be listed, with the cause.
    unread: BTreeMap<GroupKind, String>,
    /// The other entries of the task, once they were asked.
    siblings: Option<Siblings>,
    /// Whether the pass cannot go on without them.
    asks_siblings: bool,
    /// Whether the steps are planned.
    is_planned: bool,
    /// Whether this pass wrote the parent, so that another one at the same time cannot.
    has_written_parent: bool,
    /// The names of the steps with objects, in order.
    names: Vec<Arc<str>>,
    steps: VecDeque<Step>,
    /// The step in which each member was handled.
    handled_in: Vec<Option<Arc<str>>>,
    /// The members of the step under way that are decided.
    decided: BTreeSet<usize>,
    /// Those whose answers are awaited.
    asked: Vec<Asked>,
    /// The namespaces that are to be created, because members could not be.
    missing: BTreeSet<String>,
    /// The namespaces whose creation was tried, with its failure.
    tried: BTreeMap<String, Option<Failure>>,
    /// The steps and intervals of which objects are applied again.
    due: BTreeSet<(Arc<str>, SignedDuration)>,
    stopped: Option<String>,
    /// The object of others that the deletion waits for.
    blocked_by: Option<Identity>,
    /// Why the parent could not be written, or something not be looked at.
    failure: Option<Failure>,
    /// Whether it is the parent that could not be written.
    lacks_parent: bool,
    /// Whether nothing may be written any more, not even the parent.
    is_over: bool,
}

impl<'t> Session<'t> {
    /// Begins a pass with the rendered objects, what the lists of the parent's kinds found, and the parent, which has
    /// [grown](Parent::grow) by the places of these objects.
    #[must_use]
    pub fn new(
        setting: Setting<'t>,
        intent: Intent,
        rendered: Vec<Rendered>,
        found: FoundMembers,
        parent: Parent,
    ) -> Self {
        let FoundMembers { versions: found, unread } = found;
        let Gathered { members, lost } = gather(&setting, intent, rendered, found);
        let found = (0..members.len()).filter(|index| members[*index].exists()).collect();
        let has_redundant = members.iter().any(|member| member.wanted.is_none() && !member.is_terminating());
        let mut session = Self {
            names: Vec::new(),
            handled_in: vec![None; members.len()],
            setting,
            intent,
            members,
            parent,
            uids: BTreeSet::new(),
            found,
            unread,
            siblings: None,
            asks_siblings: has_redundant && intent != Intent::Disown,
            is_planned: false,
            has_written_parent: false,
            steps: VecDeque::new(),
            decided: BTreeSet::new(),
            asked: Vec::new(),
            missing: BTreeSet::new(),
            tried: BTreeMap::new(),
            due: BTreeSet::new(),
            stopped: None,
            blocked_by: None,
            failure: None,
            lacks_parent: false,
            is_over: false,
        };
        if let Some(lost) = lost {
            session.plan();
            session.give_up(&lost);
        }
        session
    }

    /// Plans the steps, once it is known which objects stay because another entry wants them.
    fn plan(&mut self) {
        let Self { setting, members, unread, intent, .. } = self;
        let steps: VecDeque<Step> = Planning { setting, members, unread, intent: *intent }.steps().into();
        let inspects = steps.iter().any(|step| !step.inspections.is_empty());
        // What another entry takes over does not go with a type or a namespace of this one.
        let of_bundle = members.iter().filter(|member| inspects && member.claim.is_none());
        self.uids = of_bundle.filter_map(Member::uid).map(str::to_owned).collect();
        let named = steps.iter().filter(|step| !step.members.is_empty());
        self.names = named.map(|step| Arc::clone(&step.name)).collect();
        (self.steps, self.is_planned, self.asks_siblings) = (steps, true, false);
    }

    /// Takes what the other entries of the task render, after [`Next::AskSiblings`].
    pub fn know_siblings(&mut self, siblings: Siblings) {
        self.asks_siblings = false;
        for member in &mut self.members {
            if member.wanted.is_none() && self.intent != Intent::Disown {
                member.claim = siblings.claim(&member.identity);
            }
            member.reconsider_owner(|holder| self.setting.owner_of(holder, Some(&siblings)));
        }
        self.siblings = Some(siblings);
    }

    fn begin_to_apply(&mut self) {
        if let Some(obstacle) = self.newer().or_else(|| self.stranded()) {
            return self.give_up(&obstacle);
        }
        let wanted = self.members.iter().filter_map(|member| member.wanted.as_ref());
        let serving = wanted.filter(|it| serves_once(&it.identity.kind, &it.draft));
        self.parent.keep_completed(serving.map(|it| (&it.identity, it.digest.as_str())));
        self.note_due();
    }

    /// A member that a newer event wrote, in words: what this event knows is out of date.
    fn newer(&self) -> Option<String> {
        let ours = self.setting.stamp.generation;
        let newer = self.members.iter().find(|member| member.generation().is_some_and(|theirs| theirs > ours))?;
        Some(format!("{} was written for a newer generation than the event's, {ours}", newer.identity))
    }

    /// A member that is to go, although a wanted object would go with it, in words.
    fn stranded(&self) -> Option<String> {
        let leaving = self.members.iter().filter(|it| it.wanted.is_none() && it.exists() && it.is_to_go(self.intent));
        let leaving = leaving.filter(|member| !stays_served(member, &self.members));
        let mut outer = leaving.filter_map(|member| Some((member, Inside::of(&member.identity, member.object()?)?)));
        outer.find_map(|(member, inside)| {
            let wanted = self.members.iter().filter(|inner| inner.wanted.is_some());
            let inner = wanted.into_iter().find(|inner| inside.contains(&inner.identity))?;
            let (outer, inner) = (&member.identity, &inner.identity);
            Some(format!(
                "{outer} has left the manifests, and {inner} would go with it; render {outer} again, with the delete policy \
                 `orphan` if it is to leave later"
            ))
        })
    }

    /// Finds out which objects are to be applied again.
    fn note_due(&mut self) {
        let Self { steps, members, parent, setting, due, .. } = self;
        let mut known = BTreeSet::new();
        for step in steps.iter().filter(|step| step.act == Act::Apply) {
            let intervals = step.members.iter().filter_map(|(_, index)| members[*index].interval());
            for interval in intervals.collect::<BTreeSet<_>>() {
                if parent.is_due(&step.name, interval, setting.now) {
                    due.insert((Arc::clone(&step.name), interval));
                }
                known.insert((step.name.to_string(), interval));
            }
        }
        parent.keep_applied(&known);
    }

    /// Says what the caller does next, whose answer is due before the next call.
    pub fn go_on(&mut self) -> Next {
        loop {
            if self.asks_siblings {
                return Next::AskSiblings;
            }
            if !self.is_planned {
                self.plan();
                if self.intent == Intent::Apply {
                    self.begin_to_apply();
                }
            }
            if !self.missing.is_empty() {
                return Next::Send(self.missing_namespaces());
            }
            let Some(step) = self.steps.front() else { return self.end() };
            if let Some(obstacle) = &step.obstacle {
                let why = format!("{}: {obstacle}", step.name);
                self.stop(&why);
                continue;
            }
            if !step.inspections.is_empty() {
                return Next::Inspect(step.inspections.clone());
            }
            if self.intent == Intent::Apply {
                self.claim();
                if self.parent.precedes_members() {
                    return Next::WriteParent;
                }
            }
            let batch = self.batch();
            if batch.is_empty() {
                self.end_step();
                continue;
            }
            let commands = self.commands(&batch);
            if !commands.is_empty() {
                return Next::Send(commands);
            }
        }
    }

    /// Takes what each inspection of [`Next::Inspect`] found: the first object of others, if there is one.
    pub fn inspected(&mut self, found: Vec<Result<Option<Identity>, Failure>>) {
        let Some(step) = self.steps.front_mut() else { return };
        let questions = std::mem::take(&mut step.inspections).len();
        let unanswered = (found.len() < questions).then(|| "it is not known what would go".to_owned());
        let obstacle = found.into_iter().find_map(|found| match found {
            Ok(found) => {
                let found = self.blocked_by.insert(found?);
                Some(format!("{found} is not of this bundle; the deletion waits until it is gone"))
            }
            Err(failure) => {
                let why = failure.message.clone();
                self.failure = Some(failure);
                Some(why)
            }
        });
        if let Some(obstacle) = obstacle.or(unanswered) {
            let why = format!("{}: {obstacle}", step.name);
            self.stop(&why);
        }
    }

    /// Takes the result of writing the parent. Without it, nothing else is written.
    pub fn parent_written(&mut self, result: Result<(), Failure>) {
        match result {
            Ok(()) => {
                self.has_written_parent = true;
                self.parent.note_written();
            }
            Err(failure) => {
                self.stop(&format!("the parent: {}", failure.message));
                self.failure = Some(failure);
                (self.is_over, self.lacks_parent) = (true, true);
            }
        }
    }

    /// Takes that the parent cannot be created until its namespace, which is being deleted, is gone. Nothing is written before.
    pub fn parent_waits_for_namespace(&mut self) {
        let why = namespace_terminating(&self.setting.namespace);
        self.stop(&format!("the parent: {why}"));
        (self.is_over, self.lacks_parent) = (true, true);
    }

    /// The parent to write.
    #[must_use]
    pub fn parent(&self) -> &Parent {
        &self.parent
    }

    /// Claims the set if the step is about to create an object that serves once, which another pass at the same time would run a
    /// second time; or where no member was found, because another pass may be about to give that place up.
    fn claim(&mut self) {
        let Some(step) = self.steps.front().filter(|step| step.act == Act::Apply && !self.has_written_parent) else {
            return;
        };
        let is_new = step.members.iter().map(|(_, index)| &self.members[*index]).any(|member| {
            let is_beside = |index: &usize| place(&self.members[*index].identity) == place(&member.identity);
            let is_first = || !self.found.iter().any(is_beside);
            member.is_absent() && !self.has_served(member) && (member.serves_once() || is_first())
        });
        if is_new {
            self.parent.claim();
        }
    }

    fn has_served(&self, member: &Member) -> bool {
        let serves = member.wanted.as_ref().filter(|_| member.serves_once());
        serves.is_some_and(|it| self.parent.is_completed(&it.identity, &it.digest))
    }

    /// The members of the step that are handled next: those of the lowest priority that are not decided. None are left once all are
    /// decided, or once an object was not written that those of the next priority may need.
    fn batch(&self) -> Vec<usize> {
        let Some(step) = self.steps.front() else { return Vec::new() };
        let is_unwritten = |member: &Member| member.failure().is_some() || member.waits_for_namespace();
        let has_failed = |(_, index): &(i8, usize)| self.decided.contains(index) && is_unwritten(&self.members[*index]);
        let mut undecided = step.members.iter().filter(|(_, index)| !self.decided.contains(index)).peekable();
        let Some((first, _)) = undecided.peek().copied() else { return Vec::new() };
        let earlier = step.members.iter().take_while(|(priority, _)| priority < first);
        if step.act == Act::Apply && earlier.into_iter().any(has_failed) {
            return Vec::new();
        }
        undecided.take_while(|(priority, _)| priority == first).map(|(_, index)| *index).collect()
    }

    /// Decides about these members of the step, and returns the commands of those that are to be written.
    fn commands(&mut self, batch: &[usize]) -> Vec<Command> {
        let Some(step) = self.steps.front() else { return Vec::new() };
        let mut commands = Vec::new();
        for &index in batch {
            let is_completed = self.has_served(&self.members[index]);
            let member = &mut self.members[index];
            let is_due_again = member.interval().is_some_and(|it| self.due.contains(&(Arc::clone(&step.name), it)));
            let is_to_be_purged = step.act == Act::Purge;
            let circumstances = Circumstances { is_completed, is_to_be_purged, is_due_again, waits_for: None };
            member.decide(self.intent, circumstances);
            self.decided.insert(index);
            self.handled_in[index] = Some(Arc::clone(&step.name));
            if let Some(command) = member.command(&self.setting) {
                self.asked.push(Asked::Member(index));
                commands.push(command);
            }
        }
        commands
    }

    /// Ends a step: the next one begins, or the pass stops here.
    fn end_step(&mut self) {
        let Some(step) = self.steps.pop_front() else { return };
        let now = self.setting.now;
        let handled = step.members.iter().map(|(_, index)| *index).filter(|index| self.decided.contains(index));
        let handled: Vec<usize> = handled.collect();
        let (mut failed, mut kept_out, mut unready) = (None, None, None);
        for &index in &handled {
            let has_served = self.has_served(&self.members[index]);
            let member = &mut self.members[index];
            let why = match step.act {
                Act::Apply => {
                    let why = member.blocker(has_served, self.setting.ready, now);
                    if let (None, Some(rendered), true) = (&why, &member.wanted, member.is_to_be_remembered()) {
                        self.parent.complete(&rendered.identity, &rendered.digest);
                    }
                    why
                }
                Act::Purge | Act::Remove => member.is_left(),
                Act::Disown => member.failure(),
            };
            let slot = match member.failure() {
                Some(_) => &mut failed,
                None if member.waits_for_namespace() => &mut kept_out,
                None => &mut unready,
            };
            if slot.is_none() {
                *slot = why;
            }
        }
        // A refused write explains more than an object that is not ready yet.
        let blocker = failed.or(kept_out).or(unready);
        // Where one could not be applied again, all are due with the next event. An object that fails for another reason, such as a
        // taken name, may fail for ever, and must not have the others written with every event.
        let has_failed = handled.iter().any(|index| self.members[*index].has_failed_to_be_applied_again());
        for (name, interval) in self.due.iter().filter(|(name, _)| *name == step.name && !has_failed) {
            self.parent.applied(name, *interval, now);
        }
        self.decided.clear();
        if let Some(blocker) = blocker {
            let why = format!("{}: {blocker}", step.name);
            self.steps.push_front(step);
            self.stop(&why);
        }
    }

    /// Ends the pass before anything is written, the parent included.
    fn give_up(&mut self, why: &str) {
        self.is_over = true;
        self.stop(why);
    }

    /// Ends the pass early: the objects that are left wait.
    fn stop(&mut self, why: &str) {
        for step in std::mem::take(&mut self.steps) {
            for (_, index) in step.members {
                let has_served = self.has_served(&self.members[index]);
                let member = &mut self.members[index];
                if member.verdict.is_none() && member.failure().is_none() {
                    let circumstances =
                        Circumstances { waits_for: Some(why), is_completed: has_served, ..Circumstances::default() };
                    member.decide(self.intent, circumstances);
                    self.handled_in[index] = Some(Arc::clone(&step.name));
                }
            }
        }
        self.stopped = Some(why.to_owned());
    }

    /// The members, as inspections have to know them.
    #[must_use]
    pub fn members(&self) -> Members {
        Members { set: self.setting.set.clone(), uids: self.uids.clone() }
    }
}

fn place(identity: &Identity) -> (&GroupKind, Option<&str>) {
    (&identity.kind, identity.namespace.as_deref())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests;
