//! A value with the copy of it that templates read, for one scope or for many.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::template_data::TemplateData;
use crate::value::Typed;
use crate::value::typed::{Kinds, step};

/// What a scope has under a name: a value, and the template engine's copy of it once a template has read it.
///
/// A clone shares both. What is the same for every event is therefore made once, converted at most once, and put into
/// each event's scope ([`Scope::share`](super::Scope::share)) without a copy. A scope that changes a variable changes
/// its own.
#[derive(Clone)]
pub struct Variable(Arc<Parts>);

#[derive(Clone)]
struct Parts {
    value: Value,
    kinds: Kinds,
    template_data: TemplateData,
}

impl Variable {
    /// The value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// The types of its parts that JSON lacks.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.0.kinds
    }

    /// The copy that templates read, made now if there is none.
    pub(super) fn template_data(&self) -> gotmpl::Value {
        self.0.template_data.of(&self.0.value, &self.0.kinds)
    }

    /// Sets (or with `None` removes) one key of the object; what is no object has no keys to keep.
    pub(super) fn set_member(&mut self, key: &str, value: Option<Value>) {
        let Parts { value: Value::Object(fields), kinds, template_data } = Arc::make_mut(&mut self.0) else {
            *self = Value::Object(value.map(|value| (key.to_owned(), value)).into_iter().collect()).into();
            return;
        };
        match value {
            Some(value) => fields.insert(key.to_owned(), value),
            None => fields.remove(key),
        };
        let member = step(key);
        kinds
            .retain(|pointer, _| pointer.strip_prefix(&member).is_none_or(|rest| rest.starts_with(|next| next != '/')));
        template_data.forget(key);
    }
}

impl Default for Variable {
    /// An object without keys.
    fn default() -> Self {
        Value::Object(Map::new()).into()
    }
}

impl From<Value> for Variable {
    fn from(value: Value) -> Self {
        Typed::from(value).into()
    }
}

impl From<Typed> for Variable {
    fn from(Typed { value, kinds }: Typed) -> Self {
        Self(Arc::new(Parts { value, kinds, template_data: TemplateData::default() }))
    }
}

/// Says nothing of the value, which may be secret, and large.
impl fmt::Debug for Variable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Variable").finish_non_exhaustive()
    }
}
