//! The policies of a bundle's objects: how an object is adopted, changed, deleted, and how often it is applied again.
//!
//! In: the text of a policy, from an annotation or from the task. Out: a variant of its enum. Fails: [`Unknown`], with the
//! valid words. The annotations of a whole object are read in [`Settings`].
//!
//! Values are words in any spelling that becomes the same in kebab case, so `IfUnowned` is `if-unowned`. Manifests that were
//! written for SAP's component-operator-runtime have other words for three values, which are accepted, too.

mod settings;

use heck::ToKebabCase as _;
use jiff::SignedDuration;

use lifecycle_objects::identity::GroupKind;
use lifecycle_objects::write::UpdateMode;

pub use settings::{Fault, Settings, interval};

/// How long an object is not applied again if its author says nothing: often enough to repair an edit within a working
/// hour, and seldom enough that 1,000 objects cost less than one write in 3 s.
pub const DEFAULT_REAPPLY: SignedDuration = SignedDuration::from_mins(60);

/// What the bundle may do with an object that exists before the bundle wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Adoption {
    /// The object is never adopted.
    Never,
    /// The object is adopted if nobody owns it.
    #[default]
    IfUnowned,
    /// The object is adopted, whoever owns it.
    Always,
}

/// What counts as a change of an object, so that the object is applied again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reconcile {
    /// The rendered object changed.
    #[default]
    OnObjectChange,
    /// The rendered object or the generation of the API resource changed.
    OnObjectOrComponentChange,
    /// Nothing: once written, the object stays as it is.
    Once,
}

/// How an object that exists is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Update {
    /// Server-side apply, forced, with the adapter's own field manager.
    #[default]
    Apply,
    /// As [`Apply`](Self::Apply), after the fields of kubectl's field managers became the adapter's.
    ApplyOverride,
    /// A PUT of the whole object, which keeps the finalizers of others.
    Replace,
    /// The object is deleted, and created again.
    Recreate,
}

/// What becomes of an object that the bundle has no use for any more.
///
/// A bundle has no use for an object that left the set, nor for any of its objects when the bundle itself is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delete {
    /// The object is deleted.
    #[default]
    Delete,
    /// The object is disowned.
    Orphan,
    /// An object that left the set is disowned, and deleted with the bundle.
    OrphanOnApply,
    /// The object is disowned when the bundle is deleted, and deleted if it left the set.
    OrphanOnDelete,
}

impl Update {
    /// How an object that is there is written.
    #[must_use]
    pub fn mode(self) -> UpdateMode {
        match self {
            Self::Apply | Self::Recreate => UpdateMode::Apply,
            Self::ApplyOverride => UpdateMode::ApplyOverride,
            Self::Replace => UpdateMode::Replace,
        }
    }
}

impl Delete {
    /// The word of the policy, as authors write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Orphan => "orphan",
            Self::OrphanOnApply => "orphan-on-apply",
            Self::OrphanOnDelete => "orphan-on-delete",
        }
    }

    /// The policy of exactly this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, policy)| *policy)
    }
}

/// The policies of one object, or the defaults of all objects of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policies {
    /// What the bundle may do with an object that exists already.
    pub adoption: Adoption,
    /// What counts as a change of the object.
    pub reconcile: Reconcile,
    /// How the object is changed.
    pub update: Update,
    /// What becomes of the object when the bundle has no use for it.
    pub delete: Delete,
    /// After this time the object is applied again, changed or not. Zero applies it in every pass.
    pub reapply: SignedDuration,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            adoption: Adoption::default(),
            reconcile: Reconcile::default(),
            update: Update::default(),
            delete: Delete::default(),
            reapply: DEFAULT_REAPPLY,
        }
    }
}

/// A policy whose values are words.
pub trait Policy: Copy + 'static {
    /// Our word for each value, in the order in which errors list them.
    const WORDS: &'static [(&'static str, Self)];
    /// The words of component-operator-runtime that differ from ours; without a value, the word stands for "unset".
    const ALIASES: &'static [(&'static str, Option<Self>)];

    /// Parses a word of either list; `None` if the author left the policy unset, also with an empty text.
    ///
    /// # Errors
    /// The text is no word of the policy.
    fn parse(text: &str) -> Result<Option<Self>, Unknown> {
        if text.is_empty() {
            return Ok(None);
        }
        let word = text.to_kebab_case();
        let own = Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| Some(*value));
        let alias = || Self::ALIASES.iter().find(|(known, _)| *known == word).map(|(_, value)| *value);
        own.or_else(alias).ok_or_else(|| Unknown { valid: Self::WORDS.iter().map(|(word, _)| *word).collect() })
    }
}

/// The error for a text that is no word of a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write one of: {}", valid.join(", "))]
pub struct Unknown {
    /// The words that the policy has.
    pub valid: Vec<&'static str>,
}

impl Policy for Adoption {
    const WORDS: &'static [(&'static str, Self)] =
        &[("never", Self::Never), ("if-unowned", Self::IfUnowned), ("always", Self::Always)];
    const ALIASES: &'static [(&'static str, Option<Self>)] = &[];
}

impl Policy for Reconcile {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("on-object-change", Self::OnObjectChange),
        ("on-object-or-component-change", Self::OnObjectOrComponentChange),
        ("once", Self::Once),
    ];
    const ALIASES: &'static [(&'static str, Option<Self>)] = &[];
}

impl Policy for Update {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("apply", Self::Apply),
        ("apply-override", Self::ApplyOverride),
        ("replace", Self::Replace),
        ("recreate", Self::Recreate),
    ];
    const ALIASES: &'static [(&'static str, Option<Self>)] =
        &[("ssa-merge", Some(Self::Apply)), ("ssa-override", Some(Self::ApplyOverride)), ("default", None)];
}

impl Policy for Delete {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("delete", Self::Delete),
        ("orphan", Self::Orphan),
        ("orphan-on-apply", Self::OrphanOnApply),
        ("orphan-on-delete", Self::OrphanOnDelete),
    ];
    const ALIASES: &'static [(&'static str, Option<Self>)] = &[("default", None)];
}

/// Whether a deletion of an object of this kind takes other objects with it, also those that are not in the bundle.
///
/// Such an object is neither purged nor recreated: it is deleted only where a guard has looked at what would go.
#[must_use]
pub fn takes_others_along(kind: &GroupKind) -> bool {
    kind.is_namespace() || kind.is_custom_resource_definition() || kind.is_api_service()
}

#[cfg(test)]
mod tests;
