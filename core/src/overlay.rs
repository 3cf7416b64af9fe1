//! What core knows better than a configuration: laid over statuses before they are sent.
//!
//! In: a payload, or the body of a request, as text, and the [`Account`] of phases 2 and 3. Out: the same text, corrected.
//! Nothing can fail: a text in which the API would find no status is left alone, to the byte. A status has `adapter` and a
//! list of `conditions`, however their keys are capitalized.
//!
//! No configuration can report `Available=True` over a failed write, nor `Finalized=True` while an object could not be read,
//! or was to go and could not be disowned or deleted: the API would forget what still stands. Nor can one fail to report
//! `Finalized=True` when every object that was to go is gone or disowned: only the adapter knows that a disowned object is
//! nobody's any more.
//!
//! A condition whose status is none of the API's three texts is sent as `Unknown`, because the API refuses the whole report
//! for it, and with the report whatever else it had to say.

mod status;

use self::status::{Condition, Element, Status};
pub(crate) use self::status::{is_key, status_fault};
use crate::outcome::{Outcome, OutcomeResult};
use crate::plan::decision::{Decision, DisownReason, FailReason, Failure, SkipReason};
use crate::plan::row::Row;
use crate::plan::warning::WarningReason;
use crate::precondition::Verdict;
use crate::stage::PhaseError;
use crate::task::{Discover, Task};

/// The reason of a condition whose status is none of the three texts that the API takes.
pub(crate) const NOT_EVALUATED: &str = "StatusNotEvaluated";

/// The reason of a condition whose own reason is a template that fails.
pub(crate) const REASON_NOT_RENDERED: &str = "ReasonNotRendered";

/// What phases 2 and 3 came to, as far as a status has to agree with it.
#[derive(Debug, Clone, Copy)]
pub struct Account<'a> {
    /// What became of each resource.
    pub outcomes: &'a [Outcome],
    /// Why no resource was read, if `Finalized` may therefore not be true.
    pub unread: Option<Unread<'a>>,
}

