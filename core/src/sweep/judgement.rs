//! The judgement of all objects of a pass.
//!
//! In: a [`Reading`], and the strikes of earlier passes. Out: a [`Judgement`], and the strikes for the next pass. Fails:
//! never; a reading that is not complete, or not to be trusted, holds the pass.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_objects::id::GroupVersionKind;

use super::release::too_many;
use super::verdict::identified;
use super::{Asked, Candidate, Census, Contents, Hold, Keep, OwnerAnswer, Policy, Strikes, SweepPlan, Verdict, judge};

/// What a pass read.
#[derive(Debug)]
pub struct Reading<'a, A> {
    /// All labelled objects, before the API was asked.
    pub census: &'a Census,
    /// What the API said about a resource that the census names.
    pub answer: A,
    /// When the API was asked.
    pub asked: Asked,
    /// Why no answer proves that a resource is gone, if none does.
    pub distrust: Option<Hold>,
    /// The objects whose API resource is gone, as they were after the API was asked.
    pub candidates: Vec<Candidate>,
    /// What would go with them.
    pub contents: &'a Contents,
    /// The errors of kinds and groups that could not be read.
    pub unread: Vec<String>,
    /// Which adapters and kinds the pass sweeps, in words.
    pub sweeps: &'a str,
}

/// The verdicts of a pass.
#[derive(Debug)]
pub struct Judgement {
    /// The objects whose API resource is gone, and their verdicts.
    pub orphans: Vec<(Candidate, Verdict)>,
    /// How many other objects of each kind are kept, by reason.
    pub kept: BTreeMap<(GroupVersionKind, Keep), u64>,
    /// The reasons to delete nothing.
    pub holds: Vec<Hold>,
}

impl<A: Fn(&str) -> OwnerAnswer> Reading<'_, A> {
    /// Judges the objects, and brings the strikes up to date.
    #[must_use]
    pub fn judge(self, strikes: &mut Strikes, policy: &Policy) -> Judgement {
        let Self { census, answer: said, asked, distrust, candidates, contents, unread, sweeps } = self;
        let (is_trusted, is_complete) = (distrust.is_none(), unread.is_empty());
        // An answer that a resource exists is safe to believe.
        let answer = |id: &str| if is_trusted { said(id) } else { said(id).or_unknown() };
        let kept = census.kept(answer);
        let (mut orphans, mut judged, mut owned) = (Vec::new(), BTreeSet::new(), 0);
        for candidate in candidates {
            let takes_others = contents.must_outlive(&candidate);
            let verdict = judge(&candidate, answer(&candidate.resource_id), takes_others, strikes, policy, asked);
            judged.insert(candidate.uid.clone());
            // The census has counted what is kept for its labels alone, or for an answer that proves nothing.
            if !is_trusted || identified(&candidate, policy).is_err() {
                continue;
            }
            if strikes.since(&candidate).is_some() {
                owned += contents.owned_by(&candidate);
            }
            orphans.push((candidate, verdict));
        }
        strikes.end_pass(|id| census.names(id).then(|| answer(id)), &judged, is_complete);

        let mut holds: Vec<_> = distrust.into_iter().collect();
        if !is_complete {
            holds.push(Hold::IncompleteInventory { unread });
        }
        // What answers that prove nothing deny is reason enough for a doubt.
        let denied = census.sweepable_of(|id| said(id) == OwnerAnswer::Gone);
        let is_unknown = |id: &str| answer(id) == OwnerAnswer::Unknown;
        let struck = strikes.resources();
        let unknown = census.sweepable_of(|id| is_unknown(id) && !struck.contains(id));
        let would_go = denied.max(strikes.count() + owned);
        let many = too_many(&policy.limits, would_go, unknown, census.sweepable() + owned);
        if let Some(Hold::TooManyUnknown { .. }) = many {
            strikes.begin_anew(asked.until);
        }
        holds.extend(many);
        let newer = census.newer_than_owner(&said);
        let count = newer.len() as u64;
        holds.extend(newer.into_iter().next().map(|example| Hold::ApiWentBack { count, example }));
        // A pass that sees no living API resource says nothing about the API's memory: it may look for the wrong objects.
        let is_certain = is_trusted && is_complete && census.owners().count() > 0 && !census.owners().any(is_unknown);
        let holds = strikes.hold(holds, is_certain, sweeps);
        Judgement { orphans, kept, holds }
    }
}

impl Judgement {
    /// The plan to delete what is due.
    #[must_use]
    pub fn plan(&self) -> SweepPlan {
        let due = self.orphans.iter().filter(|(_, verdict)| *verdict == Verdict::Delete);
        SweepPlan::new(due.map(|(candidate, _)| candidate.clone()).collect(), self.holds.clone())
    }

    /// What a pass after the grace would find, if the API then says the same.
    #[must_use]
    pub fn after_grace(mut self) -> Self {
        for (_, verdict) in &mut self.orphans {
            if *verdict == Verdict::Keep(Keep::Grace) {
                *verdict = Verdict::Delete;
            }
        }
        self
    }
}
