//! The reading half of a pass: inventory, the API's answers, and the judgement of each object.
//!
//! In: the cluster, the API, the policy, the strikes of earlier passes, and a person's approval. Out: a [`Survey`],
//! whose plan may be deleted if the survey is released. Fails: never; what cannot be read holds the survey. Writes
//! nothing.
//!
//! The objects are listed before the API is asked: an object that is made in between has an owner that existed, and
//! an object's generation is never newer than what an honest API answers later.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use lifecycle_core::id::GroupVersionKind;
use lifecycle_core::sweep::release::too_many;
use lifecycle_core::sweep::verdict::identified;
use lifecycle_core::sweep::{
    Approval, Candidate, Hold, Keep, Policy, Release, Strikes, SweepPlan, Verdict, judge, release,
};

use crate::api::Api;
use crate::inventory::{Inventory, KindFilter};
use crate::objects::Objects;
use crate::owners::{Answers, check_canaries};

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
    /// How many objects of each kind are kept, by reason; the orphans among them too.
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

/// Surveys the cluster, and brings the strikes up to date.
pub async fn survey(
    objects: &impl Objects,
    api: &impl Api,
    (policy, filter): (&Policy, &KindFilter),
    strikes: &mut Strikes,
    approval: Option<&Approval>,
    now: impl Fn() -> Timestamp,
) -> Survey {
    let mut inventory = Inventory::take(objects, filter, policy).await;
    let mut holds = Vec::new();
    let answers = match check_canaries(api).await {
        Ok(()) => Answers::ask(api, &inventory.census.owners().collect::<Vec<_>>()).await,
        Err(why) => {
            holds.push(Hold::NoCanary { why });
            Answers::default()
        }
    };
    if let Some(error) = &answers.failed_search {
        tracing::warn!(error, "A search of the API failed; its resources were asked for one by one");
    }

    let gone: BTreeSet<&str> = answers.gone().collect();
    let candidates = inventory.objects_of(objects, &gone).await;
    if !candidates.is_empty()
        && let Err(why) = check_canaries(api).await
    {
        holds.push(Hold::NoCanary { why });
    }
    let is_trusted = holds.is_empty();
    let census = &inventory.census;
    let mut kept = census.kept(|id| answers.of(id));
    let (mut orphans, mut judged) = (Vec::new(), BTreeSet::new());
    // Without canaries, the answers prove nothing: they give no strike, and take none away.
    for candidate in candidates.into_iter().filter(|_| is_trusted) {
        // The census has counted what is kept for its labels alone.
        let is_orphan = identified(&candidate, policy).is_ok();
        let owner = answers.of(&candidate.resource_id);
        let verdict = judge(&candidate, owner, census.contains(&candidate), strikes, policy, now());
        if let Verdict::Keep(keep) = verdict
            && is_orphan
        {
            *kept.entry((candidate.object.kind.clone(), keep)).or_default() += 1;
        }
        judged.insert(candidate.uid.clone());
        if is_orphan {
            orphans.push((candidate, verdict));
        }
    }
    if is_trusted {
        let answer = |id: &str| census.names(id).then(|| answers.of(id));
        strikes.end_pass(answer, &judged, inventory.unread.is_empty());
    }

    if !inventory.unread.is_empty() {
        holds.push(Hold::IncompleteInventory { unread: inventory.unread.clone() });
    }
    holds.extend(too_many(&policy.limits, strikes.count(), census.sweepable()));
    let newer = strikes.newer(census.newer_than_owner(|id| answers.of(id)));
    if let Some(example) = newer.first().cloned() {
        holds.push(Hold::ApiWentBack { count: newer.len() as u64, example });
    }
    let plan = due(&orphans);
    Survey {
        kinds: census.kinds().map(|(kind, objects)| (kind.clone(), objects)).collect(),
        inventory: census.inventory(),
        owners: census.owners().count() as u64,
        kept,
        unknown: answers.unknown,
        release: release(&plan, holds, approval, now()),
        plan,
        orphans,
        oldest: strikes.oldest(),
    }
}

fn due(orphans: &[(Candidate, Verdict)]) -> SweepPlan {
    let due = orphans.iter().filter(|(_, verdict)| *verdict == Verdict::Delete);
    SweepPlan::new(due.map(|(candidate, _)| candidate.clone()).collect())
}

impl Survey {
    /// What a sweep deletes once the grace has passed, if the API then says the same.
    #[must_use]
    pub fn after_grace(mut self, now: Timestamp) -> Self {
        for (_, verdict) in &mut self.orphans {
            if *verdict == Verdict::Keep(Keep::Grace) {
                *verdict = Verdict::Delete;
            }
        }
        self.kept.retain(|(_, keep), _| *keep != Keep::Grace);
        self.plan = due(&self.orphans);
        self.release = release(&self.plan, self.holds().to_vec(), None, now);
        self
    }

    /// The reasons for which nothing is deleted, or would not be without a person's approval.
    #[must_use]
    pub fn holds(&self) -> &[Hold] {
        match &self.release {
            Release::Go => &[],
            Release::Approved(holds) | Release::Held(holds) => holds,
        }
    }
}

#[cfg(test)]
mod tests;
