//! The decision table: what becomes of a resource, given what is live and what its gates say.
//!
//! In: what was [`Seen`] of the versions that belong to the resource, and [`Questions`] that are answered
//! on demand. Out: one [`Decided`]: the [`Row`] that matched and its [`Decision`]. Nothing can fail that is not itself
//! a decision.
//!
//! The first row that matches wins. A row asks only the gates that it names, each at most once, and a gate
//! that gives no answer makes the decision `Fail(GateFailed)`: only a definite answer may write or delete.

mod questions;

use super::decision::{
    Decision, DisownReason, FailReason, Failure, SkipReason, UpdateReason, VersionReason, WaitReason,
};
use super::row::Row;
use crate::id::Generation;
use crate::observation::Version;

pub use questions::{Gate, GateAnswer, Questions, Rendered, Seen};

/// A decision, and the row that it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The row that matched, or whose question had no answer.
    pub row: Row,
    /// What is to be done.
    pub decision: Decision,
}

/// Decides. See the module's doc, and `docs/lifecycle.md` for the rows.
pub fn decide(seen: &Seen<'_>, questions: &mut dyn Questions) -> Decided {
    let mut row = Row::Unknown;
    let decision = rows(seen, questions, &mut row).unwrap_or_else(Decision::Fail);
    Decided { row, decision }
}

/// Goes through the rows in order. `row` is the one that is looked at, so that a failure is told with its place.
fn rows(seen: &Seen<'_>, questions: &mut dyn Questions, row: &mut Row) -> Result<Decision, Failure> {
    let (versions, cause) = match seen {
        Seen::Unknown(cause) => (&[][..], Some(*cause)),
        Seen::Versions(versions) => (versions.as_slice(), None),
    };
    sees(questions, "can the live objects be read?", cause.is_none());
    if let Some(cause) = cause {
        return Err(Failure::new(FailReason::DiscoveryFailed, cause));
    }
    let is_disowned = versions.iter().any(|version| version.is_disowned());
    if sees(questions, "was a version disowned?", is_disowned) {
        *row = Row::AlreadyDisowned;
        let is_left = versions.iter().any(|version| !version.is_terminating() && !version.is_disowned());
        return Ok(match sees(questions, "are others left that were not?", is_left) {
            true => Decision::Disown(DisownReason::Disowned),
            false => Decision::Skip(SkipReason::Disowned),
        });
    }
    let state = State::of(versions);
    questions.note_fact("what is there?", state.name());
    if let Some(decision) = disown_or_delete(state, questions, row)? {
        return Ok(decision);
    }
    if questions.failed_earlier() {
        *row = Row::EarlierFailure;
        return Ok(Decision::Skip(SkipReason::EarlierFailure));
    }
    *row = Row::WhenFalse;
    if !holds(questions, Gate::When)? {
        return Ok(Decision::Skip(SkipReason::WhenFalse));
    }
    match state {
        State::Terminating => {
            *row = Row::Terminating;
            Ok(Decision::Wait(WaitReason::Terminating))
        }
        State::Absent => absent(questions, row),
        State::Live => live(versions, questions, row),
    }
}

/// Rows 3 to 7, which disown and delete also after an earlier resource failed.
fn disown_or_delete(state: State, questions: &mut dyn Questions, row: &mut Row) -> Result<Option<Decision>, Failure> {
    // What is on its way out is not disowned: there is nothing left to keep.
    if state != State::Terminating {
        *row = if state == State::Live { Row::Disown } else { Row::NothingToDisown };
        if holds(questions, Gate::Orphan)? {
            if state == State::Absent {
                return Ok(Some(Decision::Skip(SkipReason::NothingToDisown)));
            }
            match questions.gate(Gate::Delete) {
                GateAnswer::DoesNotHold => {}
                conflict @ (GateAnswer::Holds | GateAnswer::Failed(_)) => questions.note_conflict(conflict),
            }
            return Ok(Some(Decision::Disown(DisownReason::GateHolds)));
        }
    }
    let (at, decision) = match state {
        State::Live => (Row::Delete, Decision::Delete),
        State::Terminating => (Row::Deleting, Decision::Wait(WaitReason::Deleting)),
        State::Absent => (Row::AlreadyAbsent, Decision::Skip(SkipReason::AlreadyAbsent)),
    };
    *row = at;
    if !holds(questions, Gate::Delete)? {
        return Ok(None);
    }
    let pending = if state == State::Live { questions.pending_disowning() } else { None };
    Ok(Some(pending.map_or(decision, |because| Decision::Wait(WaitReason::DisownPending(because)))))
}

/// Rows 10 to 12.
fn absent(questions: &mut dyn Questions, row: &mut Row) -> Result<Decision, Failure> {
    *row = Row::CreateGateFalse;
    if !holds(questions, Gate::Create)? {
        return Ok(Decision::Skip(SkipReason::CreateGateFalse));
    }
    *row = Row::ApplyGateFalseAbsent;
    if !holds(questions, Gate::Apply)? {
        return Ok(Decision::Skip(SkipReason::ApplyGateFalse));
    }
    *row = Row::Absent;
    questions.rendered()?;
    Ok(Decision::Create)
}

