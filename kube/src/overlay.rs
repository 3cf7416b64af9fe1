//! Lays a manifest over a live object, for the writes that are no apply: a replacement, and the write after an apply that the
//! server refused.
//!
//! In: the live object, its `managedFields`, and the manifest. Out: the object to write. Pure.
//!
//! The result has the manifest's fields. Of the others, those go that an earlier write of the same field manager set, and
//! those stay that anybody else set, or nobody: what the server filled in, allocated or moved there is not the manifest's. The
//! server says in `managedFields` also how it merges: which lists are maps with keys or sets, and which mappings are one value.
//! A list of which it says nothing is one value.

use lifecycle_objects::object_ref::ObjectRef;
use serde_json::{Map, Value, json};

use crate::field_path::{FieldPath, Step};
use crate::field_set::unite;

/// A port's protocol is part of its key, and manifests leave it out.
const DEFAULT_PROTOCOL: &str = "TCP";

/// The depth of the mapping `spec`. Its members belong together less than those of the mappings below it.
const SPEC: usize = 1;

/// The owners of a live object's fields, each as one field set in the notation `fieldsV1`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Owners {
    /// What the field manager itself set.
    pub(crate) own: Value,
    /// What others set.
    pub(crate) others: Value,
}

impl Owners {
    /// The same fields, none of which the field manager may remove.
    pub(crate) fn removing_nothing(&self) -> Self {
        let mut all = self.others.as_object().cloned().unwrap_or_default();
        if let Some(own) = self.own.as_object() {
            unite(&mut all, own);
        }
        Self { own: Value::Null, others: Value::Object(all) }
    }
}

/// Lays `desired` over `live`. Without regard to their owners, fields also go that the server named as `blocked`, and that the
/// manifest lacks; beside a blocked field of the manifest, and in place of one that neither has, those of its mapping.
pub(crate) fn overlay(live: &Value, desired: &Value, owners: &Owners, blocked: &[FieldPath]) -> Value {
    let mut others = owners.others.clone();
    keep_finalizers(live, &mut others);
    let blocked: Vec<&[Step]> = blocked.iter().map(FieldPath::steps).collect();
    lay(live, desired, Place { own: &owners.own, others: &others, depth: 0 }, &blocked)
}

/// The merge patch (RFC 7396) that makes `to` of `from`; `None` if they are equal.
pub(crate) fn difference(from: &Value, to: &Value) -> Option<Value> {
    let (Some(before), Some(after)) = (from.as_object(), to.as_object()) else {
        return (from != to).then(|| to.clone());
    };
    let removed = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = after.iter().filter_map(|(name, value)| {
        let known = before.get(name).unwrap_or(&Value::Null);
        Some((name.clone(), difference(known, value)?))
    });
    let patch: Map<String, Value> = removed.chain(changed).collect();
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Counts all finalizers as those of others: they hold the object for whoever removes them, also if a manifest began it.
fn keep_finalizers(live: &Value, others: &mut Value) {
    let finalizers = live.pointer("/metadata/finalizers").and_then(Value::as_array);
    for finalizer in finalizers.into_iter().flatten() {
        others["f:metadata"]["f:finalizers"][format!("v:{finalizer}")] = json!({});
    }
}

/// The field sets at one place of the object.
#[derive(Clone, Copy)]
struct Place<'a> {
    own: &'a Value,
    others: &'a Value,
    depth: usize,
}

impl<'a> Place<'a> {
    fn member(self, key: &str) -> Self {
        let below = |fields: &'a Value| fields.get(key).unwrap_or(&Value::Null);
        Self { own: below(self.own), others: below(self.others), depth: self.depth + 1 }
    }

    fn field(self, name: &str) -> Self {
        self.member(&format!("f:{name}"))
    }

