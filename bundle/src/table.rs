//! The decision table of a bundle's objects: what becomes of one object in one pass.
//!
//! In: a [`Situation`], everything that the pass knows about the object. Out: the [`Row`] that matched, and its
//! [`Decision`]. Nothing here fails: an object that may not be taken over has a decision, too.
//!
//! The table of a task's entries (`plan::decide` of `lifecycle-core`) decides about the bundle as a whole. This one
//! decides about each object once it is known what the bundle as a whole is to become ([`Intent`]).
//!
//! | row | condition | decision |
//! | --- | --- | --- |
//! | D1 | the bundle is disowned, and the object is a live member | disown |
//! | D2 | the bundle is disowned | skip |
//! | R1 | not wanted, and gone | skip |
//! | R2 | not wanted, and no member any more | skip |
//! | R3 | not wanted, and terminating | wait |
//! | R3a | not wanted, and another entry of the task renders it | hand over |
//! | R3b | not wanted, and it is unknown whether another entry renders it | wait |
//! | R4 | not wanted, and other objects go first | wait |
//! | R5 | not wanted, and its policy keeps it | disown |
//! | R6 | not wanted | delete |
//! | A1 | to be purged, and terminating | wait |
//! | A2 | to be purged, and there | delete |
//! | A3 | completed | skip |
//! | A4 | other objects have to be ready first | wait |
//! | A5 | terminating | wait |
//! | A6 | absent | create |
//! | A7 | no member, and its policy does not adopt it | fail |
//! | A8 | no member | update |
//! | A9 | written once, and its delete policy and order did not change | skip |
//! | A10 | changed in its content, and its policy recreates it | recreate |
//! | A11 | changed | update |
//! | A12 | to be applied again | update |
//! | A13 | as it was applied | skip |
//!
//! An object is handed over by leaving it as it is: the entry that renders it takes it over when its turn comes. A bundle that is
//! deleted waits for that.
//!
//! Of an object that is written once, only its annotation `deletion` is written again.

use std::fmt;

use super::digest::{ONCE, is_other_content};
use super::policy::{Adoption, Delete, Policies, Reconcile, Update};
use super::siblings::Claim;

/// What the bundle as a whole is to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Intent {
    /// Its objects are to be as the manifests render.
    Apply,
    /// It is to be deleted.
    Delete,
    /// It is to be disowned.
    Disown,
}

/// What a pass knows about one object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Situation<'a> {
    /// What the bundle as a whole is to become.
    pub intent: Intent,
    /// The rendered object; `None` if the manifests render no object of this identity.
    pub wanted: Option<Wanted<'a>>,
    /// The object of this identity on the cluster.
    pub found: Found<'a>,
    /// Which objects go first, in words; `None` if it is this object's turn.
    pub waits_for: Option<&'a str>,
    /// Why the object stays although the bundle has no use for it.
    pub claim: Option<&'a Claim>,
}

/// A rendered object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted<'a> {
    /// The object's policies.
    pub policies: Policies,
    /// The digest of the rendered object.
    pub digest: &'a str,
    /// Whether an object with this digest has served.
    pub is_completed: bool,
    /// Whether the wave is over after which an object that has served is deleted.
    pub is_to_be_purged: bool,
    /// Whether the time is over for which the object is not applied again.
    pub is_due_again: bool,
    /// Whether the member says of its deletion something else than the manifests.
    pub goes_otherwise: bool,
}

/// The object of an identity on the cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found<'a> {
    /// There is none.
    Nothing,
    /// A member of this bundle.
    Member {
        /// The digest that was written with it; `None` if somebody removed it.
        digest: Option<&'a str>,
        /// Whether it is being deleted.
        is_terminating: bool,
        /// What its annotations say about its deletion.
        delete: Delete,
    },
    /// Another object of this name.
    Other {
        /// Who owns it, in words; `None` if nobody does.
        owner: Option<&'a str>,
        /// Whether it is being deleted.
        is_terminating: bool,
    },
}

/// What becomes of an object in this pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Create the object.
    Create,
    /// Write the rendered object over the one that exists.
    Update(UpdateReason),
    /// Delete the object, and create it again.
    Recreate,
    /// Delete the object.
    Delete(DeleteReason),
    /// Remove the bundle's labels from the object, and leave it alone from then on.
    Disown(DisownReason),
    /// Write nothing: this entry of the task renders the object, and takes it over.
    HandOver(String),
    /// Write nothing until something else has happened.
    Wait(String),
    /// Write nothing: there is nothing to do.
    Skip(SkipReason),
    /// Write nothing: the object belongs to somebody else, named here in words.
    Taken(String),
}

/// Why an object is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateReason {
    /// It existed before the bundle, which takes it over.
    Adopted,
    /// It was written from another rendered object.
    Changed,
    /// It is written once, and says of its deletion something else than the manifests: only that is written.
    Departure,
    /// It was last written so long ago that others may have changed it.
    DueAgain,
}

