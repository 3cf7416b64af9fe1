//! Finds what is left of an entry where its discovery no longer looks: under a name, in a namespace, at a consumer, or under a
//! `bundle.name` that the API resource's specification had before.
//!
//! In: an entry whose delete or orphan gate holds, and the objects of its kind that carry the labels of this adapter and API
//! resource, wherever they are. Out: those that are the entry's become its versions, to which the
//! decision table applies; what is left of an entry that the task no longer has becomes a [`Warning`], and keeps the entry from
//! being finalized. Nothing fails: a search without an answer makes the entry unread.
//!
//! Each kind of such entries costs one list, and only while the API resource is being deleted. The lists are read before the first
//! gate, so that a gate that waits for an entry waits for what is left of it, too; of an entry whose gate holds only once another
//! is gone, at its turn.
//!
//! Of a bundle, one parent after the other becomes the version, so that each set goes in its own order. A search that the API server
//! forbids is a warning alone: roles that were made for an adapter without this search would block every deletion for ever.

use lifecycle_bundle::applyset;
use lifecycle_language::scope::Scope;
use lifecycle_objects::failure::FailReason;
use lifecycle_objects::id::is_same_kind;
use lifecycle_objects::keys;
use lifecycle_objects::labels::is_label_value;
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::observation::{Observation, Query, QueryBy, Recorded, Version};
use lifecycle_objects::proof::Claim;

use super::decide::{Decided, Gate, Questions as _};
use super::gates::Examination;
use super::{Planner, Read};
use crate::decision::{Decision, DisownReason, SkipReason};
use crate::outcome::GateAnswer;
use crate::ownership::{Owned, put};
use crate::row::Row;
use crate::warning::{Warning, WarningReason};

/// How many objects a message names.
const NAMED: usize = 3;

/// What is known of an entry's objects at former places.
#[derive(Debug, Default)]
pub(super) enum Former {
    /// Nobody asked.
    #[default]
    NotAsked,
    /// The turn of the entry found nothing and needs the answer.
    Wanted,
    /// The caller was told to search.
    Asked,
    /// The search was answered.
    Answered {
        /// Whether versions of the entry were found.
        is_found: bool,
        /// What was found that no gate of this task reaches, or why nothing is known.
        warning: Option<Warning>,
    },
}

impl Former {
    /// What keeps the entry from being finalized, or what is not known of it.
    pub(super) fn warning(&self) -> Option<&Warning> {
        match self {
            Self::Answered { warning, .. } => warning.as_ref(),
            Self::NotAsked | Self::Wanted | Self::Asked => None,
        }
    }

    /// Whether the entry's versions were found by the search.
    pub(super) fn is_found(&self) -> bool {
        matches!(self, Self::Answered { is_found: true, .. })
    }
}

/// Whose an object is that the search found.
enum Kinship {
    /// The entry's: a version of it.
    Own,
    /// Nobody deletes it; the text says why, and what to do.
    Left(String),
    /// Another entry's, a member's of a set that its parent tells, or a copy that the adapter never wrote.
    Others,
}

