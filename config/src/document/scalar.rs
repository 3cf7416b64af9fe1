//! Scalars, read as the Go adapter's YAML libraries read them.
//!
//! Quotes and tags decide here; what plain text means is decided by [`plain`] alone. `yes` and `on` in a file
//! are text, except where a boolean is wanted ([`Scalar::as_bool`]).

use serde_json::{Number, Value};

use super::plain::{self, Dialect, NoCounterpart, Plain};

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: its text decides its type.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a `|` block.
    Literal,
    /// As a `>` block.
    Folded,
}

/// A tag of YAML's own that forces a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// `!!str`, and every tag that is not YAML's own.
    Text,
    /// `!!null`.
    Null,
    /// `!!bool`.
    Bool,
    /// `!!int`.
    Int,
    /// `!!float`.
    Float,
}

/// A scalar: its text, and what decides its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text, after the processing of escapes and folding.
    pub text: String,
    /// How it was written.
    pub style: Style,
    /// The tag before it.
    pub tag: Option<Tag>,
}

impl Scalar {
    /// The value that the text of a configuration file stands for where no type is asked for.
    #[must_use]
    pub fn to_value(&self) -> Value {
        if self.is_plain() {
            return plain::file_value(&self.text).unwrap_or_else(|| Value::String(self.text.clone()));
        }
        self.tagged()
    }

    /// The value that the text of a manifest stands for.
    ///
    /// # Errors
    /// It is a number that JSON cannot carry.
    pub fn to_manifest(&self) -> Result<Value, NoCounterpart> {
        if self.is_plain() { plain::manifest_value(&self.text) } else { Ok(self.tagged()) }
    }

    /// The text that the scalar is as the key of a mapping whose keys are text.
    ///
    /// # Errors
    /// It is null, or a number that JSON cannot carry.
    pub fn to_key(&self, dialect: Dialect) -> Result<String, NoCounterpart> {
        if self.is_plain() { plain::key(&self.text, dialect) } else { Ok(self.text.clone()) }
    }

    /// Whether the text alone decides the type.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.tag.is_none() && self.style == Style::Plain
    }

    /// The value of a scalar with quotes, or with a tag.
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

    /// The boolean that it stands for where one is wanted; `yes`, `on`, `y` and their opposites count.
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

    /// Whether it is `.inf` or `.nan`, which JSON has no number for.
    #[must_use]
    pub fn is_not_finite(&self) -> bool {
        self.is_plain() && plain::is_not_finite(&self.text)
    }
}
