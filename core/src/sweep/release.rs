//! The judgement of a pass as a whole: whether anything at all is deleted.
//!
//! In: how many objects and orphans the pass found, what speaks against its reading, and a person's approval.
//! Out: [`Release`]. Fails: never.
//!
//! A pass holds if it finds more orphans than the limits allow, because an API that lost its data, or that is
//! another installation's, answers for each of its ids that there is no such resource. All known orphans count, those
//! still in their grace included: otherwise an API that answers for only a few ids in each pass would never reach
//! the limit. Beside an orphan, objects whose API resource is unknown count as well: an answer that fails must not make a
//! loss look small.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::census::Newer;
use super::{Doubt, Limits, SweepPlan};

/// Whether a pass deletes its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The pass deletes the objects of its plan.
    Go,
    /// The pass deletes the objects of its plan, because a person approved it despite its reasons to hold.
    Approved,
    /// The pass deletes nothing.
    Held,
}

/// Why a pass deletes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Some kinds could not be listed.
    IncompleteInventory {
        /// The errors, each with the kind or group.
        unread: Vec<String>,
    },
    /// A name of the configuration selects nothing: less is swept than was asked for.
    NothingSelected {
        /// What selects nothing, and what may be meant.
        why: Vec<String>,
    },
    /// The API did not answer as it must about a resource that exists, or about one that does not.
    NoCanary {
        /// What is wrong with the answer.
        why: String,
    },
    /// The API has no resource at all: it lost them, or it is not the API of these objects.
    NoResources,
    /// More orphans than the limits allow.
    TooManyOrphans {
        /// How many objects are orphans, as far as known.
        orphans: u64,
        /// How many objects could be orphans ([`Census::sweepable`](super::Census::sweepable)), and how many would go
        /// along with one.
        inventory: u64,
        /// The most orphans with which a pass deletes anything.
        limit: u64,
    },
    /// The orphans, and the objects whose API resource the API did not speak about, are together more than the limits
    /// allow.
    TooManyUnknown {
        /// How many objects are orphans, as far as known.
        orphans: u64,
        /// How many objects would be orphans if the API resources that are unknown were gone.
        unknown: u64,
        /// The most orphans with which a pass deletes anything.
        limit: u64,
    },
    /// Objects carry a newer generation than their API resource has: the API was restored from a backup.
    ApiWentBack {
        /// How many API resources are older than an object of theirs.
        count: u64,
        /// One of them.
        example: Newer,
    },
    /// An earlier pass, of this leader or of another one, doubted the API's memory for this reason, and no person has
    /// approved a plan since.
    Earlier(Doubt),
}

impl Hold {
    /// The reason as the value of a metric label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::IncompleteInventory { .. } => "incomplete_inventory",
            Self::NothingSelected { .. } => "nothing_selected",
            Self::NoCanary { .. } => "no_canary",
            Self::NoResources => "no_resources",
            Self::TooManyOrphans { .. } => "too_many_orphans",
            Self::TooManyUnknown { .. } => "too_many_unknown",
            Self::ApiWentBack { .. } => "api_went_back",
            Self::Earlier(doubt) => doubt.label(),
        }
    }

    /// The labels of all reasons.
    pub const LABELS: [&str; 8] = [
        "incomplete_inventory",
        "nothing_selected",
        "no_canary",
        "no_resources",
        "too_many_orphans",
        "too_many_unknown",
        "api_went_back",
        Doubt::UNREADABLE,
    ];

    /// Whether a person can approve the plan despite this reason. Nobody can where the pass did not see what it
    /// has to judge.
    #[must_use]
    pub fn is_approvable(&self) -> bool {
        match self {
            Self::IncompleteInventory { .. }
            | Self::NothingSelected { .. }
            | Self::NoCanary { .. }
            | Self::NoResources
            | Self::TooManyUnknown { .. } => false,
            Self::TooManyOrphans { .. } | Self::ApiWentBack { .. } | Self::Earlier(_) => true,
        }
    }

    /// Whether this reason doubts the API's memory, and so outlasts the pass: until no orphan is left, or a person
    /// approves a plan.
    #[must_use]
    pub fn is_doubt(&self) -> bool {
        matches!(self, Self::NoResources | Self::TooManyOrphans { .. } | Self::ApiWentBack { .. })
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IncompleteInventory { unread } => {
                let first = unread.first().map_or("", String::as_str);
                write!(f, "{} list(s) of objects could not be read, the first: {first}", unread.len())
            }
            Self::NothingSelected { why } => f.write_str(&why.join("; ")),
            Self::NoCanary { why } => write!(f, "the API cannot be trusted: {why}"),
            Self::NoResources => {
                f.write_str("the API has no resource at all, so nothing shows that it is the API of these objects")
            }
            Self::TooManyOrphans { orphans, inventory, limit } => {
                write!(f, "{orphans} of {inventory} objects are orphans, and the limit is {limit}")
            }
            Self::TooManyUnknown { orphans, unknown, limit } => write!(
                f,
                "{orphans} objects are orphans and {unknown} more may be, as the API did not speak about their resources; the limit is {limit}"
            ),
            Self::Earlier(doubt) => {
                write!(
                    f,
                    "an earlier pass found that {}; orphans are left, and no plan was approved since",
                    doubt.why()
                )
            }
            Self::ApiWentBack { count, example } => write!(
                f,
                "{count} API resource(s) are older than their objects, as after a restored backup; {} has generation {}, and {} was made for generation {}",
                example.resource_id, example.owner, example.object, example.generation
            ),
        }
    }
}

/// A person's approval of one plan, until a time. Written as `<hash> <RFC 3339 time>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The hash of the approved plan.
    pub hash: String,
    /// The approval counts before this time.
    pub expires: Timestamp,
}

/// The text is not an approval.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no approval: expected a plan's hash and a time, such as `2f0c… 2026-03-01T12:00:00Z`")]
pub struct InvalidApproval;

impl FromStr for Approval {
    type Err = InvalidApproval;

    fn from_str(text: &str) -> Result<Self, InvalidApproval> {
        let (hash, expires) = text.split_once(' ').ok_or(InvalidApproval)?;
        let expires = expires.parse().map_err(|_| InvalidApproval)?;
        Ok(Self { hash: hash.to_owned(), expires })
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.hash, self.expires)
    }
}

/// Says why a pass must not delete anything by itself; `None` if it found few enough orphans.
///
/// `unknown` are the objects whose API resource the API did not speak about, `inventory` all that could be orphans.
#[must_use]
pub fn too_many(limits: &Limits, orphans: u64, unknown: u64, inventory: u64) -> Option<Hold> {
    let limit = limits.of(inventory);
    if orphans > limit {
        return Some(Hold::TooManyOrphans { orphans, inventory, limit });
    }
    (orphans > 0 && orphans.saturating_add(unknown) > limit).then_some(Hold::TooManyUnknown { orphans, unknown, limit })
}

/// Decides whether a pass deletes its plan.
#[must_use]
pub fn release(plan: &SweepPlan, approval: Option<&Approval>, now: Timestamp) -> Release {
    if plan.holds().is_empty() {
        return Release::Go;
    }
    // Every empty plan has the same name, so an approval of one would count for others.
    let is_approved = !plan.objects().is_empty()
        && approval.is_some_and(|approval| approval.hash == plan.hash() && now < approval.expires);
    if is_approved && plan.holds().iter().all(Hold::is_approvable) { Release::Approved } else { Release::Held }
}
