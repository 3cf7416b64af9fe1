//! Merges a configuration file with its settings from outside: default, file, environment, flag; the later wins.
//!
//! In: a [`Table`] of the keys that flags and variables can set, the schema of the file, the document, the
//! environment, and the given flags. Out: [`Settings`], the merged value with the source of each key. Fails:
//! with a diagnostic that names the variable or flag whose text does not fit its key; the key then keeps the
//! value of the weaker source.
//!
//! The schema declares the keys, their types and their descriptions; [`tables`] generates the documentation
//! from the schema and the table. Each program applies its defaults and rules through a [`Resolver`], which
//! reports a diagnostic at the line, variable or flag that the value came from.

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
use crate::document::{Content, Document, Path, Segment};

/// The environment variables of the process, as a value.
pub type Environment = BTreeMap<String, String>;

/// The given flags that set keys or name files, by their long names.
pub type Flags = BTreeMap<&'static str, String>;

/// The argument of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// The flag takes a text: `--name value`.
    Text,
    /// A boolean: `--name`, `--name=true` or `--name=false`.
    Switch,
}

/// A key that a flag or variables can set.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key's path in the file.
    pub key: &'static str,
    /// The flag's long name, if it has a flag.
    pub flag: Option<&'static str>,
    /// The argument of the flag.
    pub takes: Takes,
    /// Environment variables; the first that is set and not empty is used.
    pub variables: &'static [&'static str],
    /// Whether the text of a variable is converted to lower case.
    pub lower_case: bool,
}

impl Setting {
    /// A key with a flag that takes text.
    #[must_use]
    pub const fn text(key: &'static str, flag: &'static str, variables: &'static [&'static str]) -> Self {
        Self { key, flag: Some(flag), takes: Takes::Text, variables, lower_case: false }
    }

    /// A key with a boolean flag.
    #[must_use]
    pub const fn switch(key: &'static str, flag: &'static str, variables: &'static [&'static str]) -> Self {
        Self { key, flag: Some(flag), takes: Takes::Switch, variables, lower_case: false }
    }

    /// A key without a flag.
    #[must_use]
    pub const fn variable(key: &'static str, variables: &'static [&'static str]) -> Self {
        Self { key, flag: None, takes: Takes::Text, variables, lower_case: false }
    }

    /// The same key, with the text of its variables converted to lower case.
    #[must_use]
    pub const fn lower_case(self) -> Self {
        Self { lower_case: true, ..self }
    }
}

/// Variables whose names are derived from keys. The variables that a [`Setting`] lists take precedence over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    /// The program derives no variables from keys.
    None,
    /// The prefix and the key, for each key with a scalar value in the file: `PREFIX_LOG_LEVEL`.
    OfKeysInFile(&'static str),
    /// The key itself, for each key of the schema: `LOG_LEVEL`.
    OfEveryKey,
}

/// The flags and variables that set the keys of one file.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The keys with flags or variables of their own.
    pub settings: &'static [Setting],
    /// Variables derived from the names of keys.
    pub derived: Derived,
    /// Which scalars of the file are accepted for a type.
    pub typing: Typing,
}

impl Table {
    /// Whether a flag or a listed variable sets this key.
    #[must_use]
    pub fn sets(&self, key: &str, environment: &Environment, flags: &Flags) -> bool {
        self.settings.iter().filter(|setting| setting.key == key).any(|setting| {
            setting.flag.is_some_and(|flag| flags.contains_key(flag)) || variable(setting, environment).is_some()
        })
    }
}

/// The flag and the variable that name a configuration file; the flag takes precedence.
#[derive(Debug, Clone, Copy)]
pub struct FileName {
    /// The long name of the flag, without its hyphens.
    pub flag: &'static str,
    /// The short name of the flag, without its hyphen.
    pub short: char,
    /// The name of the environment variable.
    pub variable: &'static str,
}

