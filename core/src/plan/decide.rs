//! The decision table: decides what the adapter does with one resource.
//!
//! In: the versions that the resource owns ([`Seen`]), and [`Questions`], which the caller answers on demand.
//! Out: one [`Decided`], that is the [`Row`] that matched, and its [`Decision`]. A failure is a decision, too.
//!
//! The first row that matches wins. A row evaluates only the gates that it names, each at most once. If a gate
//! has no value, the decision is `Fail(GateFailed)`: only a definite true or false leads to a write or a
//! deletion.

mod questions;

use lifecycle_objects::failure::{FailReason, Failure};
use lifecycle_objects::id::Generation;
use lifecycle_objects::keys;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::Version;

use crate::decision::{Decision, DisownReason, Resent, SkipReason, UpdateReason, VersionReason, WaitReason};
use crate::outcome::GateAnswer;
use crate::row::Row;

pub use questions::{Gate, Questions, Rendered, Seen};

/// A decision and its row.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The row that matched, or the row whose question failed.
    pub row: Row,
    /// The decision: what the adapter should do with the resource.
    pub decision: Decision,
}

impl Decided {
    /// The decision in the place of this one about versions that only the search for a deletion found: rows that delete or disown may
    /// write them, and others wait.
    #[must_use]
    pub fn of_former(self) -> Self {
        match self.decision {
            Decision::Create
            | Decision::CreateVersion(_)
            | Decision::Update { .. }
            | Decision::Patch(_)
            | Decision::Recreate { .. }
            | Decision::Resend(Resent::Content)
            | Decision::Skip(SkipReason::SameGeneration(_)) => {
                Self { row: Row::Deleting, decision: Decision::Wait(WaitReason::Deleting) }
            }
            Decision::Disown(_)
            | Decision::Delete
            | Decision::Resend(Resent::Deletion)
            | Decision::Wait(_)
            | Decision::Skip(_)
            | Decision::Fail(_) => self,
        }
    }
}

/// Decides about one resource. `docs/lifecycle.md` describes the rows.
pub fn decide(seen: &Seen<'_>, questions: &mut dyn Questions) -> Decided {
    let mut row = Row::Unknown;
    let decision = rows(seen, questions, &mut row).unwrap_or_else(Decision::Fail);
    match resend(seen, &decision, questions) {
        Some(resent) => Decided { row: Row::NotObserved, decision: Decision::Resend(resent) },
        None => Decided { row, decision },
    }
}

/// Row 20: what to send once more, in the place of a decision that writes nothing. No other gate is evaluated, because
/// what was stored was decided before.
fn resend(seen: &Seen<'_>, decision: &Decision, questions: &mut dyn Questions) -> Option<Resent> {
    let Seen::Versions(versions) = seen else { return None };
    let writes_nothing = match decision {
        Decision::Wait(WaitReason::Deleting | WaitReason::Terminating | WaitReason::NotYet(_))
        | Decision::Skip(
            SkipReason::WhenFalse
            | SkipReason::ApplyGateFalse
            | SkipReason::StaleEvent { .. }
            | SkipReason::SameGeneration(_),
        ) => true,
        Decision::Wait(WaitReason::DisownPending(_) | WaitReason::NamespaceTerminating(_))
        | Decision::Skip(
            SkipReason::Disowned
            | SkipReason::NothingToDisown
            | SkipReason::AlreadyAbsent
            | SkipReason::NotOurs
            | SkipReason::CreateGateFalse
            | SkipReason::EarlierFailure,
        )
        | Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Disown(_)
        | Decision::Delete
        | Decision::Resend(_)
        | Decision::Fail(_) => false,
    };
    if !writes_nothing || versions.is_empty() {
        return None;
    }
    questions.resends(versions)
}