    /// The paths below this place.
    fn paths(self) -> impl Iterator<Item = &'a String> {
        [self.own, self.others].into_iter().filter_map(Value::as_object).flat_map(Map::keys)
    }

    /// Whether the server takes a mapping as one value: somebody set it, and nobody a part of it. The object itself never is one: if
    /// somebody emptied its `managedFields`, nobody is known to have set anything of it.
    fn is_atomic(self) -> bool {
        let is_set = self.depth > 0 && [self.own, self.others].iter().any(|fields| fields.is_object());
        is_set && self.paths().all(|path| path == ".")
    }

    fn list(self) -> List {
        let mut paths = self.paths();
        match paths.find_map(|path| path.split_once(':').filter(|(kind, _)| ["k", "v"].contains(kind))) {
            Some(("k", key)) => match serde_json::from_str::<Map<String, Value>>(key) {
                Ok(key) => List::Keyed(key.into_iter().map(|(name, _)| name).collect()),
                Err(_) => List::Atomic,
            },
            Some(_) => List::Set,
            None => List::Atomic,
        }
    }
}

/// How the server merges a list.
enum List {
    Atomic,
    Set,
    /// The names of the fields by which it tells the elements apart.
    Keyed(Vec<String>),
}

fn lay(live: &Value, desired: &Value, place: Place<'_>, blocked: &[&[Step]]) -> Value {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            let empty = Map::new();
            let live = if place.is_atomic() { &empty } else { live };
            lay_mapping(live, desired, place, blocked).into()
        }
        (_, Value::Object(desired)) => lay_mapping(&Map::new(), desired, place, blocked).into(),
        (Value::Array(live), Value::Array(desired)) => match place.list() {
            List::Atomic => desired.clone().into(),
            List::Set => lay_set(live, desired, place).into(),
            List::Keyed(names) => lay_keyed(live, desired, &names, place, blocked).into(),
        },
        _ => desired.clone(),
    }
}

fn lay_mapping(
    live: &Map<String, Value>,
    desired: &Map<String, Value>,
    place: Place<'_>,
    blocked: &[&[Step]],
) -> Map<String, Value> {
    // A member of a manifest that is null has to be absent, as in an apply of a typed object.
    let wanted = |name: &str| desired.get(name).filter(|value| !value.is_null());
    let named = |step: &Step| match step {
        Step::Field(name) => Some(name.clone()),
        Step::Element => None,
    };
    let is_blocked = |name: &str| blocked.iter().any(|path| path.first().and_then(named).as_deref() == Some(name));
    let has_union = place.depth > SPEC
        && blocked.iter().any(|path| {
            path.first().and_then(named).is_some_and(|name| match wanted(&name) {
                Some(_) => path.len() == 1,
                None => !live.contains_key(&name),
            })
        });
    let mut merged = Map::new();
    for (name, value) in live {
        let below = place.field(name);
        let stays = match (wanted(name), desired.get(name)) {
            (Some(wanted), _) => {
                let blocked: Vec<&[Step]> = blocked
                    .iter()
                    .filter_map(|path| path.split_first())
                    .filter(|(step, _)| named(step).as_deref() == Some(name.as_str()))
                    .map(|(_, rest)| rest)
                    .collect();
                Some(lay(value, wanted, below, &blocked))
            }
            (None, Some(_)) => None,
            (None, None) if has_union || is_blocked(name) => None,
            (None, None) if below.own.is_null() => Some(value.clone()),
            (None, None) => left(value, below.others),
        };
        merged.extend(stays.map(|value| (name.clone(), value)));
    }
    for (name, value) in desired.iter().filter(|(name, value)| !live.contains_key(*name) && !value.is_null()) {
        merged.insert(name.clone(), lay(&Value::Null, value, place.field(name), &[]));
    }
    merged
}

fn lay_set(live: &[Value], desired: &[Value], place: Place<'_>) -> Vec<Value> {
    let stays = |value: &&Value| {
        let entry = place.member(&format!("v:{value}"));
        desired.contains(value) || entry.own.is_null() || !entry.others.is_null()
    };
    let mut merged: Vec<Value> = live.iter().filter(stays).cloned().collect();
    merged.extend(desired.iter().filter(|value| !live.contains(value)).cloned());
    merged
}

