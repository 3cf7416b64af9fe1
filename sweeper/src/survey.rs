//! The reading half of a pass: inventory, the API's answers, and the judgement of each object.
//!
//! In: the cluster, the API, the policy, the strikes of earlier passes, and a person's approval. Out: a [`Survey`],
//! whose plan may be deleted if the survey is released. Fails: never; what cannot be read holds the survey. Writes
//! nothing.
//!
//! The objects are listed before the API is asked: an object that is made in between has an owner that existed, and
//! an object's generation is never newer than what an honest API answers later.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lifecycle_core::sweep::{
    Approval, Asked, Candidate, Judgement, Keep, OwnerAnswer, Policy, Reading, Release, Strikes, SweepPlan, Verdict,
    release,
};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::GroupKind;

use crate::api::Api;
use crate::canary::check_canaries;
use crate::inventory::{Found, Inventory, KindFilter, sweeps};
use crate::objects::Objects;
use crate::owners::Answers;

/// What a pass found, and what it would delete.
#[derive(Debug)]
pub struct Survey {
    /// Every listed kind, and how many labelled objects of any adapter it has.
    pub kinds: Vec<(GroupVersionKind, u64)>,
    /// How many objects name an adapter of this installation.
    pub inventory: u64,
    /// How many API resources these objects name.
    pub owners: u64,
    /// The objects whose API resource is gone, and their verdicts.
    pub orphans: Vec<(Candidate, Verdict)>,
    /// How many objects of each kind live in an orphaned namespace, or are of an orphaned custom kind, by the UID of the
    /// namespace or definition.
    pub takes_along: BTreeMap<String, BTreeMap<GroupVersionKind, u64>>,
    /// The kinds of a bundle's members that the patterns do not select, so that such members stay; by the UID of the bundle's
    /// parent.
    pub stays: BTreeMap<String, Vec<GroupKind>>,
    /// How many other objects of each kind are kept, by reason.
    pub kept: BTreeMap<(GroupVersionKind, Keep), u64>,
    /// How many answers of the API proved nothing, by reason.
    pub unknown: BTreeMap<&'static str, u64>,
    /// The objects to delete.
    pub plan: SweepPlan,
    /// Whether they may be deleted.
    pub release: Release,
    /// Since when the oldest known orphan's API resource is gone.
    pub oldest: Option<Timestamp>,
}

/// Surveys the cluster, and brings the strikes up to date. `approval` is asked for at the end, if the plan is held.
pub async fn survey(
    objects: &impl Objects,
    api: &impl Api,
    (policy, filter): (&Policy, &KindFilter),
    strikes: &mut Strikes,
    approval: impl AsyncFn() -> Option<Approval>,
    now: impl Fn() -> Timestamp,
) -> Survey {
    let mut inventory = Inventory::take(objects, filter, policy).await;
    let from = now();
    let (answers, mut distrust) = match check_canaries(api).await {
        None => (Answers::ask(api, &inventory.census.owners().collect::<Vec<_>>()).await, None),
        distrust => (Answers::default(), distrust),
    };
    if let Some(error) = &answers.failed_search {
        tracing::warn!(error, "A search of the API failed; its resources were asked for one by one");
    }
    let asked = Asked { from, until: now() };

    let is_gone = |id: &str| answers.of(id) == OwnerAnswer::Gone;
    let found = if inventory.census.owners().any(is_gone) {
        let found = inventory.look_again(objects, policy, is_gone).await;
        distrust = check_canaries(api).await;
        found
    } else {
        Found::default()
    };

    let census = &inventory.census;
    let inside = |candidate: &Candidate| Some((candidate.uid.clone(), found.contents.inside(candidate)));
    let takes_along = found.candidates.iter().filter_map(inside).filter(|(_, inside)| !inside.is_empty()).collect();
    let stays = found.candidates.iter().filter_map(|candidate| stays(candidate, filter)).collect();
    let judgement = Reading {
        census,
        answer: |id: &str| answers.of(id),
        asked,
        distrust,
        candidates: found.candidates,
        contents: &found.contents,
        unread: inventory.unread(),
        sweeps: &sweeps(policy, filter),
    };
    let mut judgement = judgement.judge(strikes, policy);
    judgement.holds.extend(inventory.nothing_selected());
    let plan = judgement.plan();
    let Judgement { orphans, kept, .. } = judgement;
    let approval = if plan.holds().is_empty() { None } else { approval().await };
    Survey {
        kinds: census.kinds().map(|(kind, objects)| (kind.clone(), objects)).collect(),
        inventory: census.inventory(),
        owners: census.owners().count() as u64,
        kept,
        unknown: answers.unknown,
        release: release(&plan, approval.as_ref(), now()),
        plan,
        orphans,
        takes_along,
        stays,
        oldest: strikes.oldest(),
    }
}

/// The UID of a bundle's parent, and the kinds of members that are not swept; `None` if there are none.
fn stays(candidate: &Candidate, filter: &KindFilter) -> Option<(String, Vec<GroupKind>)> {
    let is_swept = |kind: &GroupKind| {
        let kind = GroupVersionKind { group: kind.group.clone(), version: String::new(), kind: kind.kind.clone() };
        filter.names(&kind)
    };
    let stays: Vec<_> = candidate.member_kinds.iter().flatten().filter(|kind| !is_swept(kind)).cloned().collect();
    (!stays.is_empty()).then(|| (candidate.uid.clone(), stays))
}

impl Survey {
    /// What a sweep deletes once the grace has passed, if the API then says the same.
    #[must_use]
    pub fn after_grace(mut self, now: Timestamp) -> Self {
        let holds = self.plan.holds().to_vec();
        let judgement = Judgement { orphans: self.orphans, kept: self.kept, holds }.after_grace();
        self.plan = judgement.plan();
        self.release = release(&self.plan, None, now);
        Self { orphans: judgement.orphans, kept: judgement.kept, ..self }
    }
}

#[cfg(test)]
mod tests;
