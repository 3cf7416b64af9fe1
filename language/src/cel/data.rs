//! Functions on any data: `base64.decode`, `base64.encode`, `dig`, `toJson`, `triState`, `statusFeedbackValue`.

use cel::common::types::{BOOL_TYPE, BYTES_TYPE, CelBool, CelBytes, CelInt, CelNull, CelString, DYN_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::answer;
use super::arguments::{Arguments, Resolved, take, text, text_field};
use crate::value::{base64, json};

pub(super) fn declare(environment: &mut Env) -> Result<(), DeclarationError> {
    environment.add_overload("toJson", "any_to_json", vec![DYN_TYPE], to_json)?;
    environment.add_overload("base64.decode", "base64_decode_string", vec![STRING_TYPE], decode)?;
    environment.add_overload("base64.encode", "base64_encode_bytes", vec![BYTES_TYPE], encode)?;
    environment.add_overload("base64.encode", "base64_encode_string", vec![STRING_TYPE], encode)?;
    environment.add_overload("dig", "dig_any_string", vec![DYN_TYPE, STRING_TYPE], dig)?;
    environment.add_overload("triState", "tri_state_bool_bool", vec![BOOL_TYPE, BOOL_TYPE], tri_state)?;
    environment.add_overload(
        "statusFeedbackValue",
        "status_feedback_value_any_string",
        vec![DYN_TYPE, STRING_TYPE],
        status_feedback_value,
    )
}

/// Longest path of `dig`, in bytes: each dot costs a lookup of the remaining path.
const MAX_PATH: usize = 1024;

fn to_json<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value] = take("toJson", arguments)?;
    Ok(CowVal::owned(CelString::from(json::to_string(&answer::json(value.as_ref())?))))
}

fn decode<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [encoded] = take("base64.decode", arguments)?;
    let decoded = base64::decode(text(&encoded));
    let decoded = decoded.map_err(|error| ExecutionError::function_error("base64.decode", error))?;
    Ok(CowVal::owned(CelBytes::from(decoded)))
}

/// Encodes bytes or, beyond what CEL's own library does, text: a Secret's value mostly is text.
fn encode<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value] = take("base64.encode", arguments)?;
    let bytes = match value.downcast_ref::<CelBytes<'_>>() {
        Some(bytes) => bytes.inner(),
        None => text(&value).as_bytes(),
    };
    Ok(CowVal::owned(CelString::from(base64::encode(bytes))))
}

fn tri_state<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let is_true = |value: &CowVal<'_, '_>| value.downcast_ref::<CelBool>().is_some_and(|value| *value.inner());
    let [yes, no] = take("triState", arguments)?;
    let state = match (is_true(&yes), is_true(&no)) {
        (true, _) => "True",
        (false, true) => "False",
        (false, false) => "Unknown",
    };
    Ok(CowVal::owned(CelString::from(state)))
}

/// The value at a dotted path, or null.
fn dig<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [value, path] = take("dig", arguments)?;
    if text(&path).len() > MAX_PATH {
        return Err(ExecutionError::function_error("dig", format!("a path has at most {MAX_PATH} bytes")));
    }
    Ok(descend(value, text(&path), child).unwrap_or_else(|| CowVal::owned(CelNull)))
}

/// Follows a dotted path by means of `child`.
///
/// Keys of labels and annotations contain dots: at every step the whole remaining path is tried as one key before it is
/// split. Empty keys are skipped, and blanks around a key are ignored.
pub(super) fn descend<T>(mut value: T, mut path: &str, child: impl Fn(&T, &str) -> Option<T>) -> Option<T> {
    while !path.trim().is_empty() {
        if let Some(found) = child(&value, path) {
            return Some(found);
        }
        let (segment, rest) = path.split_once('.').unwrap_or((path, ""));
        path = rest;
        let segment = segment.trim();
        if !segment.is_empty() {
            value = child(&value, segment)?;
        }
    }
    Some(value)
}

/// The entry of a map, or the element of a list at a decimal index.
fn child<'b, 'v>(value: &CowVal<'b, 'v>, key: &str) -> Option<CowVal<'b, 'v>> {
    let index: Option<i64> = if key.bytes().all(|byte| byte.is_ascii_digit()) { key.parse().ok() } else { None };
    let get = |key: &dyn Val| match value {
        CowVal::Borrowed(value) => value.as_indexer()?.get(key).ok(),
        CowVal::Owned(value) => value.as_indexer()?.get(key).ok().map(|found| CowVal::Owned(found.into_owned())),
    };
    get(&CelString::from(key)).or_else(|| get(&CelInt::from(index?)))
}

/// `fieldValue.string` of the first entry of `values` that has this name and such a string.
fn status_feedback_value<'b, 'v>(arguments: Arguments<'b, 'v>) -> Resolved<'b, 'v> {
    let [feedback, name] = take("statusFeedbackValue", arguments)?;
    let found = child(&feedback, "values").and_then(|values| {
        let mut entries = values.as_iterable()?.iter();
        while let Some(entry) = entries.next() {
            if text_field(entry, "name").as_deref() != Some(text(&name)) {
                continue;
            }
            let value = entry.as_indexer()?.get(&CelString::from("fieldValue")).ok();
            if let Some(text) = value.and_then(|value| text_field(value.as_ref(), "string")) {
                return Some(text);
            }
        }
        None
    });
    Ok(CowVal::owned(CelString::from(found.unwrap_or_default())))
}
