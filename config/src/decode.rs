//! From a located document to a typed value, with every mistake in it.
//!
//! The JSON Schema that is generated from a type is the one source of its keys, types and required
//! fields: the same schema is published to authors and walked here. A mistake is reported and mended with
//! a placeholder, so that the rest of the file is checked in the same go.
//!
//! What a schema cannot say (exactly one of two keys, expressions that parse) is checked by whoever
//! compiles the typed value.

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

/// Marks an object schema in which unknown keys are warnings, in the object and below it.
pub const LENIENT: &str = "x-lenient";
/// Says of a key what to write where its value is missing. A key that has this and no value is an error, required or not:
/// an empty `retention:` must not count as no retention.
pub const CURE: &str = "x-cure";
/// The `format` of text that must be a duration in Go's notation.
pub const DURATION: &str = "go-duration";

/// The JSON Schema (draft 2020-12) of a configuration type.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// Reads a document as a `T`; what does not fit goes to `diagnostics`.
///
/// `None` only if not even placeholders make a `T` of it.
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

/// Checks a document against a schema, and leaves known keys only, each of the wanted type.
///
/// Required keys whose path is in `supplied` may be missing: their value comes from elsewhere.
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
