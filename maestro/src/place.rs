//! Where a call on one work goes, and the errors that name it.

use std::fmt;

use lifecycle_objects::write::{WriteError, WriteErrorKind};

use crate::refusal::{Refusal, is_unknown_consumer};

/// A work's place: the parts that errors and events name.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) verb: &'static str,
    pub(crate) consumer: &'a str,
    pub(crate) name: &'a str,
}

impl Place<'_> {
    pub(crate) fn error(&self, kind: WriteErrorKind, message: impl Into<String>) -> WriteError {
        WriteError { kind, call: self.to_string(), status: None, message: message.into() }
    }

    pub(crate) fn refused(&self, refusal: Refusal) -> WriteError {
        let Refusal { kind, message, .. } = refusal;
        if kind == WriteErrorKind::NotFound && is_unknown_consumer(&message) {
            return self.error(kind, format!("consumer \"{}\" is not registered in Maestro", self.consumer));
        }
        self.error(kind, message)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ManifestWork {}/{}", self.verb, self.consumer, self.name)
    }
}
