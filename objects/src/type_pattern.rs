//! Patterns of types that an object introduces, or that an author names.
//!
//! In: custom resource definitions and API services, and patterns `GROUP/KIND`. Out: whether an object is an instance of such a
//! type. Fails: [`PatternError`], for a pattern that would match nothing, or too much.
//!
//! Versions do not matter: the API server serves each object in every version of its group.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::identity::{GroupKind, is_kind};
use crate::labels::is_subdomain;

/// A pattern of types, `GROUP/KIND`.
///
/// The group is exact, `*.SUFFIX` for one or more labels before the suffix, or `*`; the kind is exact or `*`. The core
/// group has no pattern and `*` does not match it: every cluster has its types, so no bundle introduces them, and the
/// objects of others would block the deletion of the bundle for ever.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypePattern {
    group: GroupPattern,
    /// The kind; none for all kinds.
    kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum GroupPattern {
    Any,
    /// The suffix without the dot before it.
    Below(String),
    Exact(String),
}

/// Why a text is not a pattern of types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The text has no `/`, or more than one.
    #[error("`{0}` is not GROUP/KIND, such as `*.monitoring.coreos.com/*`")]
    Form(String),
    /// The text names the core group.
    #[error(
        "`{0}` names the core group, whose types every cluster has; name the group of a type that the bundle brings"
    )]
    CoreGroup(String),
    /// The group has a `*` that is neither alone nor in front, or is no DNS subdomain.
    #[error("`{0}` has an invalid group: write a DNS subdomain, `*.` and a DNS subdomain, or `*`")]
    Group(String),
    /// The kind has a `*` that is not alone, or is no kind.
    #[error("`{0}` has an invalid kind: write a kind, such as `Prometheus`, or `*`")]
    Kind(String),
}

impl TypePattern {
    /// Returns the types that a custom resource definition or an API service introduces; none for any other object, and
    /// for one without the fields that name them, which the API server will refuse.
    #[must_use]
    pub fn introduced_by(kind: &GroupKind, object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let kind = if kind.is_custom_resource_definition() {
            Some(text("/spec/names/kind")?)
        } else if kind.is_api_service() {
            None
        } else {
            return None;
        };
        Some(Self { group: GroupPattern::Exact(text("/spec/group")?), kind })
    }

    /// The one kind that the pattern matches; none if it may match several.
    #[must_use]
    pub fn exact(&self) -> Option<GroupKind> {
        match (&self.group, &self.kind) {
            (GroupPattern::Exact(group), Some(kind)) => Some(GroupKind::new(group, kind)),
            _ => None,
        }
    }

    /// Whether these types can be of a group.
    #[must_use]
    pub fn covers_group(&self, group: &str) -> bool {
        match &self.group {
            GroupPattern::Any => !group.is_empty(),
            GroupPattern::Below(suffix) => group
                .strip_suffix(suffix.as_str())
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|labels| !labels.is_empty()),
            GroupPattern::Exact(exact) => exact == group,
        }
    }

    /// The group of these types, if it is only one.
    #[must_use]
    pub fn only_group(&self) -> Option<&str> {
        match &self.group {
            GroupPattern::Exact(group) => Some(group),
            GroupPattern::Any | GroupPattern::Below(_) => None,
        }
    }

    /// Whether objects of a kind are instances of these types. A type is never an instance: else the pattern `*/*` would
    /// have a custom resource definition wait for itself.
    #[must_use]
    pub fn matches(&self, kind: &GroupKind) -> bool {
        let is_type = kind.is_custom_resource_definition() || kind.is_api_service();
        !is_type && self.covers_group(&kind.group) && self.kind.as_ref().is_none_or(|of| *of == kind.kind)
    }

    /// Whether the pattern matches all that a definition of types introduces.
    #[must_use]
    pub fn covers(&self, introduced: &Self) -> bool {
        let GroupPattern::Exact(group) = &introduced.group else { return false };
        self.covers_group(group) && (self.kind.is_none() || self.kind == introduced.kind)
    }
}

impl FromStr for TypePattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (group, kind) = text.split_once('/').ok_or_else(|| PatternError::Form(text.to_owned()))?;
        if kind.contains('/') {
            return Err(PatternError::Form(text.to_owned()));
        }
        let (group, labels) = match (group, group.strip_prefix("*.")) {
            ("", _) => return Err(PatternError::CoreGroup(text.to_owned())),
            ("*", _) => (GroupPattern::Any, None),
            (_, Some(suffix)) => (GroupPattern::Below(suffix.to_owned()), Some(suffix)),
            (exact, None) => (GroupPattern::Exact(exact.to_owned()), Some(exact)),
        };
        if !labels.is_none_or(is_subdomain) {
            return Err(PatternError::Group(text.to_owned()));
        }
        match kind {
            "*" => Ok(Self { group, kind: None }),
            kind if is_kind(kind) => Ok(Self { group, kind: Some(kind.to_owned()) }),
            _ => Err(PatternError::Kind(text.to_owned())),
        }
    }
}

/// Prints what [`FromStr`] parses.
impl fmt::Display for TypePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            GroupPattern::Any => f.write_str("*")?,
            GroupPattern::Below(suffix) => write!(f, "*.{suffix}")?,
            GroupPattern::Exact(group) => f.write_str(group)?,
        }
        write!(f, "/{}", self.kind.as_deref().unwrap_or("*"))
    }
}

#[cfg(test)]
mod tests;
