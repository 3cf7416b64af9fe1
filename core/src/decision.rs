//! Decisions about one resource, each with its reason: the results of [`decide`](crate::plan::decide::decide).

use lifecycle_objects::failure::{FailReason, Failure, namespace_terminating};
use lifecycle_objects::id::Generation;
use serde::{Serialize, Serializer};

/// The decision about one resource on one event.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Create the object: it is absent.
    Create,
    /// Create one more version; the existing ones stay.
    CreateVersion(VersionReason),
    /// Apply the manifest to the live object.
    Update {
        /// The generation of the live object, if it has a readable one.
        from: Option<Generation>,
        /// Why the object is updated.
        because: UpdateReason,
    },
    /// Send these entries of `lifecycle.patch`, given by their indexes, in order.
    Patch(Vec<usize>),
    /// Delete every version, and create the object again.
    Recreate {
        /// The generation of the current version, if it has a readable one.
        from: Option<Generation>,
    },
    /// Disown every version that is not terminating: remove the adapter's labels, and add the label `hyperfleet.io/disowned`.
    Disown(DisownReason),
    /// Delete every version that is not terminating.
    Delete,
    /// Send what was sent before once more, unchanged: no agent of the remote cluster has observed it.
    Resend(Resent),
    /// Write nothing until something else has happened; the next event decides again.
    Wait(WaitReason),
    /// Write nothing: there is nothing to do.
    Skip(SkipReason),
    /// Write nothing, and report the failure.
    Fail(Failure),
}

/// A decision without its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the decisions themselves")]
pub enum DecisionKind {
    Create,
    CreateVersion,
    Update,
    Patch,
    Recreate,
    Disown,
    Delete,
    Wait,
    Skip,
    Fail,
}

impl DecisionKind {
    /// The kind as logs, traces and metrics spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateVersion => "create_version",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Recreate => "recreate",
            Self::Disown => "disown",
            Self::Delete => "delete",
            Self::Wait => "wait",
            Self::Skip => "skip",
            Self::Fail => "fail",
        }
    }
}

impl Serialize for DecisionKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What the adapter sends once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resent {
    /// The stored content of a live object, as a new version.
    Content,
    /// The deletion of every object whose deletion no agent has observed.
    Deletion,
}

/// Why a version is created beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionReason {
    /// No existing version has the rendered name.
    NewName,
    /// The recreate gate holds, and the resource keeps its former versions.
    RecreateGateHolds,
}

/// Why a live object is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateReason {
    /// The object has another generation than the desired one.
    GenerationChanged,
    /// The object lacks the reference to its owner.
    OwnerChanged,
}

/// Why the adapter disowns the objects of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisownReason {
    /// The resource's orphan gate holds.
    GateHolds,
    /// Another version of the resource is disowned already.
    Disowned,
}

/// Why the adapter does nothing with a resource until a later event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// The delete gate holds, and every version is terminating.
    Deleting,
    /// A version is terminating that has to be gone before the adapter can write or create another one.
    Terminating,
    /// The object is to be deleted, and Kubernetes might delete with it an object of another resource that is still to be
    /// disowned. The text names that other object, and says why it counts as one to disown.
    DisownPending(String),
    /// The gate `when` is false and reads the clock: a later event finds it true.
    NotYet(NotYet),
    /// The object is to be created in this namespace, which is being deleted and takes no new objects until it is gone.
    NamespaceTerminating(String),
}

/// A gate `when` that is false for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotYet {
    /// The gate's expression, on one line.
    pub gate: String,
    /// Whether the resource has no object of the desired generation because of that, so that the adapter is not done
    /// with this generation.
    pub holds_back: bool,
}

/// Why there is nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The object was disowned: the adapter does not write or delete it until a person removes the label.
    Disowned,
    /// The orphan gate holds, and the object is absent.
    NothingToDisown,
    /// The delete gate holds, and the object is absent.
    AlreadyAbsent,
    /// No adapter wrote the object, so the adapter neither deletes nor disowns it.
    NotOurs,
    /// The gate `when` is false.
    WhenFalse,
    /// The gate `lifecycle.create.when` is false.
    CreateGateFalse,
    /// The gate `lifecycle.apply.when` is false.
    ApplyGateFalse,
    /// A version has a higher generation than the event.
    StaleEvent {
        /// The highest generation of a version.
        live: Generation,
        /// The generation of the rendered manifest, lower than `live`.
        desired: Generation,
    },
    /// The live object was written for this generation.
    SameGeneration(Generation),
    /// An earlier resource of this event failed.
    EarlierFailure,
}

