//! What is kept of an object that is not kept whole: a few hundred bytes, whatever it weighs.

use std::ops::Deref;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::version::{metadata, text};
use crate::keys;

/// The part of an object's metadata that plans ask of versions that are not current.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Metadata {
    pub(super) name: Box<str>,
    pub(super) namespace: Box<str>,
    pub(super) uid: Box<str>,
    pub(super) resource_version: Box<str>,
    /// All of them: selectors may ask for any.
    pub(super) labels: Pairs,
    /// Ours. Others can be as large as the object: `kubectl apply` keeps a copy of it in one.
    pub(super) annotations: Pairs,
    pub(super) owner_references: Box<[Value]>,
    pub(super) created_at: Option<Timestamp>,
    pub(super) deleted_at: Option<Box<str>>,
}

impl Metadata {
    pub(super) fn of(object: &Value) -> Self {
        let references = metadata(object, "ownerReferences").and_then(Value::as_array);
        Self {
            name: text(object, "name").into(),
            namespace: text(object, "namespace").into(),
            uid: text(object, "uid").into(),
            resource_version: text(object, "resourceVersion").into(),
            labels: Pairs::of(metadata(object, "labels"), |_| true),
            annotations: Pairs::of(metadata(object, "annotations"), |key| key.starts_with(keys::PREFIX)),
            owner_references: references.map_or(&[][..], Vec::as_slice).into(),
            created_at: text(object, "creationTimestamp").parse().ok(),
            // Whatever it is: a value that is no text still says that the object is on its way out.
            deleted_at: metadata(object, "deletionTimestamp")
                .filter(|at| !at.is_null())
                .map(|at| at.as_str().unwrap_or_default().into()),
        }
    }

    /// An object that has nothing else.
    pub(super) fn into_object(self) -> Value {
        let mut metadata = Map::new();
        let texts = [
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("uid", &self.uid),
            ("resourceVersion", &self.resource_version),
        ];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            metadata.insert(key.to_owned(), json!(text));
        }
        for (key, pairs) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !pairs.is_empty() {
                metadata.insert(key.to_owned(), pairs.to_value());
            }
        }
        if !self.owner_references.is_empty() {
            metadata.insert("ownerReferences".to_owned(), Value::Array(self.owner_references.into_vec()));
        }
        if let Some(at) = self.created_at {
            metadata.insert("creationTimestamp".to_owned(), at.to_string().into());
        }
        if let Some(at) = self.deleted_at {
            metadata.insert("deletionTimestamp".to_owned(), at.into_string().into());
        }
        json!({ "metadata": metadata })
    }
}

/// A small map of texts in one piece.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pairs(Box<[(Box<str>, Box<str>)]>);

impl Pairs {
    fn of(map: Option<&Value>, is_kept: impl Fn(&str) -> bool) -> Self {
        let pairs = map.and_then(Value::as_object).into_iter().flatten();
        let kept = pairs.filter(|(key, _)| is_kept(key));
        Self(kept.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into()))).collect())
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(known, _)| &**known == key).map(|(_, value)| &**value)
    }

    fn to_value(&self) -> Value {
        self.iter().map(|(key, value)| (key.to_string(), json!(value))).collect::<Map<_, _>>().into()
    }
}

impl Deref for Pairs {
    type Target = [(Box<str>, Box<str>)];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
