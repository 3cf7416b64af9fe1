//! The texts of a Secret: `stringData`, which the API server takes and never gives back.
//!
//! In: a rendered object or merge patch. Out: the same with `data` alone; or why it must not be written.

use serde_json::{Map, Value};

use crate::id::GroupVersionKind;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a template prints for null, as in Go.
const NO_VALUE: &str = "<no value>";

/// Why a Secret must not be written: a text of it was made from null. Written, it would replace the credential that is there.
///
/// Other objects, and a Secret within another object, get the text, as from the Go adapter.
pub fn lacks_value(object: &Value) -> Option<String> {
    Some(object).filter(|object| is_secret(object)).and_then(lacks_text)
}

/// Why the merge patch of a Secret must not be sent, for the same reason.
pub fn lacks_text(document: &Value) -> Option<String> {
    let texts = document.get("stringData")?.as_object()?;
    let lacks = |text: &Value| text.as_str().is_some_and(|text| text.contains(NO_VALUE));
    let (key, _) = texts.iter().find(|(_, text)| lacks(text))?;
    Some(format!(
        "`stringData.{key}` of the Secret has no value: a template prints null there; let `when` hold only while the value is there"
    ))
}

/// Moves `stringData` of a Secret into `data`, as the API server would: there an apply owns each key, and removes it once the
/// manifest lacks it. The server leaves a key that it moved itself for ever.
///
/// A value that is no text stays, so that the server refuses it by name. A Secret within another object, such as a
/// ManifestWork, stays as it is: whoever applies it there decides.
pub fn encode_texts(object: &mut Value) {
    if is_secret(object) {
        move_texts(object, Value::is_null, Value::is_string);
    }
}

/// Moves `stringData` in the merge patch of a Secret into `data`. There null removes a key; in `stringData`, which no stored Secret
/// has, it removes nothing.
///
/// A patch that removes the whole of `data` stays as it is: the server fills in the texts after that.
pub fn encode_patch(document: &mut Value) {
    move_texts(document, |_| false, |text| text.is_string() || text.is_null());
}

/// Moves the texts if all of them can be moved, and `data` is a mapping, absent, or can be replaced by one.
fn move_texts(object: &mut Value, is_replaceable: fn(&Value) -> bool, is_movable: fn(&Value) -> bool) {
    let Some(fields) = object.as_object_mut() else { return };
    let Some(Value::Object(texts)) = fields.get("stringData") else { return };
    let is_fit = fields.get("data").is_none_or(|data| data.is_object() || is_replaceable(data));
    if !is_fit || !texts.values().all(is_movable) {
        return;
    }
    let encode = |text: &Value| text.as_str().map_or(Value::Null, |text| STANDARD.encode(text.as_bytes()).into());
    let encoded: Map<String, Value> = texts.iter().map(|(key, text)| (key.clone(), encode(text))).collect();
    fields.remove("stringData");
    match fields.get_mut("data").and_then(Value::as_object_mut) {
        Some(data) => data.extend(encoded),
        None if encoded.is_empty() => {}
        None => drop(fields.insert("data".to_owned(), Value::Object(encoded))),
    }
}

/// Whether a kind is that of Secrets.
#[must_use]
pub fn is_kind_of_secrets(kind: &GroupVersionKind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

fn is_secret(object: &Value) -> bool {
    let is = |key: &str, text: &str| object.get(key).and_then(Value::as_str) == Some(text);
    is("apiVersion", "v1") && is("kind", "Secret")
}
