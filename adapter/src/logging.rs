//! Structured logs: one line per entry, flat keys.
//!
//! In: `tracing` events and the spans around them. Out: JSON or text lines on stdout or stderr, each with
//! one write. What can fail is the choice of format and output, at start-up; a line that cannot be written is
//! lost, because logging must never stop the work. It does not rotate, buffer or ship logs.
//!
//! Two rules decide what a line carries:
//!
//! * Fields of the enclosing spans are context and are repeated on each line, unless their name has a dot: dotted
//!   names (`http.request.method`) belong to traces. Names that only data can give (`cluster_id`) are added
//!   with [`attach`].
//! * Our own crates log at the configured level; libraries at `warn`, or `error` if that is configured.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io::Write as _;

use tracing::metadata::LevelFilter;
use tracing::{Metadata, Span, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::trace::Tracing;

mod fields;
mod layer;
mod line;

pub use layer::LogLayer;

use fields::{FieldValue, SpanFields};

/// The shape of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One JSON object.
    #[default]
    Json,
    /// `{timestamp} {LEVEL} [{component}] [{version}] [{hostname}] {message} k=v…`
    Text,
}

/// Where lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

/// What is logged, in which shape, to where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSettings {
    /// The most verbose level of our own entries.
    pub level: LevelFilter,
    /// The shape of a line.
    pub format: Format,
    /// Where lines go.
    pub output: Output,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { level: LevelFilter::INFO, format: Format::default(), output: Output::default() }
    }
}

/// A log setting that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogSettingsError {
    /// Neither `json` nor `text`.
    #[error("unknown log format `{0}`, expected `json` or `text`")]
    Format(String),
    /// Neither `stdout` nor `stderr`.
    #[error("unknown log output `{0}`, expected `stdout` or `stderr`")]
    Output(String),
}

impl LogSettings {
    /// Reads the three settings as a person writes them; empty text stands for the default.
    ///
    /// # Errors
    /// The format or the output is unknown. An unknown level is `info`: a typing mistake there must not
    /// keep the process from starting.
    pub fn parse(level: &str, format: &str, output: &str) -> Result<Self, LogSettingsError> {
        let level = match level.trim().to_ascii_lowercase().as_str() {
            "debug" => LevelFilter::DEBUG,
            "warn" | "warning" => LevelFilter::WARN,
            "error" => LevelFilter::ERROR,
            _ => LevelFilter::INFO,
        };
        let format = match format.trim().to_ascii_lowercase().as_str() {
            "json" | "" => Format::Json,
            "text" => Format::Text,
            _ => return Err(LogSettingsError::Format(format.to_owned())),
        };
        let output = match output.trim().to_ascii_lowercase().as_str() {
            "stdout" | "" => Output::Stdout,
            "stderr" => Output::Stderr,
            _ => return Err(LogSettingsError::Output(output.to_owned())),
        };
        Ok(Self { level, format, output })
    }
}

/// Who logs: on every line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The adapter's name, or the command's before a name is known.
    pub component: String,
    /// The binary's version.
    pub version: String,
    /// The host's name; see [`hostname`].
    pub hostname: String,
}

/// The host's name, else `POD_NAME`, else `unknown`.
#[must_use]
pub fn hostname() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    first_name([kernel, std::env::var("POD_NAME").unwrap_or_default()])
}

fn first_name(candidates: [String; 2]) -> String {
    candidates
        .iter()
        .map(|name| name.trim())
        .find(|name| !name.is_empty() && *name != "(none)")
        .unwrap_or("unknown")
        .to_owned()
}

/// Builds what `tracing` reports to: the log, and the exporter of traces if there is one.
///
/// It is not installed: `main` uses one for the time of loading the configuration and another one for good.
#[must_use]
pub fn subscriber(
    settings: LogSettings,
    identity: &Identity,
    tracing: Option<&Tracing>,
) -> impl Subscriber + Send + Sync + use<> {
    let log = LogLayer::new(settings.format, identity, writer(settings.output));
    with_layers(settings.level, log, tracing)
}

fn with_layers(
    level: LevelFilter,
    log: LogLayer,
    tracing: Option<&Tracing>,
) -> impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync + use<> {
    Registry::default().with(log.with_filter(log_filter(level))).with(tracing.map(Tracing::layer))
}

fn writer(output: Output) -> layer::Sink {
    // An entry is one call: lines of different threads cannot mix. Errors have nowhere to go.
    match output {
        Output::Stdout => Box::new(|line| drop(std::io::stdout().lock().write_all(line))),
        Output::Stderr => Box::new(|line| drop(std::io::stderr().lock().write_all(line))),
    }
}

/// Whether a span or an entry comes from this product rather than from a library.
pub(crate) fn is_ours(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    ["hyperfleet_adapter", "lifecycle_core"].iter().any(|name| target.starts_with(name))
}

fn log_filter(level: LevelFilter) -> FilterFn<impl Fn(&Metadata<'_>) -> bool> {
    // Spans are let through whatever the level: an error must carry its context at level `error`, too.
    FilterFn::new(move |metadata| match (metadata.is_span(), is_ours(metadata)) {
        (true, ours) => ours,
        (false, true) => *metadata.level() <= level,
        (false, false) => *metadata.level() <= level.min(LevelFilter::WARN) && !repeats_us(metadata),
    })
    .with_max_level_hint(level.max(LevelFilter::INFO))
}

/// The Kubernetes client logs each refusal by itself; ours are logged once, by whoever handles them.
fn repeats_us(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("kube_client")
}

/// Adds context to a span under names that are not known at compile time.
///
/// Does nothing where no log is installed. Children that were opened before do not see it.
pub fn attach(span: &Span, fields: impl IntoIterator<Item = (Cow<'static, str>, String)>) {
    span.with_subscriber(|(id, dispatch)| {
        let Some(span) = dispatch.downcast_ref::<Registry>().and_then(|registry| registry.span(id)) else { return };
        let mut extensions = span.extensions_mut();
        if let Some(known) = extensions.get_mut::<SpanFields>() {
            for (name, value) in fields {
                known.set(name, FieldValue::Text(value));
            }
        }
    });
}

/// Prints an error and everything that caused it: `a: b: c`.
pub struct Chain<'a>(pub &'a (dyn Error + 'a));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
