//! One object of a bundle during a pass: what is wanted, what was found, what was decided, and what became of it.
//!
//! In: a rendered object or a live one, and the answers to its writes. Out: the command of a decision, and whether the object is
//! ready. Nothing here fails: a refused write is what became of the object.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::failure::{FailReason, Failure, namespace_terminating};
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::identity::Identity;
use lifecycle_objects::observation::{Version, held_by};
use lifecycle_objects::readiness::{Hints, Judgement, Readiness, judge};
use lifecycle_objects::write::{
    Command, Disowning, Executed, NotCreated, PropagationPolicy, Target, WriteError, WriteErrorKind,
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::departure::Departure;
use super::draft::Draft;
use super::drift;
use super::marks::{Marks, Owner, Written};
use super::policy::{Adoption, Delete, Reconcile};
use super::ready::ReadyRules;
use super::serving;
use super::setting::Setting;
use super::siblings::{Claim, Siblings};
use super::table::{Decision, Found, Intent, Row, Situation, UpdateReason, Wanted};

/// A rendered object in its place, ready to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// What no event decides about it.
    pub draft: Arc<Draft>,
    /// What makes it the object that it is.
    pub identity: Identity,
    /// The digest by which a later pass notices that it is to be written again.
    pub digest: String,
}

impl Rendered {
    /// The object as it is written: in its namespace, with the labels of its owner and of the set, and with its digest.
    fn stamped(&self, setting: &Setting<'_>) -> Result<Value, Failure> {
        let mut object = self.draft.object.clone();
        match &self.identity.namespace {
            Some(namespace) => object["metadata"]["namespace"] = Value::from(namespace.as_str()),
            None => drop(object["metadata"].as_object_mut().and_then(|metadata| metadata.remove("namespace"))),
        }
        let departure = Departure::of(&self.draft.settings);
        let written = Written { identity: &self.identity, digest: &self.digest, departure };
        setting.marks.mark(&mut object, &written)?;
        Ok(object)
    }
}

/// What has the identity on the cluster.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Live {
    /// Nothing.
    Absent,
    /// A member of the bundle.
    Member(Version),
    /// Another object, and whose it is.
    Other(Version, Owner),
}

impl Live {
    /// The live object of a rendered one.
    pub(super) fn of(version: Version, marks: &dyn Marks, siblings: Option<&Siblings>) -> Self {
        match marks.owner_of(&version, siblings) {
            Owner::Set => Self::Member(version),
            owner @ (Owner::Nobody | Owner::Disowned(_) | Owner::Others(_) | Owner::GivenUpBy(_)) => {
                Self::Other(version, owner)
            }
        }
    }
}

/// What became of an object in this pass.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing was written.
    None,
    /// It was created.
    Created,
    /// It was written.
    Updated {
        /// The fields that somebody else had changed; empty unless the object was only due again.
        drift: Vec<String>,
    },
    /// It was deleted and created again.
    Recreated,
    /// It is gone.
    Deleted,
    /// Its deletion began.
    Deleting,
    /// It has no label of the bundle any more.
    Disowned,
    /// The write was refused, or could not be made.
    Failed(Failure),
}

impl Effect {
    /// The effect's name in logs and traces.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Created => "created",
            Self::Updated { .. } => "updated",
            Self::Recreated => "recreated",
            Self::Deleted => "deleted",
            Self::Deleting => "deleting",
            Self::Disowned => "disowned",
            Self::Failed(_) => "failed",
        }
    }

    /// The failure of the write, if it failed.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        if let Self::Failed(failure) = self { Some(failure) } else { None }
    }

    /// The fields that somebody else had changed, if there are any.
    #[must_use]
    pub fn drift(&self) -> Option<&[String]> {
        let Self::Updated { drift } = self else { return None };
        Some(drift.as_slice()).filter(|fields| !fields.is_empty())
    }
}

impl Serialize for Effect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One object during a pass.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) identity: Identity,
    /// The kind, in the version in which the object is written or was read.
    pub(super) kind: GroupVersionKind,
    pub(super) wanted: Option<Rendered>,
    pub(super) live: Live,
    pub(super) verdict: Option<(Row, Decision)>,
    pub(super) effect: Effect,
    /// The claim of another entry of the task.
    pub(super) claim: Option<Claim>,
    /// Whether the failure's message begins with the object: a rule of the set says it about the object, and no server of a request.
    is_named_by_failure: bool,
    /// Whether a creation found that the name was taken.
    has_met_holder: bool,
    /// What the live object came to when it was asked last; none since the last write. A rule of the author may be costly to ask.
    judged: Option<Judgement>,
}