impl FileName {
    /// Returns the path of the file. An empty name counts as not set.
    #[must_use]
    pub fn resolve(&self, flags: &Flags, environment: &Environment) -> Option<PathBuf> {
        let flag = flags.get(self.flag).filter(|path| !path.is_empty());
        flag.or_else(|| set(environment, self.variable)).map(PathBuf::from)
    }
}

/// The source of a key's value; later variants take precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The value is the program's default.
    Default,
    /// The value is in the configuration file.
    File,
    /// The value comes from an environment variable.
    Environment,
    /// The value comes from a flag on the command line.
    Flag,
}

/// A value that a variable or a flag sets.
struct Given {
    key: Path,
    text: String,
    origin: Origin,
}

/// The variable or flag that set a value.
#[derive(Debug, Clone)]
struct Origin {
    source: Source,
    name: String,
}

impl Origin {
    /// Builds a diagnostic about the value of this variable or flag.
    fn diagnostic(&self, severity: Severity, key: &Path, message: &str, help: Option<String>) -> Diagnostic {
        let file = if self.source == Source::Flag { "command line" } else { "environment" };
        Diagnostic::outside(file, &self.name, format!("{key} {message}"), help).as_severity(severity)
    }
}

/// A merged configuration, with the source of each key.
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
        // Later entries overwrite earlier ones: flags come last, after listed and derived variables.
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

    /// Decodes the merged value. `None`, with a diagnostic, only if the type refuses what its schema allows.
    pub fn decode<T: DeserializeOwned>(&self, diagnostics: &mut Diagnostics) -> Option<T> {
        match serde_json::from_value(self.values.clone()) {
            Ok(decoded) => Some(decoded),
            Err(error) => {
                diagnostics.push(self.diagnostic(Severity::Error, &Path::root(), error.to_string(), None));
                None
            }
        }
    }

    /// Returns the configuration with all settings merged into the file's values.
    #[must_use]
    pub fn values(&self) -> &Value {
        &self.values
    }

    /// The source of a key's value.
    #[must_use]
    pub fn source(&self, key: &Path) -> Source {
        let in_file = || if self.document.node(key).is_some() { Source::File } else { Source::Default };
        self.origins.get(key).map_or_else(in_file, |origin| origin.source)
    }

    /// The environment variable that overrides what the file says about a key with a scalar value, and that text.
    #[must_use]
    pub fn overridden(&self, key: &Path) -> Option<(&str, &str)> {
        let origin = self.origins.get(key).filter(|origin| origin.source == Source::Environment)?;
        match &self.document.node(key)?.content {
            Content::Scalar(scalar) => Some((&origin.name, &scalar.text)),
            Content::List(_) | Content::Map(_) => None,
        }
    }

    /// Builds a diagnostic about a key, at the line, variable or flag that its value came from.
    #[must_use]
    pub fn diagnostic(&self, severity: Severity, key: &Path, message: String, help: Option<String>) -> Diagnostic {
        match self.origins.get(key) {
            None => self.document.diagnostic(severity, key, message, help),
            Some(origin) => origin.diagnostic(severity, key, &message, help),
        }
    }
}

/// Loads a configuration: merges the document with variables and flags, decodes it, and calls `resolve`, which
/// applies the program's defaults and rules. Returns warnings beside the configuration.
///
/// # Errors
/// Every diagnostic, if one of them is an error.
pub fn load<S: DeserializeOwned, C>(
    table: &Table,
    schema: &Value,
    document: Document,
    environment: &Environment,
    flags: &Flags,
    resolve: impl FnOnce(S, Resolver<'_>) -> Option<C>,
) -> Result<(C, Diagnostics), Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let settings = Settings::merge(table, schema, document, environment, flags, &mut diagnostics);
    let spec = settings.decode(&mut diagnostics);
    let config = spec.and_then(|spec| resolve(spec, Resolver::new(&settings, &mut diagnostics)));
    diagnostics.sort();
    match config {
        Some(config) if !diagnostics.has_errors() => Ok((config, diagnostics)),
        Some(_) | None => Err(diagnostics),
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

/// Collects the values of the table's variables, then those of its flags.
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

/// Sets the value of a key, and creates the mappings around it.
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
