//! What the table asks, and of what.
//!
//! [`decide`](super::decide) is pure: what it has to know is either [`Seen`], or one of [`Questions`] that whoever asks for the
//! decision answers when a row needs it.

use crate::id::Generation;
use crate::id::is_same_namespace;
use crate::observation::Version;
use crate::plan::decision::Failure;

/// What is known of the live objects that belong to a resource.
#[derive(Debug, Clone)]
pub enum Seen<'a> {
    /// They could not be read, and this is why.
    Unknown(&'a str),
    /// These; none means absent.
    Versions(Vec<&'a Version>),
}

/// The gates that the table asks. Those of patches are asked together ([`Questions::patches`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Shall it be disowned? Does not hold where not configured.
    Orphan,
    /// Shall it be deleted? Does not hold where not configured.
    Delete,
    /// May it be written at all? Holds where not configured.
    When,
    /// May it be created? Holds where not configured.
    Create,
    /// May it be created or updated? Holds where not configured.
    Apply,
    /// Shall it be replaced by a new object? Does not hold where not configured.
    Recreate,
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

impl Gate {
    /// Whether a status that is missing counts as "does not hold": a fresh object has none yet.
    pub(crate) fn is_lenient(self) -> bool {
        match self {
            Self::Recreate => true,
            Self::Orphan | Self::Delete | Self::When | Self::Create | Self::Apply => false,
        }
    }
}

impl GateAnswer {
    /// The answer of a gate that has one.
    pub(crate) fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::DoesNotHold }
    }
}

/// What the table needs to know about the rendered manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The desired generation.
    pub generation: Generation,
    /// The rendered namespace; empty if there is none.
    pub namespace: String,
    /// The rendered name.
    pub name: String,
}

impl Rendered {
    /// Whether a version is the one of the rendered name.
    pub(super) fn names(&self, version: &Version) -> bool {
        version.name() == self.name && is_same_namespace(version.namespace(), &self.namespace)
    }
}

/// Answers that are worked out only when a row needs them.
pub trait Questions {
    /// Evaluates a gate.
    fn gate(&mut self, gate: Gate) -> GateAnswer;

    /// Evaluates the gate of every entry of `lifecycle.patch`, and gives the places of those that hold. What they
    /// would send is rendered, too, so that nothing is written if one of them cannot be.
    ///
    /// # Errors
    /// A gate failed, or a document cannot be rendered.
    fn patches(&mut self) -> Result<Vec<usize>, Failure>;

    /// Renders and stamps the manifest.
    ///
    /// # Errors
    /// It cannot be rendered, or must not be applied as it is.
    fn rendered(&mut self) -> Result<Rendered, Failure>;

    /// Whether a live version names the owner that it should; true where none is configured.
    ///
    /// # Errors
    /// The owner is not available.
    fn has_its_owner(&mut self, version: &Version) -> Result<bool, Failure>;

    /// Why a deletion has to wait: an object of another resource at the same destination is still to be disowned, and the
    /// deletion might delete that object, too. None if nothing has to be disowned first.
    fn pending_disowning(&mut self) -> Option<String>;

    /// Whether former versions are kept, so that a recreation deletes nothing.
    fn retains_versions(&self) -> bool;

    /// Whether an earlier resource of this event failed, so that nothing more is applied.
    fn failed_earlier(&mut self) -> bool;

    /// Notes that the orphan gate won over this answer of the delete gate: a mistake in the configuration.
    fn note_conflict(&mut self, delete: GateAnswer);

    /// Notes what the table saw for itself, as a question and its answer: an explanation has to name all that a decision
    /// depends on.
    fn note_fact(&mut self, _asks: &'static str, _answer: &'static str) {}
}