/// What a pass knows of a rendered object beside the object itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Circumstances<'a> {
    pub(super) is_completed: bool,
    pub(super) is_to_be_purged: bool,
    pub(super) is_due_again: bool,
    pub(super) waits_for: Option<&'a str>,
}

impl Member {
    /// An object that the manifests render. Nothing is known of it on the cluster.
    pub(super) fn wanted(rendered: Rendered) -> Self {
        Self {
            kind: rendered.draft.reference.kind.clone(),
            identity: rendered.identity.clone(),
            wanted: Some(rendered),
            live: Live::Absent,
            verdict: None,
            effect: Effect::None,
            claim: None,
            is_named_by_failure: false,
            has_met_holder: false,
            judged: None,
        }
    }

    /// A live object that the manifests do not render.
    pub(super) fn unwanted(identity: Identity, kind: GroupVersionKind, live: Live) -> Self {
        Self {
            identity,
            kind,
            wanted: None,
            live,
            verdict: None,
            effect: Effect::None,
            claim: None,
            is_named_by_failure: false,
            has_met_holder: false,
            judged: None,
        }
    }

    /// The member on the cluster; none if there is none.
    fn version(&self) -> Option<&Version> {
        if let Live::Member(version) = &self.live { Some(version) } else { None }
    }

    /// The live object of the member; the rendered one if there is none.
    pub(super) fn object(&self) -> Option<&Value> {
        let rendered = || self.wanted.as_ref().map(|rendered| &rendered.draft.object);
        self.version().map(Version::object).or_else(rendered)
    }

    /// How long a rendered object is not applied again; `None` for others, and for an object that is written once.
    pub(super) fn interval(&self) -> Option<SignedDuration> {
        let policies = self.wanted.as_ref()?.draft.settings.policies;
        (policies.reconcile != Reconcile::Once).then_some(policies.reapply)
    }

    /// What becomes of the member when the bundle has no use for it, as the member itself says; none if somebody changed that.
    pub(super) fn departure(&self, marks: &dyn Marks) -> Option<Departure> {
        marks.departure(self.version()?, &self.identity)
    }

    /// Whether a member that the bundle has no use for is to be deleted. One that does not say so stays: its decision fails.
    pub(super) fn is_to_go(&self, intent: Intent, marks: &dyn Marks) -> bool {
        self.claim.is_none() && self.departure(marks).is_some_and(|departure| !departure.policy.keeps(intent))
    }

    /// Whether the member is on its way out.
    pub(super) fn is_terminating(&self) -> bool {
        self.version().is_some_and(Version::is_terminating)
    }

