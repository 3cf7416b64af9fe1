//! Applies defaults and rules to keys, and reports each diagnostic at the source of the value.
//!
//! In: the text or number of a key, from the program's decoded settings. Out: the value that the program
//! uses. Fails: with a diagnostic, and returns the default for a missing or invalid value.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Settings, Source};
use crate::address;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::document::Path;
use crate::duration::{Units, parse_nanoseconds};

/// Resolves the values of keys, and reports invalid ones.
#[derive(Debug)]
pub struct Resolver<'r> {
    settings: &'r Settings,
    diagnostics: &'r mut Diagnostics,
}

impl<'r> Resolver<'r> {
    /// Resolves the keys of `settings`, and adds diagnostics to `diagnostics`.
    pub fn new(settings: &'r Settings, diagnostics: &'r mut Diagnostics) -> Self {
        Self { settings, diagnostics }
    }

    /// Reports a diagnostic about a key.
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

    /// Reports an error about a key.
    pub fn error<'h>(&mut self, key: impl Into<Path>, message: impl Into<String>, help: impl Into<Option<&'h str>>) {
        self.report(Severity::Error, key, message, help);
    }

    /// Reports a warning about a key.
    pub fn warn<'h>(&mut self, key: impl Into<Path>, message: impl Into<String>, help: impl Into<Option<&'h str>>) {
        self.report(Severity::Warning, key, message, help);
    }

    /// Reports a diagnostic about a value that may hold a password, without quoting its line.
    pub fn report_of_secret(&mut self, severity: Severity, key: &str, message: impl Into<String>, help: &str) {
        let help = Some(help.to_owned());
        let diagnostic = self.settings.diagnostic(severity, &key.into(), message.into(), help);
        self.diagnostics.push(Diagnostic { snippet: None, ..diagnostic });
    }

    /// Whether the file has a diagnostic about this key.
    #[must_use]
    pub fn is_reported(&self, key: &Path) -> bool {
        let key = key.to_string();
        self.diagnostics.all().iter().any(|diagnostic| diagnostic.path == key)
    }

    /// The source of a key's value.
    #[must_use]
    pub fn source(&self, key: impl Into<Path>) -> Source {
        self.settings.source(&key.into())
    }

    /// The environment variable that overrides what the file says about a key with a scalar value, and that text.
    #[must_use]
    pub fn overridden(&self, key: &str) -> Option<(&str, &str)> {
        self.settings.overridden(&key.into())
    }

    /// Resolves a duration above zero. Decoding has already reported text that is not a duration.
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

    /// Resolves a listen address; `None` if there is no text, or the text is reported as invalid.
    pub fn listen(&mut self, key: impl Into<Path>, text: Option<&str>) -> Option<SocketAddr> {
        let text = text.filter(|text| !text.is_empty())?;
        let address = address::parse(text);
        if address.is_none() {
            let message = format!("\"{text}\" is not an address to listen at");
            self.error(key, message, "write `:8080` or `127.0.0.1:8080`");
        }
        address
    }

    /// Resolves one of the words in `choices`, case-sensitively; an empty text means the default.
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

    /// Resolves a number within `range`.
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