impl Decision {
    /// The decision without its reason.
    #[must_use]
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Create => DecisionKind::Create,
            Self::CreateVersion(_) => DecisionKind::CreateVersion,
            Self::Update { .. } | Self::Resend(Resent::Content) => DecisionKind::Update,
            Self::Patch(_) => DecisionKind::Patch,
            Self::Recreate { .. } => DecisionKind::Recreate,
            Self::Disown(_) => DecisionKind::Disown,
            Self::Delete | Self::Resend(Resent::Deletion) => DecisionKind::Delete,
            Self::Wait(_) => DecisionKind::Wait,
            Self::Skip(_) => DecisionKind::Skip,
            Self::Fail(_) => DecisionKind::Fail,
        }
    }

    /// Whether the resource's objects are as the task wants them, or on their way out of it: nobody waits for another decision.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(
            self,
            Self::Delete
                | Self::Disown(_)
                | Self::Wait(WaitReason::Deleting)
                | Self::Skip(SkipReason::AlreadyAbsent | SkipReason::Disowned | SkipReason::SameGeneration(_))
        )
    }

    /// Whether the resource's turn to be written has not come, so that its objects may not exist yet.
    #[must_use]
    pub fn is_before_writing(&self) -> bool {
        matches!(self, Self::Skip(SkipReason::WhenFalse | SkipReason::CreateGateFalse | SkipReason::EarlierFailure))
    }

    /// Whether the gate that was evaluated last decided that nothing is written.
    #[must_use]
    pub fn is_held_by_a_gate(&self) -> bool {
        matches!(self, Self::Skip(SkipReason::WhenFalse | SkipReason::CreateGateFalse | SkipReason::ApplyGateFalse))
    }

    /// The decision's reason as logs, traces and metrics spell it.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Create => "Absent",
            Self::CreateVersion(VersionReason::NewName) => "NewName",
            Self::CreateVersion(VersionReason::RecreateGateHolds) | Self::Recreate { .. } => "RecreateGateHolds",
            Self::Update { because: UpdateReason::GenerationChanged, .. } => "GenerationChanged",
            Self::Update { because: UpdateReason::OwnerChanged, .. } => "OwnerChanged",
            Self::Patch(_) => "PatchGateHolds",
            Self::Disown(DisownReason::GateHolds) => "OrphanGateHolds",
            Self::Disown(DisownReason::Disowned) | Self::Skip(SkipReason::Disowned) => "Disowned",
            Self::Delete => "DeleteGateHolds",
            Self::Resend(_) => "NotObserved",
            Self::Wait(WaitReason::Deleting) => "Deleting",
            Self::Wait(WaitReason::Terminating) => "Terminating",
            Self::Wait(WaitReason::DisownPending(_)) => "DisownPending",
            Self::Wait(WaitReason::NotYet(_)) => "NotYet",
            Self::Wait(WaitReason::NamespaceTerminating(_)) => "NamespaceTerminating",
            Self::Skip(reason) => reason.as_str(),
            Self::Fail(failure) => failure.reason.as_str(),
        }
    }

    /// A decision of each kind and reason, but for failures.
    fn each() -> [Self; 27] {
        let none = Generation(0);
        [
            Self::Create,
            Self::CreateVersion(VersionReason::NewName),
            Self::CreateVersion(VersionReason::RecreateGateHolds),
            Self::Update { from: None, because: UpdateReason::GenerationChanged },
            Self::Update { from: None, because: UpdateReason::OwnerChanged },
            Self::Patch(Vec::new()),
            Self::Recreate { from: None },
            Self::Disown(DisownReason::GateHolds),
            Self::Disown(DisownReason::Disowned),
            Self::Delete,
            Self::Resend(Resent::Content),
            Self::Resend(Resent::Deletion),
            Self::Wait(WaitReason::Deleting),
            Self::Wait(WaitReason::Terminating),
            Self::Wait(WaitReason::DisownPending(String::new())),
            Self::Wait(WaitReason::NotYet(NotYet { gate: String::new(), holds_back: false })),
            Self::Wait(WaitReason::NamespaceTerminating(String::new())),
            Self::Skip(SkipReason::Disowned),
            Self::Skip(SkipReason::NothingToDisown),
            Self::Skip(SkipReason::AlreadyAbsent),
            Self::Skip(SkipReason::NotOurs),
            Self::Skip(SkipReason::WhenFalse),
            Self::Skip(SkipReason::CreateGateFalse),
            Self::Skip(SkipReason::ApplyGateFalse),
            Self::Skip(SkipReason::StaleEvent { live: none, desired: none }),
            Self::Skip(SkipReason::SameGeneration(none)),
            Self::Skip(SkipReason::EarlierFailure),
        ]
    }

    /// Returns every pair of a decision's kind and reason, so that the metrics can create a counter at zero for
    /// each.
    #[must_use]
    pub fn labels() -> Vec<(&'static str, &'static str)> {
        let failures = FailReason::ALL.map(|reason| ("fail", reason.as_str()));
        let labels = Self::each().map(|decision| (decision.kind().as_str(), decision.reason()));
        labels.into_iter().chain(failures).collect()
    }

    /// The reason of the decision as a sentence, for logs and traces.
    #[must_use]
    pub fn sentence(&self) -> String {
        let generation = |from: &Option<Generation>| from.map_or_else(|| "none".to_owned(), |from| from.to_string());
        match self {
            Self::Create => "resource not found".to_owned(),
            Self::CreateVersion(VersionReason::NewName) => "no version has the rendered name".to_owned(),
            Self::CreateVersion(VersionReason::RecreateGateHolds) => {
                "recreate gate holds, former versions are kept".to_owned()
            }
            Self::Update { because: UpdateReason::GenerationChanged, from } => {
                format!("generation changed from {}", generation(from))
            }
            Self::Update { because: UpdateReason::OwnerChanged, .. } => "its owner is another object".to_owned(),
            Self::Patch(entries) => {
                let entries: Vec<String> = entries.iter().map(|entry| format!("patch[{entry}]")).collect();
                format!("gate of {} holds", entries.join(", "))
            }
            Self::Disown(DisownReason::GateHolds) => "lifecycle.orphan.when evaluated to true".to_owned(),
            Self::Disown(DisownReason::Disowned) => "another version was disowned".to_owned(),
            Self::Recreate { from } => format!("recreate gate holds, live generation {}", generation(from)),
            Self::Delete => "lifecycle.delete.when evaluated to true".to_owned(),
            Self::Resend(Resent::Content) => "no agent has observed the work: it is published again".to_owned(),
            Self::Resend(Resent::Deletion) => "no agent has observed the deletion: it is sent again".to_owned(),
            Self::Wait(WaitReason::Deleting) => "deletion pending".to_owned(),
            Self::Wait(WaitReason::DisownPending(because)) => because.clone(),
            Self::Wait(WaitReason::NotYet(NotYet { gate, .. })) => {
                format!("when condition reads the clock and is false for now: {gate}")
            }
            Self::Wait(WaitReason::NamespaceTerminating(namespace)) => namespace_terminating(namespace),
            Self::Wait(WaitReason::Terminating) => "a version is terminating, and has to be gone first".to_owned(),
            Self::Skip(SkipReason::AlreadyAbsent) => "resource already deleted or never existed".to_owned(),
            Self::Skip(SkipReason::Disowned) => "the object was disowned".to_owned(),
            Self::Skip(SkipReason::NothingToDisown) => "nothing is there to disown".to_owned(),
            Self::Skip(SkipReason::NotOurs) => "no adapter wrote the object, so it is left alone".to_owned(),
            Self::Skip(SkipReason::WhenFalse) => "when condition evaluated to false".to_owned(),
            Self::Skip(SkipReason::ApplyGateFalse) => "lifecycle.apply.when condition evaluated to false".to_owned(),
            Self::Skip(SkipReason::CreateGateFalse) => "lifecycle.create.when condition evaluated to false".to_owned(),
            Self::Skip(SkipReason::StaleEvent { live, desired }) => {
                format!("the event is about generation {desired}, and generation {live} is live")
            }
            Self::Skip(SkipReason::SameGeneration(generation)) => format!("generation {generation} unchanged"),
            Self::Skip(SkipReason::EarlierFailure) => "an earlier resource failed".to_owned(),
            Self::Fail(failure) => failure.to_string(),
        }
    }
}

