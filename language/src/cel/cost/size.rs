//! The size of a value: the bytes of its text, and [`PER_VALUE`](super::members::PER_VALUE) for each element.

use cel::common::types::{CelBytes, CelList, CelMap, CelMapKey, CelOptional, CelString, Kind};
use cel::common::value::Val;

use super::members::PER_VALUE;
use crate::cel::view;

/// The size of a value, in bytes. Counting stops once the size exceeds `room`.
pub(super) fn size(value: &dyn Val, room: usize) -> usize {
    let kind = value.get_type().kind();
    if matches!(kind, Kind::List | Kind::Map) {
        // Asked first, because the downcasts below make a view build a list or map of CEL's own.
        if let Some(size) = view::size(value, room) {
            return size;
        }
        let mut sum = 0;
        let mut add = |text: usize, value: &dyn Val| {
            if sum <= room {
                sum += PER_VALUE + text + size(value, room - sum);
            }
        };
        if let Some(list) = value.downcast_ref::<CelList<'_>>() {
            list.inner().iter().for_each(|item| add(0, item.as_ref()));
        } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
            let text = |key: &CelMapKey<'_>| if let CelMapKey::String(key) = key { key.inner().len() } else { 0 };
            map.inner().iter().for_each(|(key, value)| add(text(key), value.as_ref()));
        }
        sum
    } else if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        text.inner().len()
    } else if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        bytes.inner().len()
    } else {
        let optional = value.downcast_ref::<CelOptional<'_>>().and_then(|optional| optional.option());
        optional.map_or(0, |value| size(value, room))
    }
}
