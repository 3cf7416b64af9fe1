//! How objects changed, as YAML diffs.
//!
//! In: every object of the store before and after a pass. Out: one [`ObjectDiff`] for each that differs, by kind,
//! namespace and name. What a server keeps for itself is left out: the resource version always, UID and
//! creation time where the object exists on one side only. Where both differ, it is another object of the same name.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

/// Unchanged lines shown around a change: enough to see which container or condition it is in.
const CONTEXT: usize = 3;

/// How one object changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectDiff {
    /// What became of it.
    pub change: Change,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// A unified diff of its YAML, without file names.
    pub diff: String,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It is new.
    Created,
    /// It is the same object, and differs.
    Updated,
    /// Another object has its name.
    Replaced,
    /// It is on its way out.
    Terminating,
    /// It is gone.
    Deleted,
}

impl Change {
    /// The change as traces spell it.
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

/// Compares two states of a store.
#[must_use]
pub fn compare(before: &[Value], after: &[Value]) -> Vec<ObjectDiff> {
    let mut pairs: BTreeMap<[&str; 4], [Option<&Value>; 2]> = BTreeMap::new();
    for (side, objects) in [before, after].into_iter().enumerate() {
        for object in objects {
            pairs.entry(identity(object)).or_default()[side] = Some(object);
        }
    }
    pairs.into_iter().filter_map(|(identity, [before, after])| compare_object(identity, before, after)).collect()
}

/// Group, kind, namespace and name: the versions of a group are views of the same object.
fn identity(object: &Value) -> [&str; 4] {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    [group, text("/kind"), text("/metadata/namespace"), text("/metadata/name")]
}

fn compare_object(identity: [&str; 4], before: Option<&Value>, after: Option<&Value>) -> Option<ObjectDiff> {
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
    let text = |object: Option<&Value>| object.map(|object| to_yaml(&without_bookkeeping(object, one_sided)));
    let (before, after) = (text(before).unwrap_or_default(), text(after).unwrap_or_default());
    if before == after {
        return None;
    }
    let diff = TextDiff::from_lines(&before, &after).unified_diff().context_radius(CONTEXT).to_string();
    let [_, kind, namespace, name] = identity.map(str::to_owned);
    Some(ObjectDiff { change, kind, namespace, name, diff })
}

fn without_bookkeeping(object: &Value, one_sided: bool) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
        if one_sided {
            metadata.remove("uid");
            metadata.remove("creationTimestamp");
        }
    }
    object
}

/// An object as YAML, keys sorted.
#[must_use]
pub fn to_yaml(object: &Value) -> String {
    // A JSON value always serialises; if not, JSON is YAML too.
    serde_saphyr::to_string(object).unwrap_or_else(|_| format!("{object:#}\n"))
}

#[cfg(test)]
mod tests;
