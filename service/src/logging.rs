//! Structured logs: one line per entry, flat keys.
//!
//! In: `tracing` events and the spans around them. Out: JSON or text lines on stdout or stderr, each with
//! one write. Nothing can fail: a line that cannot be written is lost, because logging must never stop the work. It
//! does not rotate, buffer or ship logs.
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

mod fields;
mod layer;
mod line;

pub use layer::Sink;

use fields::{FieldValue, SpanFields};
use layer::LogLayer;

/// The crates whose entries are ours, a new program's among them.
const OUR_CRATES: [&str; 7] = [
    "hyperfleet_adapter",
    "lifecycle_api_client",
    "lifecycle_config",
    "lifecycle_core",
    "lifecycle_kube",
    "lifecycle_service",
    "reconcile_metrics",
];

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

/// Who logs: on every line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What the deployment calls the program, or the command's name before that is known.
    pub component: String,
    /// The program's version.
    pub version: String,
    /// The host's name.
    pub hostname: String,
}

impl Identity {
    /// This program on this host, as `component`.
    #[must_use]
    pub fn of(component: impl Into<String>) -> Self {
        Self { component: component.into(), version: crate::version::THIS.number.to_owned(), hostname: hostname() }
    }
}

/// The host's name, else `POD_NAME`, else `unknown`.
fn hostname() -> String {
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

/// Builds what `tracing` reports to, for the caller to add layers of its own and to install.
#[must_use]
pub fn subscriber(
    settings: LogSettings,
    identity: &Identity,
) -> impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync + use<> {
    subscriber_into(settings, identity, writer(settings.output))
}

/// The same with lines that go to `sink`, whatever output the settings name: for tests of what is logged.
#[must_use]
pub fn subscriber_into(
    settings: LogSettings,
    identity: &Identity,
    sink: Sink,
) -> impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync + use<> {
    with_log(settings.level, LogLayer::new(settings.format, identity, sink))
}

fn with_log(level: LevelFilter, log: LogLayer) -> impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync + use<> {
    Registry::default().with(log.with_filter(log_filter(level)))
}

fn writer(output: Output) -> Sink {
    // An entry is one call: lines of different threads cannot mix. Errors have nowhere to go.
    match output {
        Output::Stdout => Box::new(|line| drop(std::io::stdout().lock().write_all(line))),
        Output::Stderr => Box::new(|line| drop(std::io::stderr().lock().write_all(line))),
    }
}

/// Whether a span or an entry comes from this product rather than from a library.
#[must_use]
pub fn is_ours(metadata: &Metadata<'_>) -> bool {
    OUR_CRATES.iter().any(|name| metadata.target().starts_with(name))
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

/// Whether the AMQP client says what its caller logs anyway: it logs each error that it returns, a lost connection twice.
/// A panic of one of its threads is returned to nobody.
fn repeats_us(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    target.starts_with("lapin") && target != "lapin::thread"
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
mod tests;
