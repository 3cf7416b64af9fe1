//! What the expressions and templates of one event can read.
//!
//! In go variables as JSON, and the event's one clock reading. Expressions read the variables where
//! they are; templates need a copy in their own engine's values, which is made of each variable when
//! a template first reads it and kept until the variable is replaced. Nothing here can fail.

use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt;
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

mod template_data;

use self::template_data::TemplateData;

/// The variables of one event, and its one clock reading.
///
/// Expressions (CEL) and templates read the same names. A value is converted for either engine at
/// most once, when something first reads it.
pub struct Scope {
    now: Timestamp,
    now_text: String,
    variables: BTreeMap<String, Variable>,
    /// Every variable, for templates; rebuilt from the variables' own copies after a change.
    template_data: OnceLock<gotmpl::Value>,
}

struct Variable {
    value: Value,
    template_data: TemplateData,
}

impl Scope {
    /// An empty scope of an event that is taken to happen at `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let now_text = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Self { now, now_text, variables: BTreeMap::new(), template_data: OnceLock::new() }
    }

    /// The instant that `now()` and `{{ .now }}` give throughout the event.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// That instant as expressions and templates see it: RFC 3339, whole seconds, UTC.
    #[must_use]
    pub fn now_text(&self) -> &str {
        &self.now_text
    }

    /// Sets a top-level variable, replacing what it was.
    ///
    /// Any name will do; one that is a reserved word of CEL cannot be read by expressions.
    pub fn set(&mut self, name: &str, value: Value) {
        self.template_data.take();
        self.variables.insert(name.to_owned(), Variable { value, template_data: TemplateData::default() });
    }

    /// Removes a top-level variable.
    pub fn unset(&mut self, name: &str) {
        self.template_data.take();
        self.variables.remove(name);
    }

    /// Sets (or with `None` removes) one key of a top-level object, making the object if needed:
    /// `set_member("resources", "job", …)`. Its siblings are not converted again.
    pub fn set_member(&mut self, name: &str, key: &str, value: Option<Value>) {
        self.template_data.take();
        let variable = match self.variables.entry(name.to_owned()) {
            Entry::Occupied(variable) => variable.into_mut(),
            Entry::Vacant(variable) => {
                variable.insert(Variable { value: Value::Object(Map::new()), template_data: TemplateData::default() })
            }
        };
        let Value::Object(fields) = &mut variable.value else {
            // What is no object has no keys to keep.
            let fields = value.map(|value| (key.to_owned(), value)).into_iter().collect();
            variable.value = Value::Object(fields);
            variable.template_data = TemplateData::default();
            return;
        };
        match value {
            Some(value) => fields.insert(key.to_owned(), value),
            None => fields.remove(key),
        };
        variable.template_data.forget(key);
    }

    /// A top-level variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name).map(|variable| &variable.value)
    }

    /// Every variable, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.variables.iter().map(|(name, variable)| (name.as_str(), &variable.value))
    }

    /// The map that templates read: every variable, and unless variables have these names, `now` and `date`.
    pub(crate) fn template_data(&self) -> &gotmpl::Value {
        self.template_data
            .get_or_init(|| self.template_data_of(self.variables.keys().map(String::as_str).chain(["now", "date"])))
    }

    /// As [`template_data`](Self::template_data), but only the named variables: what a template does
    /// not read need not be converted for it. Names that are not set are left out.
    pub(crate) fn template_data_of<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> gotmpl::Value {
        let values = names.into_iter().filter_map(|name| {
            let value = match (self.variables.get(name), name) {
                (Some(variable), _) => variable.template_data.of(&variable.value),
                (None, "now") => gotmpl::Value::String(self.now_text.as_str().into()),
                (None, "date") => gotmpl::Value::String(self.date().into()),
                (None, _) => return None,
            };
            Some((name.into(), value))
        });
        gotmpl::Value::Map(values.collect::<BTreeMap<_, _>>().into())
    }

    fn date(&self) -> String {
        self.now.to_zoned(TimeZone::UTC).date().to_string()
    }
}

/// Names only: values may be secret, and are large.
impl fmt::Debug for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.keys().collect();
        formatter.debug_struct("Scope").field("now", &self.now_text).field("variables", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
