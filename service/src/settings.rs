//! The configuration keys that every program has: `log`, `health.listen` and `metrics.listen`.
//!
//! In: the keys as written. Out: values with defaults. Fails: with diagnostics of the [`Resolver`]. A program
//! puts the types into its own file's type, and so gets the keys' descriptions in its schema as well.

use std::net::SocketAddr;
use std::path::PathBuf;

use lifecycle_config::address;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::document::Path as Place;
use lifecycle_config::settings::Resolver;
use schemars::JsonSchema;
use serde::Deserialize;
use tracing::metadata::LevelFilter;

use crate::access::Access;
use crate::logging::{Format, LogSettings, Output};

/// A duration in Go's notation, such as `1h30m`; the schema's `format` checks it.
pub type DurationText = String;

/// Level, format and output of the log.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    /// debug, info, warn or error; info by default.
    pub level: Option<String>,
    /// json or text; json by default.
    pub format: Option<String>,
    /// stdout or stderr; the adapter's default is stdout, that of other programs is stderr, as their commands print on standard output.
    pub output: Option<String>,
}

/// The server of health probes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthSpec {
    /// The address to listen on, such as `127.0.0.1:8080`; `:8080` by default, on all interfaces.
    pub listen: Option<String>,
}

/// The server of Prometheus metrics.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSpec {
    /// The address to listen on, such as `127.0.0.1:9090`; `:9090` by default, on all interfaces.
    pub listen: Option<String>,
}

/// Resolves `log`. Upper case counts as lower case. Only the default of `log.output` differs between programs.
///
/// An unknown level is a warning, as in the Go adapter: it must not keep a program from starting.
#[must_use]
pub fn log(r: &mut Resolver<'_>, spec: &LogSpec, default_output: Output) -> LogSettings {
    log_at(r, "log", spec, default_output)
}

/// Resolves the log's section of another name.
#[must_use]
pub fn log_at(r: &mut Resolver<'_>, section: &str, spec: &LogSpec, default_output: Output) -> LogSettings {
    let key = |name: &str| Place::of_keys(section).key(name);
    let lower = |text: &Option<String>| text.as_deref().unwrap_or_default().to_lowercase();
    let level = match lower(&spec.level).as_str() {
        "debug" => LevelFilter::DEBUG,
        "" | "info" => LevelFilter::INFO,
        "warn" | "warning" => LevelFilter::WARN,
        "error" => LevelFilter::ERROR,
        other => {
            let message = format!("\"{other}\" is unknown and is taken as info");
            r.warn(key("level"), message, "write debug, info, warn or error");
            LevelFilter::INFO
        }
    };
    let formats = [("json", Format::Json), ("text", Format::Text)];
    let outputs = [("stdout", Output::Stdout), ("stderr", Output::Stderr)];
    let format = r.choice(key("format"), Some(&lower(&spec.format)), &formats, Format::Json);
    let output = r.choice(key("output"), Some(&lower(&spec.output)), &outputs, default_output);
    LogSettings { level, format, output }
}

/// Resolves `health.listen`.
#[must_use]
pub fn health_listen(r: &mut Resolver<'_>, listen: Option<&str>) -> SocketAddr {
    r.listen("health.listen", listen).unwrap_or(address::all_interfaces(8080))
}

/// Resolves `metrics.listen`.
#[must_use]
pub fn metrics_listen(r: &mut Resolver<'_>, listen: Option<&str>) -> SocketAddr {
    r.listen("metrics.listen", listen).unwrap_or(address::all_interfaces(9090))
}

/// Resolves who may read a page, from the keys `token_file` and `anonymous` of the page's section.
#[must_use]
pub fn access(r: &mut Resolver<'_>, section: &str, token_file: Option<&str>, anonymous: bool) -> Access {
    match (token_file.filter(|file| !file.is_empty()), anonymous) {
        (Some(_), true) => {
            let key = Place::of_keys(section).key("anonymous");
            r.error(key, format!("contradicts {section}.token_file"), "keep one of the two");
            Access::Off
        }
        (Some(file), false) => Access::Token(PathBuf::from(file)),
        (None, true) => Access::Anonymous,
        (None, false) => Access::Off,
    }
}

/// Logs the warnings and notes of a configuration that loaded, because nobody ran `check` in the container.
pub fn log_diagnostics(diagnostics: &Diagnostics) {
    for Diagnostic { severity, file, path, line, message, .. } in diagnostics.all() {
        match severity {
            Severity::Error | Severity::Warning => tracing::warn!(file, line, "{path}: {message}"),
            Severity::Note => tracing::info!(file, line, "{path}: {message}"),
        }
    }
}
