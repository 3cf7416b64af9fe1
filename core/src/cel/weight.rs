//! What values weigh: the work of a copy, or of going through all of one.
//!
//! In goes a value, out come bytes of text and [`NODE`] for each value in it. Nothing here can fail.

use cel::common::types::{CelBytes, CelList, CelMap, CelMapKey, CelOptional, CelString, Kind};
use cel::common::value::Val;
use serde_json::Value;

use super::view;

/// A value within another, without its own text and members: about what the interpreter needs for one.
pub(super) const NODE: usize = 32;

/// A member of data, when all are looked at where they lie.
pub(super) const LOOK: usize = 4;

/// The weight of what is in a value; something above `room` if it is above.
pub(super) fn weigh(value: &dyn Val, room: usize) -> usize {
    let mut scale = Scale { weight: 0, room };
    scale.add_content(value);
    scale.weight
}

/// The weight of data, all of it; something above `room` if it is above.
pub(super) fn weigh_data<'a>(values: impl IntoIterator<Item = &'a Value>, room: usize) -> usize {
    let mut scale = Scale { weight: 0, room };
    values.into_iter().for_each(|value| scale.add_data(value));
    scale.weight
}

/// A sum, and where it can stop.
struct Scale {
    weight: usize,
    room: usize,
}

impl Scale {
    fn add(&mut self, value: &dyn Val) {
        if self.weight <= self.room {
            self.weight += NODE;
            self.add_content(value);
        }
    }

    fn add_content(&mut self, value: &dyn Val) {
        let kind = value.get_type().kind();
        if matches!(kind, Kind::List | Kind::Map) {
            self.add_members(value);
        } else if let Some(text) = value.downcast_ref::<CelString<'_>>() {
            self.weight += text.inner().len();
        } else if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
            self.weight += bytes.inner().len();
        } else if let Some(optional) = value.downcast_ref::<CelOptional<'_>>() {
            optional.option().into_iter().for_each(|value| self.add_content(value));
        }
    }

    fn add_members(&mut self, value: &dyn Val) {
        // First of all: a view turns into a list or map of CEL's own when it is asked whether it is one.
        if let Some(weight) = view::weight(value, self.room.saturating_sub(self.weight)) {
            self.weight += weight;
        } else if let Some(list) = value.downcast_ref::<CelList<'_>>() {
            list.inner().iter().for_each(|item| self.add(item.as_ref()));
        } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
            for (key, value) in map.inner().iter() {
                self.weight += if let CelMapKey::String(key) = key { key.inner().len() } else { 0 };
                self.add(value.as_ref());
            }
        }
    }

    fn add_data(&mut self, value: &Value) {
        if self.weight > self.room {
            return;
        }
        self.weight += NODE;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.weight += text.len(),
            Value::Array(items) => items.iter().for_each(|item| self.add_data(item)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.weight += key.len();
                    self.add_data(value);
                }
            }
        }
    }
}
