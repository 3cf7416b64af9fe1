//! Defaults and rules of keys, with each diagnostic where the value came from.
//!
//! In: what the merged [`Settings`] hold at a key, as the program's type has it. Out: what the program runs with; the default
//! where there is no value, or one that was reported.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Settings, Source};
use crate::address;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::document::Path;
use crate::duration::{Units, parse_nanoseconds};

/// Reports on keys.
#[derive(Debug)]
pub struct Resolver<'r> {
    settings: &'r Settings,
    diagnostics: &'r mut Diagnostics,
}

impl<'r> Resolver<'r> {
    /// Reports on the keys of these settings.
    pub fn new(settings: &'r Settings, diagnostics: &'r mut Diagnostics) -> Self {
        Self { settings, diagnostics }
    }

    /// Reports on a key.
    pub fn report<'h>(
        &mut self,
        severity: Severity,
        key: impl Into<Path>,
        message: impl Into<String>,
        help: impl Into<Option<&'h str>>,
    ) {
        let help = help.into().map(str::to_owned);
        self.diagnostics.push(self.settings.diagnostic(severity, &key.into(), message.into(), help));
    }

    /// Refuses the value of a key.
    pub fn error<'h>(&mut self, key: impl Into<Path>, message: impl Into<String>, help: impl Into<Option<&'h str>>) {
        self.report(Severity::Error, key, message, help);
    }

    /// Warns of the value of a key.
    pub fn warn<'h>(&mut self, key: impl Into<Path>, message: impl Into<String>, help: impl Into<Option<&'h str>>) {
        self.report(Severity::Warning, key, message, help);
    }

    /// Warns of a value that may hold a password: the line is not quoted.
    pub fn warn_of_secret(&mut self, key: &str, message: impl Into<String>, help: &str) {
        let help = Some(help.to_owned());
        let diagnostic = self.settings.diagnostic(Severity::Warning, &key.into(), message.into(), help);
        self.diagnostics.push(Diagnostic { snippet: None, ..diagnostic });
    }

    /// Whether something was reported at a key of the file.
    #[must_use]
    pub fn is_reported(&self, key: &Path) -> bool {
        let key = key.to_string();
        self.diagnostics.all().iter().any(|diagnostic| diagnostic.path == key)
    }

    /// Where the value of a key came from.
    #[must_use]
    pub fn source(&self, key: impl Into<Path>) -> Source {
        self.settings.source(&key.into())
    }

    /// A duration, which must be above zero. Text that is no duration was reported when it was read.
    pub fn duration(&mut self, key: impl Into<Path>, text: Option<&str>, default: Duration) -> Duration {
        let key = key.into();
        let Some(nanoseconds) = text.and_then(|text| parse_nanoseconds(text, Units::Go).ok()) else { return default };
        match u64::try_from(nanoseconds) {
            Ok(nanoseconds @ 1..) => Duration::from_nanos(nanoseconds),
            Ok(0) | Err(_) => {
                if !self.is_reported(&key) {
                    self.error(key, "must be above zero", "write a duration such as 30s");
                }
                default
            }
        }
    }

    /// The address of a listener, if there is one.
    pub fn listen(&mut self, key: impl Into<Path>, text: Option<&str>) -> Option<SocketAddr> {
        let text = text.filter(|text| !text.is_empty())?;
        let address = address::parse(text);
        if address.is_none() {
            let message = format!("\"{text}\" is not an address to listen at");
            self.error(key, message, "write `:8080` or `127.0.0.1:8080`");
        }
        address
    }

    /// One of a few words, exactly as it is written here; no text is the default.
    pub fn choice<T: Copy>(
        &mut self,
        key: impl Into<Path>,
        text: Option<&str>,
        choices: &[(&str, T)],
        default: T,
    ) -> T {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return default };
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) {
            return *choice;
        }
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        self.error(key, format!("\"{text}\" is invalid (allowed: {})", words.join(", ")), None);
        default
    }

    /// A number within bounds.
    pub fn within<T: Copy + PartialOrd + Display>(
        &mut self,
        key: impl Into<Path>,
        given: Option<T>,
        default: T,
        range: &RangeInclusive<T>,
    ) -> T {
        let Some(given) = given else { return default };
        if range.contains(&given) {
            return given;
        }
        let (least, most) = (range.start(), range.end());
        let help = format!("write a number from {least} to {most}");
        self.error(key, format!("must be between {least} and {most}, but is {given}"), help.as_str());
        default
    }
}