/// Why an object is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteReason {
    /// The bundle is deleted.
    BundleDeleted,
    /// The manifests render it no longer.
    NotWanted,
    /// It has served.
    Purged,
}

/// Why an object is disowned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisownReason {
    /// The bundle is disowned.
    BundleDisowned,
    /// Its policy keeps it when the bundle has no use for it.
    Policy,
}

/// Why there is nothing to do with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It is as it was applied.
    InSync,
    /// Its policy is to write it once.
    Once,
    /// It has served.
    Completed,
    /// It is gone.
    Gone,
    /// It is no member of the bundle any more.
    NotOurs,
}

lifecycle_objects::table! {
    /// The row of the table that matched: the reason of a decision.
    Disown, "D1", "the bundle is disowned, and the object is a live member";
    NothingToDisown, "D2", "the bundle is disowned";
    Gone, "R1", "not wanted, and gone";
    NoMember, "R2", "not wanted, and no member any more";
    Going, "R3", "not wanted, and terminating";
    HandedOver, "R3a", "not wanted, and another entry of the task renders it";
    MayBeClaimed, "R3b", "not wanted, and it is unknown whether another entry renders it";
    GoesLater, "R4", "not wanted, and other objects go first";
    Kept, "R5", "not wanted, and its policy keeps it";
    Redundant, "R6", "not wanted";
    Completing, "A1", "to be purged, and terminating";
    Purge, "A2", "to be purged, and there";
    Completed, "A3", "completed";
    NotYet, "A4", "other objects have to be ready first";
    Terminating, "A5", "terminating";
    Absent, "A6", "absent";
    Taken, "A7", "no member, and its policy does not adopt it";
    Adopt, "A8", "no member";
    Once, "A9", "written once, and its delete policy and order did not change";
    Recreate, "A10", "changed in its content, and its policy recreates it";
    Changed, "A11", "changed";
    DueAgain, "A12", "to be applied again";
    InSync, "A13", "as it was applied";
}

/// What a wait for a deletion says.
const GOING: &str = "it is on its way out";

/// Decides about one object: the first row that matches wins.
#[must_use]
pub fn decide(situation: &Situation<'_>) -> (Row, Decision) {
    match (situation.intent, &situation.wanted) {
        (Intent::Disown, _) => disown(&situation.found),
        (Intent::Delete, _) => remove(situation, DeleteReason::BundleDeleted),
        (Intent::Apply, None) => remove(situation, DeleteReason::NotWanted),
        (Intent::Apply, Some(wanted)) => apply(situation, wanted),
    }
}

/// Rows D: Kubernetes deletes a terminating object in any case.
fn disown(found: &Found<'_>) -> (Row, Decision) {
    match found {
        Found::Member { is_terminating: false, .. } => (Row::Disown, Decision::Disown(DisownReason::BundleDisowned)),
        Found::Member { is_terminating: true, .. } => (Row::NothingToDisown, Decision::Wait(GOING.to_owned())),
        Found::Other { .. } => (Row::NothingToDisown, Decision::Skip(SkipReason::NotOurs)),
        Found::Nothing => (Row::NothingToDisown, Decision::Skip(SkipReason::Gone)),
    }
}

/// Rows R.
fn remove(situation: &Situation<'_>, because: DeleteReason) -> (Row, Decision) {
    let (is_terminating, policy) = match situation.found {
        Found::Nothing => return (Row::Gone, Decision::Skip(SkipReason::Gone)),
        Found::Other { .. } => return (Row::NoMember, Decision::Skip(SkipReason::NotOurs)),
        Found::Member { is_terminating, delete, .. } => (is_terminating, delete),
    };
    if is_terminating {
        return (Row::Going, Decision::Wait(GOING.to_owned()));
    }
    match (situation.claim, situation.intent) {
        (Some(Claim::By(entry)), Intent::Delete) => {
            let why = format!("the entry `{entry}` renders it, and is to take it over");
            return (Row::HandedOver, Decision::Wait(why));
        }
        (Some(Claim::By(entry)), Intent::Apply | Intent::Disown) => {
            return (Row::HandedOver, Decision::HandOver(entry.clone()));
        }
        (Some(Claim::Unknown(cause)), _) => return (Row::MayBeClaimed, Decision::Wait(cause.clone())),
        (None, _) => {}
    }
    if let Some(others) = situation.waits_for {
        return (Row::GoesLater, Decision::Wait(others.to_owned()));
    }
    if policy.keeps(situation.intent) {
        return (Row::Kept, Decision::Disown(DisownReason::Policy));
    }
    (Row::Redundant, Decision::Delete(because))
}

