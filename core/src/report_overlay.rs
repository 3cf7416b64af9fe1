//! Corrects statuses before the adapter sends them.
//!
//! In: a payload or the body of a request, as text, and the [`Account`] of the preconditions and resources
//! phases. Out: the text, with the conditions corrected. No function here fails: a text in which the API would
//! find no status stays byte for byte as it is. A status is a JSON object with `adapter` and a list of
//! `conditions`, in any case of letters.
//!
//! Whatever the task's author configures, the adapter never reports `Available=True` after a failed write. It
//! never reports `Finalized=True` while an object is unread, or while an object of a resource with a delete gate
//! exists, or while an object that must go could be neither disowned nor deleted: the API would then forget
//! objects that still exist. And while the API resource is being deleted, it reports `Finalized=True` once every
//! object that must go is disowned or gone, because no expression of the author can distinguish a disowned object
//! from an owned one.
//!
//! Where `Finalized=True` stands, its message names the objects that stay because no gate deletes them.
//!
//! Nor does it report `Available=True` for a generation that waits for the clock or until a namespace is gone, or while the
//! objects of a bundle wait for others: live objects are of an older one. Nor while an agent of a remote cluster has not observed a write for too long.
//!
//! A condition whose status is not `True`, `False` or `Unknown` is sent as `Unknown`, because the API would
//! reject the whole report, with all its other conditions. `Available` is never sent as `Unknown`, because the API
//! discards the whole report then, `Finalized` included, and keeps the former one: it is sent as `False`.

mod status;

use lifecycle_objects::failure::{FailReason, Failure};

use self::status::{Condition, Element, Status};
pub use self::status::{is_key, status_fault};
use crate::decision::{Decision, DisownReason, NotYet, SkipReason, WaitReason};
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

/// The reason of `Available` while a generation waits for the clock, for objects of its bundle, or for a namespace to be gone.
const WAITING: &str = "Waiting";

/// The reason of `Available` while no agent of a remote cluster has observed a write for too long.
const NOT_OBSERVED: &str = "NotObserved";

/// The reason of `Available` for an event that is older than an object.
const STALE: &str = "StaleEvent";

/// The reason of `Finalized` while an object of a resource with a delete gate exists.
const OBJECTS_REMAIN: &str = "ObjectsRemain";

/// The warning about a report that leaves `Finalized` as it is after a disowning.
const NOT_DELETING: &str = "every object is disowned or gone, but `Finalized` stays as the task reports it: this pass did not read \
                            the API resource's own URL, so it may live or be being deleted. Read it \
                            with a param or a precondition: `api_call: {method: GET, url: …}`";

/// The results of the preconditions and resources phases that statuses must agree with.
#[derive(Debug, Clone, Copy)]
pub struct Account<'a> {
    /// The outcome of each resource.
    pub outcomes: &'a [Outcome],
    /// Why the pass read no object, or decided nothing about the objects that it read; `None` if it did both, or if
    /// that does not keep `Finalized` from being True.
    pub unread: Option<Unread<'a>>,
    /// Whether the event's own resource is being deleted, if the API said so or the opposite in this pass.
    pub is_deleting: Option<bool>,
}

/// Why no outcome tells that the objects are gone.
#[derive(Debug, Clone, Copy)]
pub enum Unread<'a> {
    /// A precondition could not be evaluated.
    Failed(&'a PhaseError),
    /// A precondition is not met; the text names it and says why.
    NotMet(&'a str),
    /// The objects were read, but nothing was decided about those that the text names, which have to be deleted.
    Undecided(&'a str),
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
            Self::Undecided(left) => (OBJECTS_REMAIN, left.to_owned()),
            Self::NotMet(unmet) => ("PreconditionNotMet", format!("{unmet}; so no object was read")),
        };
        Correction { status: "False", reason, message }
    }
}