/// Why no resource was read.
#[derive(Debug, Clone, Copy)]
pub enum Unread<'a> {
    /// A precondition could not be evaluated.
    Failed(&'a PhaseError),
    /// A precondition is not met; the text names it and says why.
    NotMet(&'a str),
}

impl<'a> Unread<'a> {
    /// Why phase 3 read no resource, if `Finalized` may therefore not be true.
    ///
    /// An unmet precondition counts in tasks with lifecycle keys alone. The other tasks ran on the Go adapter, whose authors
    /// report `Finalized=True` for resources that a precondition leaves to another adapter.
    #[must_use]
    pub fn of(task: &Task, verdict: &'a Verdict) -> Option<Self> {
        let reads_regardless = match task.discover {
            Discover::Always => true,
            Discover::WhenMet => false,
        };
        if reads_regardless || task.resources.is_empty() {
            return None;
        }
        match verdict {
            Verdict::Failed(error) => Some(Self::Failed(error)),
            Verdict::NotMet(reason) => task.has_lifecycle().then_some(Self::NotMet(reason)),
            Verdict::Met | Verdict::ResourceNotFound(_) => None,
        }
    }

    fn correction(self) -> Correction {
        let (reason, message) = match self {
            Self::Failed(error) => ("PreconditionFailed", error.to_string()),
            Self::NotMet(unmet) => ("PreconditionNotMet", format!("{unmet}; so no object was read")),
        };
        Correction { status: "False", reason, message }
    }
}

/// Corrects a text in which the API would find a status; leaves any other text as it is, to the byte.
#[must_use]
pub fn apply(text: String, account: Account<'_>) -> Corrected {
    let body = without_mark(&text);
    let Some(mut status) = Status::read(body) else { return Corrected { text, lacks_generation: false } };
    let lacks_generation = !status.has_generation();
    let mut corrected = fill_in(&mut status) || status.has_repeated_keys;
    if let Some(failed) = failed(account) {
        correct(&mut status, "Available", &failed);
        corrected = true;
    }
    if let Some(unfinished) = unfinished(account) {
        withdraw(&mut status, "Finalized", &unfinished);
        corrected = true;
    }
    if let Some(disowned) = disowned(account) {
        match disowned {
            Disowned::Objects(correction) => correct(&mut status, "Finalized", &correction),
            Disowned::Nothing(correction) => add(&mut status, "Finalized", &correction),
        }
        corrected = true;
    }
    // What is sent is what was corrected: in the text as it came, the API may find more than one `conditions`.
    let text = if corrected { status.write() } else { body.to_owned() };
    Corrected { text, lacks_generation }
}

/// A text after its correction.
#[derive(Debug)]
pub struct Corrected {
    /// The text.
    pub text: String,
    /// Whether the API would find a status in the text, one that does not say which generation it is about.
    pub lacks_generation: bool,
}

/// Why the API's decoder would find no JSON value at the beginning of the text.
#[must_use]
pub fn json_fault(text: &str) -> Option<String> {
    status::json_fault(without_mark(text))
}

/// The text without a byte order mark, for which the API refuses a body.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// What a condition has to say.
struct Correction {
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// Any failure makes `Available` false, with the first one's reason and the words of all.
fn failed(account: Account<'_>) -> Option<Correction> {
    failures(account.outcomes.iter())
}

/// While an object could not be read, or could not be made to go, it is not certain to be gone: to an expression, an object
/// that could not be read looks like one that does not exist.
fn unfinished(Account { outcomes, unread }: Account<'_>) -> Option<Correction> {
    let has_to_go = |outcome: &&Outcome| outcome.can_be_disowned || outcome.can_be_deleted;
    failures(outcomes.iter().filter(|outcome| has_to_go(outcome) || is_unread(outcome)))
        .or_else(|| unread_inside(outcomes))
        .or_else(|| unread.map(Unread::correction))
        .or_else(|| {
            let terminating: Vec<&str> = outcomes.iter().filter(leaves_terminating).map(name).collect();
            let message = format!("an object is still terminating beside the disowned one: {}", terminating.join(", "));
            (!terminating.is_empty()).then_some(Correction { status: "False", reason: "Terminating", message })
        })
}

/// What is inside of an object counts as unread where its discovery does not render.
fn unread_inside(outcomes: &[Outcome]) -> Option<Correction> {
    let mut warnings = outcomes.iter().flat_map(|outcome| &outcome.warnings);
    let unread = warnings.find(|warning| warning.reason == WarningReason::NestedUnread)?;
    Some(Correction { status: "False", reason: FailReason::DiscoveryFailed.as_str(), message: unread.to_string() })
}

fn is_unread(outcome: &Outcome) -> bool {
    outcome.row == Row::Unknown && outcome.failure().is_some()
}

/// Whether every object is disowned but one that is on its way out.
fn leaves_terminating(outcome: &&Outcome) -> bool {
    let is_disowned = match &outcome.decision {
        Decision::Disown(_) => outcome.result == OutcomeResult::Disowned,
        Decision::Skip(reason) => *reason == SkipReason::Disowned,
        Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Delete
        | Decision::Wait(_)
        | Decision::Fail(_) => false,
    };
    is_disowned && !outcome.finalized
}

fn name(outcome: &Outcome) -> &str {
    &outcome.resource
}

fn failures<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> Option<Correction> {
    let failures: Vec<(&str, &Failure)> =
        outcomes.filter_map(|outcome| outcome.failure().map(|failure| (name(outcome), failure))).collect();
    let (_, first) = failures.first()?;
    let told: Vec<String> =
        failures.iter().map(|(resource, failure)| format!("resource {resource}: {}", failure.message)).collect();
    Some(Correction { status: "False", reason: first.reason.as_str(), message: told.join("; ") })
}

/// What the orphan gates came to.
enum Disowned {
    /// Objects still stand that no expression can tell from owned ones, so the author's word does not count.
    Objects(Correction),
    /// There was no object. The author's expressions see the same, so that the author's word counts if there is one.
    Nothing(Correction),
}

/// A disownment makes `Finalized` true once every resource that can be disowned or deleted needs nothing more.
fn disowned(account: Account<'_>) -> Option<Disowned> {
    let outcomes = account.outcomes;
    let is_pending = |outcome: &Outcome| (outcome.can_be_disowned || outcome.can_be_deleted) && !outcome.finalized;
    let fired: Vec<&Outcome> = outcomes.iter().filter(|outcome| orphan_gate_fired(outcome)).collect();
    if fired.is_empty() || outcomes.iter().any(is_pending) || unfinished(account).is_some() {
        return None;
    }
    let is_there = |outcome: &&&Outcome| outcome.decision != Decision::Skip(SkipReason::NothingToDisown);
    let standing: Vec<&str> = fired.iter().filter(is_there).map(|outcome| name(outcome)).collect();
    let correction = |message: String| Correction { status: "True", reason: "Disowned", message };
    Some(match standing.as_slice() {
        [] => Disowned::Nothing(correction("there was nothing to disown".to_owned())),
        standing => Disowned::Objects(correction(format!("disowned, not deleted: {}", standing.join(", ")))),
    })
}

/// Whether the orphan gate fired, now or on an event before. A person's mark says nothing about the other resources.
fn orphan_gate_fired(outcome: &Outcome) -> bool {
    match &outcome.decision {
        Decision::Disown(DisownReason::GateHolds) | Decision::Skip(SkipReason::NothingToDisown) => true,
        Decision::Disown(DisownReason::Disowned) | Decision::Skip(SkipReason::Disowned) => outcome.can_be_disowned,
        Decision::Skip(_)
        | Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Delete
        | Decision::Wait(_)
        | Decision::Fail(_) => false,
    }
}

/// Makes every condition `Unknown` for whose status the API would refuse the report; says whether there was one.
fn fill_in(status: &mut Status<'_>) -> bool {
    let mut filled = false;
    for condition in status.each() {
        if let Some(message) = condition.status_fault() {
            Correction { status: "Unknown", reason: NOT_EVALUATED, message }.write(condition);
            filled = true;
        }
    }
    filled
}

/// Makes every condition of this type say so, and adds one if there is none.
fn correct(status: &mut Status<'_>, kind: &str, correction: &Correction) {
    status.of_type(kind).for_each(|condition| correction.write(condition));
    add(status, kind, correction);
}

/// Adds a condition if there is none of this type.
fn add(status: &mut Status<'_>, kind: &str, correction: &Correction) {
    if status.of_type(kind).next().is_none() {
        let mut condition = Condition::new(kind);
        correction.write(&mut condition);
        status.conditions.push(Element::Condition(condition));
    }
}

/// Makes every condition of this type say so that says `True`. One that says less has its reason.
fn withdraw(status: &mut Status<'_>, kind: &str, correction: &Correction) {
    let claims = |condition: &&mut Condition<'_>| condition.text("status").as_deref() == Some("True");
    status.of_type(kind).filter(claims).for_each(|condition| correction.write(condition));
}

impl Correction {
    fn write(&self, condition: &mut Condition<'_>) {
        for (key, text) in [("status", self.status), ("reason", self.reason), ("message", &self.message)] {
            condition.set(key, text);
        }
    }
}

#[cfg(test)]
mod tests;
