//! From the file as written to what the process runs with: defaults, units, rules.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use lifecycle_config::address;
use lifecycle_config::diagnostics::{Diagnostics, Severity};
use lifecycle_config::document::{Document, Path};
use lifecycle_config::duration;
use lifecycle_service::logging::{Format, LogSettings, Output};
use tracing::level_filters::LevelFilter;

use super::spec::{ExporterSpec, LogSpec};
use super::{Config, DetailsConfig, Environment, Overrides, SETTINGS, StuckAccess};

mod database;
mod kinds;

use database::database;
use kinds::kinds;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
/// The bounds of the age histogram, in seconds: from a resource that was just changed to one that was forgotten last week.
pub const AGE_BUCKETS: [f64; 10] = [60.0, 300.0, 600.0, 1800.0, 3600.0, 10800.0, 21600.0, 43200.0, 86400.0, 604_800.0];
const MAX_RESOURCES: u32 = 10_000;
/// Beyond this, nothing protects the database from a scrape; PostgreSQL itself ends at 24 days.
const LONGEST_SCRAPE: Duration = Duration::from_secs(3600);

/// Where a value comes from; a later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    File,
    Environment,
    Flag,
}

struct Settler<'s> {
    document: &'s Document,
    environment: &'s Environment,
    overrides: &'s Overrides,
    diagnostics: &'s mut Diagnostics,
}

impl Settler<'_> {
    fn error(&mut self, path: &Path, message: impl Into<String>, help: &str) {
        self.report(Severity::Error, path, message.into(), help);
    }

    fn report(&mut self, severity: Severity, path: &Path, message: String, help: &str) {
        let mut mistake = self.document.diagnostic(severity, path, message, Some(help.to_owned()));
        // A value that does not stand in the file has no place in it.
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == path.to_string()) {
            let outside = match self.origin(setting.key) {
                Origin::File => None,
                Origin::Environment => Some(setting.variable.to_owned()),
                Origin::Flag => Some(format!("--{}", setting.flag)),
            };
            if let Some(outside) = outside {
                (mistake.file, mistake.line, mistake.column, mistake.snippet) = (outside, None, None, None);
            }
        }
        self.diagnostics.push(mistake);
    }

    /// Where the value of a key comes from, if it has one.
    fn origin(&self, key: &str) -> Origin {
        let is_set = |variable: &str| self.environment.get(variable).is_some_and(|value| !value.is_empty());
        match SETTINGS.iter().find(|setting| setting.key == key) {
            Some(setting) if self.overrides.contains_key(setting.key) => Origin::Flag,
            Some(setting) if is_set(setting.variable) => Origin::Environment,
            Some(_) | None => Origin::File,
        }
    }

    /// A duration above zero. Text that is none was reported when it was read.
    fn duration(&mut self, path: &Path, text: Option<&str>, default: Duration) -> Duration {
        let Some(given) = text.and_then(|text| duration::parse(text, duration::Units::Go).ok()) else { return default };
        if given.is_zero() {
            self.error(path, "must be above zero", "write a duration such as 10m");
            return default;
        }
        given
    }

    fn listen(&mut self, path: &Path, text: Option<&str>, port: u16) -> SocketAddr {
        let default = address::all_interfaces(port);
        let Some(text) = text.filter(|text| !text.is_empty()) else { return default };
        address::parse(text).unwrap_or_else(|| {
            self.error(path, format!("\"{text}\" is not an address to listen at"), "write `:8080` or `127.0.0.1:8080`");
            default
        })
    }

    fn choice<T: Copy>(&mut self, path: &Path, text: Option<&str>, choices: &[(&str, T)], default: T) -> T {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return default };
        if let Some((_, choice)) = choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            return *choice;
        }
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        self.error(path, format!("\"{text}\" is none of the choices"), &format!("write one of {}", names.join(", ")));
        default
    }

    fn within(&mut self, path: &Path, given: Option<u32>, default: u32, range: RangeInclusive<u32>) -> u32 {
        match given {
            Some(given) if !range.contains(&given) => {
                let help = format!("write a number from {} to {}", range.start(), range.end());
                self.error(path, format!("is {given}"), &help);
                default
            }
            Some(given) => given,
            None => default,
        }
    }
}

/// Checks the rules that types cannot express, and fills in the defaults.
pub(super) fn settle(
    spec: &ExporterSpec,
    document: &Document,
    environment: &Environment,
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Option<Config> {
    let s = &mut Settler { document, environment, overrides, diagnostics };
    let key = Path::of_keys;
    let stuck_after = s.duration(
        &key("metrics.reconciliation_stuck_threshold"),
        spec.metrics.reconciliation_stuck_threshold.as_deref(),
        10 * MINUTE,
    );
    let token_file = spec.stuck.token_file.as_ref().filter(|file| !file.is_empty());
    let stuck_access = match (token_file, spec.stuck.anonymous) {
        (Some(_), true) => {
            s.error(&key("stuck.anonymous"), "contradicts stuck.token_file", "keep one of the two");
            StuckAccess::Off
        }
        (Some(file), false) => StuckAccess::Token(PathBuf::from(file)),
        (None, true) => StuckAccess::Anonymous,
        (None, false) => StuckAccess::Off,
    };
    let log = log(s, &spec.log);
    let kinds = kinds(s, spec, stuck_after);
    let (health, metrics, details) = (&spec.health, &spec.metrics, &spec.details);
    let health_listen = s.listen(&key("health.listen"), health.listen.as_deref(), 8080);
    let metrics_listen = s.listen(&key("metrics.listen"), metrics.listen.as_deref(), 9090);
    let scrape_timeout = s.duration(&key("metrics.scrape_timeout"), metrics.scrape_timeout.as_deref(), 8 * SECOND);
    if scrape_timeout > LONGEST_SCRAPE {
        s.error(&key("metrics.scrape_timeout"), "is longer than an hour", "write a duration such as 8s");
    }
    let details = DetailsConfig {
        interval: s.duration(&key("details.interval"), details.interval.as_deref(), 2 * MINUTE),
        max_resources: s.within(&key("details.max_resources"), details.max_resources, 2000, 1..=MAX_RESOURCES),
    };
    if details.interval < SECOND {
        s.error(&key("details.interval"), "is too short", "write at least 1s");
    }
    // Last, as there is nothing to go on with where it fails.
    let database = database(s, &spec.database, scrape_timeout)?;
    Some(Config { log, database, health_listen, metrics_listen, scrape_timeout, details, stuck_access, kinds })
}

fn log(s: &mut Settler<'_>, spec: &LogSpec) -> LogSettings {
    let levels = [
        ("debug", LevelFilter::DEBUG),
        ("info", LevelFilter::INFO),
        ("warn", LevelFilter::WARN),
        ("error", LevelFilter::ERROR),
    ];
    let formats = [("json", Format::Json), ("text", Format::Text)];
    let outputs = [("stdout", Output::Stdout), ("stderr", Output::Stderr)];
    LogSettings {
        level: s.choice(&Path::of_keys("log.level"), spec.level.as_deref(), &levels, LevelFilter::INFO),
        format: s.choice(&Path::of_keys("log.format"), spec.format.as_deref(), &formats, Format::Json),
        output: s.choice(&Path::of_keys("log.output"), spec.output.as_deref(), &outputs, Output::Stderr),
    }
}