/// Corrects a text in which the API would find a status. Any other text stays byte for byte as it is.
#[must_use]
pub fn apply(text: String, account: Account<'_>) -> Corrected {
    let body = without_mark(&text);
    let Some(mut status) = Status::read(body) else {
        return Corrected { text, lacks_generation: false, warning: None };
    };
    let lacks_generation = !status.has_generation();
    let mut corrected = fill_in(&mut status) || status.has_repeated_keys;
    if let Some(unavailable) = available(account) {
        correct(&mut status, "Available", &unavailable);
        corrected = true;
    }
    if let Some(unfinished) = unfinished(account) {
        withdraw(&mut status, "Finalized", &unfinished);
        corrected = true;
    }
    let mut warning = None;
    match disowned(account) {
        None => {}
        // A hand-over: the object is another owner's by now, and the API resource lives on.
        Some(_) if account.is_deleting == Some(false) => {}
        Some(disowned) if account.is_deleting.is_none() => {
            warning = disowned.is_missing_in(&mut status).then(|| NOT_DELETING.to_owned());
        }
        Some(disowned) => {
            match disowned {
                Disowned::Objects(correction) => correct(&mut status, "Finalized", &correction),
                Disowned::Nothing(correction) => add(&mut status, "Finalized", &correction),
            }
            corrected = true;
        }
    }
    if let Some(note) = notes(account) {
        corrected |= add_note(&mut status, "Finalized", &note);
    }
    // Send the corrected members, not the original text, in which the API may find a second `conditions`.
    let text = if corrected { status.write() } else { body.to_owned() };
    Corrected { text, lacks_generation, warning }
}

/// A text after its correction.
#[derive(Debug)]
pub struct Corrected {
    /// The report's body to send: corrected, or unchanged if nothing had to be corrected.
    pub text: String,
    /// Whether the API would find a status without `observed_generation` in the text.
    pub lacks_generation: bool,
    /// Why a condition stays as the task reports it although it may be wrong.
    pub warning: Option<String>,
}

/// Whether the API would find a status in the text.
#[must_use]
pub fn is_status(text: &str) -> bool {
    Status::read(without_mark(text)).is_some()
}