    /// Decides about the object.
    pub(super) fn decide(&mut self, intent: Intent, marks: &dyn Marks, circumstances: Circumstances<'_>) {
        let Circumstances { is_completed, is_to_be_purged, is_due_again, waits_for } = circumstances;
        let departure = self.departure(marks);
        let is_disowned = matches!(&self.live, Live::Other(_, Owner::Disowned(_)));
        let wanted = self.wanted.as_ref().map(|rendered| {
            let mut policies = rendered.draft.settings.policies;
            if is_disowned {
                // Such an object is not adopted by any policy: it keeps the label by which it is left alone.
                policies.adoption = Adoption::Never;
            }
            let goes_otherwise = departure != Some(Departure::of(&rendered.draft.settings));
            let digest = &rendered.digest;
            Wanted { policies, digest, is_completed, is_to_be_purged, is_due_again, goes_otherwise }
        });
        let is_to_leave = intent == Intent::Delete || intent == Intent::Apply && wanted.is_none();
        if self.exists() && !self.is_terminating() && is_to_leave && departure.is_none() && self.claim.is_none() {
            let said = format!(
                ": its annotation `{}` was changed by somebody else; write `delete,0,{}` there to have it deleted, or \
                 `orphan,0,{}` to keep it",
                marks.departure_key(),
                self.identity,
                self.identity
            );
            self.fail_by_rule(FailReason::Invalid, &said);
            return;
        }
        let found = match &self.live {
            Live::Absent => Found::Nothing,
            Live::Other(version, owner) => {
                let may_adopt = wanted.is_some_and(|wanted| wanted.policies.adoption != Adoption::Never);
                let owner = match owner {
                    Owner::Set | Owner::Nobody => None,
                    Owner::GivenUpBy(_) if may_adopt => None,
                    Owner::GivenUpBy(owner) | Owner::Disowned(owner) | Owner::Others(owner) => Some(owner.as_str()),
                };
                Found::Other { owner, is_terminating: version.is_terminating() }
            }
            Live::Member(version) => Found::Member {
                digest: marks.digest(version),
                is_terminating: version.is_terminating(),
                // What is read here without an annotation is not used, as shown above.
                delete: departure.map_or(Delete::Orphan, |departure| departure.policy),
            },
        };
        self.verdict =
            Some(super::table::decide(&Situation { intent, wanted, found, waits_for, claim: self.claim.as_ref() }));
        if let Some((_, Decision::Taken(owner))) = &self.verdict {
            let cure = match &self.live {
                Live::Other(_, Owner::Disowned(_)) => "remove that label if the bundle is to have it again",
                Live::Other(_, Owner::GivenUpBy(_)) => {
                    "its manifests render it no longer; give the object the adoption policy `if-unowned` to have it handed over"
                }
                Live::Absent | Live::Member(_) | Live::Other(..) => marks.cure_of_taken(),
            };
            let said = format!(" belongs to {owner}; it is left alone; {cure}");
            self.fail_by_rule(FailReason::NameTaken, &said);
        }
    }

    /// The command that carries the decision out; `None` if nothing is to be written, or if the object cannot be stamped, which
    /// is its failure then.
    pub(super) fn command(&mut self, setting: &Setting<'_>) -> Option<Command> {
        let desired = match &self.verdict.as_ref()?.1 {
            Decision::Delete(_) | Decision::Disown(_) | Decision::Update(UpdateReason::Departure) => Ok(Value::Null),
            Decision::Create | Decision::Update(_) | Decision::Recreate => self.wanted.as_ref()?.stamped(setting),
            Decision::HandOver(_) | Decision::Wait(_) | Decision::Skip(_) | Decision::Taken(_) => return None,
        };
        let desired = desired.map_err(|failure| self.fail(failure)).ok()?;
        let at = &setting.destination;
        let destination = || at.clone();
        let live = match &self.live {
            Live::Absent => None,
            Live::Member(version) | Live::Other(version, _) => Some(version),
        };
        match &self.verdict.as_ref()?.1 {
            Decision::Create => Some(Command::Create { destination: destination(), desired }),
            Decision::Update(UpdateReason::Departure) => {
                let departure = Departure::of(&self.wanted.as_ref()?.draft.settings);
                let document = setting.marks.departing(departure, &self.identity)?;
                Some(Command::Patch { target: self.target(live?, at), documents: vec![document] })
            }
            Decision::Update(_) => {
                let live = live?;
                let target = self.target(live, at);
                let policy = self.wanted.as_ref()?.draft.settings.policies.update;
                Some(Command::Update { desired, mode: policy.mode(), target, live: live.clone() })
            }
            Decision::Recreate => {
                let targets = vec![self.target(live?, at)];
                Some(Command::Recreate { destination: destination(), desired, targets })
            }
            Decision::Delete(_) => {
                let targets = vec![self.target(live?, at)];
                Some(Command::Delete { targets, propagation: PropagationPolicy::Background })
            }
            Decision::Disown(_) => {
                let live = live?;
                let last = Disowning { target: self.target(live, at), patch: setting.marks.strip(live) };
                Some(Command::Disown { former: Vec::new(), last })
            }
            Decision::HandOver(_) | Decision::Wait(_) | Decision::Skip(_) | Decision::Taken(_) => None,
        }
    }

    /// The object of others that has the name; none if there is none.
    pub(super) fn holder(&self) -> Option<&Version> {
        if let Live::Other(version, _) = &self.live { Some(version) } else { None }
    }

