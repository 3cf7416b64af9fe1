//! What the server demands of the manifests of a bundle.
//!
//! In: the data of an event. Fails: with the text behind `the manifest bundle in the resource is invalid, `. Neither an
//! empty list nor its size is checked here: only agents refuse these, in silence.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Members of a manifest's metadata that only a server may set.
const FORBIDDEN: [&str; 3] = ["generateName", "resourceVersion", "deletionGracePeriodSeconds"];

/// Checks the data of an event that creates or updates a bundle.
pub(crate) fn check(data: Option<&Value>) -> Result<(), String> {
    let data = match data {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(data)) => data,
        Some(_) => return Err("failed to decode the manifest bundle: it is not an object".to_owned()),
    };
    let manifests = match data.get("manifests") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(manifests)) => manifests,
        Some(_) => return Err("failed to decode the manifest bundle: manifests is not a list".to_owned()),
    };
    let mut seen = BTreeSet::new();
    for (index, manifest) in manifests.iter().enumerate() {
        let identity = check_manifest(manifest).map_err(|reason| format!("manifests[{index}]: {reason}"))?;
        if !seen.insert(identity) {
            return Err(format!("manifests[{index}]: duplicate manifest"));
        }
    }
    Ok(())
}

fn check_manifest(manifest: &Value) -> Result<[String; 4], String> {
    let manifest = manifest.as_object().ok_or("a manifest is not an object")?;
    let member = |name: &str| manifest.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let version = member("apiVersion").ok_or("apiVersion: Required value")?;
    if version.split('/').count() > 2 || version.split('/').any(str::is_empty) {
        return Err(format!("apiVersion: Invalid value: {version:?}"));
    }
    let kind = member("kind").ok_or("kind: Required value")?;
    let metadata = manifest.get("metadata").and_then(Value::as_object).ok_or("metadata.name: Required value")?;
    let name = metadata.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or("metadata.name: Required value")?;
    let namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if !namespace.is_empty() && !is_dns_label(namespace) {
        return Err(format!("metadata.namespace: Invalid value: {namespace:?}"));
    }
    if let Some(name) = FORBIDDEN.into_iter().find(|name| is_set(metadata.get(*name))) {
        return Err(format!("metadata.{name}: Forbidden"));
    }
    check_labels(metadata)?;
    Ok([version, kind, namespace, name].map(str::to_owned))
}

fn check_labels(metadata: &Map<String, Value>) -> Result<(), String> {
    let entries = |name: &str| metadata.get(name).and_then(Value::as_object).into_iter().flatten();
    for (key, value) in entries("labels") {
        let is_valid = value.as_str().is_some_and(|value| value.is_empty() || (value.len() <= 63 && is_word(value)));
        if !is_qualified_name(key) || !is_valid {
            return Err(format!("metadata.labels: Invalid value: {key:?}: {value}"));
        }
    }
    for (key, value) in entries("annotations") {
        if !is_qualified_name(&key.to_lowercase()) || !value.is_string() {
            return Err(format!("metadata.annotations: Invalid value: {key:?}"));
        }
    }
    let finalizers = metadata.get("finalizers").and_then(Value::as_array).into_iter().flatten();
    for finalizer in finalizers {
        if !finalizer.as_str().is_some_and(is_qualified_name) {
            return Err(format!("metadata.finalizers: Invalid value: {finalizer}"));
        }
    }
    Ok(())
}

/// A value that a Go program would not take for the zero value of its field.
fn is_set(value: Option<&Value>) -> bool {
    !matches!(value, None | Some(Value::Null)) && value.and_then(Value::as_str) != Some("")
}

/// Letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_word(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = [text.bytes().next(), text.bytes().last()];
    text.bytes().all(is_inner) && ends.iter().all(|end| end.is_some_and(|end| end.is_ascii_alphanumeric()))
}

fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_prefix = |prefix: &str| prefix.len() <= 253 && prefix.split('.').all(is_dns_label);
    name.len() <= 63 && is_word(name) && prefix.is_none_or(is_prefix)
}

/// Says whether a text is a DNS label: lower-case letters, digits and dashes, at most 63.
pub(crate) fn is_dns_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte != b'-');
    text.len() <= 63 && text.bytes().all(is_inner) && is_end(text.bytes().next()) && is_end(text.bytes().last())
}