impl Delete {
    /// Whether the policy keeps an object for which the bundle has no use.
    #[must_use]
    pub fn keeps(self, intent: Intent) -> bool {
        match self {
            Self::Delete => false,
            Self::Orphan => true,
            Self::OrphanOnApply => intent == Intent::Apply,
            Self::OrphanOnDelete => intent == Intent::Delete,
        }
    }
}

/// Rows A.
fn apply(situation: &Situation<'_>, wanted: &Wanted<'_>) -> (Row, Decision) {
    let skip = |row, because| (row, Decision::Skip(because));
    match situation.found {
        Found::Member { is_terminating: true, .. } if wanted.is_to_be_purged => {
            return (Row::Completing, Decision::Wait(GOING.to_owned()));
        }
        Found::Member { .. } if wanted.is_to_be_purged => {
            return (Row::Purge, Decision::Delete(DeleteReason::Purged));
        }
        Found::Nothing | Found::Other { .. } | Found::Member { .. } => {}
    }
    if wanted.is_completed {
        return skip(Row::Completed, SkipReason::Completed);
    }
    if let Some(others) = situation.waits_for {
        return (Row::NotYet, Decision::Wait(others.to_owned()));
    }
    let digest = match situation.found {
        Found::Member { is_terminating: true, .. } | Found::Other { is_terminating: true, .. } => {
            return (Row::Terminating, Decision::Wait(GOING.to_owned()));
        }
        Found::Nothing => return (Row::Absent, Decision::Create),
        Found::Other { owner, .. } => return take_over(wanted.policies.adoption, owner),
        Found::Member { digest, .. } => digest,
    };
    if wanted.policies.reconcile == Reconcile::Once && digest == Some(ONCE) {
        if wanted.goes_otherwise {
            return (Row::Changed, Decision::Update(UpdateReason::Departure));
        }
        return skip(Row::Once, SkipReason::Once);
    }
    if digest != Some(wanted.digest) {
        // Where nothing says that the object's content is another one, such as for a new policy, it is not destroyed.
        let is_other = digest.is_some_and(|digest| is_other_content(digest, wanted.digest));
        return match wanted.policies.update {
            Update::Recreate if is_other => (Row::Recreate, Decision::Recreate),
            Update::Recreate | Update::Apply | Update::ApplyOverride | Update::Replace => {
                (Row::Changed, Decision::Update(UpdateReason::Changed))
            }
        };
    }
    if wanted.is_due_again {
        return (Row::DueAgain, Decision::Update(UpdateReason::DueAgain));
    }
    skip(Row::InSync, SkipReason::InSync)
}

/// Rows A7 and A8. An adopted object is never recreated: its new owner changes it, and does not destroy it.
fn take_over(adoption: Adoption, owner: Option<&str>) -> (Row, Decision) {
    let may_adopt = match adoption {
        Adoption::Never => false,
        Adoption::IfUnowned => owner.is_none(),
        Adoption::Always => true,
    };
    if may_adopt {
        return (Row::Adopt, Decision::Update(UpdateReason::Adopted));
    }
    (Row::Taken, Decision::Taken(owner.unwrap_or("nobody, and its policy is to adopt no object").to_owned()))
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create => f.write_str("create"),
            Self::Update(UpdateReason::Adopted) => f.write_str("update: the bundle takes it over"),
            Self::Update(UpdateReason::Changed) => f.write_str("update: its manifest renders to another object"),
            Self::Update(UpdateReason::Departure) => {
                f.write_str("update: it says of its deletion something else than the manifests")
            }
            Self::Update(UpdateReason::DueAgain) => f.write_str("update: its time to be applied again has come"),
            Self::Recreate => f.write_str("recreate: its manifest renders to another object"),
            Self::Delete(DeleteReason::BundleDeleted) => f.write_str("delete: the bundle is deleted"),
            Self::Delete(DeleteReason::NotWanted) => f.write_str("delete: the manifests render it no longer"),
            Self::Delete(DeleteReason::Purged) => f.write_str("delete: it has served"),
            Self::Disown(DisownReason::BundleDisowned) => f.write_str("disown: the bundle is disowned"),
            Self::Disown(DisownReason::Policy) => f.write_str("disown: its policy keeps it"),
            Self::HandOver(entry) => write!(f, "hand over: the entry `{entry}` renders it, and takes it over"),
            Self::Wait(others) => write!(f, "wait: {others}"),
            Self::Skip(SkipReason::InSync) => f.write_str("skip: it is as it was applied"),
            Self::Skip(SkipReason::Once) => f.write_str("skip: its policy is to write it once"),
            Self::Skip(SkipReason::Completed) => f.write_str("skip: it has served"),
            Self::Skip(SkipReason::Gone) => f.write_str("skip: it is gone"),
            Self::Skip(SkipReason::NotOurs) => f.write_str("skip: it is no member of the bundle any more"),
            Self::Taken(owner) => write!(f, "fail: it belongs to {owner}"),
        }
    }
}

#[cfg(test)]
mod tests;