/// The elements of the manifest in its order; elements that only the live list has keep their place before those that follow.
fn lay_keyed(live: &[Value], desired: &[Value], names: &[String], place: Place<'_>, blocked: &[&[Step]]) -> Vec<Value> {
    let blocked: Vec<&[Step]> = blocked
        .iter()
        .filter_map(|path| path.split_first())
        .filter(|(step, _)| **step == Step::Element)
        .map(|(_, rest)| rest)
        .collect();
    let wanted: Vec<Map<String, Value>> = desired.iter().map(|element| key_of(element, names)).collect();
    let keys: Vec<Map<String, Value>> = live.iter().map(|element| key_of(element, names)).collect();
    let at = |key: &Map<String, Value>| place.member(&format!("k:{}", Value::Object(key.clone())));
    let rest = |index: usize| {
        let (element, key) = (&live[index], &keys[index]);
        let below = at(key);
        if wanted.contains(key) {
            return None;
        }
        if below.own.is_null() {
            return Some(element.clone());
        }
        left(element, below.others).map(|mut kept| {
            if let Some(kept) = kept.as_object_mut() {
                kept.extend(key.clone());
            }
            kept
        })
    };
    let (mut merged, mut next) = (Vec::new(), 0);
    for (element, key) in desired.iter().zip(&wanted) {
        let found = keys.iter().position(|known| known == key);
        if let Some(found) = found.filter(|found| *found >= next) {
            merged.extend((next..found).filter_map(rest));
            next = found + 1;
        }
        let before = found.and_then(|found| live.get(found)).unwrap_or(&Value::Null);
        merged.push(lay(before, element, at(key), &blocked));
    }
    merged.extend((next..live.len()).filter_map(rest));
    merged
}

/// The key of an element, with its members in the order in which the server writes them.
fn key_of(element: &Value, names: &[String]) -> Map<String, Value> {
    let value = |name: &String| match element.get(name) {
        None if name == "protocol" => DEFAULT_PROTOCOL.into(),
        value => value.cloned().unwrap_or_default(),
    };
    names.iter().map(|name| (name.clone(), value(name))).collect()
}

/// What is left of a field that the field manager had set, and that the manifest lacks now: the parts of others.
fn left(value: &Value, others: &Value) -> Option<Value> {
    let parts = others.as_object()?;
    let place = Place { own: &Value::Null, others, depth: 0 };
    if parts.keys().all(|path| path == ".") {
        return Some(value.clone());
    }
    match value {
        Value::Object(members) => {
            let kept =
                members.iter().filter_map(|(name, value)| Some((name.clone(), left(value, place.field(name).others)?)));
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(elements) => {
            let kept: Vec<Value> = match place.list() {
                List::Atomic => elements.clone(),
                List::Set => {
                    let is_others = |element: &&Value| parts.contains_key(&format!("v:{element}"));
                    elements.iter().filter(is_others).cloned().collect()
                }
                List::Keyed(names) => {
                    let is_others =
                        |element: &&Value| parts.contains_key(&format!("k:{}", Value::Object(key_of(element, &names))));
                    elements.iter().filter(is_others).cloned().collect()
                }
            };
            (!kept.is_empty()).then(|| kept.into())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

/// Gives all entries the version of `desired`, if any of them has another one; `None` if none has. The server cannot read
/// entries of a version that lacks a field which it fills in for the next one, and refuses every apply then.
pub(crate) fn in_one_version(managed_fields: &Value, desired: &Value) -> Option<Value> {
    let version = Value::from(ObjectRef::of(desired).kind.api_version());
    let entries = managed_fields.as_array()?;
    if entries.iter().all(|entry| entry.get("apiVersion") == Some(&version)) {
        return None;
    }
    let mut united: Vec<Value> = Vec::new();
    for entry in entries {
        let mut entry = entry.clone();
        entry["apiVersion"] = version.clone();
        let is_same = |known: &&mut Value| {
            ["manager", "operation", "subresource"].iter().all(|key| known.get(key) == entry.get(key))
        };
        let Some(known) = united.iter_mut().find(is_same) else {
            united.push(entry);
            continue;
        };
        if let (Some(fields), Some(more)) =
            (known.get_mut("fieldsV1").and_then(Value::as_object_mut), entry.get("fieldsV1").and_then(Value::as_object))
        {
            unite(fields, more);
        }
    }
    Some(united.into())
}

#[cfg(test)]
mod tests;
