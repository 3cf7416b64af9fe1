//! The inputs of the decision table.
//!
//! [`decide`](super::decide) does no I/O. What it needs is either known before ([`Seen`]), or a method of
//! [`Questions`], which it calls when a row needs the value.

use lifecycle_objects::failure::Failure;
use lifecycle_objects::id::{Generation, is_same_namespace};
use lifecycle_objects::observation::Version;

use crate::decision::{NotYet, Resent};
use crate::outcome::GateAnswer;

/// The versions that a resource owns, as far as they are known.
#[derive(Debug, Clone)]
pub enum Seen<'a> {
    /// The objects could not be read, for this reason.
    Unknown(&'a str),
    /// The owned versions; empty if the resource has no object. An adapter wrote each of them.
    Versions(Vec<&'a Version>),
    /// The versions, of which no adapter wrote any: only a patch may write them, or an update if the entry adopts.
    Foreign(Vec<&'a Version>),
}

/// The gates of the table, except those of patches, which [`Questions::patches`] evaluates together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Disown the object? False if not configured.
    Orphan,
    /// Delete the object? False if not configured.
    Delete,
    /// May the adapter create or change the object at all? True if not configured.
    When,
    /// May the adapter create the object? True if not configured.
    Create,
    /// May the adapter create or update the object? True if not configured.
    Apply,
    /// Replace the object by a new one? False if not configured.
    Recreate,
}

impl Gate {
    /// Whether the gate takes away an object or its ownership, so that only `true` makes it hold: any value that is no
    /// boolean fails it.
    #[must_use]
    pub fn is_strict(self) -> bool {
        match self {
            Self::Orphan | Self::Delete | Self::Recreate => true,
            Self::When | Self::Create | Self::Apply => false,
        }
    }

    /// Whether the gate is false, instead of failed, if it reads the `status` of an object that has none yet.
    #[must_use]
    pub fn is_lenient(self) -> bool {
        match self {
            Self::Recreate => true,
            Self::Orphan | Self::Delete | Self::When | Self::Create | Self::Apply => false,
        }
    }
}

/// The identity and generation of the rendered manifest, as far as the decision table asks for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The generation in the rendered manifest, which the table compares with those of the live versions.
    pub generation: Generation,
    /// The rendered namespace; empty if there is none.
    pub namespace: String,
    /// The name in the rendered manifest.
    pub name: String,
}

impl Rendered {
    /// Whether a version has the rendered name and namespace.
    pub(super) fn names(&self, version: &Version) -> bool {
        version.name() == self.name && is_same_namespace(version.namespace(), &self.namespace)
    }
}

/// Questions of the table. Each is answered only if a row needs it.
pub trait Questions {
    /// Evaluates one gate of the resource.
    fn gate(&mut self, gate: Gate) -> GateAnswer;

    /// Evaluates the gates of all entries of `lifecycle.patch`, and returns the indexes of those that are true.
    /// Their documents are rendered as well, so that a document that cannot be rendered prevents every write.
    ///
    /// # Errors
    /// A gate failed, or a document cannot be rendered.
    fn patches(&mut self) -> Result<Vec<usize>, Failure>;

    /// Renders and stamps the manifest.
    ///
    /// # Errors
    /// The manifest cannot be rendered, or must not be applied as it is.
    fn rendered(&mut self) -> Result<Rendered, Failure>;

    /// Whether a live version references the configured owner; true if none is configured.
    ///
    /// # Errors
    /// The owner is not available.
    fn has_its_owner(&mut self, version: &Version) -> Result<bool, Failure>;

    /// Why a deletion has to wait: an object of another resource at the same destination has to be disowned
    /// first, because the deletion could delete that object, too. `None` if no object has to be disowned.
    fn pending_disowning(&mut self) -> Option<String>;

    /// Whether the gate `when`, which is false, is false for now only, because it reads the clock; `None` if it does not.
    fn not_yet(&mut self) -> Option<NotYet>;

    /// What has to be sent once more, because no agent has observed it for too long; `None` on a cluster that needs no agent.
    fn resends(&mut self, versions: &[&Version]) -> Option<Resent>;

    /// Whether an update may take over an object that no adapter wrote (`adopt`).
    fn adopts(&self) -> bool;

    /// Whether the resource is the parent of a bundle.
    fn keeps_a_set(&self) -> bool;

    /// Whether the resource keeps former versions (`retention`), so that a recreation deletes nothing.
    fn retains_versions(&self) -> bool;

    /// Whether an earlier resource failed in this pass, so that this one is not applied.
    fn failed_earlier(&mut self) -> bool;

    /// Records the warning that the orphan gate was true although the delete gate was true or failed.
    fn note_conflict(&mut self, delete: GateAnswer);

    /// Records a fact that the table checked itself, as a question and its answer, so that an explanation names
    /// everything on which the decision depends.
    fn note_fact(&mut self, _asks: &'static str, _answer: &'static str) {}
}