/// Tries the rows in order. `row` is always the row that is tried, so that a failure names its row.
fn rows(seen: &Seen<'_>, questions: &mut dyn Questions, row: &mut Row) -> Result<Decision, Failure> {
    let (versions, is_foreign, cause) = match seen {
        Seen::Unknown(cause) => (&[][..], false, Some(*cause)),
        Seen::Versions(versions) => (versions.as_slice(), false, None),
        Seen::Foreign(versions) => (versions.as_slice(), true, None),
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
    if let Some(decision) = disown_or_delete(state, is_foreign, questions, row)? {
        return Ok(decision);
    }
    if questions.failed_earlier() {
        *row = Row::EarlierFailure;
        return Ok(Decision::Skip(SkipReason::EarlierFailure));
    }
    *row = Row::WhenFalse;
    if !holds(questions, Gate::When)? {
        let not_yet = questions.not_yet();
        return Ok(not_yet.map_or(Decision::Skip(SkipReason::WhenFalse), |it| Decision::Wait(WaitReason::NotYet(it))));
    }
    match state {
        State::Terminating => {
            *row = Row::Terminating;
            Ok(Decision::Wait(WaitReason::Terminating))
        }
        State::Absent => absent(questions, row),
        State::Live => live(versions, is_foreign, questions, row),
    }
}

/// Rows 3 to 7, which disown and delete also after an earlier resource failed.
fn disown_or_delete(
    state: State,
    is_foreign: bool,
    questions: &mut dyn Questions,
    row: &mut Row,
) -> Result<Option<Decision>, Failure> {
    // Kubernetes deletes a terminating object in any case, so the orphan gate is not evaluated for it.
    if state != State::Terminating {
        *row = if state == State::Live { Row::Disown } else { Row::NothingToDisown };
        if holds(questions, Gate::Orphan)? {
            if state == State::Absent {
                return Ok(Some(Decision::Skip(SkipReason::NothingToDisown)));
            }
            if !is_ours(questions, is_foreign) {
                return left_alone(questions).map(Some);
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
    if state != State::Absent && !is_ours(questions, is_foreign) {
        return left_alone(questions).map(Some);
    }
    let pending = if state == State::Live { questions.pending_disowning() } else { None };
    Ok(Some(pending.map_or(decision, |because| Decision::Wait(WaitReason::DisownPending(because)))))
}

/// Rows 10 to 12: the resource has no object.
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

/// Rows 13 to 19: the resource has a live object.
fn live(
    versions: &[&Version],
    is_foreign: bool,
    questions: &mut dyn Questions,
    row: &mut Row,
) -> Result<Decision, Failure> {
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
        if !is_ours(questions, is_foreign) {
            return Err(not_ours(
                questions,
                versions,
                "the recreate gate holds, and a recreation would delete it",
                false,
            ));
        }
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
        // An update would add the owner to the version of the rendered name, if that version has the desired
        // generation, and otherwise to the current one.
        let is_settled = |version: &&Version| version.generation() == from && !version.is_terminating();
        if questions.has_its_owner(namesake.filter(is_settled).unwrap_or(current))? {
            return Ok(Decision::Skip(SkipReason::SameGeneration(wanted.generation)));
        }
        because = UpdateReason::OwnerChanged;
    }
    has_namesake(questions, namesake);
    let Some(namesake) = namesake else {
        *row = Row::NewName;
        if !is_ours(questions, is_foreign) {
            return Err(not_ours(questions, versions, "discovery finds it, but the manifest has another name", false));
        }
        return Ok(Decision::CreateVersion(VersionReason::NewName));
    };
    *row = Row::Update;
    if sees(questions, "is the version of the rendered name terminating?", namesake.is_terminating()) {
        // The adapter never writes into a terminating object, and its name is free only after it is gone.
        return Ok(Decision::Wait(WaitReason::Terminating));
    }
    if !questions.adopts() && !is_ours(questions, is_foreign) {
        return Err(not_ours(questions, &[namesake], "an update would take it over", true));
    }
    let controller = namesake.controller().filter(|_| is_foreign);
    sees(questions, "does a controller own the foreign object?", controller.is_some());
    if let Some(controller) = controller {
        return Err(controlled(questions, namesake, &controller));
    }
    Ok(Decision::Update { from: namesake.generation(), because })
}

/// Row 14: with `retention`, creates a version beside the former ones; without it, deletes the object and
/// creates it again.
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
    // Do not delete an object whose successor may not be created.
    if !holds(questions, Gate::Create)? {
        return Ok(Decision::Skip(SkipReason::CreateGateFalse));
    }
    // The successor is created only after every version is gone, so a deletion now would leave the cluster
    // without the object for as long as a version terminates.
    if sees(questions, "is a version terminating?", versions.iter().any(|version| version.is_terminating())) {
        return Ok(Decision::Wait(WaitReason::Terminating));
    }
    let pending = questions.pending_disowning();
    Ok(pending.map_or(Decision::Recreate { from }, |because| Decision::Wait(WaitReason::DisownPending(because))))
}

/// The state of all versions of a resource together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    /// At least one version is not terminating.
    Live,
    /// There are versions, and all of them are terminating.
    Terminating,
}

impl State {
    /// The state as explanations print it.
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

fn is_ours(questions: &mut dyn Questions, is_foreign: bool) -> bool {
    sees(questions, "did an adapter write it?", !is_foreign)
}

/// The decision about an object that no adapter wrote, and that is to go. In the place of a parent it is no reason to take the members
/// for gone.
fn left_alone(questions: &dyn Questions) -> Result<Decision, Failure> {
    if questions.keeps_a_set() { Err(parent_replaced()) } else { Ok(Decision::Skip(SkipReason::NotOurs)) }
}

/// The failure of a bundle whose parent somebody replaced. It is never adopted.
fn parent_replaced() -> Failure {
    let message = "another object has the parent's name; give the bundle another `name`, or delete that object if somebody replaced \
                   the parent by it: the bundle then finds its objects by its manifests";
    Failure::new(FailReason::NotOurs, message)
}

/// The failure of a write that would take over, replace or join an object that no adapter wrote.
fn not_ours(questions: &dyn Questions, versions: &[&Version], why: &str, may_adopt: bool) -> Failure {
    if questions.keeps_a_set() {
        return parent_replaced();
    }
    let object = versions.first().map(|version| ObjectRef::of(version.object()).to_string()).unwrap_or_default();
    let adopt = if may_adopt { "to take it over, write `adopt: true` in the entry; " } else { "" };
    let message = format!(
        "no adapter wrote {object} (it has neither the annotation `{}` nor the label `{}` of this adapter), and {why}: it is left \
         alone; {adopt}to patch it only, add `lifecycle: {{apply: {{when: {{expression: \"false\"}}}}}}`; else choose another name \
         or selector",
        keys::GENERATION,
        keys::ADAPTER,
    );
    Failure::new(FailReason::NotOurs, message)
}

/// The failure of an adoption that a controller would not take notice of.
fn controlled(questions: &dyn Questions, namesake: &Version, controller: &str) -> Failure {
    if questions.keeps_a_set() {
        return parent_replaced();
    }
    let object = ObjectRef::of(namesake.object());
    let message = format!(
        "{controller} controls {object}, writes it again and may delete it: it is not adopted; change {controller}, or choose another \
         name"
    );
    Failure::new(FailReason::NotOurs, message)
}

fn has_namesake(questions: &mut dyn Questions, namesake: Option<&Version>) {
    sees(questions, "has a version the rendered name?", namesake.is_some());
}

/// Records a fact that the table itself checks, and returns it. Every branch that depends on no gate calls this
/// function or [`Questions::note_fact`], so that `check` can explain it.
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

/// Chooses the current version.
///
/// Of the live versions it is the newest one of the desired generation, or else the newest one. If all versions are
/// terminating, it is the newest of them. "Newest" compares creation times, then names.
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