    /// Finds out once more whose the object of others is.
    pub(super) fn reconsider_owner(&mut self, owner_of: impl Fn(Version) -> Live) {
        if let Some(holder) = self.holder().cloned() {
            self.live = owner_of(holder);
        }
    }

    /// The fence of a write to the live object.
    fn target(&self, version: &Version, at: &Destination) -> Target {
        Target::of(version, &self.kind, at)
    }

    /// Takes the answer to the command. Returns whether the object has to be decided about once more: its name was taken.
    pub(super) fn record(&mut self, executed: Executed, owner_of: impl Fn(Version) -> Live) -> bool {
        self.judged = None;
        let is_due_again = matches!(self.verdict, Some((Row::DueAgain, _)));
        match executed {
            Executed::Created(object) => self.become_live(object, Effect::Created),
            Executed::Recreated(object) => self.become_live(object, Effect::Recreated),
            Executed::Updated(object) | Executed::Patched(object) => {
                let drift = match &self.live {
                    Live::Member(before) if is_due_again => drift::changed_fields(before.object(), &object),
                    Live::Absent | Live::Member(_) | Live::Other(..) => Vec::new(),
                };
                self.become_live(object, Effect::Updated { drift });
            }
            Executed::Deleted => (self.live, self.effect) = (Live::Absent, Effect::Deleted),
            Executed::Deleting(mut left) => {
                if let Some(version) = left.pop() {
                    self.live = Live::Member(version);
                }
                self.effect = Effect::Deleting;
            }
            Executed::Disowned(_) => (self.live, self.effect) = (Live::Absent, Effect::Disowned),
            Executed::NameTaken(Some(holder)) | Executed::DeletedNotCreated(NotCreated::NameTaken(Some(holder))) => {
                self.live = owner_of(Version::new(holder));
                if !std::mem::replace(&mut self.has_met_holder, true) {
                    return true;
                }
                self.fail_by_rule(FailReason::Conflict, " is created by somebody else as soon as it is gone");
            }
            Executed::NameTaken(None) | Executed::DeletedNotCreated(NotCreated::NameTaken(None)) => {
                self.live = Live::Absent;
                let said = " existed when it was to be created, and was gone when it was read";
                self.fail_by_rule(FailReason::Conflict, said);
            }
            Executed::DeletedNotCreated(NotCreated::Failed(error)) => {
                (self.live, self.effect) = (Live::Absent, Effect::Deleted);
                self.not_written(&error);
            }
            Executed::Failed(error) => self.not_written(&error),
            Executed::PatchFailed { error, .. } => self.fail(Failure::from(&error)),
            Executed::DeleteFailed { failures, .. } | Executed::DisownFailed { failures } => {
                self.effect = Effect::None;
                if let Some((_, error)) = failures.first() {
                    self.fail(Failure::from(error));
                }
            }
        }
        false
    }

    /// Takes a refusal: a creation waits until its terminating namespace is gone, any other write failed.
    fn not_written(&mut self, error: &WriteError) {
        match (&self.identity.namespace, &mut self.verdict) {
            (Some(namespace), Some((_, decision))) if error.kind == WriteErrorKind::NamespaceTerminating => {
                *decision = Decision::Wait(namespace_terminating(namespace));
            }
            _ => self.fail(Failure::from(error)),
        }
    }

    /// Whether the object waits until its namespace is gone.
    pub(super) fn waits_for_namespace(&self) -> bool {
        matches!(self.verdict, Some((Row::Absent | Row::Recreate, Decision::Wait(_))))
    }

    fn become_live(&mut self, object: Value, effect: Effect) {
        self.live = Live::Member(Version::new(object));
        self.effect = effect;
    }

    /// What keeps the objects after this one waiting, in words; `None` if it is a ready member, or has served.
    pub(super) fn blocker(&mut self, has_served: bool, rules: &dyn ReadyRules, now: Timestamp) -> Option<String> {
        if let Some(failure) = self.failure() {
            return Some(failure);
        }
        self.judged = self.judgement(rules, now);
        match &self.judged {
            Some(Judgement { readiness: Readiness::Ready, .. }) => None,
            _ if has_served => None,
            Some(judgement) => Some(format!("{}: {}", self.identity, judgement.why)),
            None => Some(format!("{}: {}", self.identity, self.sentence())),
        }
    }

