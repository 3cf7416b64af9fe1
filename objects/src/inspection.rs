//! What is looked through before a deletion that takes others' objects with it.
//!
//! In: an [`Inspection`]. Out: which kinds it covers. Nothing here fails.
//!
//! `bundle::guard` judges what is found there, and `lifecycle-kube` reads it.

use std::fmt;

use crate::contents::{METRICS, is_derived};
use crate::identity::GroupKind;
use crate::type_pattern::TypePattern;

/// What has to be known before something is deleted that takes others' objects with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inspection {
    /// Whether there is an instance of these types, in any namespace, that is no member.
    Instances(TypePattern),
    /// Whether anything lives in this namespace that is no member, nor made by Kubernetes in every namespace.
    Namespace(String),
}

impl Inspection {
    /// Whether objects of a kind would go with what is to be deleted.
    #[must_use]
    pub fn covers(&self, kind: &GroupKind) -> bool {
        match self {
            Self::Instances(types) => types.matches(kind),
            Self::Namespace(_) => kind.group != METRICS && !is_derived(kind),
        }
    }

    /// Whether a group could have a kind that is covered.
    #[must_use]
    pub fn could_cover(&self, group: &str) -> bool {
        match self {
            Self::Instances(types) => types.covers_group(group),
            Self::Namespace(_) => group != METRICS,
        }
    }

    /// The only group that is covered; `None` if several are.
    #[must_use]
    pub fn only_group(&self) -> Option<&str> {
        match self {
            Self::Instances(types) => types.only_group(),
            Self::Namespace(_) => None,
        }
    }

    /// The namespace that is looked through; `None` for all namespaces, and for objects in none.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Instances(_) => None,
            Self::Namespace(name) => Some(name),
        }
    }
}

/// The inspection as the name of a call, such as `inspect namespace team`.
impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instances(types) => write!(f, "inspect the instances of {types}"),
            Self::Namespace(name) => write!(f, "inspect namespace {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn instances(pattern: &str) -> Inspection {
        Inspection::Instances(pattern.parse().unwrap())
    }

    #[test]
    fn unread_group_matters_if_the_inspection_could_cover_its_kinds() {
        let namespace = Inspection::Namespace("team".to_owned());
        let cases = [
            (instances("example.com/Widget"), "example.com", true, Some("example.com")),
            (instances("example.com/*"), "example.com", true, Some("example.com")),
            (instances("example.com/*"), "other.example.com", false, Some("example.com")),
            (instances("*.example.com/Widget"), "other.example.com", true, None),
            (instances("*.example.com/Widget"), "example.com", false, None),
            (instances("*/Widget"), "example.com", true, None),
            (instances("*/*"), "", false, None),
            (namespace.clone(), "", true, None),
            (namespace.clone(), "example.com", true, None),
            (namespace, "metrics.k8s.io", false, None),
        ];
        for (inspection, group, expected, only) in cases {
            assert_eq!(inspection.could_cover(group), expected, "{inspection}: {group}");
            assert_eq!(inspection.only_group(), only, "{inspection}");
        }
    }
}
