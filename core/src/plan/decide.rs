//! The decision table: what becomes of a resource, given what is live and what its gates say.
//!
//! In: what was [`Seen`] of the versions that belong to the resource, and [`Questions`] that are answered
//! on demand. Out: one [`Decision`]. Nothing can fail that is not itself a decision.
//!
//! The first row that matches wins. A row asks only the gates that it names, each at most once, and a gate
//! that gives no answer makes the decision `Fail(GateFailed)`: only a definite answer may write or delete.

use super::decision::{Decision, FailReason, Failure, SkipReason, WaitReason};
use crate::id::Generation;
use crate::observation::Version;

/// What is known of the live objects that belong to a resource.
#[derive(Debug, Clone)]
pub enum Seen<'a> {
    /// They could not be read, and this is why.
    Unknown(&'a str),
    /// These; none means absent.
    Versions(Vec<&'a Version>),
}

/// The gates that the table asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// May it be created? Holds where not configured.
    Create,
    /// Shall it be replaced by a new object? Does not hold where not configured.
    Recreate,
    /// Shall it be deleted? Does not hold where not configured.
    Delete,
}

/// A gate's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateAnswer {
    /// Yes.
    Holds,
    /// No.
    DoesNotHold,
    /// There is no answer, and this is why.
    Failed(String),
}

/// What the table needs to know about the rendered manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The desired generation.
    pub generation: Generation,
    /// The rendered name.
    pub name: String,
}

/// Answers that are worked out only when a row needs them.
pub trait Questions {
    /// Evaluates a gate.
    fn gate(&mut self, gate: Gate) -> GateAnswer;

    /// Renders and stamps the manifest.
    ///
    /// # Errors
    /// It cannot be rendered, or must not be applied as it is.
    fn wanted(&mut self) -> Result<Wanted, Failure>;

    /// Whether an earlier resource of this event failed, so that nothing more is applied.
    fn failed_earlier(&self) -> bool;
}

/// Decides. See the module's doc, and `docs/lifecycle.md` for the rows.
pub fn decide(seen: &Seen<'_>, questions: &mut dyn Questions) -> Decision {
    rows(seen, questions).unwrap_or_else(Decision::Fail)
}

fn rows(seen: &Seen<'_>, questions: &mut dyn Questions) -> Result<Decision, Failure> {
    let versions = match seen {
        Seen::Unknown(cause) => return Err(Failure::new(FailReason::DiscoveryFailed, *cause)),
        Seen::Versions(versions) => versions,
    };
    let absent = versions.is_empty();
    let live = versions.iter().any(|version| !version.is_terminating());

    if holds(questions, Gate::Delete)? {
        return Ok(if live {
            Decision::Delete
        } else if absent {
            Decision::Skip(SkipReason::AlreadyAbsent)
        } else {
            Decision::Wait(WaitReason::Deleting)
        });
    }
    if questions.failed_earlier() {
        return Ok(Decision::Skip(SkipReason::EarlierFailure));
    }
    if !absent && !live {
        return Ok(Decision::Wait(WaitReason::Terminating));
    }
    if absent {
        return Ok(if holds(questions, Gate::Create)? {
            questions.wanted()?;
            Decision::Create
        } else {
            Decision::Skip(SkipReason::CreateGateFalse)
        });
    }

    let wanted = questions.wanted()?;
    if let Some(newest) = versions.iter().filter_map(|version| version.generation()).max()
        && newest > wanted.generation
    {
        return Ok(Decision::Skip(SkipReason::StaleEvent { live: newest, desired: wanted.generation }));
    }
    let from = current(versions.iter().copied(), wanted.generation).and_then(Version::generation);
    if holds(questions, Gate::Recreate)? {
        // What may not be created must not be deleted to make room for it.
        return Ok(if holds(questions, Gate::Create)? {
            Decision::Recreate { from }
        } else {
            Decision::Skip(SkipReason::CreateGateFalse)
        });
    }
    if from == Some(wanted.generation) {
        return Ok(Decision::Skip(SkipReason::SameGeneration(wanted.generation)));
    }
    Ok(match versions.iter().find(|version| version.name() == wanted.name) {
        None => Decision::CreateVersion,
        Some(namesake) if namesake.is_terminating() => Decision::Wait(WaitReason::Terminating),
        Some(namesake) => Decision::Update { from: namesake.generation() },
    })
}

fn holds(questions: &mut dyn Questions, gate: Gate) -> Result<bool, Failure> {
    match questions.gate(gate) {
        GateAnswer::Holds => Ok(true),
        GateAnswer::DoesNotHold => Ok(false),
        GateAnswer::Failed(cause) => Err(Failure::new(FailReason::GateFailed, cause)),
    }
}

/// Picks the current version: among those not terminating, the newest of the desired generation, else the
/// newest; where all are terminating, the newest of those. Newest is by creation, then by name.
#[must_use]
pub fn current<'v>(versions: impl IntoIterator<Item = &'v Version>, desired: Generation) -> Option<&'v Version> {
    versions.into_iter().max_by_key(|version| {
        let live = !version.is_terminating();
        let generation_matches = live && version.generation() == Some(desired);
        (live, generation_matches, version.created_at(), version.name())
    })
}

#[cfg(test)]
mod tests;
