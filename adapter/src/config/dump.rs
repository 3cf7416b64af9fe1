//! Prints the merged configuration, and prepares the values that params read from `config.…`.
//!
//! The dump leaves out false, zero and empty values, prints durations in Go's notation, and redacts secrets.

use lifecycle_config::decode::{DURATION, without_zeros};
use lifecycle_config::duration::{Units, format_nanoseconds, parse_nanoseconds};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::Loaded;
use crate::secret::{is_secret_name, redacted_url};

pub use crate::secret::REDACTED;

/// The keys of `tls_config` whose values the dump redacts.
const SECRET_KEYS: [&str; 4] = ["ca_file", "cert_file", "key_file", "http_ca_file"];

/// JSON pointers of URLs whose credentials the dump redacts.
const URLS: [&str; 3] = [
    "/clients/hyperfleet_api/base_url",
    "/clients/maestro/http_server_address",
    "/clients/maestro/grpc_server_address",
];

/// The order of the top-level keys in the dump, which is the Go adapter's; other keys follow.
const TOP: [&str; 17] = [
    "post",
    "log",
    "adapter",
    "params",
    "preconditions",
    "resources",
    "clients",
    "debug_config",
    "stamp",
    "signing",
    "event_deadline",
    "shutdown_grace",
    "workers",
    "inputs",
    "passes",
    "health",
    "metrics",
];
const CLIENTS: [&str; 4] = ["maestro", "broker", "kubernetes", "hyperfleet_api"];

/// A checked configuration as the dump shows it: without zero values, and with durations in Go's notation.
pub(super) fn visible(schema: &Value, value: &Value) -> Value {
    let mut value = without_zeros(schema, value);
    go_durations(schema, schema, &mut value);
    value
}

fn go_durations(root: &Value, schema: &Value, value: &mut Value) {
    let schema = match schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#')) {
        Some(pointer) => root.pointer(pointer).unwrap_or(schema),
        None => schema,
    };
    if let Some(alternatives) = schema.get("anyOf").and_then(Value::as_array) {
        alternatives.iter().for_each(|alternative| go_durations(root, alternative, value));
    }
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if let Some(property) = schema.get("properties").and_then(|properties| properties.get(key)) {
                    go_durations(root, property, value);
                }
            }
        }
        Value::String(text) if schema.get("format").and_then(Value::as_str) == Some(DURATION) => {
            if let Ok(nanoseconds) = parse_nanoseconds(text, Units::Go) {
                *text = format_nanoseconds(nanoseconds);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
    }
}

/// Redacts the secrets of a deployment file.
pub(super) fn redacted(values: &Value) -> Value {
    let mut values = values.clone();
    if let Some(Value::Object(files)) = values.pointer_mut("/clients/maestro/auth/tls_config") {
        for (_, file) in files.iter_mut().filter(|(key, _)| SECRET_KEYS.contains(&key.as_str())) {
            *file = Value::String(REDACTED.to_owned());
        }
    }
    if let Some(Value::Object(headers)) = values.pointer_mut("/clients/hyperfleet_api/default_headers") {
        for (_, value) in headers.iter_mut().filter(|(name, _)| is_secret_name(name)) {
            *value = Value::String(REDACTED.to_owned());
        }
    }
    for pointer in URLS {
        if let Some(Value::String(url)) = values.pointer_mut(pointer) {
            *url = redacted_url(url);
        }
    }
    values
}

/// Replaces each reference to a manifest file, also in a bundle, by the text of that file, which `read` returns.
pub(super) fn with_manifests(mut task: Value, read: &dyn Fn(&str) -> Result<String, String>) -> Value {
    for resource in task.get_mut("resources").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(manifest) = resource.get_mut("manifest") {
            with_text(manifest, read);
        }
        let of_bundle = resource.pointer_mut("/bundle/manifests").and_then(Value::as_array_mut);
        of_bundle.into_iter().flatten().for_each(|manifest| with_text(manifest, read));
    }
    task
}

fn with_text(manifest: &mut Value, read: &dyn Fn(&str) -> Result<String, String>) {
    if let Some(Ok(text)) = manifest.get("ref").and_then(Value::as_str).map(read) {
        *manifest = Value::String(text);
    }
}

/// Formats the merged configuration as YAML, with secrets redacted.
///
/// # Errors
/// A value cannot be written as YAML. No value that was read from YAML causes it.
pub fn yaml(loaded: &Loaded) -> Result<String, serde_saphyr::SerializeError> {
    let mut merged = Map::new();
    for part in [&loaded.adapter.redacted, &loaded.task_values()] {
        let fields = part.as_object().into_iter().flatten();
        merged.extend(fields.map(|(key, value)| (key.clone(), value.clone())));
    }
    let options = serde_saphyr::ser_options! { indent_step: 4, compact_list_indent: false };
    serde_saphyr::to_string_with_options(&Ordered { value: &Value::Object(merged), order: &TOP }, options)
}

/// A mapping that serializes the keys in `order` first.
struct Ordered<'v> {
    value: &'v Value,
    order: &'v [&'v str],
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = self.value.as_object().ok_or_else(|| S::Error::custom("not a mapping"))?;
        let rank = |key: &String| self.order.iter().position(|known| known == key).unwrap_or(self.order.len());
        let mut fields: Vec<_> = object.iter().collect();
        fields.sort_by_key(|(key, _)| rank(key));
        let mut map = serializer.serialize_map(Some(fields.len()))?;
        for (key, value) in fields {
            match key.as_str() {
                "clients" => map.serialize_entry(key, &Ordered { value, order: &CLIENTS })?,
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}
