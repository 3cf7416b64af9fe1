//! A variable of a scope, with the copy that templates read.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::template_data::TemplateData;
use crate::value::Typed;
use crate::value::typed::{Kinds, step};

/// A value, and the template engine's copy of it once a template has read it.
///
/// Clones share the value and the copy. So a value that is the same for every event is made once, converted
/// at most once, and put into each event's scope by [`Scope::share`](super::Scope::share). A scope that
/// changes a shared variable gets a copy of its own first.
#[derive(Clone)]
pub struct Variable(Arc<Parts>);

#[derive(Clone)]
struct Parts {
    value: Value,
    kinds: Kinds,
    template_data: TemplateData,
}

impl Variable {
    /// Returns the variable's value as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// Returns the types that JSON lacks of the value's parts.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.0.kinds
    }

    /// Returns the copy that templates read; converts the value if there is none.
    pub(super) fn template_data(&self) -> gotmpl::Value {
        self.0.template_data.of(&self.0.value, &self.0.kinds)
    }

    /// Sets (or with `None` removes) one key of the object. A value that is no object becomes one.
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
        template_data.mark_changed(key);
    }
}

impl Default for Variable {
    /// A variable whose value is an object without keys.
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

/// Prints no value, because it may be secret, and large.
impl fmt::Debug for Variable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Variable").finish_non_exhaustive()
    }
}
