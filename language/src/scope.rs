//! The variables that the expressions and templates of one event read.
//!
//! In: variables as JSON, and one reading of the clock per event. Expressions read the JSON itself. Templates
//! need the values of their own engine: the scope converts each variable when a template first reads it, and
//! keeps the copy until the variable changes. Values that are the same for every event are one [`Variable`]
//! that all scopes share, with its copy. Never fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::secrets::{self, SecretPaths, Secrets};
use crate::value::typed::{addresses, lookup_typed};
use crate::value::{Kind, LookupError, Typed};

mod template_data;
mod variable;

pub use self::variable::Variable;

/// The variable with the data of the event.
const EVENT: &str = "event";

/// The variables of one event, and its one reading of the clock.
pub struct Scope {
    now: Timestamp,
    now_text: String,
    variables: BTreeMap<Arc<str>, Variable>,
    /// Why variables are not set that the task declares.
    absences: BTreeMap<String, String>,
    /// What logs and traces must not print.
    secret_paths: SecretPaths,
    /// The variables of which their author says that everybody may see them.
    revealed: BTreeSet<String>,
    /// The texts at the secret paths; cleared by each change of one of them.
    secrets: OnceLock<Secrets>,
    /// All variables as template values; cleared by each change, and rebuilt from the copies that the
    /// variables keep.
    template_data: OnceLock<gotmpl::Value>,
}