/// Rows 13 to 19.
fn live(versions: &[&Version], questions: &mut dyn Questions, row: &mut Row) -> Result<Decision, Failure> {
    *row = Row::Stale;
    let wanted = questions.rendered()?;
    let newest = versions.iter().filter_map(|version| version.generation()).max();
    let newer = newest.filter(|newest| *newest > wanted.generation);
    sees(questions, "has a version a higher generation than the desired one?", newer.is_some());
    if let Some(newest) = newer {
        return Ok(Decision::Skip(SkipReason::StaleEvent { live: newest, desired: wanted.generation }));
    }
    let current = current(versions.iter().copied(), wanted.generation);
    let namesake = versions.iter().copied().find(|version| wanted.names(version));
    let from = current.and_then(Version::generation);

    *row = Row::Recreate;
    if holds(questions, Gate::Recreate)? {
        return recreate(from, namesake, versions, questions);
    }
    *row = Row::Patch;
    let patches = questions.patches()?;
    if !patches.is_empty() {
        return Ok(Decision::Patch(patches));
    }
    *row = Row::ApplyGateFalse;
    if !holds(questions, Gate::Apply)? {
        return Ok(Decision::Skip(SkipReason::ApplyGateFalse));
    }
    *row = Row::SameGeneration;
    let mut because = UpdateReason::GenerationChanged;
    let is_current = from == Some(wanted.generation);
    let is_current = sees(questions, "has the current version the desired generation?", is_current);
    if let Some(current) = current.filter(|_| is_current) {
        // The owner is set on what an update would be applied to, if that is not behind.
        let is_settled = |version: &&Version| version.generation() == from && !version.is_terminating();
        if questions.has_its_owner(namesake.filter(is_settled).unwrap_or(current))? {
            return Ok(Decision::Skip(SkipReason::SameGeneration(wanted.generation)));
        }
        because = UpdateReason::OwnerChanged;
    }
    has_namesake(questions, namesake);
    let Some(namesake) = namesake else {
        *row = Row::NewName;
        return Ok(Decision::CreateVersion(VersionReason::NewName));
    };
    *row = Row::Update;
    if sees(questions, "is the version of the rendered name terminating?", namesake.is_terminating()) {
        // Its name is free only when it is gone: nothing is written into an object on its way out.
        return Ok(Decision::Wait(WaitReason::Terminating));
    }
    Ok(Decision::Update { from: namesake.generation(), because })
}

/// Row 14: beside the former versions where they are kept, else in their place.
fn recreate(
    from: Option<Generation>,
    namesake: Option<&Version>,
    versions: &[&Version],
    questions: &mut dyn Questions,
) -> Result<Decision, Failure> {
    if questions.retains_versions() {
        has_namesake(questions, namesake);
        return match namesake {
            None => Ok(Decision::CreateVersion(VersionReason::RecreateGateHolds)),
            Some(namesake) => {
                let message = format!(
                    "the recreate gate holds, and the manifest renders to {}, which is the name of a version that is kept; \
                     a retained resource needs a name that varies",
                    namesake.name()
                );
                Err(Failure::new(FailReason::VersionNameTaken, message))
            }
        };
    }
    // What may not be created must not be deleted to make room for it.
    if !holds(questions, Gate::Create)? {
        return Ok(Decision::Skip(SkipReason::CreateGateFalse));
    }
    // Nothing is created beside a terminating version, so what would be deleted now would be missing until that one is gone.
    if sees(questions, "is a version terminating?", versions.iter().any(|version| version.is_terminating())) {
        return Ok(Decision::Wait(WaitReason::Terminating));
    }
    let pending = questions.pending_disowning();
    Ok(pending.map_or(Decision::Recreate { from }, |because| Decision::Wait(WaitReason::DisownPending(because))))
}

/// What is there of a resource, taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    /// At least one version is not terminating.
    Live,
    /// All versions are.
    Terminating,
}

impl State {
    /// What is there, in words.
    fn name(self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::Live => "something live",
            Self::Terminating => "only what is terminating",
        }
    }

    fn of(versions: &[&Version]) -> Self {
        if versions.is_empty() {
            Self::Absent
        } else if versions.iter().all(|version| version.is_terminating()) {
            Self::Terminating
        } else {
            Self::Live
        }
    }
}

fn has_namesake(questions: &mut dyn Questions, namesake: Option<&Version>) {
    sees(questions, "has a version the rendered name?", namesake.is_some());
}

/// Notes what the table sees for itself. Every branch that no gate decides goes through here or
/// [`Questions::note_fact`], so that `check` can tell why.
fn sees(questions: &mut dyn Questions, asks: &'static str, is_so: bool) -> bool {
    questions.note_fact(asks, if is_so { "yes" } else { "no" });
    is_so
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
