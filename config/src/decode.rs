//! Decodes a YAML document into a typed value, and reports every mistake in it.
//!
//! In: a [`Document`] and a type with a JSON Schema. Out: a value of the type. Fails: with diagnostics. The
//! schema generated from the type is the only source of its keys, types and required fields: it is published
//! to authors, and this module checks documents against it. After reporting a mistake, the module continues
//! with a placeholder value, so that one run reports the mistakes of the whole file.
//!
//! Keys that are required only beside, or only without, another key are listed below `if`, `then` and `else`. Other
//! rules, such as "exactly one of two keys", are checked by the code that compiles the typed value.

mod schema;
mod text;
mod walk;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::text::{Typing, coerce, property, suggest};
pub use self::walk::without_zeros;
use crate::diagnostics::{Diagnostics, Severity};
use crate::document::{Document, Path};

/// Schema extension of a mapping: unknown keys in the mapping, and below, are warnings instead of errors.
pub const LENIENT: &str = "x-lenient";
/// Schema extension of a key: the help for a missing value. A key with this extension must not be empty even
/// if it is optional: an empty `retention:` must not be read as "no retention".
pub const CURE: &str = "x-cure";
/// The schema `format` of a text that must be a duration in Go's notation.
pub const DURATION: &str = "go-duration";

/// Generates the JSON Schema (draft 2020-12) of a configuration type.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// Decodes a document into a `T`, and adds its mistakes to `diagnostics`.
///
/// Returns `None` only if `T` refuses the document even with placeholders in the place of invalid values.
pub fn decode<T: JsonSchema + DeserializeOwned>(
    document: &Document,
    typing: Typing,
    diagnostics: &mut Diagnostics,
) -> Option<T> {
    let value = normalize(document, &schema_of::<T>(), typing, &BTreeSet::new(), diagnostics);
    match serde_json::from_value(value) {
        Ok(decoded) => Some(decoded),
        Err(error) => {
            let diagnostic = document.diagnostic(Severity::Error, &Path::root(), error.to_string(), None);
            diagnostics.push(diagnostic);
            None
        }
    }
}

/// Checks a document against a schema. Returns its known keys, with values of the right types.
///
/// `supplied` has the paths of required keys that may be missing in the document, because a flag or a
/// variable sets them.
pub fn normalize(
    document: &Document,
    schema: &Value,
    typing: Typing,
    supplied: &BTreeSet<String>,
    diagnostics: &mut Diagnostics,
) -> Value {
    diagnostics.extend(document.notes().clone());
    walk::Walker { document, schema, typing, supplied, diagnostics }.root()
}

#[cfg(test)]
mod tests;