impl SkipReason {
    /// The reason as logs, traces and metrics spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disowned => "Disowned",
            Self::NothingToDisown => "NothingToDisown",
            Self::AlreadyAbsent => "AlreadyAbsent",
            Self::NotOurs => "NotOurs",
            Self::WhenFalse => "WhenFalse",
            Self::CreateGateFalse => "CreateGateFalse",
            Self::ApplyGateFalse => "ApplyGateFalse",
            Self::StaleEvent { .. } => "StaleEvent",
            Self::SameGeneration(_) => "SameGeneration",
            Self::EarlierFailure => "EarlierFailure",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decision_says_what_a_reader_of_its_pass_has_to_know() {
        let of = |holds: fn(&Decision) -> bool| -> Vec<&str> {
            Decision::each().iter().filter(|decision| holds(decision)).map(Decision::reason).collect()
        };
        let settled = [
            "OrphanGateHolds",
            "Disowned",
            "DeleteGateHolds",
            "Deleting",
            "Disowned",
            "AlreadyAbsent",
            "SameGeneration",
        ];
        assert_eq!(of(Decision::is_settled), settled);
        assert_eq!(of(Decision::is_before_writing), ["WhenFalse", "CreateGateFalse", "EarlierFailure"]);
        assert_eq!(of(Decision::is_held_by_a_gate), ["WhenFalse", "CreateGateFalse", "ApplyGateFalse"]);
    }
}
