//! What the expressions and templates of one event can read.
//!
//! In go variables as JSON, and the event's one clock reading. Expressions read the variables where
//! they are; templates need a copy in their own engine's values, which is made of each variable when
//! a template first reads it and kept until the variable is replaced. What is the same for every event is
//! one [`Variable`] that their scopes share, the copy included. Nothing here can fail.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::value::typed::{addresses, lookup_typed};
use crate::value::{Kind, LookupError, Typed};

mod template_data;
mod variable;

pub use self::variable::Variable;

/// The variables of one event, and its one clock reading.
///
/// Expressions (CEL) and templates read the same names. A value is converted for either engine at
/// most once, when something first reads it.
pub struct Scope {
    now: Timestamp,
    now_text: String,
    variables: BTreeMap<Arc<str>, Variable>,
    /// Every variable, for templates; rebuilt from the variables' own copies after a change.
    template_data: OnceLock<gotmpl::Value>,
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
        self.put(name, value.into());
    }

    /// Sets a top-level variable to what an expression made, with the types of its parts.
    pub fn set_typed(&mut self, name: &str, value: Typed) {
        self.put(name, value.into());
    }

    /// Sets a top-level variable to what other scopes have, too: nothing is copied or converted again.
    pub fn share(&mut self, name: &str, variable: &Variable) {
        self.put(name, variable.clone());
    }

    fn put(&mut self, name: &str, variable: Variable) {
        self.template_data.take();
        match self.variables.get_mut(name) {
            Some(known) => *known = variable,
            None => drop(self.variables.insert(name.into(), variable)),
        }
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
        if let Some(variable) = self.variables.get_mut(name) {
            variable.set_member(key, value);
        } else {
            self.variables.entry(name.into()).or_default().set_member(key, value);
        }
    }

    /// A top-level variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name).map(Variable::value)
    }

    /// The value at a dotted path below a top-level variable, with the types of its parts; none if there is no such
    /// variable.
    #[must_use]
    pub fn lookup(&self, name: &str, path: &str) -> Option<Result<Typed, LookupError>> {
        let variable = self.variables.get(name)?;
        Some(lookup_typed(variable.value(), variable.kinds(), path))
    }

    /// The parts of variables that are of a type which JSON lacks, by their addresses.
    pub(crate) fn kinds(&self) -> BTreeMap<usize, Kind> {
        let typed = self.variables.values().filter(|variable| !variable.kinds().is_empty());
        typed.flat_map(|variable| addresses(variable.value(), variable.kinds())).collect()
    }

    /// Every variable, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.variables.iter().map(|(name, variable)| (&**name, variable.value()))
    }

    /// The map that templates read: every variable, and unless variables have these names, `now` and `date`.
    pub(crate) fn template_data(&self) -> &gotmpl::Value {
        self.template_data
            .get_or_init(|| self.template_data_of(self.variables.keys().map(|name| &**name).chain(["now", "date"])))
    }

    /// As [`template_data`](Self::template_data), but only the named variables: what a template does
    /// not read need not be converted for it. Names that are not set are left out.
    pub(crate) fn template_data_of<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> gotmpl::Value {
        let values = names.into_iter().filter_map(|name| {
            if let Some((name, variable)) = self.variables.get_key_value(name) {
                return Some((Arc::clone(name), variable.template_data()));
            }
            let text: Arc<str> = match name {
                "now" => self.now_text.as_str().into(),
                "date" => self.date().into(),
                _ => return None,
            };
            Some((name.into(), gotmpl::Value::String(text)))
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
