//! The size of data that is no value of the interpreter yet.

use serde_json::Value;

/// The size of an element without its text, in bytes: about the memory that the interpreter needs for one element.
pub(super) const PER_VALUE: usize = 32;

/// The size of the elements of data, in bytes. Counting stops once the size exceeds `room`.
pub(in crate::cel) fn size_of_members(data: &Value, room: usize) -> usize {
    let mut sum = 0;
    let mut add = |key: usize, member: &Value| {
        if sum <= room {
            sum += PER_VALUE + key + member.as_str().map_or(0, str::len) + size_of_members(member, room - sum);
        }
    };
    match data {
        Value::Array(items) => items.iter().for_each(|item| add(0, item)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| add(key.len(), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    sum
}
