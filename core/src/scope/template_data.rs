//! A variable as templates see it: converted once, and after a change only where it changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

/// The template engine's copy of one variable.
#[derive(Clone, Default)]
pub(super) struct TemplateData {
    converted: OnceLock<gotmpl::Value>,
    /// An earlier copy of an object, good but for the keys beside it.
    earlier: Option<(gotmpl::Value, BTreeSet<String>)>,
}

impl TemplateData {
    /// The copy of `value`, made now if there is none.
    pub(super) fn of(&self, value: &Value) -> gotmpl::Value {
        self.converted.get_or_init(|| self.refreshed(value).unwrap_or_else(|| convert(value))).clone()
    }

    /// Notes that one key of the object was set or removed.
    pub(super) fn forget(&mut self, key: &str) {
        if let Some(converted) = self.converted.take() {
            self.earlier = Some((converted, BTreeSet::new()));
        }
        if let Some((_, changed)) = &mut self.earlier {
            changed.insert(key.to_owned());
        }
    }

    fn refreshed(&self, value: &Value) -> Option<gotmpl::Value> {
        let (Value::Object(fields), Some((gotmpl::Value::Map(map), changed))) = (value, &self.earlier) else {
            return None;
        };
        let mut map: BTreeMap<_, _> = (**map).clone();
        for key in changed {
            match fields.get(key) {
                Some(value) => map.insert(Arc::from(key.as_str()), convert(value)),
                None => map.remove(key.as_str()),
            };
        }
        Some(gotmpl::Value::Map(Arc::new(map)))
    }
}

fn convert(value: &Value) -> gotmpl::Value {
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
