//! Converts variables to template values: once, and after a change only the changed keys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use lifecycle_config::duration::format_nanoseconds;
use serde_json::Value;

use crate::template::time;
use crate::value::Kind;
use crate::value::typed::{self, Kinds, addresses};

/// The template engine's copy of one variable.
#[derive(Clone, Default)]
pub(super) struct TemplateData {
    converted: OnceLock<gotmpl::Value>,
    /// The copy before the last changes, with the keys that changed since.
    earlier: Option<(gotmpl::Value, BTreeSet<String>)>,
}

impl TemplateData {
    /// Returns the copy of `value`; converts it if there is none.
    pub(super) fn of(&self, value: &Value, kinds: &Kinds) -> gotmpl::Value {
        let convert_now = || {
            let kinds = addresses(value, kinds);
            self.refreshed(value, &kinds).unwrap_or_else(|| convert(value, &kinds))
        };
        self.converted.get_or_init(convert_now).clone()
    }

    /// Marks one key of the object as changed.
    pub(super) fn mark_changed(&mut self, key: &str) {
        if let Some(converted) = self.converted.take() {
            self.earlier = Some((converted, BTreeSet::new()));
        }
        if let Some((_, changed)) = &mut self.earlier {
            changed.insert(key.to_owned());
        }
    }

    fn refreshed(&self, value: &Value, kinds: &BTreeMap<usize, Kind>) -> Option<gotmpl::Value> {
        let (Value::Object(fields), Some((gotmpl::Value::Map(map), changed))) = (value, &self.earlier) else {
            return None;
        };
        let mut map: BTreeMap<_, _> = (**map).clone();
        for key in changed {
            match fields.get(key) {
                Some(value) => map.insert(Arc::from(key.as_str()), convert(value, kinds)),
                None => map.remove(key.as_str()),
            };
        }
        Some(gotmpl::Value::Map(Arc::new(map)))
    }
}

fn convert(value: &Value, kinds: &BTreeMap<usize, Kind>) -> gotmpl::Value {
    if let Some(typed) = kinds.get(&typed::address(value)).and_then(|kind| typed_value(value, *kind)) {
        return typed;
    }
    let convert = |value| convert(value, kinds);
    match value {
        Value::Null => gotmpl::Value::Nil,
        Value::Bool(value) => gotmpl::Value::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => gotmpl::Value::Int(value),
            (None, Some(value)) => gotmpl::Value::Uint(value),
            (None, None) => gotmpl::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => gotmpl::Value::String(text.as_str().into()),
        Value::Array(items) => gotmpl::Value::List(items.iter().map(convert).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (Arc::from(key.as_str()), convert(value)));
            gotmpl::Value::Map(Arc::new(fields.collect()))
        }
    }
}

/// Converts a part of a CEL type: templates get Go's text of times and durations.
fn typed_value(value: &Value, kind: Kind) -> Option<gotmpl::Value> {
    Some(match kind {
        Kind::Timestamp => match value.as_str()?.parse() {
            Ok(time) => gotmpl::Value::String(time::text(time).into()),
            // `jiff` cannot represent the last day of the year 9999; CEL can.
            Err(_) => gotmpl::Value::String(typed::timestamp_text(value)?.into()),
        },
        Kind::Duration => gotmpl::Value::String(format_nanoseconds(typed::nanoseconds(value)?).into()),
        Kind::Bytes => {
            gotmpl::Value::List(typed::bytes(value).into_iter().map(|byte| gotmpl::Value::Int(byte.into())).collect())
        }
        Kind::Unsigned => gotmpl::Value::Uint(value.as_u64()?),
    })
}
