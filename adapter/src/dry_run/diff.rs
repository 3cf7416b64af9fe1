//! Compares the objects before and after a pass, as YAML diffs.
//!
//! In: every object of the store before and after a pass. Out: one [`ObjectDiff`] for each object that differs,
//! sorted by kind, namespace and name. The diff leaves out fields that the server sets: always the resource
//! version; UID and creation timestamp unless they differ between the two sides, which means another object of
//! the same name.

use std::collections::BTreeMap;

use lifecycle_objects::identity::Identity;
use lifecycle_objects::object_ref::ObjectRef;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use crate::redact::Redactor;

/// The number of unchanged lines around a change: enough to see the container or condition that it is in.
const CONTEXT: usize = 3;

/// The change of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectDiff {
    /// The object.
    #[serde(skip)]
    pub identity: Identity,
    /// Whether the pass created, updated, replaced or deleted the object.
    pub change: Change,
    /// The kind of the changed object.
    pub kind: String,
    /// The object's namespace; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of the changed object.
    pub name: String,
    /// A unified diff of the object's YAML, without file names.
    pub diff: String,
}

/// The kind of change of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The object exists only after the pass.
    Created,
    /// The same object has other content.
    Updated,
    /// Another object, with another UID, has the name.
    Replaced,
    /// The pass deleted the object, but finalizers still hold it: it is terminating.
    Terminating,
    /// The object exists only before the pass.
    Deleted,
}

impl Change {
    /// The change as traces print it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Replaced => "replaced",
            Self::Terminating => "terminating",
            Self::Deleted => "deleted",
        }
    }
}

/// Compares the objects before with the objects after.
#[must_use]
pub fn compare(before: &[Value], after: &[Value], redactor: &Redactor) -> Vec<ObjectDiff> {
    let mut pairs: BTreeMap<Identity, [Option<&Value>; 2]> = BTreeMap::new();
    for (side, objects) in [before, after].into_iter().enumerate() {
        for object in objects {
            pairs.entry(ObjectRef::of(object).into()).or_default()[side] = Some(object);
        }
    }
    let pairs = pairs.into_iter();
    pairs.filter_map(|(identity, [before, after])| compare_object(identity, before, after, redactor)).collect()
}

fn compare_object(
    identity: Identity,
    before: Option<&Value>,
    after: Option<&Value>,
    redactor: &Redactor,
) -> Option<ObjectDiff> {
    let metadata = |object: &Value, key: &str| object.get("metadata").and_then(|metadata| metadata.get(key)).cloned();
    let change = match (before, after) {
        (None, None) => return None,
        (None, Some(_)) => Change::Created,
        (Some(_), None) => Change::Deleted,
        (Some(before), Some(after)) if metadata(before, "uid") != metadata(after, "uid") => Change::Replaced,
        (Some(before), Some(after)) => {
            if metadata(before, "deletionTimestamp").is_none() && metadata(after, "deletionTimestamp").is_some() {
                Change::Terminating
            } else {
                Change::Updated
            }
        }
    };
    let one_sided = matches!(change, Change::Created | Change::Deleted);
    let [before, after] = [before, after].map(|object| object.map(|object| without_bookkeeping(object, one_sided)));
    if before == after {
        return None;
    }
    let text = |object: Option<&Value>, before: Option<&Value>| {
        object.map(|object| to_yaml(&redactor.beside(object, before))).unwrap_or_default()
    };
    let (before, after) = (text(before.as_ref(), None), text(after.as_ref(), before.as_ref()));
    let diff = TextDiff::from_lines(&before, &after).unified_diff().context_radius(CONTEXT).to_string();
    let shown = |text: &str| redactor.text(text).into_owned();
    let namespace = identity.namespace.as_deref().map(shown).unwrap_or_default();
    let (kind, name) = (shown(&identity.kind.kind), shown(&identity.name));
    Some(ObjectDiff { identity, change, kind, namespace, name, diff })
}

fn without_bookkeeping(object: &Value, one_sided: bool) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
        if one_sided {
            metadata.remove("uid");
            metadata.remove("creationTimestamp");
            metadata.remove("generation");
        }
    }
    object
}

/// An object as YAML, with sorted keys.
#[must_use]
pub fn to_yaml(object: &Value) -> String {
    // Serializing a JSON value does not fail; if it ever does, print JSON, which is valid YAML.
    serde_saphyr::to_string(object).unwrap_or_else(|_| format!("{object:#}\n"))
}

#[cfg(test)]
mod tests;
