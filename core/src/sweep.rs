//! Decides which objects the sweeper deletes.
//!
//! In: what a pass read ([`Reading`]): labelled objects as [`Candidate`]s, and for each API resource that they name the
//! API's own [`OwnerAnswer`]. Out: a [`Judgement`]: a [`Verdict`] for each candidate, and the reasons to hold the pass; then
//! with a person's approval a [`Release`]. Fails: never; whatever is unknown keeps the object.
//!
//! An object is deleted only if all of this is true:
//!
//! 1. [`judge`]: the object's labels name an adapter of this installation and an API resource; the API itself
//!    said that the resource does not exist, now and at least [`Policy::grace`] ago ([`Strikes`]); and neither
//!    Kubernetes, nor another owner, nor a person has a claim on the object.
//! 2. [`release()`]: few enough objects are orphans, the inventory is complete, and no object shows or showed that the
//!    API lost its memory ([`Census::newer_than_owner`]); or a person approved exactly this [`SweepPlan`].
//! 3. [`recheck`]: the object, read again just before the deletion, still is what was judged.
//!
//! | module | idea |
//! | --- | --- |
//! | [`candidate`] | what the sweeper reads from an object's metadata |
//! | [`kinds`] | patterns by which a configuration names kinds |
//! | [`census`] | counts of a pass, and what each API resource's objects say about it |
//! | [`contents`] | what Kubernetes would delete along with an object |
//! | [`doubt`] | why the API's memory is distrusted until a person or an empty list of orphans ends that |
//! | [`strikes`] | what passes remember: since when each object's owner is gone, and doubts about the API |
//! | [`verdict`] | the judgement of one object, and its reasons |
//! | [`judgement`] | the judgement of all objects of a pass |
//! | [`release`](mod@release) | the judgement of the pass: limits, evidence against the API, approval |
//! | [`plan`] | the list of objects to delete, and its hash |

pub mod candidate;
pub mod census;
pub mod contents;
pub mod doubt;
pub mod judgement;
pub mod kinds;
pub mod plan;
pub mod release;
pub mod strikes;
pub mod verdict;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_objects::id::Generation;
use lifecycle_objects::proof::Signer;
use regex::Regex;

pub use self::candidate::Candidate;
pub use self::census::Census;
pub use self::contents::{Container, Contents};
pub use self::doubt::Doubt;
pub use self::judgement::{Judgement, Reading};
pub use self::kinds::KindPattern;
pub use self::plan::SweepPlan;
pub use self::release::{Approval, Hold, Release, release};
pub use self::strikes::Strikes;
pub use self::verdict::{Keep, Verdict, judge, recheck};

/// What the operator configured about which objects may be deleted.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The adapters of this installation: objects of other adapters are kept.
    pub adapters: BTreeSet<String>,
    /// Matches the whole label `hyperfleet.io/resource-id` of objects that may be deleted. A task's author can
    /// write a resource's *name* into that label, and the API rightly answers that no resource has that id. Anchor
    /// it, as `^(?:a|ab)$`: of a match that may end early, the first alternative counts, and keeps the object.
    pub resource_id: Regex,
    /// The least time between the two passes in which the API says that the resource does not exist.
    pub grace: Duration,
    /// The least age of an object that is deleted.
    pub min_age: Duration,
    /// The cluster-scoped kinds whose objects may be deleted; others are kept.
    pub cluster_scoped: Vec<KindPattern>,
    /// The kinds whose objects may be deleted along with the namespace that they live in, or with their definition, if
    /// nobody labelled them; other content keeps the namespace or definition.
    pub goes_along: Vec<KindPattern>,
    /// The keys by one of which each object's ownership proof must be signed: while the adapters change their key, the
    /// old one and the new one. Without a key, no proof is asked for, and cluster-scoped objects are kept.
    pub signers: Vec<Signer>,
    /// The most orphans with which a pass deletes anything.
    pub limits: Limits,
}

/// The most orphans that a pass may find and still delete without a person's approval. Both limits hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most orphans.
    pub objects: u64,
    /// The most orphans as a share of the objects that could be orphans ([`Census::sweepable`]).
    pub share: Share,
}

/// A share of the objects that could be orphans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// So many percent, rounded down.
    Percent(u64),
    /// [`Share::PERCENT`], and in a small fleet up to [`Share::FEW`] objects as long as they are no more than a
    /// [`Share::SMALL_FLEET`]th of all: one of four clusters can go, and an API that lost its data is noticed in a fleet
    /// of any size.
    Usual,
}

impl Share {
    /// The usual share.
    pub const PERCENT: u64 = 5;
    /// About as many objects as one cluster has.
    pub const FEW: u64 = 10;
    /// The largest part of a small fleet is one of so many.
    pub const SMALL_FLEET: u64 = 4;

    fn of(self, inventory: u64) -> u64 {
        let percent = |percent: u64| inventory.saturating_mul(percent) / 100;
        match self {
            Self::Percent(share) => percent(share),
            Self::Usual => percent(Self::PERCENT).max(Self::FEW.min(inventory / Self::SMALL_FLEET)),
        }
    }
}

impl Limits {
    /// The most orphans among so many objects.
    #[must_use]
    pub fn of(&self, inventory: u64) -> u64 {
        self.objects.min(self.share.of(inventory))
    }
}

/// What the API said about one API resource in this pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnerAnswer {
    /// The resource exists, at this generation.
    Exists(Generation),
    /// The API itself answered a request for this one resource: there is none.
    Gone,
    /// No answer proves either.
    Unknown,
}

impl OwnerAnswer {
    /// The answer, if only one that the resource exists is to be believed.
    #[must_use]
    fn or_unknown(self) -> Self {
        match self {
            Self::Exists(_) => self,
            Self::Gone | Self::Unknown => Self::Unknown,
        }
    }
}

/// When a pass asked the API. A resource that two passes found gone was gone for at least the time from the last answer of
/// the first to the first question of the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Before the first question.
    pub from: Timestamp,
    /// After the last answer.
    pub until: Timestamp,
}

#[cfg(test)]
mod tests;
