//! The keys of one file, each with the value that comes last: default, file, environment, flag.
//!
//! In: a [`Table`] of what can be set from outside of the file, the schema of the file, the document, the environment, and the
//! flags that were given. Out: [`Settings`], the merged value in which each key knows where it came from. Text that does
//! not fit its key is an error that names the variable or the flag, and the key keeps the value that it had.
//!
//! The schema declares the keys, their types and their descriptions; [`tables`] makes the documentation of the schema and the
//! table. Defaults and rules belong to the program, which applies them through a [`Resolver`]: it reports each diagnostic at
//! the line, the variable or the flag that the value came from.

#[cfg(feature = "clap")]
pub mod arguments;
pub mod tables;

mod resolver;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use self::resolver::Resolver;
use crate::decode::{Typing, coerce, normalize};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::document::{Document, Path, Segment};

/// The environment of the process, as a value.
pub type Environment = BTreeMap<String, String>;

/// The flags that were given and set keys, by their long names.
pub type Flags = BTreeMap<&'static str, String>;

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Text.
    Text,
    /// Nothing, or `=true` and `=false`.
    Switch,
}

/// A key that can be set from outside of the file.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key's path in the file.
    pub key: &'static str,
    /// The flag's long name, if it has a flag.
    pub flag: Option<&'static str>,
    /// What the flag takes.
    pub takes: Takes,
    /// Environment variables; the first one that is set and not empty counts.
    pub variables: &'static [&'static str],
    /// Whether the text of a variable is read in lower case.
    pub lower_case: bool,
}

impl Setting {
    /// A key with a flag that takes text.
    #[must_use]
    pub const fn text(key: &'static str, flag: &'static str, variables: &'static [&'static str]) -> Self {
        Self { key, flag: Some(flag), takes: Takes::Text, variables, lower_case: false }
    }

    /// A key with a flag that needs no text.
    #[must_use]
    pub const fn switch(key: &'static str, flag: &'static str, variables: &'static [&'static str]) -> Self {
        Self { key, flag: Some(flag), takes: Takes::Switch, variables, lower_case: false }
    }

    /// A key without a flag.
    #[must_use]
    pub const fn variable(key: &'static str, variables: &'static [&'static str]) -> Self {
        Self { key, flag: None, takes: Takes::Text, variables, lower_case: false }
    }

    /// The same key, whose variables are read in lower case.
    #[must_use]
    pub const fn lower_case(self) -> Self {
        Self { lower_case: true, ..self }
    }
}

/// Variables that no [`Setting`] lists, because their names follow from the keys. They are weaker than those of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    /// There are none.
    None,
    /// This prefix and the key, for every key that has a scalar in the file: `PREFIX_LOG_LEVEL`.
    OfKeysInFile(&'static str),
    /// The key, for every key of the schema: `LOG_LEVEL`.
    OfEveryKey,
}

/// How the keys of one file are set from outside of it.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The keys that have a flag or variables of their own.
    pub settings: &'static [Setting],
    /// Further variables.
    pub derived: Derived,
    /// How strictly the file's scalars are taken.
    pub typing: Typing,
}

impl Table {
    /// Whether a flag or a variable of its own sets this key.
    #[must_use]
    pub fn sets(&self, key: &str, environment: &Environment, flags: &Flags) -> bool {
        self.settings.iter().filter(|setting| setting.key == key).any(|setting| {
            setting.flag.is_some_and(|flag| flags.contains_key(flag)) || variable(setting, environment).is_some()
        })
    }
}

/// What names a configuration file: a flag, else a variable.
#[derive(Debug, Clone, Copy)]
pub struct FileName {
    /// The flag's long name.
    pub flag: &'static str,
    /// The flag's short name.
    pub short: char,
    /// The variable.
    pub variable: &'static str,
}

impl FileName {
    /// The file; an empty name is none.
    #[must_use]
    pub fn resolve(&self, flag: Option<&str>, environment: &Environment) -> Option<PathBuf> {
        let variable = environment.get(self.variable).map(String::as_str);
        flag.filter(|path| !path.is_empty()).or(variable.filter(|path| !path.is_empty())).map(PathBuf::from)
    }
}

/// Where the value of a key came from; a later source wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// The file.
    File,
    /// An environment variable.
    Environment,
    /// The command line.
    Flag,
}

/// A value from outside of the file.
struct Given {
    key: Path,
    text: String,
    origin: Origin,
}

/// The variable or flag that a value came from.
#[derive(Debug, Clone)]
struct Origin {
    source: Source,
    name: String,
}

impl Origin {
    /// A diagnostic about what the variable or flag sets.
    fn diagnostic(&self, severity: Severity, key: &Path, message: &str, help: Option<String>) -> Diagnostic {
        let file = if self.source == Source::Flag { "command line" } else { "environment" };
        Diagnostic::outside(file, &self.name, format!("{key} {message}"), help).as_severity(severity)
    }
}