    /// The decision about the object, in words.
    fn sentence(&self) -> String {
        match &self.verdict {
            None => "it is not there".to_owned(),
            Some((_, Decision::Wait(why))) => why.clone(),
            Some((_, decision)) => decision.to_string(),
        }
    }

    /// Why a member that was to go is still there, in words.
    pub(super) fn why_left(&self) -> Option<String> {
        let is_left = || match &self.verdict {
            Some((Row::HandedOver | Row::MayBeClaimed, Decision::Wait(why))) => {
                Some(format!("{}: {why}", self.identity))
            }
            Some((Row::HandedOver, _)) => None,
            Some(_) | None => self.version().map(|version| {
                let held = held_by(version.object()).map(|held| format!(", {held}")).unwrap_or_default();
                format!("{} is still there{held}", self.identity)
            }),
        };
        self.failure().or_else(is_left)
    }

    /// Notes that the member could not be written, because of something else.
    pub(super) fn fail(&mut self, failure: Failure) {
        (self.effect, self.is_named_by_failure) = (Effect::Failed(failure), false);
    }

    /// Notes that a rule of the set forbids the write. `said` is what the rule says, after the object.
    fn fail_by_rule(&mut self, reason: FailReason, said: &str) {
        let failure = Failure::new(reason, format!("{}{said}", self.identity));
        (self.effect, self.is_named_by_failure) = (Effect::Failed(failure), true);
    }

    /// The failure of the member's write, in words that name the object.
    pub(super) fn failure(&self) -> Option<String> {
        let message = &self.effect.failure()?.message;
        Some(if self.is_named_by_failure { message.clone() } else { format!("{}: {message}", self.identity) })
    }

    /// Whether the member was due, and its write failed for a reason that may be over with the next event.
    pub(super) fn has_failed_to_be_applied_again(&self) -> bool {
        let is_transient = |failure: &Failure| {
            matches!(
                failure.reason,
                FailReason::Conflict
                    | FailReason::TooManyRequests
                    | FailReason::Unavailable
                    | FailReason::Unreachable
                    | FailReason::DeadlineExceeded
            )
        };
        matches!(self.verdict, Some((Row::DueAgain, _))) && self.effect.failure().is_some_and(is_transient)
    }

    /// Whether the live object is ready; `None` if there is no member, as after an object has served.
    pub(super) fn take_judgement(&mut self, rules: &dyn ReadyRules, now: Timestamp) -> Option<Judgement> {
        self.judged.take().or_else(|| self.judgement(rules, now))
    }

    fn judgement(&self, rules: &dyn ReadyRules, now: Timestamp) -> Option<Judgement> {
        let object = self.version()?.object();
        let none = Hints::default();
        let hints = self.wanted.as_ref().map_or(&none, |rendered| &rendered.draft.hints);
        rules.judge(&self.identity, object, now).or_else(|| Some(judge(object, hints, now)))
    }

    /// The UID of the member on the cluster; none if there is none.
    pub(super) fn uid(&self) -> Option<&str> {
        self.version().map(Version::uid)
    }

    /// The generation for which the member was written.
    pub(super) fn generation(&self, marks: &dyn Marks) -> Option<Generation> {
        marks.generation(self.version()?)
    }

    /// The wave after which the object is deleted although it is wanted; none if it stays.
    pub(super) fn purge_order(&self) -> Option<i16> {
        self.wanted.as_ref()?.draft.settings.purge_order
    }

    /// Whether the object runs once, and is not created again when it is gone.
    pub(super) fn serves_once(&self) -> bool {
        self.wanted.as_ref().is_some_and(|rendered| rendered.draft.serves_once(&self.identity.kind))
    }

    /// Whether the parent remembers that the object has served, once it is ready: before the bundle or Kubernetes deletes it.
    pub(super) fn is_to_be_remembered(&self) -> bool {
        let has_completed = || self.version().is_some_and(|version| serving::has_completed(version.object()));
        self.purge_order().is_some() || self.serves_once() && has_completed()
    }

    /// Whether nothing of this identity was found.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self.live, Live::Absent)
    }

    /// Whether a member of the bundle is on the cluster.
    pub(super) fn exists(&self) -> bool {
        self.version().is_some()
    }
}
