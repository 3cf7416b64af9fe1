//! The judgement of one object, and its reasons.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_objects::proof::Signer;

use super::{Asked, Candidate, OwnerAnswer, Policy, Strikes};

/// What becomes of one object in this pass, if the pass is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The sweeper deletes the object.
    Delete,
    /// The sweeper keeps the object.
    Keep(Keep),
}

impl Verdict {
    /// The verdict as the value of a metric label: `delete`, or the label of the reason to keep the object.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Keep(keep) => keep.label(),
        }
    }
}

macro_rules! keeps {
    ($($variant:ident, $label:literal, $sentence:literal;)*) => {
        /// Why the sweeper keeps an object. The first reason that applies, in this order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Keep { $(#[doc = concat!("The object is kept: ", $sentence, ".")] $variant,)* }

        impl Keep {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The reason as the value of a metric label.
            #[must_use]
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }

            /// The reason for people.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

keeps! {
    ForeignAdapter, "foreign_adapter", "its adapter is not among the configured `adapters`";
    Disowned, "disowned", "an adapter disowned it";
    NoIdentity, "no_identity", "its UID, kind or name is missing, so no deletion could be fenced";
    NoResourceId, "no_resource_id", "it lacks the label hyperfleet.io/resource-id";
    OddResourceId, "odd_resource_id", "its hyperfleet.io/resource-id does not have the form of the API's ids";
    OwnerExists, "owner_exists", "its API resource exists";
    OwnerUnknown, "owner_unknown", "the API's answer does not prove whether its API resource exists";
    Terminating, "terminating", "it is being deleted already";
    HasOwner, "has_owner", "another Kubernetes object owns it, with which Kubernetes deletes it";
    Forged, "forged", "its ownership proof is missing or not valid";
    ClusterScoped, "cluster_scoped", "its kind is cluster-scoped, and `kinds.cluster_scoped` does not allow it";
    TooYoung, "too_young", "it is younger than `min_age`";
    NotEmpty, "not_empty", "objects that must stay would be deleted with it: they live in it, or name it as their owner";
    Grace, "grace", "its API resource has not been gone for `grace` yet";
    Replaced, "replaced", "another object has its name by now";
    Changed, "changed", "its adapter, API resource or generation was another one when it was read again";
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// Judges one object.
///
/// An object whose owner is gone, and which nothing else claims, gets a strike, or keeps the one it has. Any other
/// object loses its strike, except that an unknown answer about the same owner proves nothing. `takes_others` says
/// whether objects that must stay would go with the candidate ([`Contents::must_outlive`](super::Contents::must_outlive)).
#[must_use]
pub fn judge(
    candidate: &Candidate,
    owner: OwnerAnswer,
    takes_others: bool,
    strikes: &mut Strikes,
    policy: &Policy,
    asked: Asked,
) -> Verdict {
    if let Err(keep) = identified(candidate, policy) {
        strikes.drop_of(candidate);
        return Verdict::Keep(keep);
    }
    match owner {
        OwnerAnswer::Exists(_) => {
            strikes.drop_of(candidate);
            return Verdict::Keep(Keep::OwnerExists);
        }
        OwnerAnswer::Unknown => {
            strikes.drop_of_former_owner(candidate);
            return Verdict::Keep(Keep::OwnerUnknown);
        }
        OwnerAnswer::Gone => {}
    }
    if let Err(keep) = unclaimed(candidate, policy) {
        strikes.drop_of(candidate);
        return Verdict::Keep(keep);
    }
    let since = strikes.strike(candidate, asked.until);
    if !candidate.created.is_some_and(|created| has_passed(created, policy.min_age, asked.from)) {
        return Verdict::Keep(Keep::TooYoung);
    }
    if takes_others {
        return Verdict::Keep(Keep::NotEmpty);
    }
    // Without a grace, the first strike still is not the second.
    if since == asked.until || !has_passed(since, policy.grace, asked.from) {
        return Verdict::Keep(Keep::Grace);
    }
    Verdict::Delete
}

/// Judges an object once more, as it was read just before its deletion.
///
/// A new generation shows that an adapter handled an event of the API resource in between, so the resource may live.
/// What an object contains is not part of the object: the caller lists that again.
///
/// # Errors
///
/// The object must be kept: it is another one, changed its owner, or something claims it by now.
pub fn recheck(judged: &Candidate, live: &Candidate, policy: &Policy) -> Result<(), Keep> {
    if live.uid != judged.uid || live.object != judged.object || live.destination != judged.destination {
        return Err(Keep::Replaced);
    }
    identified(live, policy)?;
    let owner = |object: &Candidate| (object.adapter.clone(), object.resource_id.clone(), object.generation);
    if owner(live) != owner(judged) {
        return Err(Keep::Changed);
    }
    unclaimed(live, policy)
}

/// Whether the API can be asked about the object's owner: the labels name this installation and an id.
///
/// # Errors
///
/// The object is kept, whatever the API says.
pub fn identified(candidate: &Candidate, policy: &Policy) -> Result<(), Keep> {
    if candidate.adapter.is_empty() || !policy.adapters.contains(&candidate.adapter) {
        return Err(Keep::ForeignAdapter);
    }
    if candidate.is_disowned {
        return Err(Keep::Disowned);
    }
    let identity = [&candidate.uid, &candidate.object.kind.kind, &candidate.object.name];
    if identity.into_iter().any(String::is_empty) {
        return Err(Keep::NoIdentity);
    }
    if candidate.resource_id.is_empty() {
        return Err(Keep::NoResourceId);
    }
    let is_whole = |found: regex::Match<'_>| found.as_str() == candidate.resource_id;
    if !policy.resource_id.find(&candidate.resource_id).is_some_and(is_whole) {
        return Err(Keep::OddResourceId);
    }
    Ok(())
}

/// Whether nobody but the object's API resource has a claim on it, so that it would go with the resource.
///
/// # Errors
///
/// The object is kept, even if its API resource is gone.
pub fn unclaimed(candidate: &Candidate, policy: &Policy) -> Result<(), Keep> {
    if candidate.is_terminating {
        return Err(Keep::Terminating);
    }
    if !candidate.owners.is_empty() {
        return Err(Keep::HasOwner);
    }
    let proof = candidate.proof.as_deref().unwrap_or_default();
    let is_signed = |signer: &Signer| signer.verify(&candidate.claim(), proof);
    if !policy.signers.is_empty() && !policy.signers.iter().any(is_signed) {
        return Err(Keep::Forged);
    }
    let kind = &candidate.object.kind;
    if candidate.object.namespace.is_none() {
        if !policy.cluster_scoped.iter().any(|pattern| pattern.matches(kind)) {
            return Err(Keep::ClusterScoped);
        }
        // Whoever may label a namespace could have everything in it deleted, so its labels alone prove nothing.
        if policy.signers.is_empty() {
            return Err(Keep::Forged);
        }
    }
    Ok(())
}

/// Whether `now` is at least `time` after `since`. A `since` in the future, by another clock, has not passed.
fn has_passed(since: Timestamp, time: Duration, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(since)).is_ok_and(|passed| passed >= time)
}