/// A merged configuration.
#[derive(Debug)]
pub struct Settings {
    document: Document,
    values: Value,
    origins: BTreeMap<Path, Origin>,
}

impl Settings {
    /// Merges a document with the environment and the flags.
    pub fn merge(
        table: &Table,
        schema: &Value,
        document: Document,
        environment: &Environment,
        flags: &Flags,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut given = derived(table.derived, schema, &document, environment);
        given.extend(listed(table.settings, environment, flags));
        // The last one of a key is the one that counts.
        let origins: BTreeMap<_, _> = given.iter().map(|given| (given.key.clone(), given.origin.clone())).collect();
        let supplied: BTreeSet<_> = origins.keys().map(Path::to_string).collect();
        let mut values = normalize(&document, schema, table.typing, &supplied, diagnostics);
        for Given { key, text, origin } in given {
            match coerce(schema, &key, &text) {
                Ok(converted) => insert(&mut values, &key, converted),
                Err(message) => diagnostics.push(origin.diagnostic(Severity::Error, &key, &message, None)),
            }
        }
        Self { document, values, origins }
    }

    /// The merged value as a type. `None` only if the type refuses what its schema allows, which is reported.
    pub fn decode<T: DeserializeOwned>(&self, diagnostics: &mut Diagnostics) -> Option<T> {
        match serde_json::from_value(self.values.clone()) {
            Ok(decoded) => Some(decoded),
            Err(error) => {
                diagnostics.push(self.diagnostic(Severity::Error, &Path::root(), error.to_string(), None));
                None
            }
        }
    }

    /// The merged value.
    #[must_use]
    pub fn values(&self) -> &Value {
        &self.values
    }

    /// Where the value of a key came from.
    #[must_use]
    pub fn source(&self, key: &Path) -> Source {
        let in_file = || if self.document.node(key).is_some() { Source::File } else { Source::Default };
        self.origins.get(key).map_or_else(in_file, |origin| origin.source)
    }

    /// A diagnostic about a key, at the line, the variable or the flag that its value came from.
    #[must_use]
    pub fn diagnostic(&self, severity: Severity, key: &Path, message: String, help: Option<String>) -> Diagnostic {
        match self.origins.get(key) {
            None => self.document.diagnostic(severity, key, message, help),
            Some(origin) => origin.diagnostic(severity, key, &message, help),
        }
    }
}

fn set<'e>(environment: &'e Environment, name: &str) -> Option<&'e String> {
    environment.get(name).filter(|text| !text.is_empty())
}

fn variable<'e>(setting: &Setting, environment: &'e Environment) -> Option<(&'static str, &'e String)> {
    setting.variables.iter().find_map(|name| Some((*name, set(environment, name)?)))
}

fn derived(derived: Derived, schema: &Value, document: &Document, environment: &Environment) -> Vec<Given> {
    let (prefix, keys) = match derived {
        Derived::None => return Vec::new(),
        Derived::OfKeysInFile(prefix) => (prefix, scalars(&document.root().to_value())),
        Derived::OfEveryKey => ("", tables::leaves(schema)),
    };
    let given = keys.into_iter().filter_map(|key| {
        let words = key.to_uppercase().replace(['.', '-'], "_");
        let name = if prefix.is_empty() { words } else { format!("{prefix}_{words}") };
        let text = set(environment, &name)?.clone();
        Some(Given { key: Path::of_keys(&key), text, origin: Origin { source: Source::Environment, name } })
    });
    given.collect()
}

/// What the table's variables set, then what its flags set.
fn listed(settings: &[Setting], environment: &Environment, flags: &Flags) -> Vec<Given> {
    let variables = settings.iter().filter_map(|setting| {
        let (name, text) = variable(setting, environment)?;
        let text = if setting.lower_case { text.to_lowercase() } else { text.clone() };
        Some((setting, text, Origin { source: Source::Environment, name: name.to_owned() }))
    });
    let flags = settings.iter().filter_map(|setting| {
        let flag = setting.flag?;
        Some((setting, flags.get(flag)?.clone(), Origin { source: Source::Flag, name: format!("--{flag}") }))
    });
    variables
        .chain(flags)
        .map(|(setting, text, origin)| Given { key: Path::of_keys(setting.key), text, origin })
        .collect()
}

/// Sets the value of a key, making the mappings around it.
fn insert(value: &mut Value, key: &Path, converted: Value) {
    let mut place = value;
    for segment in key.segments() {
        let Segment::Key(key) = segment else { return };
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[key.as_str()];
    }
    *place = converted;
}

fn scalars(value: &Value) -> Vec<String> {
    let Value::Object(object) = value else { return Vec::new() };
    let mut keys = Vec::new();
    for (key, value) in object {
        match value {
            Value::Object(_) => keys.extend(scalars(value).into_iter().map(|below| format!("{key}.{below}"))),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => keys.push(key.clone()),
            Value::Null | Value::Array(_) => {}
        }
    }
    keys
}

#[cfg(test)]
mod tests;
