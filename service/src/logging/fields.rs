//! Collects the fields of spans and events, for either layout.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use lifecycle_errors::Chain;
use tracing::field::{Field, Visit};

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldValue {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

/// Named values in the order of their first appearance. A second value of a name replaces the first.
#[derive(Debug, Clone, Default)]
pub(super) struct FieldSet(Vec<(Cow<'static, str>, FieldValue)>);

impl FieldSet {
    pub(super) fn set(&mut self, name: Cow<'static, str>, value: FieldValue) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }
}

/// The fields that a span adds to log lines: its own and its ancestors'.
///
/// Shared with the parent until a field is added (copy on write), because most spans add none.
#[derive(Debug, Clone, Default)]
pub(super) struct SpanFields(Arc<FieldSet>);

impl SpanFields {
    pub(super) fn set(&mut self, name: Cow<'static, str>, value: FieldValue) {
        Arc::make_mut(&mut self.0).set(name, value);
    }

    pub(super) fn fields(&self) -> &FieldSet {
        &self.0
    }
}

/// Collects the message and the fields of an event.
#[derive(Debug, Default)]
pub(super) struct EntryVisitor {
    pub(super) message: String,
    pub(super) fields: FieldSet,
}

impl EntryVisitor {
    fn set(&mut self, field: &Field, value: FieldValue) {
        match (field.name(), value) {
            ("message", FieldValue::Text(text)) => self.message = text,
            // Events of the `log` crate have their metadata as fields with this prefix; they are left out.
            (name, _) if name.starts_with("log.") => {}
            (name, value) => self.fields.set(Cow::Borrowed(name), value),
        }
    }
}

/// Collects the fields that a span adds to log lines.
pub(super) struct SpanVisitor<'a>(pub(super) &'a mut SpanFields);

impl SpanVisitor<'_> {
    fn set(&mut self, field: &Field, value: FieldValue) {
        if !field.name().contains('.') {
            self.0.set(Cow::Borrowed(field.name()), value);
        }
    }
}

macro_rules! visit {
    ($visitor:ty) => {
        impl Visit for $visitor {
            fn record_f64(&mut self, field: &Field, value: f64) {
                self.set(field, FieldValue::Float(value));
            }

            fn record_i64(&mut self, field: &Field, value: i64) {
                self.set(field, FieldValue::Signed(value));
            }

            fn record_u64(&mut self, field: &Field, value: u64) {
                self.set(field, FieldValue::Unsigned(value));
            }

            fn record_bool(&mut self, field: &Field, value: bool) {
                self.set(field, FieldValue::Bool(value));
            }

            fn record_str(&mut self, field: &Field, value: &str) {
                self.set(field, FieldValue::Text(value.to_owned()));
            }

            fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
                self.set(field, FieldValue::Text(Chain(value).to_string()));
            }

            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                self.set(field, FieldValue::Text(format!("{value:?}")));
            }
        }
    };
}

visit!(EntryVisitor);
visit!(SpanVisitor<'_>);
