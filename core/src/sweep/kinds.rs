//! Patterns by which a configuration names kinds of objects.

use std::fmt;
use std::str::FromStr;

use lifecycle_objects::id::GroupVersionKind;

/// The name by which a pattern writes the core group, whose real name is empty.
const CORE: &str = "core";

/// A pattern for kinds: `Job` (in any group), `batch/Job`, or `batch/*`. The core group is written `core`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindPattern {
    group: Option<String>,
    kind: Option<String>,
}

/// The text is not a pattern for kinds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no pattern for kinds: write `Job`, `batch/Job`, `batch/*`, or `core/Secret` for a kind of the core group")]
pub struct InvalidPattern;

impl KindPattern {
    /// Whether the pattern names this kind, in whatever version.
    #[must_use]
    pub fn matches(&self, kind: &GroupVersionKind) -> bool {
        self.group.as_ref().is_none_or(|group| *group == kind.group)
            && self.kind.as_ref().is_none_or(|name| *name == kind.kind)
    }

    /// The group that the pattern names, empty for the core group; `None` if it names every group.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// The kind that the pattern names; `None` if it names every kind.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// Whether the pattern names every kind of this group.
    #[must_use]
    pub fn covers_group(&self, group: &str) -> bool {
        self.kind.is_none() && self.group.as_deref() == Some(group)
    }

    /// Whether the pattern names a kind of this group.
    #[must_use]
    pub fn touches_group(&self, group: &str) -> bool {
        self.group.as_ref().is_none_or(|own| own == group)
    }
}

impl FromStr for KindPattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let is_group = |text: &str| {
            !text.is_empty()
                && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-')
        };
        let is_kind = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric())
        };
        let (group, kind) = match text.split_once('/') {
            Some((group, kind)) if is_group(group) => (Some(if group == CORE { "" } else { group }.to_owned()), kind),
            Some(_) => return Err(InvalidPattern),
            None => (None, text),
        };
        match kind {
            // Without a group, `*` would be every kind, which the absence of patterns says more plainly.
            "*" if group.is_some() => Ok(Self { group, kind: None }),
            kind if is_kind(kind) => Ok(Self { group, kind: Some(kind.to_owned()) }),
            _ => Err(InvalidPattern),
        }
    }
}

impl fmt::Display for KindPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.as_deref().unwrap_or("*");
        match self.group.as_deref() {
            None => f.write_str(kind),
            Some("") => write!(f, "{CORE}/{kind}"),
            Some(group) => write!(f, "{group}/{kind}"),
        }
    }
}
