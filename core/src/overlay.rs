//! Corrects statuses before the adapter sends them.
//!
//! In: a payload or the body of a request, as text, and the [`Account`] of the preconditions and resources
//! phases. Out: the text, with the conditions corrected. No function here fails: a text in which the API would
//! find no status stays byte for byte as it is. A status is a JSON object with `adapter` and a list of
//! `conditions`, in any case of letters.
//!
//! Whatever the task's author configures, the adapter never reports `Available=True` after a failed write. It
//! never reports `Finalized=True` while an object is unread, or while an object that must go could be neither
//! disowned nor deleted: the API would then forget objects that still exist. And it reports `Finalized=True`
//! once every object that must go is disowned or gone, because no expression of the author can distinguish a
//! disowned object from an owned one.
//!
//! A condition whose status is not `True`, `False` or `Unknown` is sent as `Unknown`, because the API would
//! reject the whole report, with all its other conditions.

mod status;

use self::status::{Condition, Element, Status};
pub(crate) use self::status::{is_key, status_fault};
use crate::decision::{Decision, DisownReason, FailReason, Failure, SkipReason};
use crate::outcome::{Outcome, OutcomeResult};
use crate::precondition::Verdict;
use crate::row::Row;
use crate::stage::PhaseError;
use crate::task::{Discover, Task};
use crate::warning::WarningReason;

/// The reason of a condition whose configured status is not `True`, `False` or `Unknown`.
pub(crate) const NOT_EVALUATED: &str = "StatusNotEvaluated";

/// The reason of a condition whose configured reason is a template that failed.
pub(crate) const REASON_NOT_RENDERED: &str = "ReasonNotRendered";

/// The results of the preconditions and resources phases that statuses must agree with.
#[derive(Debug, Clone, Copy)]
pub struct Account<'a> {
    /// The outcome of each resource.
    pub outcomes: &'a [Outcome],
    /// Why the pass read no object; `None` if it read them, or if that does not keep `Finalized` from being
    /// True.
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
    /// Why the resources phase read no object; `None` if it did, or if that does not keep `Finalized` from
    /// being True.
    ///
    /// An unmet precondition counts only in tasks with lifecycle keys. Authors of tasks for the Go adapter
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

/// Corrects a text in which the API would find a status. Any other text stays byte for byte as it is.
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
    // Send the corrected members, not the original text, in which the API may find a second `conditions`.
    let text = if corrected { status.write() } else { body.to_owned() };
    Corrected { text, lacks_generation }
}

/// A text after its correction.
#[derive(Debug)]
pub struct Corrected {
    /// The report's body to send: corrected, or unchanged if nothing had to be corrected.
    pub text: String,
    /// Whether the API would find a status without `observed_generation` in the text.
    pub lacks_generation: bool,
}

/// Why the text does not begin with a JSON value; `None` if it does.
#[must_use]
pub fn json_fault(text: &str) -> Option<String> {
    status::json_fault(without_mark(text))
}

/// The text without a byte order mark: the API rejects a body that begins with one.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The status, reason and message that a condition must have.
struct Correction {
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// The correction of `Available` after a failure: False, with the reason of the first failure and the messages
/// of all.
fn failed(account: Account<'_>) -> Option<Correction> {
    failures(account.outcomes.iter())
}

/// The correction of `Finalized` while an object is unread or could be neither deleted nor disowned. To an
/// expression, an unread object looks absent.
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

/// A nested discovery that cannot be rendered makes its object unread.
fn unread_inside(outcomes: &[Outcome]) -> Option<Correction> {
    let mut warnings = outcomes.iter().flat_map(|outcome| &outcome.warnings);
    let unread = warnings.find(|warning| warning.reason == WarningReason::NestedUnread)?;
    Some(Correction { status: "False", reason: FailReason::DiscoveryFailed.as_str(), message: unread.to_string() })
}

fn is_unread(outcome: &Outcome) -> bool {
    outcome.row == Row::Unknown && outcome.failure().is_some()
}

/// Whether the resource is disowned except for a version that is terminating.
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

/// The correction of `Finalized` that follows from orphan gates.
enum Disowned {
    /// Disowned objects exist. No expression can distinguish them from owned ones, so the author's condition is
    /// replaced.
    Objects(Correction),
    /// The resource had no object. The author's expressions see that too, so the author's condition stays if
    /// there is one.
    Nothing(Correction),
}

/// The correction after a disowning: `Finalized` is True once no resource has an object left to disown or
/// delete.
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

/// Whether the orphan gate was true, on this event or an earlier one. A label that a person set says nothing
/// about the other resources.
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

/// Sets every condition to `Unknown` whose status the API would reject. Returns whether there was one.
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

/// Applies the correction to every condition of this type, and adds one if there is none.
fn correct(status: &mut Status<'_>, kind: &str, correction: &Correction) {
    status.of_type(kind).for_each(|condition| correction.write(condition));
    add(status, kind, correction);
}

/// Adds the corrected condition if the status has none of this type.
fn add(status: &mut Status<'_>, kind: &str, correction: &Correction) {
    if status.of_type(kind).next().is_none() {
        let mut condition = Condition::new(kind);
        correction.write(&mut condition);
        status.conditions.push(Element::Condition(condition));
    }
}

/// Applies the correction to every condition of this type that is `True`. A condition that is `False` or
/// `Unknown` stays.
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
