//! The members of the bundle during a pass, and what is known of them as a whole.
//!
//! In: what the lists found, and what other entries render. Out: whether the pass may begin, and what it has to know first. Nothing
//! here fails.

use std::sync::Arc;

use lifecycle_objects::failure::namespace_terminating;
use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::observation::Version;

use super::gather::{Gathered, gather};
use super::steps::stays_served;
use crate::checks::Inside;
use crate::member::{Live, Member, Rendered};
use crate::memory::Remembering;
use crate::need::NotKept;
use crate::report::{Stop, StoppedBy};
use crate::setting::Setting;
use crate::siblings::Siblings;
use crate::table::Intent;

/// What is known of the other entries of the task.
#[derive(Debug)]
pub(super) enum Others {
    /// Nothing, and nothing has to be.
    Unasked,
    /// Nothing, and the pass cannot go on without.
    Wanted,
    /// What they render.
    Known(Siblings),
}

impl Others {
    /// What they render, once it is known.
    pub(super) fn known(&self) -> Option<&Siblings> {
        if let Self::Known(siblings) = self { Some(siblings) } else { None }
    }
}

/// The members of a bundle.
#[derive(Debug)]
pub(super) struct Set<'t> {
    pub(super) setting: Setting<'t>,
    pub(super) intent: Intent,
    pub(super) memory: Remembering,
    pub(super) all: Vec<Member>,
    /// The members that were found, by their indexes.
    found: Vec<usize>,
    pub(super) others: Others,
    /// The step in which each member was handled.
    pub(super) handled_in: Vec<Option<Arc<str>>>,
    /// The names of the steps with objects, in order.
    pub(super) steps: Vec<Arc<str>>,
    /// What kept the pass from coming to its end.
    pub(super) stopped: Option<Stop>,
}

impl<'t> Set<'t> {
    pub(super) fn new(setting: Setting<'t>, intent: Intent, memory: Remembering) -> Self {
        Self {
            setting,
            intent,
            memory,
            all: Vec::new(),
            found: Vec::new(),
            others: Others::Unasked,
            handled_in: Vec::new(),
            steps: Vec::new(),
            stopped: None,
        }
    }

    /// Sorts what was found. Returns a member that lost one of the marks by which it is found again, in words.
    pub(super) fn gather(&mut self, rendered: Vec<Rendered>, found: Vec<Version>) -> Option<String> {
        let Gathered { members, lost } = gather(&*self.setting.marks, self.intent, rendered, found);
        self.found = (0..members.len()).filter(|index| members[*index].exists()).collect();
        let has_redundant = members.iter().any(|member| member.wanted.is_none() && !member.is_terminating());
        if has_redundant && self.intent != Intent::Disown {
            self.others = Others::Wanted;
        }
        self.handled_in = vec![None; members.len()];
        self.all = members;
        lost
    }

    /// Whether the pass cannot go on before it knows the other entries.
    pub(super) fn asks_siblings(&self) -> bool {
        matches!(self.others, Others::Wanted)
    }

    /// Has the other entries asked, unless they are known.
    pub(super) fn want_siblings(&mut self) {
        if self.others.known().is_none() {
            self.others = Others::Wanted;
        }
    }

    /// Takes what the other entries of the task render.
    pub(super) fn know_siblings(&mut self, siblings: Siblings) {
        for member in &mut self.all {
            if member.wanted.is_none() && self.intent != Intent::Disown {
                member.claim = siblings.claim(&member.identity);
            }
            member.reconsider_owner(|holder| Live::of(holder, &*self.setting.marks, Some(&siblings)));
        }
        self.others = Others::Known(siblings);
    }

    /// Why the bundle must not be applied, in words.
    pub(super) fn obstacle(&self) -> Option<String> {
        self.newer().or_else(|| self.stranded())
    }

    /// A member that a newer event wrote, in words: what this event knows is out of date.
    fn newer(&self) -> Option<String> {
        let Setting { generation: ours, marks, .. } = &self.setting;
        let newer = self.all.iter().find(|member| member.generation(&**marks).is_some_and(|theirs| theirs > *ours))?;
        Some(format!("{} was written for a newer generation than the event's, {ours}", newer.identity))
    }

    /// A member that is to go, although a wanted object would go with it, in words.
    fn stranded(&self) -> Option<String> {
        let is_to_go = |member: &Member| member.exists() && member.is_to_go(self.intent, &*self.setting.marks);
        let leaving = self.all.iter().filter(|it| it.wanted.is_none() && is_to_go(it));
        let leaving = leaving.filter(|member| !stays_served(member, &self.all));
        let mut outer = leaving.filter_map(|member| Some((member, Inside::of(&member.identity, member.object()?)?)));
        outer.find_map(|(member, inside)| {
            let wanted = self.all.iter().filter(|inner| inner.wanted.is_some());
            let inner = wanted.into_iter().find(|inner| inside.contains(&inner.identity))?;
            let (outer, inner) = (&member.identity, &inner.identity);
            Some(format!(
                "{outer} has left the manifests, and {inner} would go with it; render {outer} again, with the delete policy \
                 `orphan` if it is to leave later"
            ))
        })
    }

    /// The stop of a pass whose memory is not kept.
    pub(super) fn without_memory(&mut self, not_kept: NotKept) -> Stop {
        let (failure, why) = match not_kept {
            NotKept::NamespaceTerminating => (None, namespace_terminating(&self.setting.namespace)),
            NotKept::Failed(failure) => {
                let why = failure.message.clone();
                (Some(failure), why)
            }
        };
        let before = self.stopped.take().map(|stop| Box::new(stop.by));
        Stop { step: None, by: StoppedBy::Memory { failure, before }, why: format!("the parent: {why}") }
    }

    /// Forgets what served and is wanted no longer.
    pub(super) fn forget_served(&mut self) {
        let wanted = self.all.iter().filter_map(|member| member.wanted.as_ref());
        let serving = wanted.filter(|it| it.draft.serves_once(&it.identity.kind));
        self.memory.keep_completed(serving.map(|it| (&it.identity, it.digest.as_str())));
    }

    /// Whether a member has served.
    pub(super) fn has_served(&self, member: &Member) -> bool {
        let serves = member.wanted.as_ref().filter(|_| member.serves_once());
        serves.is_some_and(|it| self.memory.is_completed(&it.identity, &it.digest))
    }

    /// Whether an object is about to be created that another pass at the same time would run a second time; or where no member was
    /// found, because another pass may be about to give that place up.
    pub(super) fn is_new(&self, index: usize) -> bool {
        let member = &self.all[index];
        let is_beside = |index: &usize| place(&self.all[*index].identity) == place(&member.identity);
        let is_first = || !self.found.iter().any(is_beside);
        member.is_absent() && !self.has_served(member) && (member.serves_once() || is_first())
    }
}

/// The kind and the namespace of an object.
pub(super) fn place(identity: &Identity) -> (&GroupKind, Option<&str>) {
    (&identity.kind, identity.namespace.as_deref())
}
