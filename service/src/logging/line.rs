//! Formats a log line, as JSON or as text.
//!
//! In: an event with the fields of its spans. Out: bytes that end in their only line feed. Control characters
//! are escaped, so that no value can forge a second line. Long messages and values are cut, and fields that
//! would make the line too long for a log collector are left out, with `truncated=true`.

use std::borrow::Cow;
use std::io::Write as _;

use jiff::Timestamp;
use tracing::Level;

use super::fields::{EntryVisitor, FieldSet, FieldValue};
use super::{Format, Identity};

/// The limit of a message in bytes, from the logging standard.
const MESSAGE_LIMIT: usize = 1024;
/// The limit of a value in bytes. Long enough for an error with its causes.
const VALUE_LIMIT: usize = 8 * 1024;
/// The limit of a line in bytes. Collectors cut or drop lines above 64 KiB; 64 bytes are left for `truncated`
/// and the closing brace.
const ENTRY_LIMIT: usize = 64 * 1024 - 64;

const RESERVED: [&str; 6] = ["timestamp", "level", "message", "component", "version", "hostname"];

pub(super) struct LineWriter {
    format: Format,
    /// The formatted fields of the program's [`Identity`], which are the same in each line.
    identity: Vec<u8>,
}

impl LineWriter {
    pub(super) fn new(format: Format, identity: &Identity) -> Self {
        let Identity { component, version, hostname } = identity;
        let mut fixed = Vec::new();
        match format {
            Format::Json => {
                for (name, value) in [("component", component), ("version", version), ("hostname", hostname)] {
                    json_field(&mut fixed, name, &FieldValue::Text(value.clone()));
                }
            }
            Format::Text => {
                for value in [component, version, hostname] {
                    fixed.extend_from_slice(b" [");
                    escaped(&mut fixed, value);
                    fixed.push(b']');
                }
            }
        }
        Self { format, identity: fixed }
    }

    pub(super) fn write(
        &self,
        line: &mut Vec<u8>,
        now: Timestamp,
        level: Level,
        entry: &EntryVisitor,
        context: &FieldSet,
    ) {
        let message = cut(&entry.message, MESSAGE_LIMIT);
        match self.format {
            Format::Json => {
                put(line, format_args!("{{\"timestamp\":\"{now:.6}\",\"level\":\"{}\"", lower_case(level)));
                line.extend_from_slice(b",\"message\":");
                json_text(line, &message);
                line.extend_from_slice(&self.identity);
            }
            Format::Text => {
                put(line, format_args!("{now:.6} {level}"));
                line.extend_from_slice(&self.identity);
                line.push(b' ');
                escaped(line, &message);
            }
        }
        let inherited = context.iter().filter(|(name, _)| !entry.fields.contains(name));
        for (name, value) in inherited.chain(entry.fields.iter()) {
            let end = line.len();
            self.field(line, name, value);
            if line.len() > ENTRY_LIMIT {
                line.truncate(end);
                self.field(line, "truncated", &FieldValue::Bool(true));
                break;
            }
        }
        line.extend_from_slice(if self.format == Format::Json { b"}\n" } else { b"\n" });
    }

    fn field(&self, line: &mut Vec<u8>, name: &str, value: &FieldValue) {
        // Rename a field with a reserved name, because JSON keys must be unique.
        let renamed = RESERVED.contains(&name).then(|| format!("field_{name}"));
        let name = renamed.as_deref().unwrap_or(name);
        match self.format {
            Format::Json => json_field(line, name, value),
            Format::Text => text_field(line, name, value),
        }
    }
}

fn lower_case(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

fn json_field(line: &mut Vec<u8>, name: &str, value: &FieldValue) {
    line.push(b',');
    json_text(line, name);
    line.push(b':');
    match value {
        FieldValue::Bool(value) => put(line, format_args!("{value}")),
        FieldValue::Signed(value) => put(line, format_args!("{value}")),
        FieldValue::Unsigned(value) => put(line, format_args!("{value}")),
        FieldValue::Float(value) if value.is_finite() => put(line, format_args!("{value}")),
        // JSON has no number for infinity and NaN: write them as text.
        FieldValue::Float(value) => put(line, format_args!("\"{value}\"")),
        FieldValue::Text(text) => json_text(line, &cut(text, VALUE_LIMIT)),
    }
}

fn text_field(line: &mut Vec<u8>, name: &str, value: &FieldValue) {
    line.push(b' ');
    escaped(line, name);
    line.push(b'=');
    match value {
        FieldValue::Bool(value) => put(line, format_args!("{value}")),
        FieldValue::Signed(value) => put(line, format_args!("{value}")),
        FieldValue::Unsigned(value) => put(line, format_args!("{value}")),
        FieldValue::Float(value) => put(line, format_args!("{value}")),
        FieldValue::Text(text) => {
            let text = cut(text, VALUE_LIMIT);
            let plain = !text.is_empty()
                && !text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '"' | '=' | '\\'));
            if plain { put(line, format_args!("{text}")) } else { put(line, format_args!("{text:?}")) }
        }
    }
}

fn json_text(line: &mut Vec<u8>, text: &str) {
    // Cannot fail: the target is memory, and every string has a JSON form.
    drop(serde_json::to_writer(line, text));
}

/// Writes text with its control characters escaped.
fn escaped(line: &mut Vec<u8>, text: &str) {
    for c in text.chars() {
        if c.is_control() {
            put(line, format_args!("{}", c.escape_default()));
        } else {
            put(line, format_args!("{c}"));
        }
    }
}

fn put(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Cannot fail: the target is memory.
    drop(line.write_fmt(text));
}

/// Cuts text to at most `limit` bytes at a character boundary, and marks the cut with `…`.
fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    const MARK: &str = "…";
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(limit - MARK.len());
    Cow::Owned(format!("{}{MARK}", &text[..end]))
}
