//! Scalars with their type and value, as the Go adapter's YAML libraries read them.
//!
//! This module applies quotes and tags; [`plain`] resolves unquoted text. In a configuration file, `yes` and
//! `on` are text, except where the schema requires a boolean ([`Scalar::as_bool`]).

use serde_json::{Number, Value};

use super::plain::{self, Dialect, NoCounterpart, Plain};

/// The notation of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Unquoted: the text determines the type.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a `|` block, which keeps line breaks.
    Literal,
    /// As a `>` block, which folds lines.
    Folded,
}

/// A tag of YAML's core schema, which determines the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// `!!str`, or a tag outside of the core schema.
    Text,
    /// `!!null`: the scalar is null.
    Null,
    /// `!!bool`: the scalar is a boolean.
    Bool,
    /// `!!int`: the scalar is an integer.
    Int,
    /// `!!float`: the scalar is a float.
    Float,
}

/// A scalar: its text, notation and tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text, with escapes and folded lines resolved.
    pub text: String,
    /// The notation in which the file writes the scalar.
    pub style: Style,
    /// The tag, if one is written before the scalar.
    pub tag: Option<Tag>,
}

impl Scalar {
    /// Returns the JSON value in a configuration file, for a key whose schema has no type.
    #[must_use]
    pub fn to_value(&self) -> Value {
        if self.is_plain() {
            return plain::file_value(&self.text).unwrap_or_else(|| Value::String(self.text.clone()));
        }
        self.tagged()
    }

    /// Returns the JSON value in a manifest.
    ///
    /// # Errors
    /// JSON cannot represent the number.
    pub fn to_manifest(&self) -> Result<Value, NoCounterpart> {
        if self.is_plain() { plain::manifest_value(&self.text) } else { Ok(self.tagged()) }
    }

    /// Returns the text of the scalar as a mapping's key.
    ///
    /// # Errors
    /// The key is null, or a number that JSON cannot represent.
    pub fn to_key(&self, dialect: Dialect) -> Result<String, NoCounterpart> {
        if self.is_plain() { plain::key(&self.text, dialect) } else { Ok(self.text.clone()) }
    }

    /// Whether the text alone determines the type: no quotes, no block, no tag.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.tag.is_none() && self.style == Style::Plain
    }

    /// The value of a quoted, block or tagged scalar.
    fn tagged(&self) -> Value {
        let text = || Value::String(self.text.clone());
        match self.tag {
            None | Some(Tag::Text) => text(),
            Some(Tag::Null) => Value::Null,
            Some(Tag::Bool) => self.as_bool().map_or_else(text, Value::Bool),
            Some(Tag::Int) => match plain::number(&self.text) {
                Some(Plain::Integer(integer)) => Value::from(integer),
                Some(_) | None => text(),
            },
            Some(Tag::Float) => {
                let number = self.text.parse().ok().and_then(Number::from_f64);
                number.map_or_else(text, Value::Number)
            }
        }
    }

    /// Reads the scalar as a boolean, for a key of that type; accepts `yes`, `on`, `y` and their opposites.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if self.tag == Some(Tag::Text) || (self.tag.is_none() && self.style != Style::Plain) {
            return None;
        }
        match self.text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "on" => Some(true),
            "false" | "no" | "n" | "off" => Some(false),
            _ => None,
        }
    }

    /// Whether the scalar is an unquoted `.inf` or `.nan`, for which JSON has no number.
    #[must_use]
    pub fn is_not_finite(&self) -> bool {
        self.is_plain() && plain::is_not_finite(&self.text)
    }
}