/// The JSON value with which the text begins, as far as the API reads it.
#[must_use]
pub fn first_value(text: &str) -> Option<serde_json::Value> {
    serde_json::Deserializer::from_str(without_mark(text)).into_iter().next()?.ok()
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

/// What keeps `Available` from being True whatever the task reports.
fn available(account: Account<'_>) -> Option<Correction> {
    failed(account).or_else(|| stale(account)).or_else(|| waiting(account)).or_else(|| unobserved(account))
}

/// The correction of `Available` while no agent has observed a write: the remote cluster is as it was before.
fn unobserved(account: Account<'_>) -> Option<Correction> {
    let told = account.outcomes.iter().filter_map(|outcome| {
        outcome.unobserved.as_ref().map(|unobserved| format!("resource {}: {unobserved}", name(outcome)))
    });
    let message = told.collect::<Vec<_>>().join("; ");
    (!message.is_empty()).then_some(Correction { status: "False", reason: NOT_OBSERVED, message })
}

/// The correction of `Available` after a failure: False, with the reason of the first failure and the messages
/// of all.
fn failed(account: Account<'_>) -> Option<Correction> {
    failures(account.outcomes.iter())
}

/// The correction of `Available` for an event that is older than an object: the object is not what this generation asks
/// for. The API discards a report that is late; it keeps one after its database was restored from a backup.
fn stale(account: Account<'_>) -> Option<Correction> {
    let is_stale = |outcome: &&Outcome| matches!(outcome.decision, Decision::Skip(SkipReason::StaleEvent { .. }));
    let stale: Vec<&str> = account.outcomes.iter().filter(is_stale).map(name).collect();
    (!stale.is_empty()).then(|| Correction {
        status: "False",
        reason: STALE,
        message: format!("an object was made for a newer generation than this event's: {}", stale.join(", ")),
    })
}

/// The correction of `Available` while a `when` that reads the clock, a namespace that is being deleted, or an object that is
/// terminating keeps a resource from the event's generation. A report of the older object would tell the API that this
/// generation is done.
fn waiting(account: Account<'_>) -> Option<Correction> {
    let waits = account.outcomes.iter().filter_map(|outcome| match &outcome.decision {
        Decision::Wait(WaitReason::NotYet(NotYet { gate, holds_back: true })) => {
            Some(format!("resource {} waits until its gate `when` holds: {gate}", name(outcome)))
        }
        Decision::Wait(WaitReason::NamespaceTerminating(_)) => {
            Some(format!("resource {} waits: {}", name(outcome), outcome.decision.sentence()))
        }
        Decision::Wait(WaitReason::Terminating) => Some(until_gone(outcome)),
        Decision::Recreate { .. } if outcome.result == OutcomeResult::Deleting => Some(until_gone(outcome)),
        Decision::Delete | Decision::Disown(_) => None,
        Decision::Create
        | Decision::CreateVersion(_)
        | Decision::Update { .. }
        | Decision::Patch(_)
        | Decision::Recreate { .. }
        | Decision::Resend(_)
        | Decision::Wait(_)
        | Decision::Skip(_)
        | Decision::Fail(_) => {
            let stopped = outcome.bundle.as_ref()?.stopped.as_ref()?;
            Some(format!("resource {}: {stopped}", name(outcome)))
        }
    });
    let message = waits.collect::<Vec<_>>().join("; ");
    (!message.is_empty()).then_some(Correction { status: "False", reason: WAITING, message })
}

fn until_gone(outcome: &Outcome) -> String {
    let (resource, object, held) = (name(outcome), object_of(outcome), detail_of(outcome));
    format!("resource {resource} waits until {object} is gone, which is terminating{held}")
}

/// What holds the outcome's object, to be appended to a sentence; empty if nothing is known to.
fn detail_of(outcome: &Outcome) -> String {
    outcome.detail.as_ref().map(|detail| format!(", {detail}")).unwrap_or_default()
}

/// The correction of `Finalized` while an object is unread or could be neither deleted nor disowned. To an
/// expression, an unread object looks absent.
fn unfinished(Account { outcomes, unread, .. }: Account<'_>) -> Option<Correction> {
    let has_to_go = |outcome: &&Outcome| outcome.can_be_disowned || outcome.can_be_deleted;
    failures(outcomes.iter().filter(|outcome| has_to_go(outcome) || is_unread(outcome)))
        .or_else(|| warned(outcomes, WarningReason::NestedUnread, FailReason::DiscoveryFailed.as_str()))
        .or_else(|| unread.map(Unread::correction))
        .or_else(|| warned(outcomes, WarningReason::OwnershipLost, "OwnershipLost"))
        .or_else(|| remaining(outcomes))
        .or_else(|| warned(outcomes, WarningReason::LeftBehind, OBJECTS_REMAIN))
        .or_else(|| {
            let terminating: Vec<&str> = outcomes.iter().filter(leaves_terminating).map(name).collect();
            let message = format!("an object is still terminating beside the disowned one: {}", terminating.join(", "));
            (!terminating.is_empty()).then_some(Correction { status: "False", reason: "Terminating", message })
        })
}

/// The correction with the message of the first warning of a kind.
fn warned(outcomes: &[Outcome], kind: WarningReason, reason: &'static str) -> Option<Correction> {
    let mut warnings = outcomes.iter().flat_map(|outcome| &outcome.warnings);
    let warning = warnings.find(|warning| warning.reason == kind)?;
    Some(Correction { status: "False", reason, message: warning.to_string() })
}

/// The correction while an object of a resource with a delete gate exists: an expression of the author may look
/// at other objects, or at none. A foreign object does not count: the adapter never deletes it.
fn remaining(outcomes: &[Outcome]) -> Option<Correction> {
    let is_left = |outcome: &&Outcome| outcome.can_be_deleted && !outcome.finalized && exists(outcome);
    let remaining = outcomes.iter().filter(is_left).filter(|outcome| !stays_foreign(outcome));
    let told: Vec<String> = remaining
        .map(|outcome| {
            let (resource, object, held) = (name(outcome), object_of(outcome), detail_of(outcome));
            format!("resource {resource}: {object} still exists{held}")
        })
        .collect();
    (!told.is_empty()).then(|| Correction { status: "False", reason: OBJECTS_REMAIN, message: told.join("; ") })
}

/// What the API does not remember once the API resource is finalized: the objects of entries that no gate deletes, in a task with
/// gates that delete others; those of other owners under the name of an entry's object; and a search that was forbidden.
fn notes(Account { outcomes, is_deleting, .. }: Account<'_>) -> Option<String> {
    let goes = |outcome: &Outcome| outcome.can_be_deleted || outcome.can_be_disowned;
    if is_deleting != Some(true) || !outcomes.iter().any(goes) {
        return None;
    }
    let stays = |outcome: &&Outcome| !goes(outcome) && exists(outcome) && !stays_foreign(outcome);
    let stay = outcomes
        .iter()
        .filter(stays)
        .map(|outcome| format!("{} stays: resource {} has no delete gate", object_of(outcome), name(outcome)));
    // A finalized outcome has a detail only about an object of others, which counts as absent.
    let others = outcomes
        .iter()
        .filter(|outcome| outcome.finalized)
        .filter_map(|outcome| outcome.detail.as_ref().map(|detail| format!("resource {}: {detail}", name(outcome))));
    let unread = warned(outcomes, WarningReason::FormerUnread, OBJECTS_REMAIN).map(|unread| unread.message);
    let notes: Vec<String> = stay.chain(others).chain(unread).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The kind, namespace and name of an outcome's object.
fn object_of(outcome: &Outcome) -> String {
    let place = [outcome.namespace.as_str(), &outcome.name];
    let place = place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    format!("{} {place}", outcome.kind.kind)
}

/// Whether an object of the resource exists at the end of the pass, live or terminating.
fn exists(outcome: &Outcome) -> bool {
    if outcome.bundle.as_ref().is_some_and(|report| report.has_members()) {
        return true;
    }
    match outcome.result {
        OutcomeResult::Created
        | OutcomeResult::Updated
        | OutcomeResult::Patched
        | OutcomeResult::Recreated
        | OutcomeResult::Disowned
        | OutcomeResult::Deleting => true,
        OutcomeResult::Deleted => false,
        OutcomeResult::Skipped | OutcomeResult::Waiting | OutcomeResult::Failed(_) => outcome.versions > 0,
    }
}

/// Whether all objects of the resource are still foreign at the end of the pass, so that it has nothing to delete or
/// disown.
fn stays_foreign(outcome: &Outcome) -> bool {
    let is_stamped = match outcome.result {
        OutcomeResult::Created | OutcomeResult::Updated | OutcomeResult::Recreated | OutcomeResult::Disowned => true,
        OutcomeResult::Patched
        | OutcomeResult::Deleted
        | OutcomeResult::Deleting
        | OutcomeResult::Skipped
        | OutcomeResult::Waiting
        | OutcomeResult::Failed(_) => false,
    };
    outcome.is_foreign && !is_stamped
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
        | Decision::Resend(_)
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

impl Disowned {
    /// Whether the correction would change the status.
    fn is_missing_in(&self, status: &mut Status<'_>) -> bool {
        let mut reported = status.of_type("Finalized").map(|condition| condition.text("status")).peekable();
        match self {
            Self::Objects(_) => reported.peek().is_none() || reported.any(|status| status.as_deref() != Some("True")),
            Self::Nothing(_) => reported.peek().is_none(),
        }
    }
}

/// The correction after a disowning: `Finalized` is True once no resource has an object left to disown or
/// delete.
fn disowned(account: Account<'_>) -> Option<Disowned> {
    let outcomes = account.outcomes;
    let has_gate = |outcome: &Outcome| outcome.can_be_disowned || outcome.can_be_deleted;
    let is_pending = |outcome: &Outcome| has_gate(outcome) && !outcome.finalized && !stays_foreign(outcome);
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
        | Decision::Resend(_)
        | Decision::Wait(_)
        | Decision::Fail(_) => false,
    }
}

/// Sets every condition whose status the API would reject to `Unknown`, and `Available` to `False`: also where the
/// task itself says `Unknown`, whose reason and message stay. Returns whether there was one.
fn fill_in(status: &mut Status<'_>) -> bool {
    let mut filled = false;
    for condition in status.each() {
        let is_available = condition.text("type").as_deref() == Some("Available");
        if let Some(message) = condition.status_fault() {
            let status = if is_available { "False" } else { "Unknown" };
            Correction { status, reason: NOT_EVALUATED, message }.write(condition);
            filled = true;
        } else if is_available && condition.text("status").as_deref() == Some("Unknown") {
            condition.set("status", "False");
            if condition.text("reason").is_none_or(|reason| reason.is_empty()) {
                condition.set("reason", NOT_EVALUATED);
            }
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

/// Adds a note to the message of every condition of this type that is `True`. Returns whether there was one.
fn add_note(status: &mut Status<'_>, kind: &str, note: &str) -> bool {
    let claims = |condition: &&mut Condition<'_>| condition.text("status").as_deref() == Some("True");
    let mut is_added = false;
    for condition in status.of_type(kind).filter(claims) {
        let message = condition.text("message").filter(|message| !message.is_empty());
        let message = message.map_or_else(|| note.to_owned(), |message| format!("{message}; {note}"));
        condition.set("message", &message);
        is_added = true;
    }
    is_added
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
