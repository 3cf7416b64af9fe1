//! Structured logs: one line per entry, flat keys.
//!
//! In: `tracing` events. Out: JSON or text lines on standard error, each with one write, with the keys of the logging
//! standard. Nothing can fail: a line that cannot be written is lost, because logging must never stop the work. Spans
//! are not used here. Our own entries are logged at the configured level, libraries at `warn`.

use std::fmt;
use std::io::Write as _;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use crate::config::LogConfig;

/// Takes a whole line.
type Sink = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Writes entries.
pub struct LogLayer {
    config: LogConfig,
    identity: [(&'static str, String); 3],
    sink: Sink,
}

impl LogLayer {
    /// A layer that writes to standard error, so that standard output is left to what commands print.
    #[must_use]
    pub fn new(config: LogConfig) -> Self {
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let hostname = if hostname.trim().is_empty() { "unknown" } else { hostname.trim() };
        let identity = [
            ("component", "reconcile-metrics".to_owned()),
            ("version", crate::version::THIS.number.to_owned()),
            ("hostname", hostname.to_owned()),
        ];
        Self { config, identity, sink: Box::new(|line| drop(std::io::stderr().lock().write_all(line))) }
    }

    fn line(&self, now: Timestamp, level: tracing::Level, entry: Entry) -> String {
        let level = level.as_str();
        if self.config.json {
            let mut object = Map::new();
            object.insert("timestamp".to_owned(), format!("{now:.6}").into());
            object.insert("level".to_owned(), level.to_lowercase().into());
            object.insert("message".to_owned(), entry.message.into());
            object.extend(self.identity.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())));
            for (name, value) in entry.fields {
                // A key must not appear twice, and ours must not be forged.
                let name = if object.contains_key(name) { format!("field_{name}") } else { name.to_owned() };
                object.insert(name, value);
            }
            return format!("{}\n", Value::Object(object));
        }
        let mut line = format!("{now:.6} {level}");
        for (_, value) in &self.identity {
            line.push_str(&format!(" [{value}]"));
        }
        line.push_str(&format!(" {}", entry.message.escape_debug()));
        for (name, value) in entry.fields {
            line.push_str(&format!(" {name}={value}"));
        }
        line.push('\n');
        line
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let ours = metadata.target().starts_with("reconcile_metrics");
        let level = if ours { self.config.level } else { self.config.level.min(tracing::metadata::LevelFilter::WARN) };
        if *metadata.level() > level {
            return;
        }
        let mut entry = Entry::default();
        event.record(&mut entry);
        (self.sink)(self.line(Timestamp::now(), *metadata.level(), entry).as_bytes());
    }
}

#[derive(Default)]
struct Entry {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl Entry {
    fn set(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            ("message", value) => self.message = value.to_string(),
            (name, value) => self.fields.push((name, value)),
        }
    }
}

impl Visit for Entry {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn logged(json: bool) -> String {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let config = LogConfig { level: tracing::metadata::LevelFilter::INFO, json };
        let mut layer = LogLayer::new(config);
        layer.identity[2].1 = "host".to_owned();
        let sink = lines.clone();
        layer.sink = Box::new(move |line| sink.lock().unwrap().extend_from_slice(line));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(collector = "snapshot", seconds = 0.5, version = "forged", "It\nworks");
            tracing::debug!("not at this level");
            tracing::info!(target: "sqlx", "not ours");
        });
        let bytes = lines.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_entry_is_one_object_with_the_keys_of_the_standard() {
        let text = logged(true);
        assert_eq!(text.lines().count(), 1, "{text}");
        let mut entry: Value = serde_json::from_str(&text).unwrap();
        assert!(entry["timestamp"].take().as_str().unwrap().parse::<Timestamp>().is_ok());
        let expected = serde_json::json!({
            "timestamp": null, "level": "info", "message": "It\nworks", "component": "reconcile-metrics",
            "version": "0.0.0-dev", "hostname": "host", "collector": "snapshot", "seconds": 0.5, "field_version": "forged",
        });
        assert_eq!(entry, expected);
    }

    #[test]
    fn text_is_one_line_too() {
        let text = logged(false);
        let (_, rest) = text.split_once(' ').unwrap();
        let expected = "INFO [reconcile-metrics] [0.0.0-dev] [host] It\\nworks collector=\"snapshot\" seconds=0.5 version=\"forged\"\n";
        assert_eq!(rest, expected);
    }
}
