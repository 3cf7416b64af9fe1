//! Reads typed fields of a live object.
//!
//! In: an object of any form. Out: a field's value, or none if the field, or a mapping around it, is missing or null.
//! Fails with [`Malformed`] if there is a value of another type: such a value must not pass for a missing one, whose
//! default could make the object ready.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use crate::id::GroupVersionKind;

/// One live object.
pub(super) struct Live<'o> {
    object: &'o Value,
}

/// A field that does not have the type that its kind demands. Its text is a sentence for people.
#[derive(Debug)]
pub(super) struct Malformed {
    field: String,
    expected: &'static str,
}

impl Malformed {
    pub(super) fn new(field: impl Into<String>, expected: &'static str) -> Self {
        Self { field: field.into(), expected }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its `{}` is not {}", self.field, self.expected)
    }
}

impl<'o> Live<'o> {
    pub(super) fn new(object: &'o Value) -> Self {
        Self { object }
    }

    /// Whether the object has a `metadata.deletionTimestamp`, of any type: this answer may not depend on the form.
    pub(super) fn is_terminating(&self) -> bool {
        let metadata = self.object.get("metadata");
        metadata.and_then(|metadata| metadata.get("deletionTimestamp")).is_some_and(|at| !at.is_null())
    }

    /// The object's kind. Objects of a list often lack it, and without it, any object would look like one of a kind
    /// without rules.
    pub(super) fn kind(&self) -> Result<GroupVersionKind, Malformed> {
        let named = |field| match self.text(field) {
            Ok(Some(text)) if !text.is_empty() => Ok(text),
            Ok(_) => Err(Malformed::new(field, "set")),
            Err(malformed) => Err(malformed),
        };
        Ok(GroupVersionKind::new(named("apiVersion")?, named("kind")?))
    }

    /// The whole number at a path such as `status.replicas`. Kubernetes has no negative count.
    pub(super) fn number(&self, path: &'static str) -> Result<Option<u64>, Malformed> {
        self.read(path, "a whole number", Value::as_u64)
    }

    /// The generation at a path. Some types have -1 until their controller has observed one.
    pub(super) fn generation(&self, path: &'static str) -> Result<Option<i64>, Malformed> {
        self.read(path, "a whole number", Value::as_i64)
    }

    /// The text at a path.
    pub(super) fn text(&self, path: &'static str) -> Result<Option<&'o str>, Malformed> {
        self.read(path, "text", Value::as_str)
    }

    /// The boolean at a path; false if it is missing.
    pub(super) fn flag(&self, path: &'static str) -> Result<bool, Malformed> {
        Ok(self.read(path, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    /// The timestamp at a path.
    pub(super) fn time(&self, path: &'static str) -> Result<Option<Timestamp>, Malformed> {
        self.read(path, "a timestamp", |value| value.as_str()?.parse().ok())
    }

    /// The elements of the list at a path; none if the list is missing.
    pub(super) fn list(&self, path: &'static str) -> Result<&'o [Value], Malformed> {
        Ok(self.read(path, "a list", Value::as_array)?.map_or(&[], Vec::as_slice))
    }

    fn read<T>(
        &self,
        path: &'static str,
        expected: &'static str,
        convert: impl Fn(&'o Value) -> Option<T>,
    ) -> Result<Option<T>, Malformed> {
        let mut value = self.object;
        for (depth, key) in path.split('.').enumerate() {
            let Some(fields) = value.as_object() else { return Err(no_mapping(path, depth)) };
            match fields.get(key) {
                None | Some(Value::Null) => return Ok(None),
                Some(field) => value = field,
            }
        }
        convert(value).map(Some).ok_or_else(|| Malformed::new(path, expected))
    }
}

/// The fault of a path whose first `depth` keys lead to something that has no fields.
fn no_mapping(path: &str, depth: usize) -> Malformed {
    let parents: Vec<&str> = path.split('.').take(depth).collect();
    match parents.is_empty() {
        true => Malformed::new(path, "there, since the object is not a mapping"),
        false => Malformed::new(parents.join("."), "a mapping"),
    }
}

/// Returns a text of the object for quotation if the text is one word, as a phase or a condition's reason is.
///
/// Nothing keeps a controller from writing there the whole text of an error, which may contain a password.
pub(super) fn word(text: &str) -> &str {
    const LONGEST: usize = 63;
    let is_word = text.chars().all(|char| char.is_ascii_alphanumeric() || "-_./:,".contains(char));
    if text.is_empty() {
        "(empty)"
    } else if is_word && text.len() <= LONGEST {
        text
    } else {
        "(not one word)"
    }
}