impl Scope {
    /// Makes an empty scope whose clock reads `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let now_text = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Self {
            now,
            now_text,
            variables: BTreeMap::new(),
            absences: BTreeMap::new(),
            secret_paths: SecretPaths::default(),
            revealed: BTreeSet::new(),
            secrets: OnceLock::new(),
            template_data: OnceLock::new(),
        }
    }

    /// Returns the instant that `now()` and `{{ .now }}` give throughout the event.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns [`now`](Self::now) as expressions and templates see it: RFC 3339, whole seconds, UTC.
    #[must_use]
    pub fn now_text(&self) -> &str {
        &self.now_text
    }

    /// Sets a top-level variable, or replaces it.
    ///
    /// The name can be any text, but expressions cannot read a name that is a reserved word of CEL.
    pub fn set(&mut self, name: &str, value: Value) {
        self.put(name, value.into());
    }

    /// Sets a top-level variable to the result of an expression, with the CEL types that JSON lacks.
    pub fn set_typed(&mut self, name: &str, value: Typed) {
        self.put(name, value.into());
    }

    /// Sets a top-level variable that other scopes have too, without copying or converting it.
    pub fn share(&mut self, name: &str, variable: &Variable) {
        self.put(name, variable.clone());
    }

    fn put(&mut self, name: &str, variable: Variable) {
        self.template_data.take();
        self.absences.remove(name);
        if name == EVENT || self.revealed.contains(name) || self.secret_paths.touch(&[name]) {
            self.secrets.take();
        }
        match self.variables.get_mut(name) {
            Some(known) => *known = variable,
            None => drop(self.variables.insert(name.into(), variable)),
        }
    }

    /// Removes the top-level variable `name`; does nothing if it is not set.
    pub fn unset(&mut self, name: &str) {
        self.template_data.take();
        self.variables.remove(name);
    }

    /// Notes why a variable that the task declares is not set: the error of an expression that reads it says so.
    pub fn note_absence(&mut self, name: &str, why: String) {
        self.absences.insert(name.to_owned(), why);
    }

    /// Why the variable `name` is not set; none if it is set, or nothing declares it.
    pub(crate) fn absence(&self, name: &str) -> Option<&str> {
        self.absences.get(name).map(String::as_str)
    }

    /// Sets (or with `None` removes) one key of a top-level object, and creates the object if needed:
    /// `set_member("resources", "job", …)`. The object's other keys keep their converted copies.
    pub fn set_member(&mut self, name: &str, key: &str, value: Option<Value>) {
        self.template_data.take();
        if let Some(variable) = self.variables.get_mut(name) {
            variable.set_member(key, value);
        } else {
            self.variables.entry(name.into()).or_default().set_member(key, value);
        }
    }

    /// Says whether the value at a path, such as `["env", "TOKEN"]`, is secret: logs and traces must not print it.
    pub fn conceal(&mut self, path: &[&str], is_secret: bool) {
        self.secrets.take();
        self.secret_paths.set(path, is_secret);
    }

    /// Says whether everybody may see the variable `name`, also if its text is a part of a secret.
    pub fn reveal(&mut self, name: &str, is_public: bool) {
        self.secrets.take();
        if is_public {
            self.revealed.insert(name.to_owned());
        } else {
            self.revealed.remove(name);
        }
    }

    /// The paths that logs and traces must not print.
    #[must_use]
    pub fn secret_paths(&self) -> &SecretPaths {
        &self.secret_paths
    }

    /// The texts at these paths, but for those that [everybody may see](Self::forget_public).
    #[must_use]
    pub fn secrets(&self) -> &Secrets {
        self.secrets.get_or_init(|| {
            let mut secrets = Secrets::default();
            for path in self.secret_paths.iter() {
                if let Some(value) = self.at(path) {
                    secrets.add(value);
                }
            }
            self.forget_public(&mut secrets);
            secrets
        })
    }

    /// Removes from `secrets` the texts that everybody may see: those of the event, such as the id of its resource, which
    /// an answer of the API repeats; and those of revealed variables.
    pub fn forget_public(&self, secrets: &mut Secrets) {
        if secrets.is_empty() {
            return;
        }
        let members = self.get(EVENT).and_then(Value::as_object).into_iter().flatten();
        let of_event = members.filter(|(key, _)| !self.secret_paths.touch(&[EVENT, key])).map(|(_, value)| value);
        let revealed = self.revealed.iter().filter_map(|name| self.get(name));
        of_event.chain(revealed).for_each(|value| secrets.forget(value));
    }

    /// A copy in which each secret reads `[redacted]`, so that nothing that a template makes of it tells anything.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut masked = Self::new(self.now);
        for (name, variable) in &self.variables {
            if self.secret_paths.touch(&[name]) {
                let mut value = variable.value().clone();
                for path in self.secret_paths.iter().filter(|path| path.first().is_some_and(|first| **first == **name))
                {
                    let part = path[1..].iter().try_fold(&mut value, |value, key| value.get_mut(key));
                    if let Some(part) = part {
                        *part = secrets::masked(part);
                    }
                }
                masked.set(name, value);
            } else {
                masked.share(name, variable);
            }
        }
        masked
    }

    fn at(&self, path: &[String]) -> Option<&Value> {
        let (name, keys) = path.split_first()?;
        keys.iter().try_fold(self.get(name)?, |value, key| value.get(key))
    }

    /// Returns the value of the top-level variable `name`; none if it is not set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name).map(Variable::value)
    }

    /// Returns the value at a dotted path below a top-level variable, with the CEL types that JSON lacks;
    /// none if there is no such variable.
    #[must_use]
    pub fn lookup(&self, name: &str, path: &str) -> Option<Result<Typed, LookupError>> {
        let variable = self.variables.get(name)?;
        Some(lookup_typed(variable.value(), variable.kinds(), path))
    }

    /// Returns the CEL types that JSON lacks, by the address of each value that has one.
    pub(crate) fn kinds(&self) -> BTreeMap<usize, Kind> {
        let typed = self.variables.values().filter(|variable| !variable.kinds().is_empty());
        typed.flat_map(|variable| addresses(variable.value(), variable.kinds())).collect()
    }

    /// Returns all variables with their names.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.variables.iter().map(|(name, variable)| (&**name, variable.value()))
    }

    /// Returns the map that templates read: all variables, and `now` and `date` unless variables have those
    /// names.
    pub(crate) fn template_data(&self) -> &gotmpl::Value {
        self.template_data
            .get_or_init(|| self.template_data_of(self.variables.keys().map(|name| &**name).chain(["now", "date"])))
    }

    /// Returns only the named variables, as [`template_data`](Self::template_data) has them, so that unread
    /// variables are not converted. Omits names that are not set.
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

/// Prints names only, because values are large and may be secret.
impl fmt::Debug for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.keys().collect();
        formatter.debug_struct("Scope").field("now", &self.now_text).field("variables", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
