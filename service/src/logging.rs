//! Structured logs: one line per entry, flat keys.
//!
//! In: `tracing` events and their spans. Out: JSON or text lines on stdout or stderr, each with one write.
//! Fails: never; a line that cannot be written is dropped, because logging must not stop the program. Lines
//! are neither buffered nor rotated.
//!
//! Two rules decide what a line contains:
//!
//! * It repeats the fields of the enclosing spans, except names with a dot (`http.request.method`), which are
//!   meant for traces. [`attach`] adds fields whose names are not known at compile time (`cluster_id`).
//! * The crates of this workspace log at the configured level; libraries at `warn`, or at `error` if that is
//!   configured.

use std::borrow::Cow;
use std::io::Write as _;

use tracing::metadata::LevelFilter;
use tracing::{Metadata, Span, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::DynFilterFn;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

mod fields;
mod layer;
mod line;

pub use layer::Sink;

use fields::{FieldValue, SpanFields};
use layer::LogLayer;

/// The crates of this workspace that log. Add the crate of a new program.
const OUR_CRATES: [&str; 12] = [
    "hyperfleet_adapter",
    "hyperfleet_console",
    "hyperfleet_sweeper",
    "lifecycle_api_client",
    "lifecycle_config",
    "lifecycle_core",
    "lifecycle_kube",
    "lifecycle_migrations",
    "lifecycle_service",
    "local_api",
    "local_sentinel",
    "reconcile_metrics",
];

/// The layout of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Each log line is a JSON object.
    #[default]
    Json,
    /// `{timestamp} {LEVEL} [{component}] [{version}] [{hostname}] {message} k=v…`
    Text,
}

/// The stream that log lines are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// Log lines go to standard output.
    #[default]
    Stdout,
    /// Log lines go to standard error.
    Stderr,
}

/// The settings of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSettings {
    /// The most verbose level that this workspace's crates log at.
    pub level: LevelFilter,
    /// The layout of a line.
    pub format: Format,
    /// The stream that lines are written to.
    pub output: Output,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { level: LevelFilter::INFO, format: Format::default(), output: Output::default() }
    }
}

/// The fields that each line repeats about the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The component's name in the deployment; before the configuration is loaded, the command's name.
    pub component: String,
    /// The version of the program, which every log line carries.
    pub version: String,
    /// The name of the host, which every log line carries; in Kubernetes, the name of the pod.
    pub hostname: String,
}

impl Identity {
    /// The identity of this program and host, with the name `component`.
    #[must_use]
    pub fn of(component: impl Into<String>) -> Self {
        Self { component: component.into(), version: crate::version::THIS.number.to_owned(), hostname: hostname() }
    }
}

/// The kernel's host name, else the variable `POD_NAME`, else `unknown`.
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

/// Builds the log as a `tracing` subscriber; the caller adds its own layers and installs it.
#[must_use]
pub fn subscriber(
    settings: LogSettings,
    identity: &Identity,
) -> impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync + use<> {
    subscriber_into(settings, identity, writer(settings.output))
}

/// Builds the same log with lines that go to `sink` instead of a stream, so that tests can read them.
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
    // One write call per entry, so that lines of different threads do not mix. A failed write cannot be
    // reported anywhere.
    match output {
        Output::Stdout => Box::new(|line| drop(std::io::stdout().lock().write_all(line))),
        Output::Stderr => Box::new(|line| drop(std::io::stderr().lock().write_all(line))),
    }
}

/// Whether a span or an event comes from a crate of this workspace.
#[must_use]
pub fn is_ours(metadata: &Metadata<'_>) -> bool {
    OUR_CRATES.iter().any(|name| metadata.target().starts_with(name))
}

/// The filter is asked about every entry, and not once for each place in the code: if a library asks by the crate `log`
/// whether its entry is wanted, as `sqlx` does, the answer would otherwise hold for our next entry, and drop it.
fn log_filter<S>(level: LevelFilter) -> DynFilterFn<S, impl Fn(&Metadata<'_>, &Context<'_, S>) -> bool> {
    // Spans pass at every level, so that an entry at level `error` has the fields of its spans.
    DynFilterFn::new(move |metadata: &Metadata<'_>, _: &Context<'_, S>| match (metadata.is_span(), is_ours(metadata)) {
        (true, ours) => ours,
        (false, true) => *metadata.level() <= level,
        (false, false) => {
            *metadata.level() <= level.min(LevelFilter::WARN)
                && !is_logged_by_caller(metadata)
                && !is_repeated_for_each_connection(metadata)
        }
    })
    .with_max_level_hint(level.max(LevelFilter::INFO))
}

/// Whether the AMQP client logs an error that it also returns, so that the caller logs it: a lost connection
/// would be logged three times.
///
/// A panic of the client's own thread is not returned, so its entry is kept.
fn is_logged_by_caller(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    target.starts_with("lapin") && target != "lapin::thread"
}

/// Whether the client of Kubernetes warns at each handshake that it does not check the server's certificate. Our own warning
/// says so once, with the server and the cure.
///
/// The client's other warning from there is kept, that it could not read a renewed CA: it has the field `path`.
fn is_repeated_for_each_connection(metadata: &Metadata<'_>) -> bool {
    metadata.target() == "kube_client::client::tls::rustls_tls"
        && *metadata.level() > LevelFilter::ERROR
        && metadata.fields().field("path").is_none()
}

/// Adds fields to a span under names that are not known at compile time.
///
/// Does nothing if no log is installed. Child spans that already exist do not get the fields.
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

#[cfg(test)]
mod tests;