impl Planner<'_> {
    /// Adds the search for each entry that is to go.
    pub(super) fn reads_of_former_places(&mut self, scope: &Scope, needed: &mut Vec<Read>) {
        let labels = [(keys::ADAPTER, &self.stamp.adapter), (keys::RESOURCE_ID, &self.stamp.resource_id)];
        if labels.iter().any(|(_, value)| value.is_empty() || !is_label_value(value)) {
            return;
        }
        let labels = labels.map(|(key, value)| (key.to_owned(), value.clone()));
        for index in self.position()..self.slots.len() {
            let is_needed = match self.slots[index].former {
                Former::NotAsked => self.is_to_go(index, scope),
                Former::Wanted | Former::Asked => true,
                Former::Answered { .. } => false,
            };
            let Some(query) = self.slots[index].query.as_ref().filter(|_| is_needed) else { continue };
            let by = QueryBy::Labels(labels.clone().into());
            needed.push(Read { resource: index, query: Query { by, namespace: None, ..query.clone() } });
            self.slots[index].former = Former::Asked;
        }
    }

    /// Whether an entry was read, and its delete or orphan gate holds.
    fn is_to_go(&self, index: usize, scope: &Scope) -> bool {
        let gates = &self.task.resources[index].gates;
        // An entry with a disowned version was given up, and is done.
        let is_kept = |found: &[Version]| !found.iter().any(Version::is_disowned);
        let is_read = matches!(&self.slots[index].observation, Some(Observation::Found(found)) if is_kept(found));
        if !is_read || gates.delete.is_none() && gates.orphan.is_none() {
            return false;
        }
        let unknown = self.unknown();
        let mut examination = Examination::new(self.context(index, scope, &unknown), &[], None, None);
        [Gate::Orphan, Gate::Delete].into_iter().any(|gate| examination.gate(gate) == GateAnswer::Holds)
    }

    /// Whether the current entry can be gone after this decision, and nobody has searched for what is left of it.
    pub(super) fn may_search_first(&self, decided: &Decided) -> bool {
        let is_last = match &decided.decision {
            Decision::Delete | Decision::Disown(DisownReason::GateHolds) => true,
            Decision::Skip(reason) => {
                matches!(reason, SkipReason::AlreadyAbsent | SkipReason::NothingToDisown | SkipReason::NotOurs)
            }
            Decision::Create
            | Decision::CreateVersion(_)
            | Decision::Update { .. }
            | Decision::Patch(_)
            | Decision::Recreate { .. }
            | Decision::Disown(DisownReason::Disowned)
            | Decision::Resend(_)
            | Decision::Wait(_) => false,
            // Another object in the place of a parent whose bundle is to go.
            Decision::Fail(failure) => {
                failure.reason == FailReason::NotOurs
                    && matches!(decided.row, Row::Disown | Row::Delete | Row::Deleting)
            }
        };
        is_last && matches!(self.slots[self.position()].former, Former::NotAsked)
    }

    /// Takes the answer of the search: adds what is the entry's to what its discovery found.
    pub(super) fn former_found(&mut self, index: usize, answer: Observation, mut found: Vec<Version>) -> Observation {
        let (mut is_found, mut warning) = (false, None);
        let observation = match answer {
            Observation::Unknown(cause) => {
                Observation::Unknown(format!("failed to search for objects that it had before: {cause}"))
            }
            Observation::Forbidden(cause) => {
                let kind = &self.task.resources[index].kind.kind;
                let message = format!(
                    "whether a {kind} that the resource had under another name or in another namespace is left is unknown: \
                     {cause}; let the adapter list them in all namespaces, as `hyperfleet-adapter rbac` prints"
                );
                warning = Some(Warning::new(WarningReason::FormerUnread, message));
                Observation::Found(found)
            }
            Observation::Found(candidates) => {
                let sets: Vec<String> =
                    candidates.iter().filter_map(|version| version.label(applyset::ID).map(str::to_owned)).collect();
                let is_bundle = self.task.resources[index].bundle.is_some();
                let mut has_parent = is_bundle && self.has_written(index, &found);
                let mut left = Vec::new();
                for version in candidates {
                    // What its own discovery found was judged by the rules of ownership.
                    let is_known = found.iter().any(|it| is_same_place(it, &version));
                    match self.kinship(index, &version, is_known, &sets) {
                        Kinship::Own if is_known => {}
                        Kinship::Own if has_parent => {
                            let object = ObjectRef::of(version.object());
                            left.push(format!(
                                "{object}, the parent of a former set of the bundle, goes after the present one"
                            ));
                        }
                        Kinship::Own => {
                            (is_found, has_parent) = (true, is_bundle);
                            put(&mut found, version);
                        }
                        Kinship::Left(because) => left.push(because),
                        Kinship::Others => {}
                    }
                }
                warning = left_behind(&left);
                Observation::Found(found)
            }
        };
        self.slots[index].former = Former::Answered { is_found, warning };
        observation
    }

    /// Whether an adapter wrote one of these objects, and the entry owns it.
    fn has_written(&self, index: usize, found: &[Version]) -> bool {
        let criteria = self.criteria(index, None);
        let is_own = |version: &Version| {
            self.slots[index].query.as_ref().is_some_and(|query| criteria.classify(query, version) == Owned::Yes)
        };
        found.iter().any(|version| is_own(version) && version.is_written_by(&self.stamp.adapter))
    }

    /// Whose an object is that carries the labels of this adapter and API resource. `is_known` says whether the entry's discovery found
    /// it, too; `sets` are the sets whose parents were found.
    fn kinship(&self, index: usize, version: &Version, is_known: bool, sets: &[String]) -> Kinship {
        let resource = &self.task.resources[index];
        let is_ours = version.label(keys::ADAPTER) == Some(&self.stamp.adapter)
            && version.label(keys::RESOURCE_ID) == Some(&self.stamp.resource_id);
        let Some(entry) = version.label(keys::RESOURCE) else {
            // A person removed this label, so that the object stays.
            return Kinship::Others;
        };
        if !is_ours || version.is_disowned() || self.is_copy(index, version) {
            return Kinship::Others;
        }
        let object = ObjectRef::of(version.object());
        match version.recorded(&self.stamp.adapter) {
            Recorded::Never if !is_known => return Kinship::Others,
            Recorded::Earlier if !is_known => {
                return Kinship::Left(format!(
                    "{object} has the labels of the entry `{entry}`, and was copied or restored after the adapter wrote it: delete the \
                     object, or remove its label `{}` if it is to stay",
                    keys::RESOURCE
                ));
            }
            Recorded::Never | Recorded::Earlier | Recorded::Here | Recorded::Nothing => {}
        }
        let Some(owner) = self.task.resources.iter().find(|owner| owner.name == entry) else {
            let what = if applyset::is_marked(version.object()) { ", the parent of a bundle," } else { "" };
            return Kinship::Left(format!(
                "{object}{what} of the entry `{entry}`, which the task does not have, still exists: give the entry its former \
                 name, or delete the object, or remove its label `{}` if it is to stay",
                keys::RESOURCE
            ));
        };
        let is_own = owner.name == resource.name;
        match (version.label(applyset::PART_OF), &owner.bundle) {
            (Some(set), Some(_)) if is_own && !self.is_parents_set(index, set) && !sets.iter().any(|it| it == set) => {
                Kinship::Left(format!(
                    "{object} of a set that the bundle `{entry}` had under another `name` or `namespace` still exists, and the \
                     ConfigMap of that set is gone: delete the objects with the label `{}={set}`",
                    applyset::PART_OF
                ))
            }
            (Some(_), Some(_)) => Kinship::Others,
            (None, Some(_)) if is_own && applyset::is_marked(version.object()) => Kinship::Own,
            (None, Some(_)) => Kinship::Others,
            (Some(_), None) => Kinship::Left(format!(
                "{object} of the bundle that the entry `{entry}` was before still exists: write the bundle again, or delete the object"
            )),
            (None, None) if is_own => Kinship::Own,
            (None, None) if is_same_kind(&owner.kind, &resource.kind) => Kinship::Others,
            (None, None) => Kinship::Left(format!(
                "{object} of the entry `{entry}`, which is of the kind {} now, still exists: delete the object",
                owner.kind.kind
            )),
        }
    }

    /// Whether a set is the one of the bundle's present parent.
    fn is_parents_set(&self, index: usize, set: &str) -> bool {
        match &self.slots[index].query {
            Some(Query { namespace: Some(namespace), by: QueryBy::Name(name), .. }) => {
                applyset::id(namespace, name) == set
            }
            Some(_) | None => false,
        }
    }

    /// Whether somebody copied the labels of an object: a controller to what it made, or another program, with a proof that
    /// is of another object.
    fn is_copy(&self, index: usize, version: &Version) -> bool {
        let kind = &self.task.resources[index].kind;
        let claim = Claim {
            adapter: &self.stamp.adapter,
            resource_id: &self.stamp.resource_id,
            group: &kind.group,
            kind: &kind.kind,
            namespace: version.namespace(),
            name: version.name(),
        };
        let proof = self.stamp.signer.as_ref().zip(version.annotation(keys::OWNERSHIP_PROOF));
        version.controller().is_some() || proof.is_some_and(|(signer, proof)| !signer.verify(&claim, proof))
    }

    /// The decision about an entry whose versions were found at a former place: only rows that delete or disown may write them,
    /// and nothing is made beside them while the API resource is being deleted.
    pub(super) fn without_writing_former(&self, decided: Decided) -> Decided {
        if !self.slots[self.position()].former.is_found() {
            return decided;
        }
        decided.of_former()
    }
}

fn is_same_place(one: &Version, other: &Version) -> bool {
    (one.namespace(), one.name()) == (other.namespace(), other.name())
}

/// The warning about objects that nobody deletes.
fn left_behind(left: &[String]) -> Option<Warning> {
    let named = left.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    let more = left.len().saturating_sub(NAMED);
    let message = if more > 0 { format!("{named}; and {more} more") } else { named };
    (!left.is_empty()).then(|| Warning::new(WarningReason::LeftBehind, message))
}
